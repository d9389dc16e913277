"""How much each input moves one figure of a design: the figure at either end of each input, one input at a time.

A tornado. Inputs work together, so that two ends at once need not add up; `planner.core.uncertainty` moves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.dials import USUAL, Dial, Unmoved, dials
from planner.core.probing import Point, Probe
from planner.core.quantities import SAME
from planner.core.result import MetricDef


@dataclass(frozen=True, slots=True)
class Span:
    """The ends between which an input is moved, and whether they are the user's own."""

    low: float
    high: float
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The design with an input at one end of its span, or at another choice.

    ``is_clipped`` tells of an end that lies at a bound of the input instead of where it was asked for.
    """

    value: Any
    said: str
    point: Point
    figure: float | None
    is_clipped: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One input: its ends, how far apart the figures are, and the relative change of the figure a relative change."""

    dial: Dial
    ends: tuple[End, ...]
    swing: float
    elasticity: float | None

    @property
    def moves(self) -> bool:
        """Whether the figure differs anywhere, or is lost somewhere."""
        return self.swing > 0 or self.loses

    @property
    def loses(self) -> bool:
        """Whether there is a design at one of its ends without this figure."""
        return any(end.figure is None and end.point.status != "refused" for end in self.ends)

    @property
    def is_refused(self) -> bool:
        return all(end.point.status == "refused" for end in self.ends)


@dataclass(frozen=True, slots=True)
class Tornado:
    """Bars of the inputs that move the figure, the widest first.

    ``still`` change nothing between their ends; ``refused`` cannot be moved alone; ``unmoved`` are left as they are.
    """

    metric: MetricDef
    base: Point
    value: float | None
    bars: tuple[Bar, ...]
    still: tuple[Dial, ...]
    refused: tuple[Bar, ...]
    unmoved: tuple[Unmoved, ...]


def tornado(probe: Probe, *, metric: MetricDef, spans: Mapping[str, Span] | None = None) -> Tornado:
    """Move every input between its ends, by default a tenth of it to either side, whole inputs at least by one.

    A choice goes through its alternatives. ``spans`` are the user's own ends of some inputs.

    References
    ----------
    T. G. Eschenbach, "Spiderplots versus Tornado Diagrams for Sensitivity Analysis", Interfaces 22(6), 1992,
    doi:10.1287/inte.22.6.40.
    """
    base = probe.at({})
    known, unmoved = dials(probe.base)
    given = spans or {}
    bars, zeros = [], []
    for dial in known:
        span = given.get(dial.name)
        if dial.value == 0 and not dial.is_choice and not dial.is_whole and span is None:
            zeros.append(Unmoved(dial.name, dial.label, "zero"))
            continue
        bars.append(_bar(probe, dial, metric=metric.name, span=span, base=base.value(metric.name)))
    moving = [bar for bar in bars if bar.moves]
    return Tornado(
        metric=metric,
        base=base,
        value=base.value(metric.name),
        bars=tuple(sorted(moving, key=lambda bar: (-bar.swing, bar.dial.label))),
        still=tuple(bar.dial for bar in bars if not bar.moves and not bar.is_refused),
        refused=tuple(bar for bar in bars if bar.is_refused),
        unmoved=(*zeros, *unmoved),
    )


def usual_span(dial: Dial) -> Span:
    """A tenth of the input to either side, whole inputs at least by one; within the bounds."""
    low, high = sorted((dial.within(dial.moved(-USUAL)), dial.within(dial.moved(USUAL))))
    return Span(low, high)


def _bar(probe: Probe, dial: Dial, *, metric: str, span: Span | None, base: float | None) -> Bar:
    ends = _alternatives(probe, dial, metric=metric) if dial.is_choice else _ends(probe, dial, metric, span=span)
    known = [end.figure for end in ends if end.figure is not None]
    figures = [*known, *([base] if base is not None else [])]
    swing = max(figures) - min(figures) if figures else 0.0
    is_same = not figures or swing <= SAME * max(abs(figure) for figure in figures)
    return Bar(dial, ends, 0.0 if is_same else swing, None if dial.is_choice else _elasticity(dial, ends, base=base))


def _alternatives(probe: Probe, dial: Dial, *, metric: str) -> tuple[End, ...]:
    return tuple(_end(probe, dial, metric, value=value, is_clipped=False) for value in dial.alternatives)


def _ends(probe: Probe, dial: Dial, metric: str, *, span: Span | None) -> tuple[End, ...]:
    asked = (span.low, span.high) if span else tuple(sorted((dial.moved(-USUAL), dial.moved(USUAL))))
    found = []
    for end in asked:
        value = dial.within(end)
        found.append(_end(probe, dial, metric, value=value, is_clipped=not math.isclose(value, end, rel_tol=SAME)))
    return tuple(found)


def _end(probe: Probe, dial: Dial, metric: str, *, value: Any, is_clipped: bool) -> End:
    point = probe.at({} if value == dial.value else {dial.name: value})
    return End(value, dial.said(value), point, point.value(metric), is_clipped)


def _elasticity(dial: Dial, ends: Sequence[End], *, base: float | None) -> float | None:
    """Arc elasticity about the design, over both ends or over the one that has a figure; None where it has no base."""
    if not base or not dial.value:
        return None
    known = [(float(end.value), end.figure) for end in ends if end.figure is not None]
    known += [(float(dial.value), base)] if len(known) == 1 else []
    if len(known) < 2 or known[0][0] == known[-1][0]:
        return None
    (low, at_low), (high, at_high) = min(known), max(known)
    found = ((at_high - at_low) / base) / ((high - low) / float(dial.value))
    return found if math.isfinite(found) else None
