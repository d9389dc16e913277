"""Command lines: words quoted for a POSIX shell, one option a line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from planner.core.launch import Setting, Shell


def word(text: str) -> str:
    """A word of a command line. What the shell fills in stays open to it, within quotes."""
    return f'"{text}"' if isinstance(text, Shell) else shlex.quote(text)


def arguments(settings: Iterable[Setting]) -> list[list[str]]:
    """Options with their values, a group a setting; a switch has none, one that is off is left out.

    The flag of a positional argument does not start with a dash.
    """
    rows: list[list[str]] = []
    for each in settings:
        if each.option.place != "argument":
            continue
        if each.option.type == "switch":
            rows += [[each.flag]] if each.value else []
        elif each.option.type == "words":
            rows.append([each.flag, *(str(word) for word in each.value)])
        elif not each.flag.startswith("-"):
            rows.append([each.text])
        else:
            rows.append([each.flag, each.value if isinstance(each.value, Shell) else each.text])
    return rows


def environment(settings: Iterable[Setting]) -> dict[str, str]:
    """Variables by name."""
    return {
        each.flag: each.value if isinstance(each.value, Shell) else each.text
        for each in settings
        if each.option.place == "environment"
    }


def line(command: Sequence[str], rows: Iterable[Sequence[str]], *, variables: dict[str, str] | None = None) -> str:
    """A command, broken after each variable and option; a positional argument stays on the line of the command."""
    groups = [list(row) for row in rows]
    lead = [*command, *(word_ for row in groups if not row[0].startswith("-") for word_ in row)]
    named = [f"{name}={word(value)}" for name, value in (variables or {}).items()]
    lines = [*named, " ".join(word(each) for each in lead)]
    lines += [" ".join(word(each) for each in row) for row in groups if row[0].startswith("-")]
    return " \\\n  ".join(lines)
