"""The settings of a launch as its table shows them: each once, under the roles that share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def setting_groups(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``[{roles, rows}]``: what several roles have alike first, then what each has of its own.

    An option that a role gives another value on another node is one row with its ``texts``.
    """
    rows: list[dict[str, Any]] = []
    for row in _spelled(settings):
        same = next((kept for kept in rows if _alike(kept, row, but=("roles",))), None)
        if same:
            same["roles"] += row["roles"]
        else:
            rows.append(row)
    shared = sorted(dict.fromkeys(tuple(row["roles"]) for row in rows), key=lambda roles: -len(roles))
    return [
        {"roles": " · ".join(roles), "rows": [row for row in rows if tuple(row["roles"]) == roles]} for roles in shared
    ]


def _spelled(settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row an option of a role, with every text it has."""
    rows: list[dict[str, Any]] = []
    for setting in settings:
        kept = {name: value for name, value in setting.items() if name not in ("role", "text", "value")}
        row = {**kept, "roles": [setting["role"]] if setting["role"] else [], "texts": [setting["text"]]}
        same = next((each for each in rows if _alike(each, row, but=("texts",))), None)
        if same:
            same["texts"] += row["texts"]
        else:
            rows.append(row)
    return rows


def _alike(one: Mapping[str, Any], other: Mapping[str, Any], *, but: Sequence[str]) -> bool:
    return all(one[name] == other[name] for name in one if name not in but)
