"""Every field of a multi-LoRA design changes the answer or is named as one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kinds import get
from tests.kinds.fields import Fields

CONTEXTS: dict[str, dict[str, Any]] = {
    "reference": {},
    "past the cliff": {"slots": 16, "routing": "random", "replicas": 4},
    "by hash": {"routing": "hash", "replicas": 6},
    "gathering kernels": {"kernels": "gather", "launches": "eager"},
    "the base too": {"base_share": 0.3, "specialised_graphs": "on"},
    "the base alone": {"base_share": 1.0},
    "cold adapters": {"adapters": 5000, "host_memory_bytes": 20e9},
    "on disk": {"adapters": 5000, "host_memory_bytes": 20e9, "source": "disk"},
    "layer by layer": {"copying": "layers", "host_pages": "pageable"},
    "S-LoRA": {"engine": "slora", "max_rank": 64},
    "figures of the LLM": {
        "base_parameters": None,
        "llm": "qwen3-30b-a3b",
        "targets": "experts",
        "gpus_per_replica": 4,
    },
    "two GPUs": {"gpus_per_replica": 2, "copies_as": "slab"},
    "one replica": {"replicas": 1, "requests_per_s": 5.0},
    "limits": {"tenant_limit_rps": 1.0, "fairness": "first_come"},
    "no load": {"requests_per_s": 0.0},
    "one tenant": {"tenants": 1},
}
SETTINGS: dict[str, list[Any]] = {
    "llm": ["llama-3-1-70b", "qwen3-30b-a3b"],
    "base_parameters": [None, 7.0e9],
    "weight_dtype": ["fp8"],
    "kv_dtype": ["fp8"],
    "adapters": [500, 3000],
    "rank": [8, 32],
    "max_rank": [64],
    "targets": ["attention", "qv"],
    "enabled_targets": ["experts", "attention"],
    "vocabulary": ["on"],
    "adapter_dtype": ["fp32"],
    "popularity": ["zipf"],
    "zipf_exponent": [0.5, 1.2],
    "workload": ["azure-code-2023", "mooncake-synthetic"],
    "requests_per_s": [10.0, 100.0],
    "input_tokens": [300.0, 900.0],
    "input_sigma": [0.2, 1.2],
    "output_tokens": [100.0, 400.0],
    "output_sigma": [0.2, 1.2],
    "prefix_share": [0.0, 0.6],
    "base_share": [0.0, 0.5],
    "gpu": ["b200-sxm"],
    "gpus_per_replica": [2, 4],
    "replicas": [3, 9],
    "headroom": [0.0, 1.0, 10.0],
    "spare_replicas": [0, 3],
    "max_batch": [16, 512],
    "adapter_memory_bytes": [4e9, 12e9],
    "slots": [8, 150],
    "pinned_adapters": [4, 8],
    "host_memory_bytes": [2e9, 40e9],
    "host_adapters": [110, 2000],
    "memory_share": [0.7],
    "reserved_bytes": [8e9],
    "engine": ["sglang", "slora"],
    "kernels": ["gather", "grouped"],
    "launches": ["eager", "old_eager"],
    "specialised_graphs": ["on", "off"],
    "generation": ["first"],
    "sharding": ["full"],
    "mbu": [0.6],
    "mfu": [0.3],
    "step_overhead_s": [2e-3],
    "pcie_bytes_per_s": [50e9],
    "host_pages": ["pageable", "pinned"],
    "tensor_s": [450e-6],
    "copies_as": ["slab", "tensors"],
    "copying": ["beside", "layers", "stalls"],
    "source": ["disk", "object_store"],
    "store_first_byte_s": [0.02],
    "store_bytes_per_s": [20e6],
    "store_connections": [1],
    "disk_bytes_per_s": [1e9],
    "parse_s": [0.5],
    "cold_replicas": [1],
    "routing": ["random", "hash", "load_aware"],
    "copies": [2, 3],
    "tenants": [10, 400],
    "tenant_adapters": ["blocks"],
    "fairness": ["first_come", "weighted"],
    "premium_share": [0.5],
    "premium_weight": [20.0],
    "output_weight": [5.0],
    "noisy_factor": [200.0, 2.0],
    "tenant_limit_rps": [0.3, 5.0],
    "tenant_slots": [1],
    "ttft_p99_slo_s": [0.05],
    "tpot_slo_s": [0.02],
    "gpu_price_usd_per_h": [4.0],
}
FIELDS = Fields(get("multi_lora"), SETTINGS)
UNFIT: dict[str, list[tuple[str, Any]]] = {
    # Both have slots, which S-LoRA has not: it is the context that differs from the default.
    "S-LoRA": [("engine", "sglang")],
}


def test_all_fields_are_asked_for() -> None:
    assert FIELDS.all_are_asked_for()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    assert FIELDS.unfelt(CONTEXTS[context], unfit=_unfit(context)) == []


def _unfit(context: str) -> list[tuple[str, Any]]:
    """Settings that exclude what the context says."""
    base = CONTEXTS[context]
    found = list(UNFIT.get(context, []))
    spec = FIELDS.kind.spec
    for field, settings in SETTINGS.items():
        for setting in settings:
            try:
                spec.model_validate({**base, field: setting})
            except ValueError:
                found.append((field, setting))
    return found
