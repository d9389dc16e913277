"""Random small systems with random requests, drawn by hypothesis; both topologies.

Coefficients have odd digits beyond the microsecond, so that two things meet at one moment only where the system makes
them meet: what is simulated step by step and in one go differs by rounding, which would decide who was first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sims.parts.arrivals import Table
from sims.parts.traces import Trace
from sims.systems.llm_serving import Config, UnitClass

UNITS = st.sampled_from([1, 1, 2, 3, 4])
Drawn = dict[str, st.SearchStrategy[Any]]
TRAITS: Drawn = {
    "prefill_ranks": UNITS,
    "prefill_budget_tokens": st.sampled_from([1, 7, 64, 5000]),
    "max_running": st.sampled_from([1, 2, 5, 1000]),
    "step_s": st.sampled_from([0.0101300731, 0.0]),
    "step_s_per_sequence": st.sampled_from([1.0700917e-4, 1.300042731e-3]),
    "step_s_per_kv_token": st.sampled_from([0.0, 1.0900331e-6]),
    "prefill_step_s": st.sampled_from([0.0, 2.300055713e-3]),
    "prefill_s_per_token": st.sampled_from([1.03007793e-4]),
    "prefill_s_per_token_pair": st.sampled_from([0.0, 1.1000463e-6]),
    "step_table": st.sampled_from([(), ((1, 0.003070817), (8, 0.004110933), (100, 0.02090057))]),
    "kv_capacity_tokens": st.sampled_from([90, 250, 800, 5000]),
}


def classes(traits: Drawn) -> st.SearchStrategy[tuple[UnitClass, ...]]:
    """Two sorts of units, one or two of each."""
    one = st.fixed_dictionaries({**traits, "count": st.integers(1, 2)}).map(lambda found: UnitClass(**found))
    return st.tuples(one, one)


UNIT_OF_A_ROLE: Drawn = {**TRAITS, "decode_ranks": st.integers(1, 3)}
REPLICA: Drawn = {
    **TRAITS,
    "block_tokens": st.sampled_from([1, 4, 16]),
    "reserve_full_prompt": st.booleans(),
    "prompt_token_weight": st.sampled_from([1.0, 0.3]),
    "pooled_share": st.sampled_from([0.0, 0.6]),
}
FLEET: Drawn = {
    "decode_units": UNITS,
    "gateway_s": st.sampled_from([0.0, 3.100019357e-3]),
    "router": st.sampled_from(["least_loaded", "round_robin"]),
}
APART: Drawn = {
    **FLEET,
    **UNIT_OF_A_ROLE,
    "prefill_units": UNITS,
    "egress_s_per_token": st.sampled_from([0.0, 1.01000877e-5, 1.700002939e-3]),
    "ingress_s_per_token": st.sampled_from([0.0, 1.30003779e-5, 0.900002143e-3]),
    "overlap_share": st.sampled_from([0.0, 0.4, 1.0]),
    "hand_over_s": st.sampled_from([0.0, 1.900041177e-3]),
    "kv_admission": st.sampled_from(["reserve", "retract"]),
    "kv_headroom_tokens": st.sampled_from([1, 3]),
    "decode_classes": st.just(()) | classes(UNIT_OF_A_ROLE),
    "prefill_classes": st.just(()) | classes(UNIT_OF_A_ROLE),
}
TOGETHER: Drawn = {**FLEET, **REPLICA, "aggregated": st.just(True), "decode_classes": st.just(()) | classes(REPLICA)}


@dataclass(frozen=True, slots=True)
class Case:
    """A system and what it is asked."""

    config: Config
    table: Table

    @property
    def arrivals(self) -> Trace:
        return Trace(self.table)


MIXED = st.tuples(
    st.sampled_from([0.0, 0.0, 0.0007, 0.0131, 0.177, 1.93]),
    st.integers(1, 60) | st.sampled_from([1, 16, 17, 64, 89, 90, 91, 300]),
    st.integers(0, 30) | st.sampled_from([0, 1, 2, 88]),
    st.sampled_from([0.0, 0.0, 0.37, 1.0]),
)
"""A gap from none (a burst) to longer than an answer, prompt, answer, cached share; some ask for none or too much."""
PRESSING = st.tuples(
    st.sampled_from([0.0, 0.0, 0.0007, 0.0131, 0.177]), st.integers(1, 30), st.integers(15, 58), st.just(0.0)
)
"""Answers that grow out of what there is for many at a time."""


def tables(*, most: int = 40) -> st.SearchStrategy[Table]:
    """Requests of either sort."""
    mixed, pressing = st.lists(MIXED, min_size=1, max_size=most), st.lists(PRESSING, min_size=most // 2, max_size=most)
    return (mixed | pressing).map(_table)


def _table(rows: list[tuple[float, int, int, float]]) -> Table:
    gaps, prompts, answers, shares = (np.array(column) for column in zip(*rows, strict=True))
    return Table(
        at_s=np.cumsum(gaps),
        input=prompts.astype(np.int64),
        output=answers.astype(np.int64),
        cached=(prompts * shares).astype(np.int64),
    )


def _cases(values: Drawn, most: int) -> st.SearchStrategy[Case]:
    setups = st.fixed_dictionaries(values).map(lambda found: Config(**found))
    return st.builds(Case, setups, tables(most=most))


def apart(*, most: int = 40) -> st.SearchStrategy[Case]:
    """Prefill and decode units."""
    return _cases(APART, most)


def together(*, most: int = 40) -> st.SearchStrategy[Case]:
    """Replicas that chunk prompts into decode steps."""
    return _cases(TOGETHER, most)
