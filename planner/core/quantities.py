"""Numbers as people read them: three significant digits, SI or IEC as the unit demands, and the way back.

Base units inside, converted once, at the edge: by `convert` for a figure, by `parse` for what a person typed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from planner.core.units import SI, convert, factor_between, shown_unit

__all__ = ["convert", "delta", "full", "parse", "show", "show_parts", "shown_unit"]

NBSP = "\u00a0"
MINUS = "\u2212"
NOTHING = "—"
LONGEST_INPUT = 60
SAME = 1e-9
"""Relative difference up to which two figures are the same: it comes from arithmetic, not from a design."""

_SCALED = ("bytes", "B", "bit", "W", "Wh", "FLOP", "Hz")
_CURRENCIES = ("EUR", "GBP", "CNY", "JPY", "CHF", "INR")
_NO_BASE = 1e6
"""Times what a figure was, from which on it was as good as nothing."""
_SMALL_SI = (("n", -9), ("µ", -6), ("m", -3))


def counts_things(unit: str) -> bool:
    """Whether a unit is a plural of things ("GPUs", "sequences"): such figures are whole and lose the s at one."""
    return len(unit) > 3 and unit.endswith("s") and unit.isalpha() and unit not in ("bytes", "days", "mins")


def parse(text: str, unit: str, shown: str = "") -> float:
    """Read what a person typed in ``shown`` units and return it in ``unit``.

    Thousands separators, a true minus sign and the unit itself are understood; anything else raises ValueError
    with a sentence for the form.
    """
    cleaned = unicodedata.normalize("NFKC", text).strip().replace(MINUS, "-")
    if not cleaned or len(cleaned) > LONGEST_INPUT:
        raise ValueError("Give a number." if not cleaned else "That is too long for a number.")
    written, number = _split_unit(cleaned, unit, shown or unit)
    try:
        amount = Decimal(_without_separators(number))
    except InvalidOperation:
        raise ValueError(f"“{text.strip()}” is not a number.") from None
    if not amount.is_finite() or amount.adjusted() > 300:
        raise ValueError(f"“{text.strip()}” is not a finite number.")
    if amount.adjusted() < -330:
        return 0.0
    return float(Fraction(amount) * factor_between(written, unit))


def show(value: float | None, unit: str = "", *, shown: str = "") -> str:
    """Return the figure with its unit: three significant digits, no-break space, ``$0.756/h``.

    ``shown`` fixes the unit (GiB, say); else the prefix follows the size of the value.
    """
    number, words = show_parts(value, unit, shown=shown)
    if not words:
        return number
    return number + words if words.startswith("/") else f"{number}{NBSP}{words}"


@lru_cache(maxsize=16384)
def show_parts(value: float | None, unit: str = "", *, shown: str = "") -> tuple[str, str]:
    """Return the number and the words of its unit apart; words that start with ``/`` join without a space."""
    if value is None or not math.isfinite(value):
        return NOTHING, ""
    if shown:
        return _fixed(convert(value, unit, shown), shown)
    return _scaled(value, unit, size=value)


def full(value: float | None) -> str:
    """Return every digit that carries meaning, for a title and a CSV."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


def delta(a: float | None, b: float | None, unit: str = "") -> tuple[str, str]:
    """Return how ``b`` differs from ``a``: a signed amount and a signed percentage ("" where it says nothing).

    Shares differ in points. The amount is written in the prefix of the larger of the two.
    """
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return NOTHING, ""
    difference = b - a
    if math.isclose(a, b, rel_tol=SAME):
        return "±0", ""
    sign = MINUS if difference < 0 else "+"
    size = max(abs(a), abs(b))
    if unit in {"ratio", "%"}:
        points = abs(difference) * (100 if unit == "ratio" else 1)
        return f"{sign}{_digits(points, at_most=1 if points >= 0.1 else None)}{NBSP}points", ""
    number, words = _scaled(abs(difference), unit, size=size)
    if words and not words.startswith("/") and not counts_things(words) and not counts_things(words + "s"):
        number = f"{number}{NBSP}{words}"
    return sign + number, _relative(difference, base=a)


def _relative(difference: float, *, base: float) -> str:
    if base == 0:
        return ""
    share = difference / abs(base)
    if abs(share) >= _NO_BASE:
        return ""
    if abs(share) >= 10:
        return f"{MINUS if share < 0 else '+'}{_digits(abs(share))}{NBSP}×"
    return f"{MINUS if share < 0 else '+'}{_digits(100 * abs(share), at_most=1)}{NBSP}%"


def _split_unit(text: str, unit: str, shown: str) -> tuple[str, str]:
    """Return the unit the text is written in, and its number."""
    money = "USD" in unit or "$" in unit
    if money and text.lstrip("+-").startswith("$"):
        text = text.replace("$", "", 1)
    match = re.fullmatch(r"([+-]?\s*[\d.,'_\s]*\d[\d.,'_\s]*?(?:[eE][+-]?\d+)?|[+-]?\.\d+)\s*(\D.*)?", text)
    if match is None:
        return shown, text
    number, suffix = match[1], (match[2] or "").strip()
    if not suffix or suffix in (unit, shown):
        return (suffix or shown), number
    try:
        factor_between(suffix, unit)
    except ValueError:
        raise ValueError(f"“{suffix}” is not a unit of this field; write a number of {shown or 'no unit'}.") from None
    return suffix, number


