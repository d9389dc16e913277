"""The files that ship: complete, sourced, and in step with published figures."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from planner.catalog import files
from planner.catalog.facts import trace_facts
from planner.catalog.importers.traces import read_trace
from planner.core.catalog import Figure, UnknownEntry
from planner.formulas import attention, memory

LLMS = files.load().llms()
GPUS = files.load().gpus()
LIMITS = {"max_bytes": 2**26, "max_unpacked_bytes": 2**26, "max_rows": 10**6}


def test_there_is_enough_of_everything(shipped):
    assert len(shipped.gpus()) >= 45
    assert len(shipped.llms()) >= 100
    assert {engine.slug for engine in shipped.engines()} == {"vllm", "sglang", "tensorrt_llm"}
    assert {link.scope for link in shipped.links()} == {"scale_up", "host", "scale_out"}
    assert len(shipped.prices()) >= 50


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.slug)
def test_a_gpu_has_plausible_memory_and_a_source_for_each_figure(gpu):
    marketed_gib, visible_gib = gpu.figure("memory_bytes") / 1e9, gpu.figure("visible_memory_bytes") / 2**30
    assert 0.9 <= visible_gib / marketed_gib <= 1.005, "marketed GB is GiB of HBM, less what ECC and driver take"
    assert all(isinstance(each, Figure) and each.source and each.as_of for each in gpu.figures.values())
    if gpu.has("bf16_flops_per_s") and gpu.has("fp8_flops_per_s"):
        assert gpu.figure("fp8_flops_per_s") >= gpu.figure("bf16_flops_per_s")
    if gpu.has("scaleup_gpus") and gpu.figure("scaleup_gpus") > 1:
        assert gpu.figure("scaleup_bytes_per_s") > 0


@pytest.mark.parametrize(
    ("slug", "gib"), [("h100-sxm", 79.2), ("h200-sxm", 139.7), ("a100-sxm-80gb", 79.3), ("gb300", 276.5), ("t4", 14.56)]
)
def test_visible_memory_is_what_engines_log(shipped, slug, gib):
    assert shipped.gpu(slug).figure("visible_memory_bytes") / 2**30 == pytest.approx(gib, abs=0.1)


def test_the_share_alike_efficiencies_do_not_ship(shipped):
    texts = [path.read_text() for path in (files.DATA / "gpus").glob("*.toml")]
    assert not any("794.5" in text or "1402.6" in text or "matmul" in text for text in texts)


@pytest.mark.parametrize("llm", [llm for llm in LLMS if llm.published_params], ids=lambda llm: llm.slug)
def test_counted_parameters_are_within_one_percent_of_the_published_total(llm):
    assert memory.parameters(llm)["total"] == pytest.approx(llm.published_params, rel=0.01)


@pytest.mark.parametrize("llm", [llm for llm in LLMS if llm.published_active_params], ids=lambda llm: llm.slug)
def test_active_parameters_are_within_three_percent_of_those_published(llm):
    """Publishers count the embedding, or leave it out because it is looked up, or leave out the head as well."""
    counts = memory.parameters(llm)
    without_embedding = counts["active"] - counts["embedding"]
    meant = (counts["active"], without_embedding, without_embedding - counts["head"])
    assert min(abs(each / llm.published_active_params - 1) for each in meant) <= 0.03


def test_most_llms_quote_a_published_total():
    assert sum(llm.published_params is not None for llm in LLMS) >= 80


def test_the_families_are_there(shipped):
    families = {llm.family for llm in shipped.llms()}
    assert {"DeepSeek", "Falcon", "Gemma", "GLM", "Granite", "Jamba", "Kimi", "Llama", "MiMo", "MiniMax"} <= families
    assert {"Mistral", "Nemotron", "Phi", "Qwen", "Step", "gpt-oss", "Command"} <= families


@pytest.mark.parametrize(
    ("slug", "kv_bytes"),
    [("llama-3-1-8b", 131_072), ("llama-3-1-70b", 327_680), ("qwen3-32b", 262_144), ("deepseek-v3", 70_272)],
)
def test_the_cache_of_a_token_is_the_golden_figure(shipped, slug, kv_bytes):
    assert attention.kv_bytes_per_token(shipped.llm(slug), dtype_bytes=2) == kv_bytes


def test_the_state_of_a_hybrid_fills_the_page_an_engine_logged(shipped):
    """vLLM rounds its attention block up to the state: 2,096 tokens of fp8 cache for a 35B with these shapes."""
    llm = shipped.llm("qwen3.5-35b-a3b")
    state = llm.linear.state_bytes / llm.linear.layers
    token = 2 * llm.kv_heads * llm.head_dim * 1
    assert np.ceil(state / token / 16) * 16 == 2096


def test_a_hybrid_fills_the_pools_an_engine_logged(shipped):
    """SGLang on two ranks: 327,310 tokens in 5.0 GiB of cache, 186 states in 0.10 + 4.38 GiB, 8.85 GiB of weights."""
    llm = shipped.llm("qwen3.5-9b")
    cache = 327_310 * attention.kv_bytes_per_token(llm, dtype_bytes=2, tensor_parallel=2) / 2**30
    states = 186 * attention.recurrent_state_bytes(llm, tensor_parallel=2) / 2**30
    assert cache == pytest.approx(5.0, abs=0.01)
    assert states == pytest.approx(4.48, rel=0.01)
    assert memory.weight_bytes(llm, dtype="bf16") / 2 / 2**30 == pytest.approx(8.85, rel=0.015)


def test_windows_with_heads_of_their_own_fill_the_pool_an_engine_logged(shipped):
    """SGLang on four ranks holds 300,288 tokens of MiMo-V2-Flash's windows in 8.38 GB of keys and 5.59 of values."""
    llm = shipped.llm("mimo-v2-flash")
    token = attention.layer_kv_bytes_per_token(llm, dtype_bytes=2, tensor_parallel=4, windowed=True)
    assert 300_288 * llm.sliding.layers * token / 2**30 == pytest.approx(8.38 + 5.59, abs=0.01)


