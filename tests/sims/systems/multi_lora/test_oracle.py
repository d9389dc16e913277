"""The data plane against a replica written down plainly, request by request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.systems.multi_lora import AdapterRequests, Config, Outcome, Tenants, simulate
from tests.sims.systems.multi_lora.oracle import Ask, Replica
from tests.sims.systems.multi_lora.scene import COUNT, asked, config

TENANTS = Tenants.evenly(COUNT, tenants=5)
CHANGES: dict[str, dict[str, Any]] = {
    "beside": {},
    "stalls": {"swap": "stalls"},
    "pipelined": {"swap": "pipelined"},
    "prompts first": {"prefill": "first"},
    "prompts first, stalls": {"prefill": "first", "swap": "stalls"},
    "fair": {"scheduler": "fair"},
    "fair, one slot": {"scheduler": "fair", "slots": 1, "host_adapters": 2},
    "more slots than places": {"slots": 12, "host_adapters": 12, "max_running": 6},
    "host as small as slots": {"host_adapters": 4},
    "KV for few": {"kv_capacity_tokens": 2000},
    "adapters in pages": {"adapter_tokens": 500, "slots": 14, "host_adapters": 14, "swap": "stalls"},
    "pages, beside": {"adapter_tokens": 900, "slots": 8, "host_adapters": 16},
}


def oracle(setup: Config, source: AdapterRequests) -> list[Ask]:
    """What becomes of each request, in order of arrival."""
    asks = []
    for chunk in source.chunks(1):
        for row in chunk:
            if row["input"] + row["output"] <= setup.kv_capacity_tokens:
                todo = max(1, int(row["input"] - row["cached"]))
                asks.append(Ask(float(row["at_s"]), int(row["adapter"]), todo, int(row["input"]), int(row["output"])))
    Replica(setup, TENANTS.of_adapter).run(asks)
    return asks


def columns(found: Outcome) -> np.ndarray:
    rows = np.sort(found.log, order="sent_s")
    return np.array([rows.adapter, rows.sent_s, rows.admitted_s, rows.first_s, rows.finish_s])


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_every_request_is_served_when_a_plain_replica_serves_it(changes: dict[str, Any]) -> None:
    """Moments of admission, first and last token; closed forms and sums of steps differ by rounding only."""
    setup = config(replicas=1, **changes)
    source = asked(rate=8.0, requests=400)
    found = simulate(setup, source=source, tenants=TENANTS, log=1000)
    asks = oracle(setup, source)
    expected = np.array([[one.adapter, one.at_s, one.admitted_s, one.first_s, one.finish_s] for one in asks]).T
    assert columns(found).shape == expected.shape
    np.testing.assert_allclose(columns(found), expected, rtol=1e-9, atol=1e-9)
    assert found.counts["copies"] > 30
