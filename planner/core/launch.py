"""What starts a design: commands and manifests, each setting with the input it comes from and where it is documented.

A kind says what it asks (`Asked`), in the planner's names; a `Program` of the catalog knows the option that says so,
and what it takes. Nothing is offered while something is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from planner.core.catalog import Catalog
    from planner.core.result import Result

OptionType = Literal["int", "float", "text", "switch", "bool", "json", "words"]
Place = Literal["argument", "environment", "file", "manifest"]
Value = Any
"""A number, a text, a truth, or what JSON holds of them."""


class Shell(str):
    """A text that a shell fills in where the program starts: the address of the first node, say."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a program as its documentation has it.

    ``spelled`` turns the planner's words into the program's. ``since`` is the first version whose documentation is
    known to have it, ``until`` the first one without; "" where that is not known.
    """

    name: str
    flag: str
    type: OptionType
    place: Place
    source: str
    as_of: str
    choices: tuple[str | int, ...] = ()
    least: float | None = None
    most: float | None = None
    spelled: Mapping[str, str] | None = None
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs a part of a design, and its documented options by the planner's names."""

    slug: str
    name: str
    version: str
    """Whose documentation was read."""
    command: tuple[str, ...]
    image: str
    source: str
    as_of: str
    options: Mapping[str, Option]
    needs: Mapping[str, str]
    """Number format → figure of a GPU without which it does not run."""
    vendors: tuple[str, ...] = ()
    """Whose GPUs it runs on, where its documentation says so."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a design asks of a program, from the input or the figure that says so.

    What is not ``needed`` is left out, and said so, where the program has no option for it.
    """

    name: str
    value: Value
    why: str
    field: str = ""
    metric: str = ""
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Setting:
    """An option with its value, as the program spells it."""

    program: str
    option: Option
    value: Value
    asked: Asked
    role: str = ""

    @property
    def flag(self) -> str:
        return self.option.flag

    @property
    def text(self) -> str:
        """The value as it is typed."""
        return value_text(self.value)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that would not start, or not run as the design says; ``change`` says what to do about it."""

    flag: str
    value: str
    reason: str
    change: str
    field: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A line for a shell. ``where`` says on which machine."""

    title: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file that starts or configures something."""

    filename: str
    media_type: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """Something a design can be started with."""

    slug: str
    label: str


@dataclass(frozen=True, slots=True)
class Launch:
    """All that starts a design with one target."""

    target: Target
    settings: tuple[Setting, ...]
    refusals: tuple[Refusal, ...]
    commands: tuple[Command, ...]
    manifests: tuple[Manifest, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_offered(self) -> bool:
        return not self.refusals


@dataclass(frozen=True, slots=True)
class Launcher:
    """How a kind starts its designs: ``targets(spec)``, the design's own first, and ``start(spec, …, target)``."""

    targets: Callable[[Any], tuple[Target, ...]]
    start: Callable[[Any, Result, Catalog, Target], Launch]

    def launch(self, spec: Any, result: Result, catalog: Catalog, *, target: str = "") -> Launch:
        """What starts a design with a target, by default its own; raises `UnknownTarget`."""
        known = self.targets(spec)
        chosen = next((each for each in known if each.slug == target), None) if target else known[0]
        if chosen is None:
            raise UnknownTarget(target, known)
        return self.start(spec, result, catalog, chosen)


class UnknownTarget(LookupError):
    """The kind has no such target."""

    def __init__(self, slug: str, targets: tuple[Target, ...]) -> None:
        super().__init__(f"no target “{slug}”; this kind has {', '.join(each.slug for each in targets)}")
        self.slug = slug


def value_text(value: Value) -> str:
    """A value as a command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return " ".join(str(each) for each in value)
    if isinstance(value, Mapping | list):
        return json.dumps(value, separators=(",", ":"))
    return str(value)
