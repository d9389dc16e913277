"""A figure of ours beside one that was measured or published, and what errors many of them have.

One row is one comparison. Rows that are not compared stay rows: they say why in a sentence.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["compared", "set aside", "not expressible"]
STATUSES: tuple[Status, ...] = ("compared", "set aside", "not expressible")

UNSEEN = "unseen group"
"""The row's whole group (LLM, GPU, engine) was left out when coefficients were fitted."""
SEEN = "seen group, sweep left out"
"""The row's load sweep was left out; others of its group were not."""
GROUP_NAMES = {UNSEEN: "unseen", SEEN: "seen"}

VERDICT = "verdict"
"""Unit of a yes (1) or no (0); 0.5 with the range 0..1 is "too close to call"."""

SLICED_BY = ("gpu", "engine", "family")


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison.

    ``id`` is unique within quantity and group. ``source`` names who measured, ``source_url`` where. ``family`` is that
    of the LLM, ``group`` the condition of the test (`UNSEEN`, `SEEN`, or ""), ``low``/``high`` the 80 % interval of
    ``predicted``, ``conditions`` what was run, in a few words. ``reason`` says why a row is not compared.
    """

    quantity: str
    id: str
    source: str
    source_url: str = ""
    gpu: str = ""
    engine: str = ""
    llm: str = ""
    family: str = ""
    group: str = ""
    predicted: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    status: Status = "compared"
    reason: str = ""
    conditions: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a verdict was left open, as it may be."""
        return self.unit == VERDICT and self.predicted not in (0, 1)

    @property
    def error(self) -> float | None:
        """|predicted / measured - 1| [%]; of a verdict 0 or 100. None where nothing was compared."""
        if self.status != "compared" or self.predicted is None or self.measured is None:
            return None
        if self.unit == VERDICT:
            return 0.0 if self.is_open or self.predicted == self.measured else 100.0
        if self.measured == 0:
            return 0.0 if self.predicted == 0 else 100.0
        return abs(self.predicted / self.measured - 1) * 100

    @property
    def is_covered(self) -> bool | None:
        """Whether the interval holds what was measured; None without one."""
        if self.status != "compared" or self.measured is None or self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors [%] of a slice, the share [%] whose interval holds the measured figure, and what was not compared."""

    n: int
    median: float | None
    p90: float | None
    largest: float | None
    coverage: float | None
    set_aside: int
    not_expressible: int

    @property
    def answered(self) -> float | None:
        """The share [%] of usable rows that got an answer: what the data rules out counts for neither side."""
        usable = self.n + self.not_expressible
        return 100 * self.n / usable if usable else None


def summary(rows: Iterable[Row]) -> Summary:
    """The errors of some rows."""
    found = list(rows)
    errors = sorted(error for row in found if (error := row.error) is not None)
    covered = [held for row in found if (held := row.is_covered) is not None]
    return Summary(
        n=len(errors),
        median=statistics.median(errors) if errors else None,
        p90=percentile(errors, 90) if errors else None,
        largest=errors[-1] if errors else None,
        coverage=100 * sum(covered) / len(covered) if covered else None,
        set_aside=sum(row.status == "set aside" for row in found),
        not_expressible=sum(row.status == "not expressible" for row in found),
    )


def percentile(ordered: Sequence[float], rank: float) -> float:
    """The percentile of ordered figures, linear between the two next to it."""
    place = rank / 100 * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def share_within(rows: Iterable[Row], limit: float) -> float | None:
    """The share [%] of compared rows whose error is at most ``limit`` [%]."""
    errors = [error for row in rows if (error := row.error) is not None]
    return 100 * sum(error <= limit for error in errors) / len(errors) if errors else None


def slices(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Name and rows of every slice: ``all``, each ``group:…``, and each GPU, engine and family."""
    found = list(rows)
    yield "all", found
    parted: dict[str, list[Row]] = {}
    for row in found:
        if row.group:
            parted.setdefault(f"group:{GROUP_NAMES.get(row.group, row.group)}", []).append(row)
    for attribute in SLICED_BY:
        for row in found:
            if value := getattr(row, attribute):
                parted.setdefault(f"{attribute}:{value}", []).append(row)
    rank = {name: place for place, name in enumerate(("group", *SLICED_BY))}
    yield from sorted(parted.items(), key=lambda item: (rank[item[0].partition(":")[0]], item[0]))
