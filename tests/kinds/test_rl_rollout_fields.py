"""Every field of a rollout changes the answer or is named as one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kinds import get
from tests.kinds.fields import Fields

TRACE = "azure-2023-conversation"
CONTEXTS: dict[str, dict[str, Any]] = {
    "reference": {},
    "synchronous": {"mode": "synchronous", "instance_gpus": 2},
    "one step off": {"mode": "one_step_off", "instance_gpus": 4},
    "co-located": {"mode": "colocated", "training_gpus": 96},
    "discard, computed again": {"enforcement": "discard", "new_weights": "recompute", "staleness_bound": 2},
    "carry, drained": {"enforcement": "carry", "new_weights": "drain", "staleness_bound": 1},
    "roofline": {"rate_source": "roofline", "instance_gpus": 4, "weight_bytes": None, "active_parameters": None},
    "filtered, over-sampled": {"mode": "synchronous", "instance_gpus": 4, "filtering": "on", "oversampling": 0.5},
    "slow scoring": {"scorer": "sandbox", "score_s": 30.0, "score_cv": 2.0, "instance_gpus": 2},
    "scored at once": {"mode": "synchronous", "instance_gpus": 4, "scored": "batch", "scorers": 64, "score_s": 10.0},
    "mixture of experts": {
        "llm": "qwen3-235b-a22b",
        "weight_bytes": 235e9,
        "active_parameters": 22e9,
        "instance_gpus": 8,
        "routing_returned": "on",
        "sync_method": "delta",
    },
    "point to point": {"sync_method": "point_to_point", "rollout_gpus": 40},
    "broadcast": {"sync_method": "broadcast", "kv_memory_bytes_per_gpu": 40e9, "kv_bytes_per_token": 131072.0},
    "trace": {"lengths": "trace", "workload": TRACE, "output_tokens": 2000.0},
    "no scoring time": {"score_s": 0.0},
    "nothing to do": {"problems": 0},
    "too large": {"weight_bytes": 1e12},
}
SETTINGS: dict[str, list[Any]] = {
    "llm": ["qwen3-30b-a3b", "llama-3-1-8b"],
    "weight_bytes": [16e9, None],
    "weight_dtype": ["bf16", "fp8"],
    "active_parameters": [8e9, None],
    "kv_bytes_per_token": [60_000.0, 300_000.0],
    "kv_dtype": ["bf16", "fp8"],
    "problems": [64, 256],
    "answers_per_problem": [8, 32],
    "prompt_tokens": [100.0, 4000.0],
    "filtering": ["on", "off"],
    "success_alpha": [0.3, 3.0],
    "success_beta": [0.3, 3.0],
    "oversampling": [0.2, 0.8],
    "lengths": ["lognormal"],
    "workload": [TRACE],
    "output_tokens": [4000.0, 1500.0],
    "max_output_tokens": [24_000.0, 48_000.0],
    "length_cv": [0.5, 1.5],
    "train_step_s": [200.0, 600.0],
    "training_gpus": [32, 128],
    "train_step_gpus": [32, 128],
    "train_exponent": [0.6, 0.8],
    "allowed_slowdown": [0.0, 0.5],
    "gpu": ["h200-sxm"],
    "rollout_gpus": [32, 64],
    "instance_gpus": [1, 2, 8],
    "running_cap": [8, 64],
    "kv_memory_bytes_per_gpu": [20e9, 60e9],
    "memory_share": [0.8, 0.95],
    "reserve_bytes": [2e9, 5e9],
    "instance_failures_per_h": [1e-3, 1e-2],
    "restart_s": [60.0, 3000.0],
    "rate_source": ["roofline", "stated"],
    "rate_tokens_per_s": [1500.0, 3500.0],
    "rate_batch": [64.0, 256.0],
    "utilisation_sync": [0.2, 0.5],
    "utilisation_async": [0.6, 0.8],
    "memory_efficiency": [0.6, 0.9],
    "mfu": [0.3, 0.6],
    "step_overhead_s": [0.0005, 0.003],
    "mode": ["synchronous", "one_step_off", "asynchronous", "colocated"],
    "staleness_bound": [1, 8],
    "enforcement": ["admission", "discard", "carry"],
    "loss": ["plain"],
    "new_weights": ["keep", "recompute", "drain"],
    "switch_bytes_per_gpu": [20e9, 60e9],
    "reshard_s": [0.0, 60.0],
    "sync_method": ["relay", "broadcast", "point_to_point", "delta"],
    "sync_links": [4, 16],
    "link_bytes_per_s": [25e9, 100e9],
    "sync_efficiency": [0.05, 0.5],
    "sync_fixed_s": [0.0, 5.0],
    "sync_per_tensor_s": [0.0, 1e-3],
    "sync_tensors": [10, 50_000],
    "relay_chunks": [4, 256],
    "delta_share": [0.001, 0.05],
    "delta_index_bytes": [1.0, 2.0],
    "scorer": ["reward_model", "rules"],
    "score_s": [2.0, 60.0],
    "score_cv": [0.3, 3.0],
    "score_timeout_s": [20.0, 60.0],
    "timed_out": ["drop", "fail"],
    "scorers": [200, 3000],
    "score_wait_s": [0.05, 10.0],
    "scored": ["group", "each"],
    "routing_returned": ["on", "off"],
    "routing_index_bytes": [1, 4],
    "token_bytes": [4.0, 16.0],
    "kept_steps": [10, 1000],
    "gpu_price_usd_per_h": [1.5, 4.0],
    "training_gpu_price_usd_per_h": [2.0, 5.0],
    "scorer_usd_per_h": [0.01, 0.5],
}
FIELDS = Fields(get("rl_rollout"), SETTINGS)


def test_all_fields_are_asked_for() -> None:
    assert FIELDS.all_are_asked_for()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    base = CONTEXTS[context]
    unfit = []
    if base.get("scored") == "batch":
        unfit = [("mode", "asynchronous")]
    mean = base.get("output_tokens", 8000.0)
    unfit += [("max_output_tokens", cap) for cap in SETTINGS["max_output_tokens"] if cap < mean]
    assert FIELDS.unfelt(base, unfit=unfit) == []
