"""Units as components joined by ``/`` ("USD/M tokens", "bytes/s", "tok/s/GPU") and the factors between them.

Each component scales by itself, so a compound unit needs no entry of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

SI = (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))


def _components() -> Mapping[str, tuple[str, Fraction]]:
    """Each known component → its dimension and its factor to that dimension's base."""
    table: dict[str, tuple[str, Fraction]] = {"": ("", Fraction(1)), "1": ("", Fraction(1))}
    for prefix, power in SI:
        factor = Fraction(10) ** power
        for word in ("B", "bytes"):
            table[f"{prefix}{word}"] = ("B", factor)
        table[f"{prefix}bit"] = ("B", factor / 8)
        for word in ("W", "Wh", "FLOP", "OP", "Hz", "tok"):
            table[f"{prefix}{word}"] = (word, factor)
        for word in ("tokens", "requests", "req"):
            table[f"{prefix} {word}".strip()] = (word, factor)
        table[f"{prefix} USD".strip()] = ("USD", factor)
        table[prefix] = ("", factor)
    for power, prefix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1):
        table[f"{prefix}B"] = ("B", Fraction(1024) ** power)
    seconds = {"ns": Fraction(1, 10**9), "µs": Fraction(1, 10**6), "μs": Fraction(1, 10**6), "ms": Fraction(1, 1000)}
    seconds |= {"s": Fraction(1), "min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)}
    seconds["days"] = seconds["d"]
    table |= {name: ("s", factor) for name, factor in seconds.items()}
    table |= {"ratio": ("ratio", Fraction(1)), "%": ("ratio", Fraction(1, 100)), "$": ("USD", Fraction(1))}
    table |= {"token": ("tokens", Fraction(1)), "seqs": ("sequences", Fraction(1))}
    return table


_TABLE = _components()
_DEFAULT_SHOWN = {"ratio": "%", "bytes": "GB", "bytes/s": "GB/s", "B/s": "GB/s", "FLOP/s": "TFLOP/s", "FLOP": "TFLOP"}


def shown_unit(unit: str) -> str:
    """Return the unit a form or an axis writes by default for data in ``unit``."""
    if unit in _DEFAULT_SHOWN:
        return _DEFAULT_SHOWN[unit]
    return "$" + unit[3:] if unit == "USD" or unit.startswith("USD/") else unit


def convert(value: float, unit: str, shown: str) -> float:
    """Return ``value`` [unit] in ``shown``; ValueError when the two do not measure the same thing."""
    if not shown or shown == unit:
        return value
    times, over = _factor_parts(unit, shown)
    found = value * times / over
    if not math.isfinite(found):
        raise OverflowError(f"{value!r} {unit} is too large to be written in {shown}")
    return float(f"{found:.15g}")


@lru_cache(maxsize=1024)
def _factor_parts(unit: str, shown: str) -> tuple[float, float]:
    """The factor as numerator and denominator: whole numbers that a float holds, so that rounding stays in sight."""
    factor = factor_between(unit, shown)
    return float(factor.numerator), float(factor.denominator)


def factor_between(unit: str, shown: str) -> Fraction:
    """How many ``shown`` one ``unit`` is."""
    ours, theirs = unit.split("/"), shown.split("/")
    factors = []
    if len(ours) == len(theirs):
        for index, (here, there) in enumerate(zip(ours, theirs, strict=True)):
            factor = _component(here, there)
            if factor is None:
                break
            factors.append(factor if index == 0 else 1 / factor)
    if len(factors) != len(ours):
        raise ValueError(f"{unit or 'a plain number'} cannot be written in {shown or 'a plain number'}.")
    return math.prod(factors, start=Fraction(1))


def _component(here: str, there: str) -> Fraction | None:
    if here == there:
        return Fraction(1)
    known, wanted = _TABLE.get(here), _TABLE.get(there)
    # Words of a share ("of input", "share", "a month") may be written in per cent, and back.
    word = here if there == "%" else there if here == "%" else ""
    if word and word not in _TABLE and not word.endswith("s"):
        return Fraction(100) if there == "%" else Fraction(1, 100)
    if known is None or wanted is None or known[0] != wanted[0]:
        return None
    return known[1] / wanted[1]