@pytest.mark.parametrize("record", files.load().records("workloads"), ids=lambda record: record.slug)
def test_a_shipped_trace_says_its_licence_and_matches_its_print(record):
    content = record.content
    if content.form == "profile":
        return
    path = files.DATA / "workloads" / content.file
    assert path.stat().st_size < 800_000
    assert hashlib.sha256(path.read_bytes()).hexdigest() == content.sha256
    assert content.licence in ("CC BY 4.0", "Apache-2.0", "MIT")
    assert any(name in content.attribution for name in ("Azure", "Mooncake", "LLMServingSim"))
    header = gzip.decompress(path.read_bytes()).split(b"\n", 1)[0]
    assert set(header.decode().split(",")) <= {"arrival_s", "input_tokens", "output_tokens", "hash_ids"}


@pytest.mark.parametrize(
    ("slug", "requests", "inputs", "outputs"),
    [
        ("azure-2023-conversation", 19_366, 1154.7, 211.1),
        ("azure-2023-code", 8_819, 2047.8, 27.9),
        ("mooncake-conversation", 12_031, 12_035, 343),
        ("mooncake-synthetic", 3_993, 15_325, 149),
    ],
)
def test_a_shipped_trace_has_the_published_size_and_means(slug, requests, inputs, outputs):
    facts = trace_facts(read_trace((files.DATA / "workloads" / f"{slug}.csv.gz").read_bytes(), **LIMITS))
    assert facts["requests"] == facts["rows"] == requests
    assert facts["input_tokens"] == pytest.approx(inputs, abs=0.5)
    assert facts["output_tokens"] == pytest.approx(outputs, abs=0.5)
    assert 16 * 60 < facts["duration_s"] <= 3600
    assert sum(facts["arrivals"]["requests"]) == requests


def test_the_requests_of_the_measured_vllm_runs_are_those_of_their_file():
    """300 requests within 30 s; 7.7 % of their blocks of 16 tokens hit a cache without limit, as its readers count."""
    trace = files.load().workload("sharegpt-llama-300")
    assert trace.requests == 300
    assert 29 < trace.arrival_s[-1] < 30
    assert (trace.input_tokens.mean(), trace.output_tokens.mean()) == pytest.approx((857.46, 652.51), abs=0.01)
    assert trace.blocks.tokens == 16
    assert trace.cached_tokens.sum() / 16 / len(trace.blocks.ids) == pytest.approx(0.077, abs=0.001)


@pytest.mark.parametrize(
    ("slug", "lookups", "distinct", "share"),
    [("mooncake-conversation", 288_500, 182_790, 0.3664), ("mooncake-synthetic", 121_877, 43_924, 0.6396)],
)
def test_the_hits_of_the_mooncake_traces_are_those_computed_elsewhere(slug, lookups, distinct, share):
    """36.6 and 64.0 % of their blocks hit a cache without limit; blocks are 512 tokens but for each request's last."""
    catalog = files.load()
    trace = catalog.workload(slug)
    assert trace is catalog.workload(slug)
    assert (len(trace.blocks.ids), trace.blocks.distinct, trace.blocks.tokens) == (lookups, distinct, 512)
    seen: set[int] = set()
    hits = sum(1 for each in trace.blocks.ids.tolist() if each in seen or seen.add(each))
    assert hits / lookups == pytest.approx(share, abs=0.0005)
    # One prompt holds a single token in its last block, and that one is computed.
    assert hits - 1 <= np.ceil(trace.cached_tokens / 512).sum() <= hits
    assert (trace.cached_tokens < trace.input_tokens).all()


def test_a_profile_has_no_requests():
    with pytest.raises(UnknownEntry):
        files.load().workload("chat-reference")


def test_two_price_lists_of_one_provider_agree_through_the_currency_table(shipped):
    """DeepSeek asks 9.0 CNY in one list and 1.32 USD in the other: the ECB's rates bring them within a percent."""
    dollars, renminbi = (shipped.api_price(f"deepseek-v4-pro-peak{end}") for end in ("", "-cny"))
    assert renminbi.currency == "CNY"
    assert renminbi.input_usd_per_m == pytest.approx(dollars.input_usd_per_m, rel=0.01)
    assert renminbi.output_usd_per_m == pytest.approx(dollars.output_usd_per_m, rel=0.01)


def test_cached_input_is_never_dearer_than_input_at_an_api(shipped):
    assert len(shipped.api_prices()) >= 20
    assert all(0 < each.cached_input_usd_per_m <= each.input_usd_per_m for each in shipped.api_prices())
