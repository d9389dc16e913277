"""What is asked, held against the documented options of a program."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.core.launch import Asked, Option, Program, Refusal, Setting, Shell, Value, value_text

_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "text": (str,),
    "switch": (bool,),
    "bool": (bool,),
    "json": (dict, list),
    "words": (tuple, list),
}
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "text": "a text",
    "switch": "on or off",
    "bool": "on or off",
    "words": "words",
}


@dataclass(frozen=True, slots=True)
class Settled:
    """What a program is told, what it would not take, and what it has no option for."""

    settings: tuple[Setting, ...]
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Settled) -> Settled:
        return Settled(
            self.settings + other.settings,
            self.refusals + other.refusals,
            tuple(dict.fromkeys(self.notes + other.notes)),
        )

    def without(self, names: Container[str]) -> Settled:
        """All but the settings that something else says."""
        return replace(self, settings=tuple(each for each in self.settings if each.option.name not in names))

    def value(self, name: str) -> Any:
        """The value of a setting by the planner's name; None where it is not set."""
        return next((each.value for each in self.settings if each.option.name == name), None)


NOTHING = Settled(())


def settle(program: Program, asked: Iterable[Asked], *, version: str = "", role: str = "") -> Settled:
    """Each thing asked as a setting of the program, or refused with what to change."""
    settings: list[Setting] = []
    refusals: list[Refusal] = []
    notes: list[str] = []
    for each in asked:
        option = program.options.get(each.name)
        if option is None:
            _unknown(program, each, role=role, refusals=refusals, notes=notes)
            continue
        value = _spelled(option, each.value)
        problem = problem_of(program, option, value, version=version)
        if problem:
            reason, change = problem
            refusals.append(Refusal(option.flag, value_text(value), reason, change, each.field, role))
        settings.append(Setting(program.slug, option, value, each, role))
    return Settled(tuple(settings), tuple(refusals), tuple(notes))


def _unknown(program: Program, asked: Asked, *, role: str, refusals: list[Refusal], notes: list[str]) -> None:
    what = asked.name.replace("_", " ")
    if asked.needed:
        reason = f"{program.name} documents no option for this ({what})."
        refusals.append(
            Refusal(
                what,
                value_text(asked.value),
                reason,
                "Leave it out of the design, or choose another target.",
                asked.field,
                role,
            )
        )
    else:
        notes.append(f"{program.name} documents no option for “{what}”; it is left to the program.")


def _spelled(option: Option, value: Value) -> Value:
    if option.spelled and isinstance(value, str) and not isinstance(value, Shell):
        value = option.spelled.get(value, value)
    if option.type == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if option.type == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def problem_of(program: Program, option: Option, value: Value, *, version: str = "") -> tuple[str, str] | None:
    """Why the option would not take the value, and what to do; None where it does."""
    if not isinstance(value, Shell):
        found = _type_problem(option, value) or _bound_problem(option, value)
        if found:
            return found
    return _version_problem(program, option, version)


def _type_problem(option: Option, value: Value) -> tuple[str, str] | None:
    if isinstance(value, _TYPES[option.type]) and (option.type in ("bool", "switch") or not isinstance(value, bool)):
        return None
    wanted = _WORDS.get(option.type, "JSON")
    return f"{option.flag} takes {wanted}, not {value_text(value)}.", f"Give {wanted}."


def _bound_problem(option: Option, value: Value) -> tuple[str, str] | None:
    given = value if option.type == "words" else (value,)
    if option.choices and not set(given) <= set(option.choices):
        listed = ", ".join(str(each) for each in option.choices)
        return f"{option.flag} takes {listed}; the design says {value_text(value)}.", f"Choose one of {listed}."
    if option.least is not None and isinstance(value, int | float) and value < option.least:
        return (
            f"{option.flag} is at least {option.least:g}; the design says {value:g}.",
            f"Give {option.least:g} or more.",
        )
    if option.most is not None and isinstance(value, int | float) and value > option.most:
        return f"{option.flag} is at most {option.most:g}; the design says {value:g}.", f"Give {option.most:g} or less."
    return None


def _version_problem(program: Program, option: Option, version: str) -> tuple[str, str] | None:
    given = numbers(version)
    if not given:
        return None
    if option.since and given < numbers(option.since):
        reason = f"{option.flag} is documented from {program.name} {option.since} on; the design runs {version}."
        return reason, f"Run {option.since} or newer."
    if option.until and given >= numbers(option.until):
        return f"{option.flag} is gone from {program.name} {option.until} on.", f"Run a version before {option.until}."
    return None


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparison: (0, 11, 1); () where there are none."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version.strip())
    return tuple(int(part) for part in found[1].split(".")) if found else ()
