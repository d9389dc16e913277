"""What must hold at any moment between two events; checked in every simulated test."""

from __future__ import annotations


class InvariantError(AssertionError):
    """A run has lost or made up something."""


def conserved(*, name: str, left: float, right: float) -> None:
    """Two countings of the same thing agree."""
    if left != right:
        raise InvariantError(f"{name}: {left} against {right}")


def holds(statement: bool, *, name: str) -> None:
    """A statement is true."""
    if not statement:
        raise InvariantError(name)
