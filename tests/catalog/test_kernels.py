"""The optional package of measured kernels: what it is told, what it is not asked, and what its answers become."""

from __future__ import annotations

import csv
import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import files
from planner.catalog.kernels import documents, formats, package, source
from planner.core.latency import KernelsUnavailable, Ranks

CATALOG = files.load()
LLM, GPU = CATALOG.llm("llama-3-1-8b"), CATALOG.gpu("h100-sxm")
POINTS = files.DATA / "measured" / "reference_points.csv"


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(package, "_MODULE", "no_such_package_here")
    package.installed.cache_clear()
    yield
    package.installed.cache_clear()


@pytest.mark.usefixtures("absent")
def test_without_the_package_nothing_breaks_and_the_reason_says_how_to_get_it() -> None:
    assert files.load().kernel_package is None
    with pytest.raises(KernelsUnavailable, match=r"measured\.txt") as refused:
        CATALOG.kernel_times(LLM, GPU, engine="vllm", ranks=Ranks(), weight_dtype="bf16", kv_dtype="bf16")
    assert refused.value.installed is False


def test_an_unknown_release_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "installed", lambda: "aiconfigurator-core 0.13.0")
    monkeypatch.setattr(package, "_MODULE", "json")
    with pytest.raises(KernelsUnavailable, match=r"0\.13\.0"):
        package.folder()


def test_the_digest_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    # What was answered without the package is not the answer with it.
    monkeypatch.setattr(files.kernels, "installed", lambda: None)
    without = files.load().digest
    monkeypatch.setattr(files.kernels, "installed", lambda: "aiconfigurator-core 0.12.0")
    assert files.load().digest != without


def test_gpus_and_engines_it_is_asked_about_are_in_the_catalog() -> None:
    assert set(package.SYSTEMS) <= {gpu.slug for gpu in CATALOG.gpus()}
    assert set(package.BACKENDS) == {engine.slug.replace("-", "_") for engine in CATALOG.engines()}


def test_a_plain_llm_is_described_by_its_shape(tmp_path: Path) -> None:
    made = documents.document(LLM, folder=tmp_path)
    assert made["architectures"] == ["LlamaForCausalLM"]
    assert (made["num_hidden_layers"], made["num_key_value_heads"], made["vocab_size"]) == (32, 8, 128256)


def test_an_even_mixture_is_described_by_its_shape(tmp_path: Path) -> None:
    made = documents.document(CATALOG.llm("qwen3-235b-a22b"), folder=tmp_path)
    assert (made["num_local_experts"], made["num_experts_per_tok"], made["moe_intermediate_size"]) == (128, 8, 1536)


