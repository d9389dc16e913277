"""Sensitivity and uncertainty as rows, for a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Table = list[Sequence[Any]]


def of_sensitivity(found: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of a sensitivity, or of half of one: an end of an input a row, a place where something turns a row."""
    columns = ("name", "unit", "value", "holds", "at", "relative", "sentence")
    flips: Table = [columns, *([row[name] for name in columns] for row in found.get("flips", ()))]
    return {"tornado": _ends(found) if "tornado" in found else [], "flips": flips}


def _ends(found: Mapping[str, Any]) -> Table:
    metric = found["metric"]["metric"]
    ends: Table = [("input", "unit", "value", metric, "status", "reason", "clipped", "swing", "elasticity")]
    ends += [
        (bar["name"], bar["unit"], end["value"], end["figure"], end["status"], end["reason"], end["clipped"],
         bar["swing"], bar["elasticity"])
        for bar in found["tornado"]
        for end in bar["ends"]
    ]  # fmt: skip
    return ends


def of_uncertainty(found: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of an uncertainty: the distribution, the chances, where the spread comes from, and what was drawn."""
    quantiles = found["quantiles"]
    rows: Table = [("share", found["metric"]["metric"]), *zip(quantiles["shares"], quantiles["values"], strict=False)]
    return {
        "quantiles": rows,
        "percentiles": [("percentile", "value", "error"), *_estimated(found["percentiles"])],
        "objectives": _columns(found["objectives"], ("metric", "limit", "unit", "probability", "error")),
        "contributions": _columns(found["contributions"], ("name", "index", "correlation")),
        "inputs": _columns(found["inputs"], ("name", "unit", "value", "low", "high", "shape", "source")),
    }


def _estimated(rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    yield from ((name, row["value"], row["error"]) for name, row in rows.items())


def _columns(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    return [columns, *([row[name] for name in columns] for row in rows)]
