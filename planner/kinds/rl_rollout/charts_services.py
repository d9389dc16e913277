"""Pictures of weight sync, scoring and the bill."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers


def weight_sync(result: Result) -> Chart:
    """Time of a sync by method."""
    series = result.series["weight_sync"]
    names, seconds = list(series.column("method").values), numbers(series, "seconds")
    published = [low is not None for low in numbers(series, "low_s")]
    ours: list[float | None] = [None if theirs else s for theirs, s in zip(published, seconds, strict=True)]
    others: list[float | None] = [s if theirs else None for theirs, s in zip(published, seconds, strict=True)]
    told = [f"{name} {show(each, 's')}" for name, each in zip(names, seconds, strict=True)]
    return Chart(
        name="weight_sync",
        title="How long does a weight sync take?",
        subtitle="With the inputs of this design, and by published runs for weights of this size. Log scale.",
        form="bars",
        x=Axis("time", unit="s", log=True, start_at_zero=False),
        y=Axis("method"),
        traces=(Trace("with these inputs", x=names, y=ours), Trace("by published runs", x=names, y=others, order=1)),
        summary="; ".join(told) + ".",
    )


def scoring_pool(result: Result) -> Chart | None:
    """Mean wait against the scorers."""
    series = result.series["scoring_pool"]
    counts, waits = numbers(series, "scorers"), numbers(series, "wait_s")
    known = [(count, wait) for count, wait in zip(counts, waits, strict=True) if wait is not None]
    if len(known) < 2 or not any(wait for _, wait in known):
        return None
    here, wait = result.value("scorers_used"), result.value("score_wait_mean_s")
    marks = () if here is None or wait is None else (Mark(here, wait, f"this design {here:,.0f}"),)
    return Chart(
        name="scoring_pool",
        title="How many scorers are enough?",
        subtitle=f"Mean wait of an answer. {show(result.value('scorers_busy'), 'scorers')} are busy on average.",
        form="line",
        x=Axis("scorers", unit="scorers", start_at_zero=False),
        y=Axis("mean wait", unit="s"),
        traces=(Trace("wait", x=[count for count, _ in known], y=[wait for _, wait in known]),),
        marks=marks,
        summary="Wait for a scorer against their number; it falls steeply behind the number that is just enough.",
    )


def bill(result: Result) -> Chart | None:
    """Where the money goes."""
    series = result.series["bill"]
    pairs = zip(series.column("part").values, numbers(series, "usd_per_h"), strict=True)
    rows = [(name, amount) for name, amount in pairs if amount]
    whole = result.value("cost_usd_per_h") or 0.0
    if whole <= 0:
        return None
    names = [name for name, _ in rows]
    idle = {"rollout, idle", "training, idle"}
    used: list[float | None] = [None if name in idle else amount for name, amount in rows]
    bought: list[float | None] = [amount if name in idle else None for name, amount in rows]
    return Chart(
        name="bill",
        title=f"Where do {show(whole, 'USD')}/h go?",
        subtitle="Parts sum to the bill. The tint is bought, not used: below the full rate, or waiting.",
        form="bars",
        x=Axis("cost", unit="USD/h"),
        y=Axis("part"),
        traces=(Trace("used", x=names, y=used), Trace("bought, not used", x=names, y=bought, idle=True)),
        summary="; ".join(f"{name} {show(amount, 'USD/h')}" for name, amount in rows) + ".",
    )
