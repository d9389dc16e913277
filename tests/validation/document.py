"""docs/methods/validation.md: the errors by quantity, condition, GPU, engine and family, from the stored rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from planner.catalog.validation import Stored
from planner.core.validation import Row, Summary, slices, summary
from planner.core.validation_targets import EXACT, Check, checks, checks_of, quantity_of

TITLES = {"group": "Condition", "gpu": "GPU", "engine": "Engine", "family": "LLM family"}
MOST_SOURCES = 12


def text_of(stored: Stored) -> str:
    """The whole document."""
    return "\n".join([*_head(stored), *(line for name in stored.rows for line in _quantity(name, stored.rows[name]))])


def _head(stored: Stored) -> Iterator[str]:
    yield "# Validation"
    yield ""
    yield "<!-- Written by `make validate` from the rows under planner/catalog/data/validation/. Do not edit. -->"
    yield ""
    yield (
        "Our figures beside those that others measured or published. An error is |predicted / measured − 1| in per "
        "cent; “80 % held” is the share of rows whose measured figure lies in the 80 % interval of ours. Rows that "
        "the data itself rules out are *set aside*, rows that the product cannot say yet are *not expressible*; both "
        "are counted, listed and given a reason. “Answered” is the share of the usable rows that got an answer."
    )
    yield ""
    yield (
        "Every row, with its source, is in `planner/catalog/data/validation/`, on the page `/validation/`, and at "
        "`GET /api/v1/validation/rows/`. `make validate` computes all of it again."
    )
    yield ""
    if stored.date:
        yield f"Rows last changed on {stored.date}."
        yield ""
    yield from _table(
        (
            "Quantity",
            "Condition",
            "n",
            "Median",
            "P90",
            "80 % held",
            "Answered",
            "Set aside",
            "Not expressible",
            "Target",
        ),
        (line for name, rows in stored.rows.items() for line in _overview(name, rows)),
        words=(0, 1, 9),
    )


def _overview(name: str, rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    quantity = quantity_of(name)
    groups = list(dict.fromkeys(row.group for row in rows))
    for group in groups:
        mine = [row for row in rows if row.group == group]
        found = summary(mine)
        made = checks_of(name, group, mine)
        verdict = "" if not made else "met" if all(check.met for check in made) else "**missed**"
        yield quantity.label, group, *_figures(found), f"{found.set_aside}", f"{found.not_expressible}", verdict


def _quantity(name: str, rows: Sequence[Row]) -> Iterator[str]:
    quantity = quantity_of(name)
    yield f"## {quantity.label}"
    yield ""
    if quantity.against:
        yield f"Against {quantity.against}."
        yield ""
    yield from _targets(name, rows)
    yield from _by_slice(rows)
    yield from _left_out(rows)
    yield from _sources(rows)


def _targets(name: str, rows: Sequence[Row]) -> Iterator[str]:
    lines = [
        (target.group or "all rows", *_check_words(check), "met" if check.met else "**missed**")
        for target in quantity_of(name).targets
        for check in checks(target, rows)
    ]
    if lines:
        yield from _table(("Condition", "To reach", "Found", ""), lines, words=(0, 1, 3))


def _check_words(check: Check) -> tuple[str, str]:
    found = _percent(check.found)
    if check.measure == "within" and check.limit[1] == EXACT:
        return "exact, every row", f"{found} of rows"
    if check.measure == "within":
        return f"{check.limit[0]:g} % of rows within {check.limit[1]:g} %", f"{found} of rows"
    if check.measure == "coverage":
        return f"80 % intervals hold {check.limit[0]:g}–{check.limit[1]:g} %", found
    if check.measure == "right":
        return "every verdict right or left open", found
    if check.measure == "answered":
        return "every usable row answered", found
    return f"{ {'median': 'median', 'p90': 'P90'}[check.measure] } at most {check.limit[0]:g} %", found


def _by_slice(rows: Sequence[Row]) -> Iterator[str]:
    parted: dict[str, list[Sequence[str]]] = {}
    for name, part in slices(rows):
        kind, _, value = name.partition(":")
        if kind in TITLES and (found := summary(part)).n:
            parted.setdefault(kind, []).append((value, *_figures(found)))
    for kind, lines in parted.items():
        yield from _table((TITLES[kind], "n", "Median", "P90", "80 % held", "Answered"), lines, words=(0,))


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    counts = Counter((row.status, row.reason) for row in rows if row.status != "compared")
    if counts:
        ordered = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
        yield from _table(
            ("Not compared", "Rows", "Why"), ((status, f"{n}", why) for (status, why), n in ordered), words=(0, 2)
        )


def _sources(rows: Sequence[Row]) -> Iterator[str]:
    counts = Counter(row.source_url for row in rows if row.source_url)
    if not counts:
        return
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    yield (
        "Sources: "
        + ", ".join(f"<{url}> ({n})" for url, n in shown[:MOST_SOURCES])
        + (f", and {len(shown) - MOST_SOURCES} more; each row names its own." if len(shown) > MOST_SOURCES else ".")
    )
    yield ""


def _figures(found: Summary) -> tuple[str, ...]:
    return (f"{found.n}", *(_percent(value) for value in (found.median, found.p90, found.coverage, found.answered)))


def _percent(value: float | None) -> str:
    if value is None:
        return "—"
    if value == 0:
        return "0 %"
    return f"{value:.1f} %" if value >= 0.05 else f"{value:.1g} %"


def _table(header: Sequence[str], lines: Iterable[Sequence[str]], *, words: Sequence[int]) -> Iterator[str]:
    """A table, figures to the right; columns of ``words`` to the left."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "|".join("---" if place in words else "--:" for place in range(len(header))) + "|"
    for line in lines:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
    yield ""
