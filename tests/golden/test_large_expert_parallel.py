"""Whole systems with experts over many nodes, as published: one schedule and one set of figures for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.formulas import wide_expert, wide_layer

CATALOG = files.load()
KIND = kinds.get("llm_serving")
REACH = wide_layer.reach(CATALOG.calibration("wide_expert"))

# SGLang on 96 H100, https://lmsys.org/blog/2025-05-05-large-scale-ep/: prompts of one length, 16,384 tokens a GPU and
# step, no draft tokens; 4 nodes of prefill and 9 of decode, each measured with the other side unlimited.
BENCHMARK: dict[str, Any] = {
    "gpu": "h100-sxm",
    "rate_mode": "derived",
    "mtp": "off",
    "prefix_hit_rate": 0.0,
    "input_sigma": 0.0,
    "output_sigma": 0.0,
    "prefill_unit_gpus": 32,
    "decode_unit_gpus": 72,
    "prefill_step_tokens": 32 * 16_384,
}
# open-infra-index, day 6: 608 G input and 168 G output tokens, mean context 4,989, 56.3 % hits, 20-22 tok/s a user. The
# lengths follow from context = input + output / 2.
ANSWER = 4989 / (608 / 168 + 0.5)
DAY: dict[str, Any] = {
    "gpu": "h800-sxm",
    "rate_mode": "derived",
    "mtp": "off",
    "prefix_hit_rate": 0.563,
    "input_tokens": ANSWER * 608 / 168,
    "output_tokens": ANSWER,
    "tpot_slo_s": 1 / 21,
}


def rate(name: str, spec: dict[str, Any]) -> float:
    """Of a node of eight GPUs [tokens/s]."""
    value = KIND.estimate(KIND.spec.model_validate(spec), CATALOG).value(f"{name}_tokens_per_s_per_gpu")
    assert value is not None
    return 8 * value


def test_the_published_day_is_met_from_hardware_and_layout() -> None:
    assert rate("prefill", DAY) == pytest.approx(73_700 * (1 - 0.563), rel=0.15)
    assert rate("decode", DAY) == pytest.approx(14_800, rel=0.15)


@pytest.mark.parametrize(
    ("tokens", "published"), [(1024, 57_674), (2000, 52_300), (2000, 54_543), (4096, 50_302)], ids=str
)
def test_the_prefill_of_96_h100_is_met(tokens: int, published: float) -> None:
    assert rate("prefill", {**BENCHMARK, "input_tokens": float(tokens)}) == pytest.approx(published, rel=0.15)


@pytest.mark.parametrize(
    ("gpu", "gpus", "per_gpu", "context", "verified", "accepted", "overlap", "published"),
    [
        ("h100-sxm", 72, 256, 2000, 1, 1.0, True, 22_282),
        ("h100-sxm", 72, 256, 2000, 1, 1.0, False, 22_310 / 1.255),
        # Simulated drafts: 60 % of one drafted token accepted.
        ("h100-sxm", 72, 128, 4000, 2, 1.6, True, 17_373),
        ("h100-sxm", 72, 128, 4000, 2, 1.6, False, 12_929),
        # DeepSeek's own profile, https://github.com/deepseek-ai/profile-data, as quoted there.
        ("h800-sxm", 128, 128, 4096, 2, 1.6, True, 18_598),
        # The published day: 14,800 tok/s a node at 21 tok/s a user.
        ("h800-sxm", 144, 88, 4989, 1, 1.0, True, 14_800),
    ],
)
def test_decode_is_met_at_the_published_batch(
    gpu: str,
    gpus: int,
    per_gpu: float,
    context: float,
    verified: float,
    accepted: float,
    overlap: bool,
    published: float,
) -> None:
    step = unit(gpu, gpus, overlap=overlap).decode_step(
        per_gpu=per_gpu, context_tokens=context, tokens_per_sequence=verified
    )
    assert 8 * per_gpu * accepted / step.total_s == pytest.approx(published, rel=0.10)


def test_two_micro_batches_gain_and_lose_where_they_were_seen_to() -> None:
    """lmsys, as above: +25.5 % at 256 sequences a GPU; a loss at 64 and below."""
    gains = {}
    for per_gpu in (32, 256):
        both, one = (
            unit("h100-sxm", 72, overlap=overlap).decode_step(per_gpu=per_gpu, context_tokens=2000).total_s
            for overlap in (True, False)
        )
        gains[per_gpu] = one / both - 1
    assert gains[256] == pytest.approx(0.255, abs=0.03)
    assert gains[32] == 0.0  # an engine that may overlap need not


def test_another_llm_on_another_gpu_is_met_with_the_same_figures() -> None:
    """Kimi K2 on H200, https://lmsys.org/blog/2025-07-20-k2-large-scale-ep/: prefill over 32 GPUs, decode over 96."""
    prefill = unit("h200-sxm", 32, llm="kimi-k2").prefill_tokens_per_s_per_gpu(
        step_tokens=16_384, new_tokens=2000, cached_tokens=0
    )
    decode = unit("h200-sxm", 96, llm="kimi-k2", spare=96).decode_step(per_gpu=480, context_tokens=2050)
    assert 32 * prefill == pytest.approx(224_000, rel=0.15)
    assert 96 * 480 / decode.total_s == pytest.approx(288_000, rel=0.15)


def test_a_rack_of_72_is_met_with_the_same_figures() -> None:
    """GB200, FP8 attention and NVFP4 experts, https://lmsys.org/blog/2025-09-25-gb200-part-2/: 13,386 tok/s a GPU."""
    made = unit("gb200", 48)
    step = replace(made, layer=replace(made.layer, weight_dtype="nvfp4")).decode_step(per_gpu=1408, context_tokens=2000)
    assert 1408 / step.total_s == pytest.approx(13_386, rel=0.15)


def test_no_figure_belongs_to_one_system() -> None:
    """Both systems move when a shared figure of computing does: there is no second set behind either."""
    for field in ("gemm", "core_decode", "weights_read", "attention_launch_s"):
        changed = replace(REACH, **{field: getattr(REACH, field) * 1.2})
        for gpu, gpus, per_gpu, context in (("h800-sxm", 144, 88, 4989), ("h100-sxm", 72, 256, 2000)):
            before = unit(gpu, gpus).decode_step(per_gpu=per_gpu, context_tokens=context).total_s
            after = unit(gpu, gpus, reach=changed).decode_step(per_gpu=per_gpu, context_tokens=context).total_s
            assert after != before, (field, gpu)


def unit(
    gpu: str,
    gpus: int,
    *,
    llm: str = "deepseek-v3",
    spare: int = 32,
    overlap: bool = True,
    reach: wide_layer.Reach = REACH,
) -> wide_expert.Unit:
    layer = wide_layer.Layer(
        llm=CATALOG.llm(llm),
        gpu=CATALOG.gpu(gpu),
        gpus=gpus,
        rank_gpus=1,
        gpus_per_node=8,
        redundant_experts=spare,
        weight_dtype="fp8",
        kv_dtype_bytes=2.0,
        reach=reach,
    )
    return wide_expert.Unit(layer=layer, may_overlap=overlap)
