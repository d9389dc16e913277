from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.systems.multi_lora import POLICIES, Burst, Failure, Tenants
from tests.sims.systems.multi_lora.scene import COUNT, LENGTHS, asked, audited, config

FAILURES = (Failure(replica=1, at_s=5.0, detection_s=0.5, rejoin_s=5.0),)
CHANGES: dict[str, dict[str, Any]] = {
    **{policy: {"policy": policy, "copies": 2} for policy in POLICIES},
    "stalls": {"swap": "stalls"},
    "pipelined": {"swap": "pipelined"},
    "prompts first": {"prefill": "first"},
    "prompts first, stalls": {"prefill": "first", "swap": "stalls"},
    "fair": {"scheduler": "fair"},
    "pinned": {"pinned": (0, 1), "preload": "slots"},
    "cold replica": {"cold_replicas": 1, "policy": "affinity"},
    "cold replica with all": {"cold_replicas": 1, "cold_hold_all": True, "policy": "load_aware", "preload": "slots"},
    "placed anew": {"replace_every_s": 3.0},
    "host as small as slots": {"host_adapters": 4},
    "one slot": {"slots": 1, "host_adapters": 1},
    "launches always": {"lora_always": True},
    "KV for few": {"kv_capacity_tokens": 1500},
    "adapters in pages": {"adapter_tokens": 400, "slots": 20, "host_adapters": 20},
    "pages, stalls": {"adapter_tokens": 400, "slots": 20, "host_adapters": 24, "swap": "stalls", "scheduler": "fair"},
    "pages for few": {"adapter_tokens": 300, "slots": 8, "host_adapters": 8, "kv_capacity_tokens": 2400},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_nothing_is_lost_or_made_up(changes: dict[str, Any]) -> None:
    """Requests, tokens, slots, host memory, GPU time and the orders of use, at 60 moments with a failure."""
    source = asked(base_share=0.1, bursts=(Burst((3,), 20.0, LENGTHS, from_s=8.0, until_s=15.0),))
    found = audited(config(**changes), source=source, failures=FAILURES, warmup_s=2.0)
    assert found.counts["restarted"] > 0
    assert found.counts["finished"] > 300


@pytest.mark.parametrize("hold", [False, True], ids=["turned away", "held"])
def test_nothing_is_lost_under_limits(hold: bool) -> None:
    tenants = replace(Tenants.evenly(COUNT, tenants=4), limits_tokens_per_s=np.array([500.0, np.inf, 2000.0]))
    found = audited(config(hold_limited=hold), source=asked(requests=600), tenants=tenants)
    assert found.counts["finished"] + found.counts["limited"] == 600
    assert (found.counts["limited"] > 0) is not hold
