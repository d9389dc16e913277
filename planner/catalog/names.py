"""How names of catalog entries are compared: case and separators do not matter, but digits never run together."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping

LONGEST_NAME = 160
_SEPARATORS = re.compile(r"[-_.\s]+")
_SLUG_BREAKS = re.compile(r"[^a-z0-9]+")


def key(name: str) -> str:
    """The form of a name that is compared.

    A separator counts only between two digits: "H100 SXM", "h100_sxm" and "h100-sxm" are one name, and so are
    "Llama-3.1-8B" and "llama-3-1-8b", but "qwen2.5-7b" and "qwen2-57b" are two.
    """
    lowered = name.strip().lower()
    return _SEPARATORS.sub(lambda found: "-" if _between_digits(lowered, found) else "", lowered)


def _between_digits(text: str, found: re.Match[str]) -> bool:
    before, after = text[: found.start()][-1:], text[found.end() : found.end() + 1]
    return before.isdigit() and after.isdigit()


def slug_of(name: str, *, at_most: int = 60) -> str:
    """A slug for a name, "" when it has no letter or digit. Shorter than the column, so that a suffix fits.

    Letters outside a–z cannot be in a slug; a print of the name keeps names that differ only in them apart.
    """
    slug = _SLUG_BREAKS.sub("-", name.strip().lower()).strip("-")[:at_most].strip("-")
    if any(letter.isalnum() and not letter.isascii() for letter in name):
        mark = hashlib.sha256(name.strip().lower().encode()).hexdigest()[:8]
        slug = f"{slug}-{mark}".lstrip("-")
    return slug


def unpublished(owners: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Slugs by key of the name without its publisher, from (name, slug); names of two entries are left out."""
    found: dict[str, set[str]] = {}
    for name, slug in owners:
        found.setdefault(key(name.rpartition("/")[2]), set()).add(slug)
    return {short: next(iter(slugs)) for short, slugs in found.items() if len(slugs) == 1}


def nearest(name: str, index: Mapping[str, str], *, at_most: int = 3) -> tuple[str, ...]:
    """The slugs whose names look most like ``name``; ``index`` maps keys to slugs."""
    if len(name) > LONGEST_NAME:
        return ()
    close = difflib.get_close_matches(key(name), index, n=4 * at_most, cutoff=0.6)
    return tuple(dict.fromkeys(index[found] for found in close))[:at_most]


def free_slug(wanted: str, taken: Iterable[str]) -> str:
    """``wanted``, or ``wanted-2``, ``wanted-3`` … when that is taken."""
    used = set(taken)
    if wanted not in used:
        return wanted
    number = 2
    while f"{wanted}-{number}" in used:
        number += 1
    return f"{wanted}-{number}"
