"""Every field of a fleet changes the answer or is named as one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kinds import get
from tests.kinds.fields import Fields

DENSE: dict[str, Any] = {
    "llm": "llama-3.1-70b",
    "gpu": "h100-sxm",
    "prefill_unit_gpus": 8,
    "decode_unit_gpus": 8,
    "kv_bytes_per_token": None,
    "decode_tokens_per_s_per_gpu": 300.0,
}
SMALL: dict[str, Any] = {
    "llm": "qwen3-30b-a3b",
    "gpu": "h100-sxm",
    "prefill_unit_gpus": 2,
    "decode_unit_gpus": 2,
    "kv_bytes_per_token": None,
    "rate_mode": "derived",
}
OTHER_GPU = {"decode_gpu": "h200-sxm", "decode_gpu_price_usd_per_h": 3.0}
CONTEXTS: dict[str, dict[str, Any]] = {
    "reference": {},
    "derived": {"rate_mode": "derived"},
    "no drafts": {"mtp": "off"},
    "derived, no drafts": {"rate_mode": "derived", "mtp": "off"},
    "aggregated": {"topology": "aggregated"},
    "aggregated, derived, other GPU": {"topology": "aggregated", "rate_mode": "derived", **OTHER_GPU},
    "other GPU": OTHER_GPU,
    "dense": DENSE,
    "dense, derived, aggregated": {**DENSE, "rate_mode": "derived", "topology": "aggregated"},
    "inside a node": SMALL,
    "no output": {"output_tokens": 0.0},
    "stated fixed part": {"decode_step_fixed_share": 0.3},
}
SETTINGS: dict[str, list[Any]] = {
    "peak_rps": [100.0, 2000.0],
    "input_tokens": [500.0, 6000.0],
    "output_tokens": [100.0, 2000.0],
    "prefix_hit_rate": [0.0, 0.9],
    "input_sigma": [0.1, 1.5],
    "output_sigma": [0.1, 1.5],
    "llm": ["qwen3-235b-a22b"],
    "gpu": ["b200-sxm"],
    "decode_gpu": ["b200-sxm"],
    "gpus_per_node": [4, 16],
    "gpu_price_usd_per_h": [1.0, 9.0],
    "decode_gpu_price_usd_per_h": [5.0],
    "kv_bytes_per_token": [30_000.0],
    "weight_dtype": ["bf16", "nvfp4"],
    "kv_dtype": ["fp8"],
    "engine": ["vllm", "tensorrt-llm"],
    "rate_mode": ["assumed", "derived"],
    "prefill_tokens_per_s_per_gpu": [1000.0, 9000.0],
    "decode_tokens_per_s_per_gpu": [200.0, 900.0],
    "rate_uncertainty": [0.05, 0.4],
    "mtp": ["on", "off"],
    "mtp_accepted_tokens": [0.2, 0.5],
    "mtp_step_cost": [1.2, 2.0],
    "overlap": ["none"],
    "topology": ["aggregated", "disaggregated"],
    "prefill_unit_gpus": [16, 64],
    "decode_unit_gpus": [16, 72],
    "headroom": [0.0, 0.5],
    "spare_prefill_units": [2],
    "spare_decode_units": [2],
    "ttft_p99_slo_s": [0.5, 8.0],
    "tpot_slo_s": [0.03, 0.2],
    "availability": [0.9, 0.99999],
    "failures_per_node_h": [1e-4, 1e-2],
    "repair_h": [0.1, 20.0],
    "detection_s": [1.0, 9.0],
    "mean_to_peak": [0.5],
    "growth_per_month": [0.05, 0.5],
    "prefill_rank_gpus": [1, 2],
    "decode_rank_gpus": [1, 2],
    "prefill_step_tokens": [2048, 65_536],
    "prefill_step_fixed_s": [0.0, 0.02],
    "decode_step_fixed_share": [0.1, 0.6],
    "redundant_experts": [0, 64],
    "kv_memory_share": [0.8, 0.95],
    "runtime_bytes": [4e9, 12e9],
    "gateway_s": [0.0, 0.1],
    "handover_fixed_s": [0.0, 0.1],
    "nic_efficiency": [0.5, 0.95],
    "pue": [1.0, 1.6],
    "host_w_per_node": [2000.0, 9000.0],
}


FIELDS = Fields(get("llm_serving"), SETTINGS)


def test_all_fields_are_asked_for() -> None:
    assert FIELDS.all_are_asked_for()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    assert FIELDS.unfelt(CONTEXTS[context]) == []
