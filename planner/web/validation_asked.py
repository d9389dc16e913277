"""What the address of the validation page asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict

from planner.catalog import validation_query as query
from planner.catalog.validation import Stored
from planner.core.validation import UNSEEN
from planner.web.validation_charts import COLOURS

LONGEST = 200
FIRST = "tpot"
"""The quantity shown when none is asked for, once it is stored."""
ROW = "row"
"""Asks for one row by its id, under every condition it was tested in."""
ANY = "any"
"""Asks for every condition of a quantity whose unseen groups are shown first."""
SORT_WORDS = {"largest": "-error", "smallest": "error", "id": "id"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for; what it does not say, or says wrong, is as by default."""

    quantity: str
    filters: tuple[tuple[str, str], ...]
    sort: str
    colour: str
    usual_group: str = ""
    """The condition that is shown when none is asked for: a mean over seen and unseen says nothing."""

    @property
    def chosen(self) -> dict[str, str]:
        return dict(self.filters)

    @property
    def is_filtered(self) -> bool:
        return any(value for name, value in self.filters if name != "group" or value != self.usual_group)

    @property
    def everything(self) -> str:
        """The query of the same quantity without any filter."""
        return self.address(**dict.fromkeys((*query.FILTERS, "id"), ""))

    def address(self, **changes: str) -> str:
        """The query of this page with some of it changed; "" takes a part out."""
        parts = {"quantity": self.quantity, **self.chosen, "sort": self.sort, "colour": self.colour, **changes}
        usual = {"sort": query.SORTS[0], "colour": COLOURS[0], "group": self.usual_group}
        parts["group"] = parts["group"] or (ANY if self.usual_group else "")
        parts[ROW] = parts.pop("id", "")
        found = QueryDict(mutable=True)
        found.update({name: value for name, value in parts.items() if value and usual.get(name) != value})
        return f"?{found.urlencode()}"


def asked(given: QueryDict, *, stored: Stored) -> Asked | None:
    """The question of an address; None when it names a quantity that is not there."""
    first = FIRST if FIRST in stored.rows else next(iter(stored.rows), "")
    name = given.get("quantity") or first
    if name not in stored.rows and stored.rows:
        return None
    usual_group = _usual_group(name, stored)
    given_group = given.get("group", usual_group)
    filters = {each: given.get(each, "")[:LONGEST] for each in query.FILTERS}
    filters["group"] = "" if given_group == ANY else given_group[:LONGEST]
    if row := given.get(ROW, "")[:LONGEST]:
        # One row is asked for by name: what else would leave it out does not count.
        filters = {**dict.fromkeys(query.FILTERS, ""), "id": row}
    return Asked(
        quantity=name,
        filters=tuple(filters.items()),
        sort=_one_of(given.get("sort"), query.SORTS),
        colour=_one_of(given.get("colour"), COLOURS),
        usual_group=usual_group,
    )


def _usual_group(name: str, stored: Stored) -> str:
    return UNSEEN if any(line.quantity.name == name and line.group == UNSEEN for line in query.overview(stored)) else ""


def _one_of(value: str | None, known: Sequence[str]) -> str:
    return value if value is not None and value in known else known[0]
