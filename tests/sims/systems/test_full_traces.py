"""Public traces at full length through both topologies: nothing is lost, made up or out of order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Table
from sims.parts.paths import compress
from sims.parts.traces import Chains, Trace
from sims.systems.llm_serving import Outcome
from tests.sims.systems.scene import audited, config
from tests.sims.traces import columns_of, stream_of

ROWS = {
    "azure-2023-conversation": 19_366,
    "azure-2023-code": 8_819,
    "mooncake-conversation": 12_031,
    "mooncake-synthetic": 3_993,
}
"""As published."""


def table_of(name: str) -> Table:
    at_s, prompts, answers = columns_of(name)
    order = np.argsort(at_s, kind="stable")
    return Table(at_s=at_s[order], input=prompts[order], output=answers[order])


def fleet(*, aggregated: bool, **changes: Any):
    """Enough units of a large GPU for the longest of the prompts, 126 thousand tokens."""
    return config(
        aggregated=aggregated,
        decode_units=8,
        **({} if aggregated else {"prefill_units": 16}),
        prefill_budget_tokens=8192,
        prefill_s_per_token=2e-5,
        step_s_per_sequence=1e-5,
        step_s_per_kv_token=1e-9,
        kv_capacity_tokens=2_000_000,
        **changes,
    )


def replay(name: str, *, aggregated: bool, **how: Any) -> Outcome:
    return audited(fleet(aggregated=aggregated), arrivals=Trace(table_of(name), **how), samples=20)


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_a_public_trace_is_served_to_its_last_token(name: str, aggregated: bool) -> None:
    at_s, _, answers = columns_of(name)
    done = replay(name, aggregated=aggregated)
    assert done.ending == "complete"
    assert (done.arrived, done.finished, done.rejected, done.in_flight) == (ROWS[name], ROWS[name], 0, 0)
    assert done.horizon_s == pytest.approx(at_s.max())
    assert done.simulated_s >= at_s.max()
    # Gaps between tokens, summed over all answers: one fewer than their tokens.
    whole = done.histograms["itl"]
    assert int(whole.sum()) == int((answers - 1).sum())


def test_a_stretched_trace_with_its_rate_kept_loads_the_fleet_as_the_trace_does() -> None:
    """Half an hour of requests stretched onto a day's twelfth: the same load, four times as long."""
    once = replay("azure-2023-code", aggregated=True)
    longer = replay("azure-2023-code", aggregated=True, warp_to_s=4 * once.horizon_s, keep_rate=True)
    assert longer.arrived == pytest.approx(4 * once.arrived, rel=1e-3)
    assert longer.rates["output_tokens_per_s"] == pytest.approx(once.rates["output_tokens_per_s"], rel=0.02)


@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_the_blocks_of_a_trace_reach_the_simulator_as_they_were(name: str) -> None:
    """A cache without limit that reads stems finds the shares that were published: 36.6 % and 64.0 % of the blocks."""
    ids, offsets = stream_of(name)
    table = table_of(f"mooncake-{name}")
    assert (np.diff(columns_of(f"mooncake-{name}")[0]) >= 0).all()
    trace = Trace(table, chains=Chains(compress(ids, offsets=offsets), 512))
    stems = trace.prefixes.stems
    held = np.zeros(len(stems), np.int64)
    found = total = 0
    for row in np.concatenate(list(trace.chunks(1))):
        node, hits, reached = int(row["stem"]), 0, True
        path = []
        while node >= 0:
            path.append(node)
            node = int(stems[node].parent)
        for node in reversed(path):
            hits += int(held[node]) if reached else 0
            reached = reached and held[node] == stems[node].end - stems[node].depth
            held[node] = min(int(row["blocks"]), int(stems[node].end)) - stems[node].depth
        found, total = found + hits, total + int(row["blocks"])
    assert found / total == pytest.approx({"conversation": 0.366, "synthetic": 0.640}[name], abs=5e-4)
