"""How figures came about, in words: the badge of each basis and what it means, the same on every surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

WORDS: Mapping[str, Any] = {
    "exact": _("exact"),
    "measured": _("measured"),
    "calibrated": _("calibrated"),
    "extrapolated": _("extrapolated"),
    "assumed": _("assumed"),
    "simulated": _("simulated"),
}
MEANINGS: Mapping[str, Any] = {
    "exact": _("arithmetic of the inputs and the catalog"),
    "measured": _("this very case was measured and published, or by you; the figure leans on it"),
    "calibrated": _("a formula fitted on measurements of cases like this one"),
    "extrapolated": _("the same formula away from its measurements: read the range"),
    "assumed": _("follows from a figure that is an input"),
    "simulated": _("counted in a simulation"),
}


def words(basis: str) -> str:
    """The badge in a word; one that is not known says its own name."""
    return str(WORDS.get(basis, basis))


def meaning(basis: str) -> str:
    """What the badge says of a figure; "" for one that is not known."""
    return str(MEANINGS.get(basis, ""))


def legend(bases: Iterable[str]) -> list[dict[str, str]]:
    """The badges that occur with their meaning, the surest first."""
    present = set(bases)
    return [{"basis": name, "words": words(name), "meaning": meaning(name)} for name in WORDS if name in present]