def _without_separators(number: str) -> str:
    plain = re.sub(r"[\s'_]", "", number)
    if "," not in plain:
        return plain
    if not re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?(e[+-]?\d+)?", plain, re.IGNORECASE):
        raise ValueError(f"“{number.strip()}”: a comma separates thousands here; write decimals with a point.")
    return plain.replace(",", "")


def _scaled(value: float, unit: str, *, size: float) -> tuple[str, str]:
    """Write ``value`` with the prefix that suits ``size``."""
    head, *rest = unit.split("/")
    tail = "".join("/" + part for part in rest)
    if head in ("", "1"):
        return _rate(value, tail, size=size) if rest else _count(value, "", size=size)
    if unit == "ratio":
        return _percent(100 * value), "%"
    if head in ("USD", "$"):
        return _money(value, size=size), tail
    if head == "s" and not rest:
        return _seconds(value, size=size)
    if head in _SCALED:
        return _prefixed(value, "B" if head == "bytes" else head, tail, size=size)
    if rest or unit in _CURRENCIES:
        return _rate(value, unit, size=size)
    if counts_things(head):
        return _count(value, head, size=size)
    return _digits(value), unit


def _fixed(value: float, unit: str) -> tuple[str, str]:
    head, *rest = unit.split("/")
    tail = "".join("/" + part for part in rest)
    if unit == "%":
        return _percent(value), unit
    if head in ("USD", "$"):
        return _signed_money(_digits(abs(value), money=True), value), tail
    return (_plain_count(value) if counts_things(unit) else _digits(value)), unit


def _percent(percentage: float) -> str:
    """Three digits, and more of them close below 100: an availability of 99.95 is not 100."""
    gap = 100 - percentage
    if 0 < gap < 0.5:
        return f"{percentage:.{1 - math.floor(math.log10(gap))}f}".rstrip("0").rstrip(".")
    return _digits(percentage)


def _money(value: float, *, size: float) -> str:
    prefix, power = _prefix(size, first=10_000)
    text = _digits(abs(value) / 10**power, money=True)
    return _signed_money(f"{text}{NBSP}{prefix}" if prefix else text, value)


def _signed_money(text: str, value: float) -> str:
    return f"{MINUS if value < 0 else ''}${text}"


def _seconds(value: float, *, size: float) -> tuple[str, str]:
    size = float(f"{abs(size):.3g}")
    for unit, from_s, unit_s in (("d", 2 * 86400, 86400), ("h", 7200, 3600), ("min", 120, 60), ("s", 1, 1)):
        if size >= from_s:
            return _digits(value / unit_s), unit
    for unit, power in (("ms", 3), ("µs", 6), ("ns", 9)):
        if size * 10**power >= 1:
            return _digits(value * 10**power), unit
    return _digits(value), "s"


def _prefixed(value: float, symbol: str, tail: str, *, size: float) -> tuple[str, str]:
    """SI prefix on the symbol: 105 GB/s. A per-token size keeps its digits, because engines report it so."""
    if abs(size) < 1 and symbol != "B" and size:
        prefix, power = next(((p, n) for p, n in reversed(_SMALL_SI) if abs(size) >= 10.0**n), _SMALL_SI[0])
    else:
        prefix, power = _prefix(size, first=1_000_000 if tail == "/token" else 1000)
    return _digits(value / 10.0**power), f"{prefix}{symbol}{tail}"


def _rate(value: float, unit: str, *, size: float) -> tuple[str, str]:
    prefix, power = _prefix(size, first=10_000)
    text = _digits(value / 10**power)
    return (f"{text}{NBSP}{prefix}" if prefix else text), unit


def _count(value: float, word: str, *, size: float) -> tuple[str, str]:
    prefix, power = _prefix(size, first=10_000_000)
    if prefix:
        return f"{_digits(value / 10**power)}{NBSP}{prefix}", word
    text = _plain_count(value) if word else _digits(value)
    return text, (word[:-1] if text == "1" and word.endswith("s") else word)


def _plain_count(value: float) -> str:
    """Bought is whole; needed keeps a decimal (187.5)."""
    if abs(value) >= 100 and not _is_whole(value):
        return _signed(f"{abs(value):,.1f}" if abs(value) < 1000 else f"{abs(value):,.0f}", value)
    return _digits(value)


def _prefix(size: float, *, first: float) -> tuple[str, int]:
    """The SI prefix of a size; none below ``first``. The rounding carries over: 999.9 k is 1 M."""
    if abs(size) < first:
        return "", 0
    rounded = float(f"{abs(size):.3g}")
    return max((entry for entry in SI if rounded >= 10.0 ** entry[1]), key=lambda entry: entry[1])


def _digits(value: float, *, money: bool = False, at_most: int | None = None) -> str:
    """Three significant digits; whole numbers stay whole, and all digits left of the point stay."""
    size = abs(value)
    if size == 0:
        return "0"
    if _is_whole(value) and size < 1e15 and not (money and size < 100):
        return _signed(f"{round(size):,}", value)
    if size >= 1e15 or size < 1e-4:
        return _signed(_scientific(size), value)
    decimals = max(0, 2 - math.floor(math.log10(float(f"{size:.3g}"))))
    return _signed(f"{size:,.{decimals if at_most is None else min(decimals, at_most)}f}", value)


def _scientific(size: float) -> str:
    mantissa, exponent = f"{size:.2e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}×10{raised}"


def _is_whole(value: float) -> bool:
    return math.isclose(value, round(value), rel_tol=1e-12, abs_tol=0)


def _signed(text: str, value: float) -> str:
    return MINUS + text if value < 0 else text
