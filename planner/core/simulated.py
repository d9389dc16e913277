"""What the result of every simulation says alike: figures with intervals, how it was made, and that nothing ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from typing import Any, Protocol

from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, MetricDef, Result
from planner.core.simulation import Hooks, SimulationRequest, Workload
from planner.core.text import gettext_noop as _
from planner.core.wording import counted

_NOW = (
    MetricDef("requests_arrived", _("Arrived"), "requests", whole=True),
    MetricDef("requests_finished", _("Finished"), "requests", whole=True),
    MetricDef("requests_in_flight", _("In flight"), "requests", whole=True),
    MetricDef("requests_lost", _("Lost"), "requests", whole=True),
    MetricDef("queued", _("Queued"), "requests", whole=True),
    MetricDef("waiting", _("Waiting for decode"), "requests", whole=True),
    MetricDef("running", _("Decoding"), "requests", whole=True),
    MetricDef("kv_share", _("KV pool in use"), "ratio"),
    MetricDef("units_up", _("Units up"), "units", whole=True),
    MetricDef("prefill_units_up", _("Prefill units up"), "units", whole=True),
    MetricDef("steps_done", _("Steps done"), "steps", whole=True),
    MetricDef("answers_running", _("Answers under way"), "answers", whole=True),
)
NOW: Mapping[str, MetricDef] = {definition.name: definition for definition in _NOW}
"""What a run under way may tell of this moment (`Hooks.progress`, partial) beside the figures of its result."""

NO_REQUESTS = ("requests_arrived", "requests_finished", "requests_rejected", "requests_in_flight")


class Measured(Protocol):
    """A figure of a run with the interval that its batches give."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def batches(self) -> int: ...
    @property
    def reason(self) -> str: ...


class Ran(Protocol):
    """A finished run, as far as its result says how it was made."""

    @property
    def warmup_s(self) -> float: ...
    @property
    def horizon_s(self) -> float: ...
    @property
    def events(self) -> int: ...
    @property
    def ending(self) -> str: ...


class PartHooks:
    """Hooks of one of several runs: its progress is a part of the whole."""

    def __init__(self, hooks: Hooks, *, place: int, count: int) -> None:
        self._hooks, self._place, self._count = hooks, place, count
        self.progress(0.0, simulated_s=0.0, events=0)  # whoever counts knows by it that the next run begins

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        """Tell how far all runs are."""
        whole = (self._place + min(fraction, 1.0)) / self._count
        self._hooks.progress(whole, simulated_s=simulated_s, events=events, partial=partial)

    def cancelled(self) -> bool:
        """Whether to stop."""
        return self._hooks.cancelled()


def measured(definition: MetricDef, *, interval: Measured | None, objective: float | None = None) -> Metric:
    """A figure with what its interval leaves open: times are not below 0, shares not above 1."""
    if interval is None:
        return Metric(definition, None, basis="simulated", objective=objective)
    value, low, high = interval.value, None, None
    if interval.batches > 1:
        low, high = max(0.0, interval.low), interval.high
        if definition.unit == "ratio":
            high = min(1.0, high)
        low, high = min(low, value), max(high, value)
    return Metric(definition, value, low=low, high=high, basis="simulated", objective=objective)


def unreliable(intervals: Mapping[str, Measured | None], *, definitions: Mapping[str, MetricDef]) -> Iterator[Finding]:
    """Intervals that say less than they seem to, by the reason why."""
    by_reason: dict[str, list[str]] = {}
    for name, interval in intervals.items():
        if interval is not None and interval.reason:
            by_reason.setdefault(interval.reason, []).append(str(definitions[name].label))
    if not by_reason:
        return
    told = "; ".join(f"{', '.join(sorted(by_reason[reason]))} ({reason})" for reason in sorted(by_reason))
    text = f"Some intervals are unreliable: {told}."
    yield Finding("interval_unreliable", "info", text, suggestion="Simulate a longer time, or in several replications.")


def plain(definitions: Mapping[str, MetricDef], values: Mapping[str, float | None]) -> dict[str, Metric]:
    """Figures without an interval."""
    return {name: Metric(definitions[name], value, basis="simulated") for name, value in values.items()}


def how_much(finished: float, *, simulated_s: float, warmup_s: float) -> str:
    """What an answer rests on, for the note below it."""
    cut = f"; the first {show(warmup_s, 's')} are warm-up and not counted" if warmup_s > 0 else ""
    return f"{counted(finished, 'request')} over {show(simulated_s, 's')}{cut}."


def nothing_ran(
    definitions: Mapping[str, MetricDef],
    *,
    unknown: Iterable[str],
    finding: Finding,
    metric: str,
    request: SimulationRequest,
    catalog_digest: str,
) -> Result:
    """A result without requests: counts of zero, and figures that do not exist."""
    values = {**dict.fromkeys(unknown), **dict.fromkeys(NO_REQUESTS, 0.0)}
    answer = Answer(metric=metric, sentence=f"**Nothing was simulated.** {finding.message}", cost_metric=None)
    provenance = {"seed": request.seed, "catalog": catalog_digest}
    return Result(metrics=plain(definitions, values), answer=answer, findings=(finding,), provenance=provenance)


def provenance(
    request: SimulationRequest, *, workload: Workload | None, outcome: Ran, catalog_digest: str, code: str
) -> dict[str, Any]:
    """All that made a result: running the same again gives the same bytes; ``code`` is the simulator's digest."""
    return {
        "seed": request.seed,
        "engine": f"sims with numba {metadata.version('numba')}, numpy {metadata.version('numpy')}",
        "code": code,
        "catalog": catalog_digest,
        "workload": None if workload is None else workload.name,
        "workload_source": None if workload is None else workload.source,
        "options": dict(request.options),
        "warmup_s": outcome.warmup_s,
        "horizon_s": outcome.horizon_s,
        "events": outcome.events,
        "ending": outcome.ending,
        "interval": "95 %, 16 batches",
    }
