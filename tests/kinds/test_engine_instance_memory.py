"""Memory of an engine instance: start-up logs read and carried over, ranges, verdicts, layouts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.result import Finding, Result
from planner.kinds import get
from planner.kinds.engine_instance import startup_log

KIND = get("engine_instance")
CATALOG = files.load()
GIB = 2**30
TERMS = ("weights_bytes", "activation_bytes", "graph_bytes", "context_bytes", "other_bytes", "kv_pool_bytes")

# vllm-project/vllm#16378: gemma-3-27b on four A100 40 GB, V0 core of 0.8.
V0_LOG = """
\x1b[1;36m(VllmWorkerProcess pid=231)\x1b[0;0m INFO 04-10 07:15:12 [loader.py:447] Loading weights took 9.21 seconds
INFO 04-10 07:15:13 [model_runner.py:1146] Model loading took 13.1664 GiB and 11.34 seconds
INFO 04-10 07:15:40 [worker.py:267] Memory profiling takes 26.33 seconds
INFO 04-10 07:15:40 [worker.py:267] the current vLLM instance can use total_gpu_memory (39.38GiB) x \
gpu_memory_utilization (0.90) = 35.44GiB
INFO 04-10 07:15:40 [worker.py:267] model weights take 13.17GiB; non_torch_memory takes 0.40GiB; PyTorch activation \
peak memory takes 3.73GiB; the rest of the memory reserved for KV Cache is 18.14GiB.
INFO 04-10 07:15:41 [executor_base.py:111] # cuda blocks: 9526, # CPU blocks: 2064
INFO 04-10 07:15:41 [executor_base.py:116] Maximum concurrency for 65536 tokens per request: 2.33x
"""
# A public deployment of Llama-3.1-8B on one A100 40 GB, vLLM 0.15.
V1_LOG = """
(EngineCore_DP0 pid=77) INFO 02-06 10:01:02 [core.py:93] Initializing a V1 LLM engine (v0.15.1) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=1, \
kv_cache_dtype=auto, enforce_eager=True
(EngineCore_DP0 pid=77) INFO 02-06 10:02:30 [gpu_model_runner.py:3200] Model loading took 14.99 GiB memory and 80 s
(EngineCore_DP0 pid=77) INFO 02-06 10:02:50 [gpu_worker.py:349] Available KV cache memory: 19.28 GiB
(EngineCore_DP0 pid=77) INFO 02-06 10:02:50 [kv_cache_utils.py:1307] GPU KV cache size: 157,936 tokens
(EngineCore_DP0 pid=77) INFO 02-06 10:02:50 [kv_cache_utils.py:1312] Maximum concurrency for 131,072 tokens per \
request: 1.20x
"""
# sgl-project/sglang#4094: Qwen2.5-7B on one 40 GB card, SGLang 0.3.8.
SGLANG_LOG = """
[2025-03-05 07:49:09] server_args=ServerArgs(tp_size=1, mem_fraction_static=0.88, kv_cache_dtype='auto')
[2025-03-05 07:49:11 TP0] Load weight begin. avail mem=38.97 GB
[2025-03-05 07:49:15 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=24.59 GB, mem \
usage=14.38 GB.
[2025-03-05 07:49:15 TP0] KV Cache is allocated. #tokens: 372945, K size: 9.96 GB, V size: 9.96 GB
[2025-03-05 07:49:15 TP0] Memory pool end. avail mem=4.08 GB
[2025-03-05 07:49:30 TP0] max_total_num_tokens=372945, chunked_prefill_size=8192, max_running_requests=4096
"""
TRTLLM_LOG = """
[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 93.10 GiB, available: 85.57 GiB
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 77.02 GiB for max tokens in paged KV cache (630944).
"""
GEMMA: dict[str, Any] = {"llm": "gemma-3-27b", "gpu": "a100-sxm-40gb", "gpus": 4, "engine_core": "v0"}
LLAMA: dict[str, Any] = {"llm": "llama-3.1-8b", "gpu": "a100-sxm-40gb"}
QWEN: dict[str, Any] = {"llm": "qwen2-5-7b", "gpu": "a100-sxm-40gb", "engine": "sglang", "engine_version": "0.3.8"}


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def finding(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


def test_a_v0_log_is_read_line_by_line() -> None:
    read = startup_log.read(V0_LOG)
    assert read.engine == "vllm"
    sizes = {name: round(size / GIB, 4) for name, size in read.figures.items() if name not in ("blocks", "concurrency")}
    assert sizes == {"visible": 39.38, "weights": 13.1664, "activation": 3.73, "non_torch": 0.4, "kv_pool": 18.14}
    assert read.figures["blocks"] == 9526
    assert read.settings == {"memory_fraction": 0.9, "max_model_len": 65536}


def test_a_v1_log_names_its_settings() -> None:
    read = startup_log.read(V1_LOG)
    assert read.figures["tokens"] == 157_936
    assert read.settings == {
        "engine_version": "0.15.1",
        "tensor_parallel": 1,
        "max_model_len": 131_072,
        "graph_capture": False,
    }


def test_the_newest_line_of_all_terms_is_read() -> None:
    read = startup_log.read(
        "Free memory on device (78.6/79.19 GiB) on startup. Desired GPU memory utilization is (0.92, 72.85 GiB). "
        "Actual usage is 14.99 GiB for weight, 0.73 GiB for peak activation, 0.25 GiB for non-torch memory, and "
        "0.51 GiB for CUDAGraph memory."
    )
    assert read.figures["visible"] == 79.19 * GIB
    assert read.figures["activation"] == 0.73 * GIB
    assert read.settings["memory_fraction"] == 0.92


def test_a_transitional_log_gives_the_peak_as_a_sum() -> None:
    read = startup_log.read(
        "Loading model weights took 16.4605 GB\nMemory profiling results: total_gpu_memory=139.81GiB "
        "initial_memory_usage=17.50GiB peak_torch_memory=17.66GiB non_torch_memory=1.79GiB kv_cache_size=110.52GiB "
        "gpu_memory_utilization=0.95"
    )
    assert read.figures["activation"] / GIB == pytest.approx(17.66 - 16.4605)
    assert read.figures["kv_pool"] == 110.52 * GIB


def test_ranks_print_alike_and_the_tightest_counts() -> None:
    lines = [
        f"(Worker_TP{rank} pid=9) Available KV cache memory: {size} GiB" for rank, size in enumerate((11.55, 11.51))
    ]
    assert startup_log.read("\n".join(lines)).figures["kv_pool"] == 11.51 * GIB


def test_pools_of_one_rank_are_added_and_other_ranks_are_not() -> None:
    lines = [
        f"[2026-01-31 TP{rank}] KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, K size: {k} GB, V "
        f"size: {v} GB"
        for rank in (0, 1)
        for tokens, k, v in ((375_360, 4.0, 2.0), (300_288, 8.38, 5.59))
    ]
    assert startup_log.read("\n".join(lines)).figures["kv_pool"] / GIB == pytest.approx(4 + 2 + 8.38 + 5.59)


@pytest.mark.parametrize(
    ("spec", "log", "tokens", "blocks", "concurrency"),
    [
        (GEMMA, V0_LOG, 152_416, 9526, 2.33),
        (LLAMA, V1_LOG, 157_936, 9871, 1.20),
        (QWEN, SGLANG_LOG, 372_945, 372_945, 372_945 / 32768),
    ],
)
def test_a_pasted_log_is_what_the_answer_shows(
    spec: dict[str, Any], log: str, tokens: int, blocks: int, concurrency: float
) -> None:
    result = answer(**spec, startup_log=log, max_model_len=spec.get("max_model_len") or _longest(log))
    assert value(result, "kv_pool_tokens") == pytest.approx(tokens, rel=1e-4)
    assert value(result, "kv_blocks") == pytest.approx(blocks, rel=1e-4)
    assert value(result, "max_concurrency") == pytest.approx(concurrency, abs=0.006, rel=1e-4)
    pool = result.metrics["kv_pool_tokens"]
    assert pool.basis == "measured"
    assert pool.low is not None
    assert pool.high is not None
    assert (pool.high - pool.low) / tokens < 0.005
    assert sum(value(result, name) for name in TERMS) == value(result, "budget_bytes")
    assert "calibrated_by_log" in codes(result)


def _longest(log: str) -> int:
    found = startup_log.read(log).settings.get("max_model_len", 32768)
    assert isinstance(found, int)
    return found


def test_a_log_of_tensorrt_llm() -> None:
    result = answer(llm="llama-3.1-8b", gpu="gh200-96gb", engine="tensorrt_llm", startup_log=TRTLLM_LOG)
    assert value(result, "kv_pool_tokens") == pytest.approx(630_944, rel=1e-4)


def test_blank_fields_follow_the_log_and_the_finding_says_what_was_read() -> None:
    result = answer(**LLAMA, startup_log=V1_LOG)
    assert result.provenance["defaults"].get("engine_version") is None
    message = finding(result, "calibrated_by_log").message
    for words in ("19.3", "157,936 tokens", "Engine version 0.15.1", "Longest request 131,072", "Graph capture off"):
        assert words in message
    assert "memory fraction; the one of the spec is taken" in message


def test_other_settings_are_carried_over_from_the_measured_ones() -> None:
    spec = {**LLAMA, "startup_log": V1_LOG, "memory_fraction": 0.9}
    pool = value(answer(**spec), "kv_pool_bytes")
    # A log that was taken at 0.9 and a design at 0.95: 5 % of the visible memory more, exactly.
    wider = answer(**{**spec, "memory_fraction": 0.95, "measured_memory_fraction": 0.9})
    visible = CATALOG.gpu("a100-sxm-40gb").figure("visible_memory_bytes")
    assert value(wider, "kv_pool_bytes") - pool == pytest.approx(0.05 * visible, abs=4)
    assert wider.metrics["kv_pool_bytes"].basis == "calibrated"
    assert finding(wider, "log_of_other_settings").change == {"memory_fraction": 0.9}
    # The pool's bytes do not depend on the cache's format, its tokens do.
    narrow = answer(**spec, kv_dtype="fp8")
    assert value(narrow, "kv_pool_bytes") == pytest.approx(2 * pool, rel=0.001) or value(
        narrow, "kv_pool_bytes"
    ) == pytest.approx(pool, rel=0.001)


def test_what_a_log_says_against_the_spec_is_said() -> None:
    fp8 = answer(**LLAMA, startup_log=V1_LOG, kv_dtype="fp8")
    assert "bytes a token" in finding(fp8, "log_disagrees").message
    other = answer(llm="llama-3.1-8b", weight_dtype="fp8", gpu="a100-sxm-40gb", startup_log=V1_LOG)
    assert "14.99 GiB of weights" in finding(other, "log_disagrees").message
    smaller = V0_LOG.replace("39.38", "22.10")
    four = answer(llm="gemma-3-27b", gpu="l4", gpus=4, engine_core="v0", startup_log=smaller)
    assert any("another GPU" in each.message for each in four.findings if each.code == "log_disagrees")
    assert value(four, "kv_pool_tokens") == pytest.approx(152_416, rel=1e-4)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"startup_log": "hello"}, "startup_log"),
        ({"startup_log": SGLANG_LOG}, "lines of SGLang, the engine is vLLM"),
        ({"measured_kv_pool_bytes": 1}, "measured_kv_pool_bytes"),
        ({"startup_log": "x" * 300_000}, "startup_log"),
    ],
)
def test_bad_measurements_are_refused_by_name(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        KIND.spec.model_validate(spec)


@pytest.mark.parametrize(
    ("spec", "figures", "tokens"),
    [
        # One figure each through the API: rows kv082, kv069, kv030 and kv046 of the start-up logs.
        (LLAMA, {"measured_kv_pool_bytes": 19.28 * GIB, "engine_version": "0.15.0"}, 157_936),
        (LLAMA, {"measured_kv_tokens": 157_936, "engine_version": "0.15.0"}, 157_936),
        (
            {"llm": "llama-3.1-8b", "gpu": "rtx-3090", "engine_version": "0.7.0", "max_model_len": 20_000},
            {"measured_non_kv_bytes": (17.06 + 0.35) * GIB, "visible_memory_bytes": 23.58 * GIB},
            31_232,
        ),
        (
            {"llm": "qwen3-0-6b", "weight_dtype": "fp8", "engine": "sglang", "engine_version": "0.4.7"},
            {"measured_free_before_load_bytes": 75.02 * GIB, "memory_fraction": 0.874},
            606_832,
        ),
    ],
)
def test_one_figure_of_the_start_up_is_enough(spec: dict[str, Any], figures: dict[str, Any], tokens: int) -> None:
    assert value(answer(**spec, **figures), "kv_pool_tokens") == pytest.approx(tokens, rel=0.005)


def test_without_a_log_the_range_is_shown_and_holds_the_logged_pool() -> None:
    result = answer(**LLAMA, engine_version="0.15.0", memory_fraction=0.9)
    for name, logged in (("kv_pool_bytes", 19.28 * GIB), ("kv_pool_tokens", 157_936), ("kv_blocks", 9871)):
        metric = result.metrics[name]
        assert metric.low is not None
        assert metric.high is not None
        assert metric.low < logged < metric.high
    for name in ("activation_bytes", "context_bytes", "weights_bytes", "max_concurrency"):
        assert result.metrics[name].low is not None, name


def test_a_verdict_inside_the_range_is_left_open() -> None:
    # gpt-oss-120b on one H100, vLLM 0.11: logs of the same settings show -2.1 and +1.7 GiB for the cache.
    result = answer(
        llm="gpt-oss-120b", gpu="h100-sxm", engine_version="0.11.0", memory_fraction=0.93, max_model_len=4096
    )
    verdict = result.metrics["fits"]
    assert (verdict.low, verdict.high) == (0.0, 1.0)
    assert "Available KV cache memory" in finding(result, "too_close_to_call").message
    assert "Too close to call" in result.answer.sentence
    # One line of the log closes it.
    for size, fits in ((1.7, 1.0), (0.02, 0.0)):
        settled = answer(
            llm="gpt-oss-120b",
            gpu="h100-sxm",
            engine_version="0.11.0",
            memory_fraction=0.93,
            max_model_len=4096,
            measured_kv_pool_bytes=size * GIB,
        )
        assert value(settled, "fits") == fits
        assert settled.metrics["fits"].low is None


def test_the_two_gpt_oss_starts_that_failed() -> None:
    # vllm-project/vllm#23278 (-2.14 GiB) and #27508 (1.71 GiB, not enough for the default context).
    first = answer(llm="gpt-oss-120b", gpu="h100-sxm", engine_version="0.10.1")
    second = answer(
        llm="gpt-oss-120b",
        gpu="h100-sxm",
        engine_version="0.11.0",
        memory_fraction=0.95,
        max_num_batched_tokens=1024,
        max_model_len=131_072,
    )
    assert value(first, "fits") == value(second, "fits") == 0


def test_the_80_gb_a100_takes_the_small_defaults() -> None:
    small, large = answer(gpu="a100-sxm-80gb"), answer(gpu="h100-sxm")
    defaults = small.provenance["defaults"]
    assert (defaults["max_num_batched_tokens"], defaults["max_num_seqs"]) == ("2,048", "256")
    assert large.provenance["defaults"]["max_num_seqs"] == "1,024"
    # At equal versions the larger defaults of the H100 cost cache: the sampler's peak over 1,024 sequences.
    old = {"engine_version": "0.11.0", "max_model_len": 8192, "memory_fraction": 0.9}
    assert value(answer(gpu="a100-sxm-80gb", **old), "kv_pool_bytes") > value(
        answer(gpu="h100-sxm", **old), "kv_pool_bytes"
    )


def test_the_longest_request_alters_the_pool_of_v0_but_not_of_v1() -> None:
    def pool(core: str, length: int) -> float:
        spec = {"gpu": "a100-sxm-40gb", "engine_version": "0.8.3", "engine_core": core, "max_model_len": length}
        return value(answer(**spec), "kv_pool_bytes")

    assert pool("v0", 30_000) < pool("v0", 20_000)
    assert pool("v1", 30_000) == pool("v1", 20_000)


def test_volta_and_turing_run_the_old_core() -> None:
    spec = {"llm": "llama-3-2-1b", "engine_version": "0.8.3", "max_model_len": 8192}
    assert answer(gpu="t4", **spec).metrics == answer(gpu="t4", **spec, engine_core="v0").metrics
    assert answer(gpu="t4", **spec, engine_core="v1").metrics != answer(gpu="t4", **spec).metrics


def test_context_parallel_ranks_multiply_the_tokens() -> None:
    spec = {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8, "max_model_len": 8192}
    one, eight = answer(**spec), answer(**spec, context_parallel=8)
    assert value(eight, "kv_blocks") == value(one, "kv_blocks")
    assert value(eight, "kv_pool_tokens") == pytest.approx(8 * value(one, "kv_pool_tokens"), rel=1e-3)
    assert value(eight, "kv_bytes_per_token") == value(one, "kv_bytes_per_token") / 8


def test_the_heaviest_stage_decides_and_stages_count_their_own_layers() -> None:
    result = answer(llm="deepseek-v3", gpu="h200-sxm", gpus=16, pipeline_parallel=4, max_model_len=8192)
    stages = result.series["stages"]
    weights = [float(size or 0) for size in stages.column("weights_bytes").values]
    assert weights[0] < weights[2]  # three dense layers against experts
    pools = [float(size or 0) for size in stages.column("kv_pool_bytes").values]
    assert value(result, "kv_pool_bytes") == min(pools)


def test_redundant_experts_and_dispatch_buffers_take_memory() -> None:
    spec = {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 16, "data_parallel_attention": 16, "max_model_len": 8192}
    plain = answer(**spec)
    more = answer(**spec, redundant_experts=32)
    assert value(more, "weights_bytes") > value(plain, "weights_bytes")
    deepep = answer(**spec, all_to_all="deepep")
    assert value(deepep, "context_bytes") - value(plain, "context_bytes") > 5e9
    pool = deepep.metrics["kv_pool_bytes"]
    assert pool.low is not None
    assert pool.value is not None
    assert pool.value - pool.low > 5e9


def test_files_converted_while_they_load_are_held_twice() -> None:
    spec: dict[str, Any] = {"llm": "llama-3.1-70b", "gpu": "h100-sxm", "weight_dtype": "fp8", "max_model_len": 4096}
    stored = answer(**spec)
    assert value(stored, "fits") == 1
    assert value(stored, "load_peak_bytes") == value(stored, "weights_bytes")
    converted = answer(**spec, checkpoint_dtype="bf16")
    assert value(converted, "fits") == 0
    assert converted.findings[0].code == "load_peak_does_not_fit"
    two = answer(**spec, gpus=2, checkpoint_dtype="bf16")
    assert "load_peak" in codes(two)
    assert value(two, "load_peak_bytes") > 1.9 * value(two, "weights_bytes")


def test_a_limit_of_tokens_caps_the_pool() -> None:
    # sgl-project/sglang#7847: DeepSeek-R1 with max_total_tokens 131,072.
    spec = {"llm": "deepseek-r1", "gpu": "mi300x", "gpus": 16, "engine": "sglang", "max_model_len": 8192}
    assert value(answer(**spec, max_total_tokens=131_072), "kv_pool_tokens") == 131_072
    assert value(answer(**spec, max_total_tokens=10**9), "kv_pool_tokens") == value(answer(**spec), "kv_pool_tokens")


def test_sglang_counts_the_draft_layer_in_its_cell() -> None:
    # sgl-project/sglang#4161: DeepSeek-R1 on sixteen H800, 76.97 GB free, 0.7: 201,681 tokens of 62 layers.
    result = answer(
        llm="deepseek-r1",
        gpu="h800-sxm",
        gpus=16,
        engine="sglang",
        engine_version="0.4.3",
        memory_fraction=0.7,
        draft=1,
        measured_free_before_load_bytes=76.97 * GIB,
        measured_weights_bytes=40.46 * GIB,
    )
    assert value(result, "kv_pool_tokens") == pytest.approx(201_681, rel=0.001)
