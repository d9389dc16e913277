"""What the tables of buffers are worth on a log they have not seen: each issue left out in turn.

The buffers of a cell (engine, version row, kind of GPU, ranks) are replaced by the median of what the other issues in
the cell imply; a cell without others keeps what the catalog has, and the row is counted as such.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner import kinds
from planner.kinds.engine_instance.plan import Plan, resolve
from tests.validation.memory import answer, figure, logs, spec_of
from tests.validation.memory_specs import CONFIGURED_ASIDE
from tests.validation.shipped import catalog

Cell = tuple[str, str, str, int]
_TABLES = {"vllm": "non_torch", "sglang": "lost_before_load", "tensorrt_llm": "outside_torch"}


@dataclass(frozen=True)
class Case:
    """A log with its buffers, as the catalog has them and as its own pool implies [bytes]."""

    id: str
    issue: str
    cell: Cell
    predicted_pool: float
    measured_pool: float
    share: float
    buffers: float

    @property
    def implied(self) -> float:
        return self.buffers + (self.predicted_pool - self.measured_pool) / self.share


def cases() -> Iterator[Case]:
    """Every log that is compared from its configuration alone."""
    for log in logs():
        tokens = figure(log, "kv_tokens")
        if tokens is None or log["id"] in CONFIGURED_ASIDE:
            continue
        found, known = answer(log), answer(log, measured_kv_tokens=int(tokens))
        if isinstance(found, str) or isinstance(known, str):
            continue
        pool, measured, buffers = (
            found.value("kv_pool_bytes"),
            known.value("kv_pool_bytes"),
            found.value("context_bytes"),
        )
        if not pool or not measured or buffers is None:
            continue
        plan = plan_of(log)
        fraction = plan.spec.memory_fraction or 1.0
        share = fraction if plan.settings["memory_fraction_of"] == "free_before_load" else 1.0
        yield Case(log["id"], log["source"], _cell(plan), pool, measured, share, buffers)


def plan_of(log: Mapping[str, str]) -> Plan:
    spec: Any = kinds.get("engine_instance").spec.model_validate(spec_of(log))
    return resolve(spec, catalog())


def _cell(plan: Plan) -> Cell:
    rows = plan.settings[_TABLES[plan.spec.engine]]
    ranks = plan.layout.gpus
    own = [row for row in rows if row["gpu_class"] == plan.gpu_class] or list(rows)
    step = max(int(row["ranks_from"]) for row in own if row["ranks_from"] <= ranks)
    return plan.spec.engine, str(plan.settings.get("since", "")), plan.gpu_class, step


def left_out() -> list[tuple[str, float, bool]]:
    """(row, relative error of the pool in per cent, whether other issues were in its cell)."""
    every, found = list(cases()), []
    for case in every:
        others = [each.implied for each in every if each.cell == case.cell and each.issue != case.issue]
        buffers = max(statistics.median(others), 0.0) if others else case.buffers
        pool = case.predicted_pool + case.share * (case.buffers - buffers)
        found.append((case.id, (pool / case.measured_pool - 1) * 100, bool(others)))
    return found
