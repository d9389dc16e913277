"""The registry: finds the folders of this package and checks each kind at the door.

A folder with ``KIND = DesignKind(...)`` in its ``__init__`` is a kind; its slug is the folder's name. Nothing
else lists the kinds.
"""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planner.core.kind import DesignKind
from planner.core.planning import Planning

_FOLDER = Path(__file__).parent


class UnknownKind(LookupError):
    """No kind has this slug."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"no design kind “{slug}”; the kinds are {', '.join(all_kinds())}")
        self.slug = slug


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: a spec that opens with figures and charts."""

    slug: str
    name: str
    kind: str
    spec: Mapping[str, Any]
    description: str = ""
    tags: tuple[str, ...] = ()
    workload: str = ""
    """Slug of a catalog workload the simulation of this example replays."""


def _check(kind: DesignKind, folder: str) -> None:
    if kind.slug != folder:
        raise ValueError(f"kind {kind.slug} lives in the folder {folder}; the names must be equal")
    names = [metric.name for metric in kind.metrics]
    if len(names) != len(set(names)):
        raise ValueError(f"kind {kind.slug} defines a metric twice")
    for name, field in kind.spec.model_fields.items():
        extra = field.json_schema_extra
        if not field.title or not isinstance(extra, dict) or "group" not in extra:
            raise ValueError(f"{kind.slug}.{name} has no label or group: build it with planner.core.kind.quantity")
    kind.spec()
    for needed in ("METHOD.md", "examples.toml", "planning.py"):
        if not (_FOLDER / folder / needed).exists():
            raise ValueError(f"kind {kind.slug} has no {needed}")


@cache
def all_kinds() -> Mapping[str, DesignKind]:
    """Every kind by slug, in the order the kinds ask for."""
    found: dict[str, DesignKind] = {}
    for module in pkgutil.iter_modules([str(_FOLDER)]):
        if not module.ispkg:
            continue
        kind = importlib.import_module(f"{__name__}.{module.name}").KIND
        _check(kind, module.name)
        found[kind.slug] = kind
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))


def get(slug: str) -> DesignKind:
    """The kind with this slug; raises `UnknownKind`."""
    try:
        return all_kinds()[slug]
    except KeyError:
        raise UnknownKind(slug) from None


@cache
def planning(slug: str) -> Planning:
    """What the kind tells of decisions (`planning.py` of its folder); raises `UnknownKind`.

    Nothing for a kind without a folder, such as those of tests.
    """
    folder = f"{__name__}.{get(slug).slug}"
    try:
        found: Planning = importlib.import_module(f"{folder}.planning").PLANNING
    except ModuleNotFoundError as missing:
        if missing.name != folder:
            raise
        return Planning()
    return found


@cache
def examples() -> Sequence[Example]:
    """Worked examples of all kinds, from the ``examples.toml`` beside each."""
    found: list[Example] = []
    for slug in all_kinds():
        with (_FOLDER / slug / "examples.toml").open("rb") as file:
            rows = tomllib.load(file)["example"]
        found += [Example(kind=slug, **{**row, "tags": tuple(row.get("tags", ()))}) for row in rows]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ExamplePlan:
    """A worked fleet plan: members with kind and spec, and how they are joined."""

    slug: str
    name: str
    description: str
    members: tuple[Mapping[str, Any], ...]
    joins: tuple[Mapping[str, str], ...]
    night: Mapping[str, float]


@cache
def example_plans() -> Sequence[ExamplePlan]:
    """Worked fleet plans, from the ``plans.toml`` beside the kinds."""
    with (_FOLDER / "plans.toml").open("rb") as file:
        rows = tomllib.load(file)["plan"]
    return tuple(ExamplePlan(**{**row, "members": tuple(row["members"]), "joins": tuple(row["joins"])}) for row in rows)


def method(slug: str) -> str:
    """The METHOD.md of a kind."""
    return (_FOLDER / get(slug).slug / "METHOD.md").read_text(encoding="utf-8")
