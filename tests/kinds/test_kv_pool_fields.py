"""Every field of a pool changes the answer or is named as one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kinds import get
from tests.kinds.fields import Fields

FROM_LLM = {"kv_bytes_per_token": None, "active_parameters": None, "attention_width": None, "gpu_flops_per_s": None}
CONTEXTS: dict[str, dict[str, Any]] = {
    "reference": {},
    "popular prefixes": {"source": "zipf"},
    "a trace": {"source": "trace", "workload": "mooncake-conversation"},
    "mixed pauses": {"gap_law": "hyperexponential"},
    "exponential pauses": {"gap_law": "exponential"},
    "agents": {"agent_share": 0.5, "one_shot_share": 0.2},
    "agents only": {"agent_share": 1.0},
    "a shared prefix": {"shared_prefix_tokens": 2000.0},
    "figures of the LLM": FROM_LLM,
    "latents": {**FROM_LLM, "llm": "deepseek-v3"},
    "states": {**FROM_LLM, "llm": "qwen3-next-80b-a3b", "state_grain_tokens": 1024},
    "after a time": {"eviction": "ttl"},
    "by value": {"eviction": "value", "agent_share": 0.5},
    "write-back": {"write_mode": "back"},
    "fetch first": {"overlap": "none"},
    "versions by request": {"version_by": "request"},
    "no SSD": {"ssd_bytes_per_node": 0.0},
    "no DRAM": {"dram_bytes_per_node": 0.0},
    "HBM only": {"dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0},
    "paid with the nodes": {"dram_paid": "in_rent"},
    "sessions wander": {"placement": "random"},
}
SETTINGS: dict[str, list[Any]] = {
    "turns_per_s": [10.0, 200.0],
    "context_tokens": [6000.0, 12_000.0],
    "new_tokens": [600.0, 1200.0],
    "output_tokens": [100.0, 500.0],
    "source": ["sessions", "zipf"],
    "continue_probability": [0.5, 0.85],
    "gap_law": ["exponential", "lognormal", "hyperexponential"],
    "gap_s": [60.0, 900.0],
    "gap_sigma": [0.5, 2.0],
    "gap_long_s": [600.0, 9000.0],
    "gap_long_share": [0.1, 0.5],
    "zipf_items": [1000, 500_000],
    "zipf_exponent": [0.5, 1.2],
    "workload": ["mooncake-synthetic"],
    "shared_prefix_tokens": [1000.0, 3000.0],
    "shared_prefix_groups": [1, 5000],
    "one_shot_share": [0.1, 0.5],
    "agent_share": [0.2, 0.7],
    "agent_gap_s": [3.0, 60.0],
    "agent_continue_probability": [0.5, 0.9],
    "llm": ["llama-3-1-8b", "deepseek-v3"],
    "gpu": ["b200-sxm"],
    "kv_bytes_per_token": [80e3],
    "kv_dtype": ["bf16"],
    "active_parameters": [30e9],
    "attention_width": [655_360.0, 300_000.0],
    "layers": [10],
    "gpu_flops_per_s": [500e12],
    "mfu": [0.3],
    "prefill_gpus": [4],
    "nodes": [8, 32],
    "gpus_per_node": [4],
    "hbm_bytes_per_gpu": [20e9],
    "dram_bytes_per_node": [3e12],
    "ssd_bytes_per_node": [6e12],
    "dram_read_bytes_per_s": [100e9],
    "ssd_read_bytes_per_s": [20e9],
    "ssd_write_bytes_per_s": [1e9, 200e9],
    "network_bytes_per_s": [50e9],
    "link_efficiency": [0.5],
    "dram_latency_s": [0.01],
    "ssd_latency_s": [0.01],
    "latent_reads": ["each_gpu"],
    "eviction": ["ttl", "value"],
    "ttl_s": [60.0, 1000.0],
    "relation": ["exclusive", "inclusive"],
    "placement": ["affinity", "random"],
    "block_tokens": [64, 512],
    "entry_bytes": [200.0],
    "state_grain_tokens": [512, 4096],
    "state_bytes": [1e6],
    "write_mode": ["back"],
    "written": ["context"],
    "admitted_share": [0.5],
    "flush_s": [60.0],
    "ssd_dwpd": [3.0],
    "ssd_rated_years": [3.0],
    "write_amplification": [2.0],
    "prefill_units": [20],
    "headroom": [1.0],
    "ttft_p99_slo_s": [1.0],
    "ttft_fixed_s": [0.2],
    "overlap": ["none"],
    "contention": ["fifo"],
    "link_limit": [0.01],
    "canary_weight": [0.2],
    "version_by": ["request"],
    "gpu_price_usd_per_h": [4.0],
    "dram_usd_per_gb_month": [1.0],
    "ssd_usd_per_gb_month": [0.02, 1e-5],
    "dram_paid": ["in_rent"],
    "tier_budget_usd_per_month": [1000.0],
}


FIELDS = Fields(get("kv_pool"), SETTINGS)


def test_all_fields_are_asked_for() -> None:
    assert FIELDS.all_are_asked_for()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    assert FIELDS.unfelt(CONTEXTS[context]) == []
