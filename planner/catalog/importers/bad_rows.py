"""Rows of a file that cannot be taken: all are looked for, the first few are told, and nothing of the file is kept.

Unless they may be skipped: then the rest is taken, and they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from planner.catalog.importers import ImportProblem

MOST_TOLD = 20
MOST_BAD = 1000
"""A file with so many bad rows is not read to its end, unless they may be skipped."""


@dataclass(slots=True)
class BadRows:
    """What is wrong, by row."""

    skip: bool
    count: int = 0
    told: list[ImportProblem] = field(default_factory=list)

    def add(self, problems: Iterable[ImportProblem]) -> None:
        """Note bad rows in the order of the file; raises `ImportProblem` when there are very many."""
        for problem in problems:
            self.count += 1
            self.told.append(problem)
        self.told = sorted(self.told, key=lambda problem: problem.line or 0)[:MOST_TOLD]
        if not self.skip and self.count >= MOST_BAD:
            self.refuse()

    def refuse(self) -> None:
        """Raise what was found, if that is not to be skipped."""
        if self.told and not self.skip:
            first = self.told[0]
            raise ImportProblem(first.line, first.field, first.message, rows=tuple(self.told), bad_rows=self.count)

    def notices(self) -> dict[str, Any]:
        """What was skipped, for whoever reads the facts of the trace."""
        if not self.count:
            return {}
        told = [{"line": bad.line, "field": bad.field, "message": bad.message} for bad in self.told]
        return {"skipped_rows": self.count, "skipped": told}
