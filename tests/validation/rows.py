"""What the sources of `make validate` give: rows, and which quantities a source is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from planner.core.validation import SEEN, UNSEEN, VERDICT, Row

__all__ = ["SEEN", "UNSEEN", "VERDICT", "Row", "Source", "gives", "quantities_of"]

Source = Callable[[], Iterable[Row]]
Given = TypeVar("Given", bound=Callable[..., Any])


def gives(*quantities: str) -> Callable[[Given], Given]:
    """Say which quantities a source gives, so that ``--only`` need not run the others."""

    def mark(source: Given) -> Given:
        source.quantities = quantities  # type: ignore[attr-defined]
        return source

    return mark


def quantities_of(source: Source) -> tuple[str, ...]:
    """The quantities of a source; () when it does not say."""
    return getattr(source, "quantities", ())
