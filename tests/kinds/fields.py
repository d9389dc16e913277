"""Every field of a kind changes the answer or is named as one that does not: asked of any kind the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.catalog import files
from planner.core.kind import DesignKind
from planner.core.result import Result

CATALOG = files.load()


def values(result: Result) -> dict[str, float | None]:
    return {name: each.value for name, each in result.metrics.items()}


def figures(result: Result) -> Any:
    return {name: (each.value, each.low, each.high, each.objective) for name, each in result.metrics.items()}


def notes(result: Result) -> Any:
    return sorted((each.code, each.message) for each in result.findings if each.code != "field_ignored")


def columns(result: Result) -> Any:
    return {name: [list(column.values) for column in each.columns] for name, each in result.series.items()}


def differ(one: Result, other: Result) -> bool:
    return any(part(one) != part(other) for part in (figures, notes, columns))


@dataclass(frozen=True)
class Fields:
    """A kind and, for each of its fields, settings of which at least one must be felt or named in every context."""

    kind: DesignKind
    settings: Mapping[str, Sequence[Any]]

    def all_are_asked_for(self) -> bool:
        return set(self.settings) == set(self.kind.spec.model_fields)

    def answer(self, spec: Mapping[str, Any]) -> Result:
        return self.kind.estimate(self.kind.spec.model_validate(spec), CATALOG)

    def unfelt(self, base: Mapping[str, Any], *, unfit: Sequence[tuple[str, Any]] = ()) -> list[str]:
        """Fields none of whose settings (but those ``unfit`` for the context) changes the answer or is named."""
        stated, plain = self.kind.spec.model_validate(base), self.answer(base)
        found = []
        for field, settings in self.settings.items():
            others = [one for one in settings if getattr(stated, field) != one and (field, one) not in unfit]
            # One of the settings may be what the blank field means.
            if others and not any(self._is_felt(base, plain, field, one) for one in others):
                found.append(field)
        return found

    def _is_felt(self, base: Mapping[str, Any], plain: Result, field: str, setting: Any) -> bool:
        result = self.answer({**base, field: setting})
        named = next((each for each in result.findings if f"({field}) changes no figure" in each.message), None)
        if named is None:
            return differ(result, plain)
        assert values(result) == values(plain), (field, setting)
        assert named.change is not None
        undone = self.answer({**base, field: setting, **named.change})
        assert all(f"({field})" not in each.message for each in undone.findings if each.code == "field_ignored")
        return True
