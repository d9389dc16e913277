"""Axes: which unit a figure is drawn in, where its axis begins and ends, and the ticks on it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.core.chart import Axis
from planner.core.quantities import NBSP, convert, full, show_parts, shown_unit
from planner.core.units import SI

_SPAN_IF_FLAT = 1.0


def unit_of(axis: Axis, values: Iterable[float]) -> str:
    """The unit an axis is written in: as the chart says, else the prefix its largest value asks for."""
    if axis.shown:
        return axis.shown
    size = max((abs(value) for value in values), default=0.0)
    scaled = axis.unit.split("/")[0] in ("bytes", "B", "bit", "W", "FLOP", "Hz") or axis.unit == "s"
    return (show_parts(size, axis.unit)[1] if scaled and size else "") or shown_unit(axis.unit)


def title_of(axis: Axis, unit: str) -> str:
    """ "TTFT P99, s": label and unit; a per cent sign stands at the ticks instead."""
    said = unit == "%" or re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", axis.label)
    words = ", ".join(part for part in (axis.label, "" if said else unit) if part)
    return f"{words}, log scale" if axis.log and words else words


def in_unit(value: float | None, axis: Axis, unit: str) -> float | None:
    """``value`` as drawn; None where there is nothing to draw."""
    if value is None or not math.isfinite(value):
        return None
    return convert(value, axis.unit, unit) if unit else value


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps ``low..high`` of the data to ``start..end`` of the picture."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        share = (self._step(value) - self._step(self.low)) / (self._step(self.high) - self._step(self.low))
        return self.start + share * (self.end - self.start)

    def along(self, values: Iterable[float]) -> list[float]:
        """Where many values lie, as `__call__` says of one."""
        low, room = self._step(self.low), self.end - self.start
        span = self._step(self.high) - low
        steps = map(self.exponent, values) if self.log else values
        return [self.start + (step - low) / span * room for step in steps]

    def _step(self, value: float) -> float:
        return self.exponent(value) if self.log else value

    @staticmethod
    def exponent(value: float) -> float:
        """The power of ten a figure is, held away from zero."""
        return math.log10(max(value, 1e-300))

    def ticks(self, count: int) -> list[float]:
        if self.log:
            return _log_ticks(self.low, self.high, count)
        step = nice_step(self.high - self.low, count)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def nice_step(span: float, count: int) -> float:
    """The step of 1, 2, 2.5 or 5 times a power of ten that cuts ``span`` into at most ``count`` parts."""
    raw = max(span, 1e-300) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= raw * (1 - 1e-9))


def outward(low: float, high: float, *, count: int, log: bool = False) -> tuple[float, float]:
    """Widen a range to round figures."""
    if log:
        return 10.0 ** math.floor(math.log10(low) + 1e-9), 10.0 ** math.ceil(math.log10(high) - 1e-9)
    step = nice_step(high - low, count)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def spread(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    """The range of the values, never empty; a log axis sees positive values only."""
    seen = [value for value in values if value > 0] if log else list(values)
    if not seen:
        return (0.1, 10.0) if log else (0.0, 1.0)
    low, high = min(seen), max(seen)
    if low < high:
        return low, high
    if log:
        return low / 2, high * 2
    return (0.0, high * 2) if high > 0 else (low - _SPAN_IF_FLAT, high + _SPAN_IF_FLAT)


def tick_texts(ticks: Sequence[float], unit: str, *, log: bool = False) -> list[str]:
    """Texts of one axis, with the same decimals and prefix throughout; on a log axis each has its own."""
    if not ticks:
        return []
    if log:
        return [_log_text(tick) + (f"{NBSP}%" if unit == "%" else "") for tick in ticks]
    largest = max(abs(tick) for tick in ticks)
    prefix, power = max((entry for entry in SI if largest >= 10.0 ** entry[1]), key=lambda e: e[1], default=SI[0])
    if largest < 100_000:
        prefix, power = "", 0
    shares = [tick / 10.0**power for tick in ticks]
    decimals = max((_decimals(share) for share in shares), default=0)
    texts = [f"{share:,.{decimals}f}".replace("-", "−") for share in shares]
    tail = f"{NBSP}{prefix}" if prefix else (f"{NBSP}%" if unit == "%" else "")
    return [text if share == 0 and prefix else text + tail for text, share in zip(texts, shares, strict=True)]


_SMALL = 1e-4
"""Below it a tick is written as powers of ten."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _log_text(tick: float) -> str:
    prefix, power = max((entry for entry in SI if tick >= 10.0 ** entry[1]), key=lambda e: e[1], default=SI[0])
    if prefix and tick >= 10_000:
        return f"{full(float(f'{tick / 10.0**power:.6g}'))}{NBSP}{prefix}"
    if 0 < tick < _SMALL:
        mantissa, exponent = f"{tick:.6e}".split("e")
        return f"{float(mantissa):g}×10{str(int(exponent)).translate(_RAISED)}"
    return f"{tick:,.0f}" if tick >= 1 and tick == int(tick) else full(tick)


def _decimals(value: float) -> int:
    text = f"{abs(value):.6g}"
    if "e" in text:
        return max(0, -int(text.split("e")[1]))
    return len(text.partition(".")[2])


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**decade for decade in decades for factor in factors]
        inside = [float(f"{tick:.12g}") for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) <= count + 2:
            return inside
    stride = math.ceil(len(inside) / (count + 1))
    return inside[::stride]
