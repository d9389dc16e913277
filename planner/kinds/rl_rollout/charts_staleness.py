"""Pictures of staleness: the knee of the bound, age by length, ages of groups."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Limit, Mark, Trace, Value
from planner.core.quantities import show
from planner.core.result import Result, Series
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.rl_rollout.spec import RlRolloutSpec

_HARDLY = 5e-4
"""Of all groups: an age that so few have needs no row."""


def knee(spec: RlRolloutSpec, result: Result) -> Chart:
    """The asynchronous step against the bound."""
    series = result.series["staleness_knee"]
    bounds, steps = numbers(series, "bound"), numbers(series, "step_s")
    step = result.value("step_s")
    marks: tuple[Mark, ...] = ()
    if spec.mode == "asynchronous" and step is not None:
        marks = (Mark(float(spec.staleness_bound), step, f"this design {show(step, 's')}"),)
    told = [f"η {bound:g} {show(each, 's')}" for bound, each in zip(bounds, steps, strict=True)]
    return Chart(
        name="staleness_knee",
        title="How stale must samples be allowed to be?",
        subtitle="Asynchronous step on these GPUs. Up to the knee each version allowed saves time; beyond it, none.",
        form="line",
        x=Axis("staleness bound η", unit="versions"),
        y=Axis("step", unit="s"),
        traces=(Trace("step", x=bounds, y=steps),),
        limits=(Limit(spec.training_s, f"training alone {show(spec.training_s, 's')}"),),
        marks=marks,
        summary="; ".join(told) + ".",
    )


def by_length(spec: RlRolloutSpec, result: Result) -> Chart:
    """Age of an answer by its length."""
    series = result.series["staleness_by_length"]
    lengths, written = numbers(series, "tokens"), numbers(series, "written")
    return Chart(
        name="staleness_by_length",
        title="Which answers are stale?",
        subtitle=f"Asynchronous. While the longest is written {written[-1] or 0.0:.2g} versions pass; short ones wait "
        "for their group.",
        form="line",
        x=Axis("length", unit="tokens"),
        y=Axis("versions", unit="versions"),
        traces=(
            Trace("passed while it is written", x=lengths, y=written),
            Trace("age when trained on", x=lengths, y=numbers(series, "age"), order=1),
        ),
        limits=(Limit(float(spec.staleness_bound), f"η = {spec.staleness_bound}"),),
        summary="Versions that pass while an answer is written, and its age, by its length.",
    )


def ages(spec: RlRolloutSpec, result: Result) -> Chart:
    """Groups by age."""
    series = result.series["staleness_ages"]
    names, (shares,) = by_age(series, "share")
    older = sum(share or 0.0 for share in numbers(series, "share")[spec.staleness_bound + 1 :])
    return Chart(
        name="staleness_ages",
        title="How old are samples when they are trained on?",
        subtitle=f"Groups by versions since they began, asynchronous: {percent(older)} are older than "
        f"η = {spec.staleness_bound}.",
        form="bars",
        x=Axis("groups", unit="ratio", shown="%"),
        y=Axis("versions"),
        traces=(Trace("groups", x=names, y=shares),),
        summary="; ".join(f"{name} {percent(share or 0.0)}" for name, share in zip(names, shares, strict=True)) + ".",
    )


def by_age(series: Series, *columns: str) -> tuple[list[Value], list[list[float | None]]]:
    """Ages up to the oldest that is met, as words, and the shares of each column."""
    shares = [numbers(series, column) for column in columns]
    count = len(shares[0])
    met = [age for age in range(count) if any((column[age] or 0.0) > _HARDLY for column in shares)]
    shown = min(max(met, default=0) + 2, count)
    names: list[Value] = [f"{age} or more" if age == count - 1 else f"{age}" for age in range(shown)]
    return names, [column[:shown] for column in shares]
