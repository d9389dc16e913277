"""A name for the code that computes results, so that a result of other code is never taken for today's."""

from __future__ import annotations

import hashlib
from functools import cache

from django.conf import settings

COMPUTES = ("planner/core", "planner/formulas", "planner/kinds", "sims")
"""Where figures are made; pages and jobs only carry them."""


@cache
def code_digest() -> str:
    """The digest of all sources that a figure depends on, read once a process."""
    state = hashlib.sha256()
    for folder in COMPUTES:
        for path in sorted((settings.BASE_DIR / folder).rglob("*.py")):
            state.update(path.relative_to(settings.BASE_DIR).as_posix().encode())
            state.update(path.read_bytes())
    return state.hexdigest()[:20]