@pytest.mark.parametrize(
    ("llm", "words"),
    [
        ("deepseek-v3", "MLA"),
        ("gemma-3-27b", "sliding window"),
        ("qwen3-next-80b-a3b", "linear-attention"),
        ("glm-4-5", "shared"),
    ],
)
def test_layers_the_package_has_no_form_for_are_refused(llm: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(KernelsUnavailable, match=words):
        documents.document(CATALOG.llm(llm), folder=tmp_path)


def test_a_fact_nobody_looked_at_makes_an_llm_peculiar(tmp_path: Path) -> None:
    with pytest.raises(KernelsUnavailable):
        documents.document(dataclasses.replace(LLM, mlp_matrices=2), folder=tmp_path)


def _copy(folder: Path, name: str, content: dict[str, Any]) -> None:
    (folder / "model_configs").mkdir(exist_ok=True)
    (folder / "model_configs" / f"{name}_config.json").write_text(json.dumps(content), encoding="utf-8")


def test_the_packages_own_copy_describes_the_rest_without_its_quantisation(tmp_path: Path) -> None:
    shape = {"num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128, "vocab_size": 129280}
    _copy(tmp_path, "deepseek-ai--DeepSeek-V3", {"architectures": ["X"], "quantization_config": {"a": 1}, **shape})
    assert documents.document(CATALOG.llm("deepseek-v3"), folder=tmp_path) == {"architectures": ["X"], **shape}


def test_a_copy_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    shape = {"num_hidden_layers": 4, "hidden_size": 7168, "num_attention_heads": 128, "vocab_size": 129280}
    _copy(tmp_path, "deepseek-ai--DeepSeek-V3", shape)
    with pytest.raises(KernelsUnavailable):
        documents.document(CATALOG.llm("deepseek-v3"), folder=tmp_path)


def test_block_scales_come_first_for_checkpoints_published_in_fp8() -> None:
    def first(llm: str, engine: str = "vllm", gpu: str = "h100-sxm", dtype: str = "fp8") -> formats.Formats:
        found = formats.choices(CATALOG.llm(llm), CATALOG.gpu(gpu), engine=engine, weight_dtype=dtype, kv_dtype="bf16")
        return next(iter(found))

    assert first("llama-3-1-8b").gemm == "fp8"
    assert first("llama-3-1-8b", "tensorrt_llm").gemm == "fp8_static"
    assert (first("deepseek-v3").gemm, first("deepseek-v3").experts) == ("fp8_block", "fp8_block")
    assert first("gpt-oss-120b", dtype="mxfp4").experts == "w4a16_mxfp4"
    assert first("gpt-oss-120b", dtype="mxfp4", gpu="b200-sxm").experts == "w4a8_mxfp4_mxfp8"
    assert first("gpt-oss-120b", dtype="mxfp4").gemm == "bfloat16"


@pytest.mark.parametrize(("weights", "cache"), [("mxfp4", "bf16"), ("bf16", "nvfp4")])
def test_formats_without_kernels_are_refused(weights: str, cache: str) -> None:
    with pytest.raises(KernelsUnavailable, match="hold no"):
        list(formats.choices(LLM, GPU, engine="vllm", weight_dtype=weights, kv_dtype=cache))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("generation_qkv_gemm", "gemm"),
        ("generation_gate_ffn1_gemm", "gemm"),
        ("context_moe", "gemm"),
        ("generation_attention", "attention"),
        ("context_mla_block", "attention"),
        ("generation_gdn_recurrence", "attention"),
        ("generation_ar_1", "communication"),
        ("context_moe_pre_dispatch", "communication"),
        ("generation_tp_allreduce", "communication"),
        ("context_embedding_ar", "communication"),
        ("generation_p2p", "communication"),
        ("generation_embedding", "other"),
        ("context_full_attn_norm", "other"),
        ("generation_act_gate", "other"),
    ],
)
def test_kernels_belong_to_the_part_their_name_says(name: str, part: str) -> None:
    assert source.part_of(name) == part


def test_milliseconds_are_summed_by_part() -> None:
    made = source.summed(
        [("a_gemm", 2.0, 0.0, "silicon"), ("an_attention", 1.0, 0.0, "mixed"), ("a_norm", 1.0, 0.0, "empirical")]
    )
    assert (made.gemm_s, made.attention_s, made.other_s) == (0.002, 0.001, 0.001)
    assert made.total_s == pytest.approx(0.004)
    assert made.measured_share == pytest.approx(0.75)


@pytest.mark.parametrize("milliseconds", [0.0, float("nan"), float("inf")])
def test_no_time_is_no_answer(milliseconds: float) -> None:
    with pytest.raises(KernelsUnavailable):
        source.summed([("a_gemm", milliseconds, 0.0, "silicon")])


class Compiled:
    """Stands for the package's compiled engine."""

    def __init__(self, problem: BaseException | None = None) -> None:
        self.problem, self.calls = problem, 0

    def run_static_per_op(self, **shape: Any) -> Any:
        self.calls += 1
        if self.problem:
            raise self.problem
        rows = [("a_gemm", float(shape["batch_size"]), 0.0, "silicon")]
        return (rows, []) if shape["mode"] == "static_ctx" else ([], rows)


def test_each_shape_is_asked_for_once() -> None:
    compiled = Compiled()
    made = source.MeasuredKernels(compiled, "made up")
    for _ in range(3):
        assert made.decode(sequences=8, context_tokens=100).total_s == pytest.approx(0.008)
        assert made.prefill(new_tokens=100, cached_tokens=10).total_s == pytest.approx(0.001)
        assert made.prefill(new_tokens=110, cached_tokens=0).total_s == pytest.approx(0.001)
    assert compiled.calls == 3


