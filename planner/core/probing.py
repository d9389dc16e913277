"""Asking a design what it would be with other inputs: each answer is worked out once and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from planner.core import batch
from planner.core.batch import Status
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.kind import Spec
from planner.core.result import Result

if TYPE_CHECKING:
    from planner.core.catalog import Catalog


@dataclass(frozen=True)
class Point:
    """A design with some inputs changed; one that is refused has no ``result``, but what it is ``refused`` for."""

    result: Result | None
    spec: Any = None
    refused: str = ""

    @cached_property
    def _verdict(self) -> tuple[Status, str | None]:
        """Looked for only where somebody asks: it reads the findings."""
        if self.result is None:
            return "refused", self.refused
        try:
            return batch.verdict(self.result)
        except (MissingFigure, UnknownEntry) as problem:
            return "refused", str(problem)

    @property
    def status(self) -> Status:
        return self._verdict[0]

    @property
    def reason(self) -> str | None:
        """What binds where it is not ok."""
        return self._verdict[1]

    def value(self, metric: str) -> float | None:
        return None if self.result is None else self.result.value(metric)

    @cached_property
    def told(self) -> dict[str, tuple[float | None, float | None]]:
        """All figures and what is asked of them; nothing of a design that is refused."""
        metrics = {} if self.result is None else self.result.metrics
        return {name: (metric.value, metric.objective) for name, metric in metrics.items()}


class Probe:
    """A base spec and its kind's estimate; ``worked_out`` counts the estimates that were made."""

    def __init__(self, base: Spec, *, estimate: Callable[[Any, Catalog], Result], catalog: Catalog) -> None:
        self.base, self._estimate, self._catalog = base, estimate, catalog
        self._known: dict[str, Point] = {}

    @property
    def worked_out(self) -> int:
        return len(self._known)

    def at(self, change: Mapping[str, Any]) -> Point:
        """The design with a change of inputs."""
        key = repr(sorted(change.items()))
        if key not in self._known:
            self._known[key] = self._asked(change)
        return self._known[key]

    def _asked(self, change: Mapping[str, Any]) -> Point:
        try:
            spec = batch.changed(self.base, change) if change else self.base
            found = self._estimate(spec, self._catalog)
        except (ValidationError, MissingFigure, UnknownEntry) as problem:
            return Point(None, refused=batch.refusal(self.base, problem))
        return Point(found, spec)
