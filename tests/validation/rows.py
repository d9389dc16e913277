"""What the sources of `make validate` give: rows, and which quantities a source is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from planner.core.validation import SEEN, UNSEEN, VERDICT, Row

__all__ = ["SEEN", "UNSEEN", "VERDICT", "Row", "Source", "gives", "quantities_of", "sample_of"]

Source = Callable[[], Iterable[Row]]
Sample = Callable[[int], Iterable[Row]]
Given = TypeVar("Given", bound=Callable[..., Any])


def gives(*quantities: str, sample: Sample | None = None) -> Callable[[Given], Given]:
    """Say which quantities a source gives, so that ``--only`` need not run the others.

    ``sample(count)`` gives about so many of its rows, computed anew: what a test compares with the stored ones where
    the whole source takes too long. Without it the test runs the source.
    """

    def mark(source: Given) -> Given:
        source.quantities, source.sample = quantities, sample  # type: ignore[attr-defined]
        return source

    return mark


def quantities_of(source: Source) -> tuple[str, ...]:
    """The quantities of a source; () when it does not say."""
    return getattr(source, "quantities", ())


def sample_of(source: Source) -> Sample | None:
    return getattr(source, "sample", None)
