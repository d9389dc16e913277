"""Values of a varied field as people type them: a list, a list that goes on, a range with its step.

``24, 32, 64`` · ``24, 32 … 128`` · ``10..100 step 10``: numbers in the unit of the form, which may stand behind each.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _

from planner.core.quantities import MINUS
from planner.web.fields import Field, NotRead, number_text, read

MOST_VALUES = 10_000
LONGEST_TYPED = 4000
_GOES_ON = "…"
_STEP = re.compile(r"\bstep\b|\bby\b", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def values_read(field: Field, *, typed: str) -> list[Any]:
    """The values of the spec that a text means, in its order and each once; raises `NotRead`."""
    text = unicodedata.normalize("NFKC", typed.replace(_GOES_ON, "..")).replace(MINUS, "-").replace("、", ",")
    if len(text) > LONGEST_TYPED:
        raise NotRead(_("Give at most %(limit)s characters.") % {"limit": LONGEST_TYPED})
    found = [read(field, typed=part) for part in _parts(field, text=re.sub(r"\.{2,}", _GOES_ON, text))]
    if not found:
        raise NotRead(_("Give values: 24, 32, 64 or 10..100 step 10."))
    return list(dict.fromkeys(found))


def values_text(field: Field, *, values: Sequence[Any]) -> str:
    """The text that reads back as the values: a range where there are many at equal steps."""
    numbers = [number_text(value, unit=field.unit, shown=field.shown, commas=False) for value in values]
    if len(numbers) > 6 and _evenly(numbers):
        return f"{numbers[0]}, {numbers[1]} {_GOES_ON} {numbers[-1]}"
    return ", ".join(numbers)


def choices_read(field: Field, *, picked: Sequence[str]) -> list[Any]:
    """The chosen entries or words of a choice; raises `NotRead`."""
    if not picked:
        raise NotRead(_("Choose at least one value."))
    return [read(field, typed=one) if one else None for one in dict.fromkeys(picked)]


def _evenly(numbers: Sequence[str]) -> bool:
    amounts = [Decimal(number) for number in numbers]
    return len({after - before for before, after in itertools.pairwise(amounts)}) == 1


def _parts(field: Field, *, text: str) -> list[str]:
    """The single numbers of a text, with what goes on written out."""
    body, *steps = _STEP.split(text)
    if len(steps) > 1:
        raise NotRead(_("Give one step."))
    pieces = [piece.strip(" ,;") for piece in body.split(_GOES_ON)]
    if len(pieces) == 1:
        if steps:
            raise NotRead(_("A step needs a range: 10..100 step 10."))
        return _listed(body)
    if len(pieces) > 2:
        raise NotRead(_("Give one range; write the other values out."))
    before, after = (_listed(piece) for piece in pieces)
    if not before or not after:
        raise NotRead(_("A range needs a start and an end: 10..100 step 10."))
    step, rest = (_listed(steps[0])[:1], _listed(steps[0])[1:]) if steps else ([], [])
    known = [_amount(field, text=one) for one in before[-2:]]
    return [*before, *_steps(known, [_amount(field, text=one) for one in (after[0], *step)]), *after[1:], *rest]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,;]", text) if part.strip()]


def _steps(before: Sequence[Decimal], after: Sequence[Decimal]) -> list[str]:
    """From the last number of ``before`` to the first of ``after``, whose second is the step where it has one."""
    start, end = before[-1], after[0]
    if len(after) > 1:
        by = abs(after[1]) * (1 if end >= start else -1)
    elif len(before) > 1:
        by = start - before[-2]
    else:
        raise NotRead(_("Give a step (10..100 step 10) or two values to go on from (24, 32 … 128)."))
    if by == 0 or (end - start) / by < 0:
        raise NotRead(_("The step leads away from the end of the range."))
    count = int((end - start) / by)
    if count >= MOST_VALUES:
        said = {"count": f"{count:,}", "most": f"{MOST_VALUES:,}"}
        raise NotRead(_("That is a range of %(count)s values; give at most %(most)s.") % said)
    return [f"{start + place * by:f}" for place in range(1, count + 1)]


def _amount(field: Field, *, text: str) -> Decimal:
    """The number of a text, which is in the unit of the form."""
    found = _NUMBER.match(text.strip().lstrip("$"))
    unit = text.strip().lstrip("$")[found.end() :].strip() if found else ""
    try:
        amount = Decimal(found[0]) if found else None
    except InvalidOperation:
        amount = None
    if amount is None or abs(amount.adjusted()) > 30:
        raise NotRead(_("“%(text)s” is not a number.") % {"text": text.strip()[:40]})
    if unit not in ("", field.shown, field.unit_text):
        raise NotRead(_("Write a range in %(unit)s.") % {"unit": field.unit_text or _("plain numbers")})
    return amount
