"""Runs of one simulation with seeds of their own, and the one result of them all."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.chart import Chart, Trace
from planner.core.result import Column, Finding, Metric, Result, Series, order_findings
from planner.core.simulated import measured
from planner.core.simulation import Hooks, SimulationRequest
from planner.core.timeline import TIMELINE

MOST_REPLICATIONS = 64
COUNTS = "requests_"
"""How the names of counts begin: they are added up, whatever else is averaged."""
SPREAD, LOW, HIGH = "timeline_spread", "_low", "_high"
"""The series beside the time line with the least and the most of all replications, and how its columns end."""
Values = Sequence[float | str | None]
PERCENTILE = re.compile(r"_p\d+(_|$)")
"""How the name of a percentile looks: it is that of all observations, and never a mean of percentiles."""
ONCE = ("simulated_s",)
"""Figures that an interval would say nothing about."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """How a kind runs once, and what it concludes from one run or from several put together.

    ``observe(spec, catalog, request, hooks)`` gives what a run has shown by name, the design's own first; nothing
    where there is nothing to run. ``conclude(spec, catalog, request, observed)`` makes the result of it. ``outcome``
    names the class of what is observed. Both raise what `Simulator.run` raises.
    """

    observe: Callable[[Any, Catalog, SimulationRequest, Hooks], Mapping[str, Any]]
    conclude: Callable[[Any, Catalog, SimulationRequest, Mapping[str, Any]], Result]
    outcome: Callable[[], type]

    def run(self, spec: Any, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Result:
        """Once, with the seed of the request."""
        return self.conclude(spec, catalog, request, self.observe(spec, catalog, request, hooks))

    def part(self, spec: Any, catalog: Catalog, request: SimulationRequest, hooks: Hooks, *, place: int) -> bytes:
        """What the replication at ``place`` (from 0) shows, as bytes for `together`."""
        from sims.engine.packing import pack

        seed = seeds(request.seed, count=place + 1)[place]
        return pack(self.observe(spec, catalog, replace(request, seed=seed), hooks))

    def together(self, spec: Any, catalog: Catalog, request: SimulationRequest, *, parts: Sequence[bytes]) -> Result:
        """The result of all replications, in the order of their places; of one it is that of `run`.

        Percentiles, means and shares with an interval come from what all have observed together. Of what a run has but
        one figure for, the mean over the replications is told (of a percentile that of all), with Student's interval.
        """
        from sims.engine.merge import merged
        from sims.engine.packing import unpack

        observed: list[dict[str, Any]] = [unpack(part, of=self.outcome()) for part in parts]
        each = [self.conclude(spec, catalog, request, one) for one in observed]
        if len(each) == 1:
            return each[0]
        whole = {name: merged([one[name] for one in observed]) for name in observed[0]}
        return _of_all(self.conclude(spec, catalog, request, whole), each=each, seed=request.seed)


def seeds(seed: int, *, count: int) -> list[int]:
    """The seeds of all replications: they depend on the seed alone, so designs meet the same requests in each."""
    from sims.engine.streams import replication_seed

    return [replication_seed(seed, place=place) for place in range(count)]


def _of_all(found: Result, *, each: Sequence[Result], seed: int) -> Result:
    count, used = len(each), [str(one) for one in seeds(seed, count=len(each))]
    metrics = {name: _metric(metric, own=[one.value(name) for one in each]) for name, metric in found.metrics.items()}
    made = {"replications": count, "seeds": used, "interval": f"95 %, {count} replications"}
    return replace(
        found,
        metrics=metrics,
        answer=replace(found.answer, note=f"{count} replications; counts are of all of them. {found.answer.note}"),
        findings=order_findings((*found.findings, *_remarks(found, each=each))),
        series={**found.series, **_spread(found, each=each), "replications": _table(found, each=each, seeds=used)},
        provenance={**found.provenance, **made},
    )


def _metric(metric: Metric, *, own: Sequence[float | None]) -> Metric:
    known = [value for value in own if value is not None]
    if metric.value is None or metric.low is not None or len(known) < len(own):
        return metric
    if metric.definition.name.startswith(COUNTS):
        return replace(metric, value=math.fsum(known))
    if min(known) == max(known):
        return replace(metric, value=known[0])
    centre = metric.value if PERCENTILE.search(metric.definition.name) else math.fsum(known) / len(known)
    if metric.definition.name in ONCE:
        return replace(metric, value=centre)
    from sims.engine.interval import replicated_interval

    interval = replicated_interval(centre, own=known, batches=[])
    return measured(metric.definition, interval=interval, objective=metric.objective)


def _remarks(found: Result, *, each: Sequence[Result]) -> Sequence[Finding]:
    """What only the replications side by side can tell."""
    if not any(metric.low is not None for metric in found.metrics.values()):
        return []
    shown = [[metric.value for metric in one.metrics.values()] for one in each]
    if all(one == shown[0] for one in shown):
        text = "All replications are alike: nothing in this run is drawn at random, so one would do."
        return [Finding("replications_alike", "info", text)]
    alone = {code: sum(any(one.code == code for one in result.findings) for result in each) for code in _gravest(each)}
    told = {one.code for one in found.findings}
    return [
        Finding(code, "warning", f"In {count} of {len(each)} replications: {_said(each, code=code)}")
        for code, count in alone.items()
        if code not in told
    ]


def _gravest(each: Sequence[Result]) -> list[str]:
    codes = [finding.code for one in each for finding in one.findings if finding.severity == "error"]
    return list(dict.fromkeys(codes))


def _said(each: Sequence[Result], *, code: str) -> str:
    return next(finding.message for one in each for finding in one.findings if finding.code == code)


def banded(charts: Sequence[Chart], *, simulated: Result) -> list[Chart]:
    """The charts with what the replications leave open around each line of the time line."""
    spread, line = simulated.series.get(SPREAD), simulated.series.get(TIMELINE)
    if spread is None or line is None:
        return list(charts)
    ends = {column.name: column.values for column in spread.columns}
    by_label = {
        column.label: (ends.get(f"{column.name}{LOW}"), ends.get(f"{column.name}{HIGH}")) for column in line.columns
    }
    return [
        replace(chart, traces=tuple(_banded(trace, *by_label.get(trace.name, (None, None))) for trace in chart.traces))
        if chart.form == "line"
        else chart
        for chart in charts
    ]


def _banded(trace: Trace, low: Values | None, high: Values | None) -> Trace:
    if low is None or high is None or len(low) != len(trace.y):
        return trace
    return replace(trace, low=[_figure(value) for value in low], high=[_figure(value) for value in high])


def _spread(found: Result, *, each: Sequence[Result]) -> dict[str, Series]:
    """The least and the most of all replications at each moment of the time line."""
    lines = [one.series[TIMELINE] for one in each if TIMELINE in one.series]
    if TIMELINE not in found.series or len(lines) < len(each):
        return {}
    moments, *figures = found.series[TIMELINE].columns
    columns = [moments]
    for column in figures:
        beside = zip(moments.values, *(one.column(column.name).values for one in lines), strict=False)
        rows = [[figure for value in row if (figure := _figure(value)) is not None] for _, *row in beside]
        for suffix, words, pick in ((LOW, "least", min), (HIGH, "most", max)):
            ends = [pick(row) if len(row) == len(each) else None for row in rows]
            columns.append(Column(f"{column.name}{suffix}", f"{column.label}, {words}", column.unit, ends))
    return {SPREAD: Series(SPREAD, "The least and the most of all replications over simulated time", tuple(columns))}


def _figure(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _table(found: Result, *, each: Sequence[Result], seeds: Sequence[str]) -> Series:
    """What each replication found of the figures that the answer names."""
    named = dict.fromkeys((found.answer.metric, *found.answer.facts))
    shown = [found.metrics[name].definition for name in named if name in found.metrics]
    columns = [Column(one.name, one.label, one.unit, [result.value(one.name) for result in each]) for one in shown]
    numbers = Column("replication", "replication", "", [float(place + 1) for place in range(len(each))])
    return Series("replications", "What each replication found", (numbers, Column("seed", "seed", "", seeds), *columns))