class PanicException(BaseException):
    """As the compiled part of the package raises it: no Exception."""


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (RuntimeError("perf database error: GEMM data missing at /some/where/else"), "GEMM data missing"),
        (PanicException("index out of bounds"), "index out of bounds"),
    ],
)
def test_whatever_the_package_raises_is_a_reason(problem: BaseException, words: str) -> None:
    with pytest.raises(KernelsUnavailable, match=words) as refused:
        source.MeasuredKernels(Compiled(problem), "").decode(sequences=1, context_tokens=1)
    assert "/some" not in refused.value.reason


def test_a_stop_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        source.MeasuredKernels(Compiled(KeyboardInterrupt()), "").decode(sequences=1, context_tokens=1)


# From here on with the package itself.


def points(**wanted: str) -> list[dict[str, str]]:
    with POINTS.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items())]


LLAMA, MIXTRAL, DEEPSEEK = "meta-llama/Meta-Llama-3.1-8B", "mistralai/Mixtral-8x7B-v0.1", "deepseek-ai/DeepSeek-V3"
BF16, BLOCKS = {"weight_dtype": "bf16", "kv_dtype": "bf16"}, {"weight_dtype": "fp8", "kv_dtype": "fp8"}


@pytest.mark.parametrize(
    ("llm", "system", "engine", "ranks", "dtypes"),
    [
        *(
            (LLAMA, system, "vllm", Ranks(), BF16)
            for system in ("h100_sxm", "h200_sxm", "b200_sxm", "a100_sxm", "l40s")
        ),
        (LLAMA, "h100_sxm", "sglang", Ranks(), BF16),
        ("Qwen/Qwen3-30B-A3B", "h100_sxm", "vllm", Ranks(), BF16),
        (MIXTRAL, "h100_sxm", "trtllm", Ranks(tensor_parallel=2, expert_parallel=2), BF16),
        (MIXTRAL, "h200_sxm", "vllm", Ranks(tensor_parallel=2), BF16),
        (DEEPSEEK, "b200_sxm", "trtllm", Ranks(tensor_parallel=8, expert_parallel=8), BLOCKS),
        (DEEPSEEK, "h200_sxm", "sglang", Ranks(data_parallel=8, expert_parallel=8), BLOCKS),
    ],
)
def test_the_adapter_gives_what_the_packages_own_planner_computes(
    llm: str, system: str, engine: str, ranks: Ranks, dtypes: dict[str, str]
) -> None:
    pytest.importorskip("aiconfigurator_core", reason="the extra `measured` is not installed")
    ours = {name: slug for slug, name in package.BACKENDS.items()}[engine]
    times = CATALOG.kernel_times(CATALOG.llm(llm), CATALOG.gpu(system), engine=ours, ranks=ranks, **dtypes)
    rows = points(model=llm, gpu=system, engine=engine, tp=str(ranks.tensor_parallel))
    rows = [row for row in rows if row["attention_dp"] == str(ranks.data_parallel)]
    assert len(rows) >= 10
    for row in rows:
        batch, length = int(row["batch"]), int(row["isl_or_context"])
        if row["phase"] == "decode":
            made = times.decode(sequences=batch, context_tokens=length)
        elif batch == 1:
            made = times.prefill(new_tokens=length, cached_tokens=0)
        else:
            continue
        assert made.total_s * 1e3 == pytest.approx(float(row["latency_ms"]), rel=1e-3), row


def test_another_thread_may_ask() -> None:
    pytest.importorskip("aiconfigurator_core", reason="the extra `measured` is not installed")
    found: list[float] = []

    def ask() -> None:
        times = CATALOG.kernel_times(
            CATALOG.llm("deepseek-v3"),
            CATALOG.gpu("h200-sxm"),
            engine="sglang",
            ranks=Ranks(data_parallel=8, expert_parallel=8),
            weight_dtype="fp8",
            kv_dtype="bf16",
        )
        found.append(times.decode(sequences=16, context_tokens=2048).total_s)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert 0.005 < found[0] < 0.2


@pytest.mark.parametrize(("gpu", "words"), [("mi300x", "No kernels were measured"), ("h800-sxm", "No kernels")])
def test_gpus_nobody_measured_are_refused_by_name(gpu: str, words: str) -> None:
    pytest.importorskip("aiconfigurator_core", reason="the extra `measured` is not installed")
    with pytest.raises(KernelsUnavailable, match=words):
        CATALOG.kernel_times(LLM, CATALOG.gpu(gpu), engine="vllm", ranks=Ranks(), weight_dtype="bf16", kv_dtype="bf16")
