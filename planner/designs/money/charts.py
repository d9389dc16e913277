"""Pictures of an answer of money: the bill by purpose, break-even, a week of the plan, and what the plan gives away."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from planner.core.chart import Axis, Chart, Mark, Trace
from planner.core.quantities import show
from planner.core.wording import percent
from planner.designs.money.money import BreakEven, Money
from planner.formulas.diurnal import HOURS_PER_WEEK

LEAST_USE, USES = 0.05, 60
MOST_APIS = 3


def charts(answer: Money, *, view: dict[str, Any]) -> list[Chart]:
    """Those there is something to draw for; ``view`` is the answer as JSON."""
    found = (_bill(answer), _break_even(answer), _week(answer, view=view), _regret(answer, view=view))
    return [chart for chart in found if chart is not None]


def _bill(answer: Money) -> Chart | None:
    parts = [part for part in answer.parts if part.per_h]
    if not parts or not answer.per_h:
        return None
    unit = f"{answer.currency}/h"
    names = [part.label for part in parts]
    used = [part.per_h if part.is_used else None for part in parts]
    idle = [None if part.is_used else part.per_h for part in parts]
    return Chart(
        name="bill",
        title=f"Where do {show(answer.per_h, unit)} go?",
        subtitle="Parts sum to the bill. The tint is bought, not used.",
        form="bars",
        x=Axis("part"),
        y=Axis("cost", unit=unit),
        traces=(Trace("used", x=names, y=used), Trace("bought, not used", x=names, y=idle, idle=True)),
        summary="; ".join(f"{part.label} {show(part.per_h, unit)}" for part in parts) + ".",
    )


def _break_even(answer: Money) -> Chart | None:
    """The price of all tokens against use; an API's price does not depend on it."""
    total = next((price for price in answer.bases if price.basis == "total"), None)
    if total is None or total.per_m is None or total.per_m <= 0:
        return None
    per_m, unit = total.per_m, f"{answer.currency}/M tokens"
    step = (1 - LEAST_USE) / (USES - 1)
    uses = [LEAST_USE + step * place for place in range(USES)]
    apis = [each for each in (answer.break_even, *answer.others) if each is not None and each.api_per_m]
    mean = min(max(answer.mean_to_peak, LEAST_USE), 1.0)
    return Chart(
        name="break_even",
        title="From what use on does the fleet pay?",
        subtitle=_pays(answer),
        form="line",
        x=Axis("use, mean load over the peak", unit="ratio"),
        y=Axis("cost of input and output", unit=unit, log=True),
        traces=(Trace("this fleet", x=uses, y=[per_m / use for use in uses]), *_lines(apis[:MOST_APIS], over=uses)),
        marks=(Mark(mean, per_m / mean, f"mean, {show(per_m / mean, answer.currency)}"),),
        summary=f"Cost of a million tokens of input and output against use. {_pays(answer)}",
    )


def _lines(apis: Sequence[BreakEven], *, over: Sequence[float]) -> list[Trace]:
    """What each asks, whatever the use."""
    ends = (over[0], over[-1])
    return [Trace(each.api.name, x=ends, y=[each.api_per_m] * 2, order=order) for order, each in enumerate(apis, 1)]


def _pays(answer: Money) -> str:
    against = answer.break_even
    if against is None or against.utilisation is None:
        return "APIs at the same mix of input, cached input and output."
    if against.utilisation > 1:
        return f"{against.api.name} is cheaper at any use."
    return f"Cheaper than {against.api.name} from {percent(against.utilisation)} on."


def _week(answer: Money, *, view: dict[str, Any]) -> Chart | None:
    plan = view["plan"]
    if not plan or not any(plan["week"]["need"]):
        return None
    week, unit = plan["week"], plan["week"]["unit"]
    hours = [float(hour) for hour in range(HOURS_PER_WEEK + 1)]
    rented = [("committed", "committed"), ("on_demand", "on demand"), ("spot", "on spot")]
    shown = [(name, label) for name, label in rented if any(week[name])]
    heights = list(accumulate((week[name] for name, _label in shown), _added))
    layers = [
        Trace(f"and {label}" if order else label, x=hours, y=_closed(height), order=order)
        for order, ((_name, label), height) in enumerate(zip(shown, heights, strict=True))
    ]
    if len(layers) == 1 and heights[0] == week["need"]:
        # One line over the other: nothing to tell apart.
        said = f"all {shown[0][1]}, as many as are needed"
    else:
        said = "each line with those below it; the dark one is what is needed"
        layers.append(Trace("needed", x=hours, y=_closed(week["need"]), order=-1))
    growth = answer.terms.growth_per_month
    first = f" The first month; demand changes by {percent(growth)} a month." if growth else ""
    return Chart(
        name="week",
        title="What carries a week?",
        subtitle=f"{unit} by hour from Monday on, {said}.{first}",
        form="step",
        x=Axis("hour of the week"),
        y=Axis(unit, unit=unit),
        traces=tuple(layers),
        summary=f"Needed, committed and rented {unit} in each hour of a week.",
    )


def _added(below: Sequence[float], more: Sequence[float]) -> list[float]:
    return [low + high for low, high in zip(below, more, strict=True)]


def _closed(week: Sequence[float]) -> list[float]:
    """With the first hour again at its end, so that the last one is drawn."""
    return [*week, week[0]]


def _regret(answer: Money, *, view: dict[str, Any]) -> Chart | None:
    plan = view["plan"]
    if not plan or not plan["total"]:
        return None
    names = ["perfect scaling", "this plan", "the peak, on demand"]
    amounts = [plan["perfect"], plan["total"], plan["peak"]]
    regret = "" if plan["regret"] is None else f"{percent(plan['regret'])} over perfect scaling"
    saved = "" if plan["saved"] is None else f"{percent(plan['saved'])} below a fleet for the peak"
    years = answer.terms.horizon_years
    return Chart(
        name="plan",
        title="What does the plan give away?",
        subtitle=f"{', '.join(filter(None, (regret, saved)))}; {years} years." if years > 1 else f"{regret}, {saved}.",
        form="bars",
        x=Axis("way to buy"),
        y=Axis("cost", unit=answer.currency),
        traces=(Trace("cost", x=names, y=amounts),),
        summary="; ".join(f"{name} {show(a, answer.currency)}" for name, a in zip(names, amounts, strict=True)) + ".",
    )
