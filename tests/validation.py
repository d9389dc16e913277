"""`make validate`: our figures beside those that others published; writes build/validation.json.

``{quantity: {slice: {n, median, p90, coverage}}}`` with absolute relative errors in per cent; ``coverage`` is null
where a figure carries no interval.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from planner import kinds
from planner.catalog import files
from planner.catalog.derived import published_totals
from planner.formulas import attention
from tests.golden.published import DESIGN_FIGURES, KV_BYTES_PER_TOKEN

ROOT = Path(__file__).resolve().parents[1]
CATALOG = files.load()
Pair = tuple[str, float, float]


def parameters() -> Iterator[Pair]:
    """Parameters counted from the architecture against the published total."""
    for row in published_totals(CATALOG):
        yield row["llm"].family, row["counted"], row["published"]


def kv_per_token() -> Iterator[Pair]:
    """KV bytes per token against the engines' own arithmetic."""
    for (slug, tensor_parallel), published in KV_BYTES_PER_TOKEN.items():
        llm = CATALOG.llm(slug)
        yield llm.family, attention.kv_bytes_per_token(llm, dtype_bytes=2, tensor_parallel=tensor_parallel), published


def reference_designs() -> Iterator[Pair]:
    """The figures of the customer's design notes against our answer to the default spec."""
    for (slug, name), published in DESIGN_FIGURES.items():
        kind = kinds.get(slug)
        value = kind.estimate(kind.spec(), CATALOG).value(name)
        yield slug, float("nan") if value is None else value, published


QUANTITIES: dict[str, Callable[[], Iterator[Pair]]] = {
    "parameters": parameters,
    "kv_bytes_per_token": kv_per_token,
    "reference_designs": reference_designs,
}


def errors_by_slice(pairs: Iterator[Pair]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"all": []}
    for name, ours, published in pairs:
        error = abs(ours / published - 1) * 100
        found["all"].append(error)
        found.setdefault(name, []).append(error)
    return found


def summary(errors: list[float]) -> dict[str, float | int | None]:
    ordered = sorted(errors)
    p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return {"n": len(ordered), "median": round(statistics.median(ordered), 4), "p90": round(p90, 4), "coverage": None}


def main() -> int:
    report = {
        name: {part: summary(errors) for part, errors in errors_by_slice(pairs()).items()}
        for name, pairs in QUANTITIES.items()
    }
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    (folder / "validation.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    print(f"{'quantity':<20} {'slice':<18} {'n':>4} {'median %':>9} {'p90 %':>9}")
    for quantity, slices in report.items():
        for part, figures in slices.items():
            print(f"{quantity:<20} {part:<18} {figures['n']:>4} {figures['median']:>9} {figures['p90']:>9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
