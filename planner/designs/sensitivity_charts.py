"""Pictures of a sensitivity and of an uncertainty, drawn from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.charts import codec
from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Column, Series
from planner.core.text import gettext_noop as _
from planner.designs.estimation import Estimate
from planner.designs.sensitivity import sensitivity

MOST_BARS = 12
REPORTED_BARS, REPORTED_FLIPS = 8, 3


def claim(found: Mapping[str, Any]) -> str:
    """What a reader takes away: the first two inputs and what they do."""
    bars = [bar for bar in found["tornado"] if bar["swing"] > 0]
    if found["value"] is None:
        return f"{found['metric']['label']} has no value in this design."
    if not bars:
        return f"Nothing moves {found['metric']['label']} between the ends."
    unit = found["metric"]["unit"]
    first, *others = bars
    said = f"**{first['label']}** moves it most: {_ends(first, base=found['value'], unit=unit)}"
    return (
        f"{said}; then **{others[0]['label']}**: {_ends(others[0], base=found['value'], unit=unit)}."
        if others
        else f"{said}."
    )


def _ends(bar: Mapping[str, Any], *, base: float, unit: str) -> str:
    if bar["kind"] == "choice":
        end = _farthest(bar, base=base)
        return f"{show(end['figure'], unit)} with “{end['shown']}”"
    return ", ".join(f"{show(end['figure'], unit)} at {end['shown']}" for end in bar["ends"])


def tornado_chart(found: Mapping[str, Any], *, at_most: int = MOST_BARS) -> Chart | None:
    """The widest bars about the figure of the design; None where nothing moves it."""
    metric, base = found["metric"], found["value"]
    bars = [bar for bar in found["tornado"] if bar["swing"] > 0][:at_most]
    if base is None or not bars:
        return None
    unit = metric["unit"]
    numbers = [bar for bar in bars if bar["kind"] == "number"]
    choices = [bar for bar in bars if bar["kind"] == "choice"]
    lead = bars[0]
    return Chart(
        name="tornado",
        title=_("What moves it?"),
        subtitle=_("One input at a time, from its low to its high end, or to another choice."),
        form="bars",
        x=Axis("input"),
        y=Axis(metric["label"], unit=unit, start_at_zero=False),
        traces=(
            *_sides(bars, numbers, base=base),
            *([_others(bars, choices, base=base)] if choices else []),
        ),
        marks=(Mark(base, 0, show(base, unit)),),
        summary=f"{lead['label']} moves {metric['label']} most, by {show(lead['swing'], unit)}.",
        twin=_twin(found, bars=found["tornado"]),
    )


def _sides(bars: Sequence[Mapping[str, Any]], numbers: Sequence[Mapping[str, Any]], *, base: float) -> list[Trace]:
    """Every category in the order of the bars in each trace, so that the order stays; none drawn where it has none."""
    names = [_named(bar, base=base) for bar in bars]
    traces = []
    for place, name in enumerate((_("input at its low end"), _("input at its high end"))):
        ends = [bar["ends"][place]["figure"] if bar in numbers else None for bar in bars]
        starts = [None if end is None else base for end in ends]
        traces.append(Trace(name, names, [None] * len(names), starts, ends, order=place))
    return traces


def _others(bars: Sequence[Mapping[str, Any]], choices: Sequence[Mapping[str, Any]], *, base: float) -> Trace:
    """The alternative of each choice that is farthest away."""
    ends = [_farthest(bar, base=base)["figure"] if bar in choices else None for bar in bars]
    starts = [None if end is None else base for end in ends]
    return Trace(
        _("another choice"), [_named(bar, base=base) for bar in bars], [None] * len(bars), starts, ends, order=2
    )


def _farthest(bar: Mapping[str, Any], *, base: float) -> Mapping[str, Any]:
    known = [end for end in bar["ends"] if end["figure"] is not None]
    found: Mapping[str, Any] = max(known, key=lambda end: abs(end["figure"] - base), default=bar["ends"][0])
    return found


def _named(bar: Mapping[str, Any], *, base: float) -> str:
    """An input with its ends: "Peak rate, 450 – 550 req/s"."""
    if bar["kind"] == "choice":
        return f"{bar['label']}: {_farthest(bar, base=base)['shown']}"
    low, high = (end["shown"] for end in bar["ends"])
    head, _space, tail = low.partition("\u00a0")
    return f"{bar['label']}: {head if tail and high.endswith(tail) else low} – {high}"


def _twin(found: Mapping[str, Any], *, bars: Sequence[Mapping[str, Any]]) -> Series:
    rows = [(bar, end) for bar in bars for end in bar["ends"]]
    metric = found["metric"]
    return Series(
        "tornado",
        "tornado",
        (
            Column("input", "input", "", [bar["label"] for bar, _end in rows]),
            Column(
                "value", "set to", "", [f"{end['shown']}{' (bound)' if end['clipped'] else ''}" for _b, end in rows]
            ),
            Column("figure", metric["label"], metric["unit"], [end["figure"] for _bar, end in rows]),
            Column("swing", "swing", metric["unit"], [bar["swing"] for bar, _end in rows]),
            Column("elasticity", "elasticity", "", [bar["elasticity"] for bar, _end in rows]),
            Column("status", "status", "", [end["status"] for _bar, end in rows]),
        ),
    )


def distribution_chart(found: Mapping[str, Any]) -> Chart | None:
    """How the draws lie, with the objective and the design; None where no draw has the figure."""
    metric, quantiles = found["metric"], found["quantiles"]
    if not quantiles["values"]:
        return None
    unit, other = metric["unit"], found["against"]
    traces = [Trace(_("this design"), quantiles["values"], quantiles["shares"])]
    if other is not None and other["quantiles"]["values"]:
        traces.append(Trace(other["name"], other["quantiles"]["values"], other["quantiles"]["shares"], order=1))
    limits = [row for row in found["objectives"] if row["metric"] == metric["metric"]]
    low, middle, high = (found["percentiles"][name]["value"] for name in ("p5", "p50", "p95"))
    return Chart(
        name="distribution",
        title=_("How far may it be off?"),
        subtitle=f"{found['draws']} draws of {len(found['inputs'])} inputs together; 90 % lie between "
        f"{show(low, unit)} and {show(high, unit)}.",
        form="cdf",
        x=Axis(metric["label"], unit=unit, start_at_zero=False),
        y=Axis(_("share of draws"), unit="ratio"),
        traces=tuple(traces),
        limits=tuple(Limit(row["limit"], f"objective {show(row['limit'], unit)}", "x") for row in limits),
        summary=f"Half of the draws lie below {show(middle, unit)}.",
    )


def contributions_chart(found: Mapping[str, Any]) -> Chart | None:
    """Where the spread comes from: shares of the variance that are more than noise."""
    told = [row for row in found["contributions"] if row["index"] > 2 * found["noise"]]
    if not told:
        return None
    names = [row["label"] for row in told]
    rest = max(1 - sum(row["index"] for row in told), 0.0)
    return Chart(
        name="contributions",
        title=_("Where does the spread come from?"),
        subtitle=_("Share of the variance that would go if the input were known (first-order Sobol index)."),
        form="bars",
        x=Axis("input"),
        y=Axis(_("share of the variance"), unit="ratio"),
        traces=(Trace(_("share"), [*names, _("together, or noise")], [*(row["index"] for row in told), rest]),),
        summary=f"{names[0]} gives {show(told[0]['index'], 'ratio')} of the variance.",
    )


def brief(estimate: Estimate) -> dict[str, Any]:
    """What a report tells: the claim, the widest bars, and the nearest that would change the decision."""
    found = sensitivity(estimate)
    chart = tornado_chart(found, at_most=REPORTED_BARS)
    return {
        "claim": claim(found),
        "chart": codec.to_dict(chart) if chart else None,
        "flips": [row["sentence"] for row in found["flips"][:REPORTED_FLIPS]],
    }
