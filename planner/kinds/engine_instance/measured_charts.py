"""The estimate and what was measured of this very replica in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.core.chart import Axis, Chart, Trace
from planner.core.result import Series

_FIGURES = (
    ("tpot", "tpot_mean_s", "TPOT", Axis("TPOT, mean", "s", shown="ms")),
    ("ttft", "ttft_mean_s", "TTFT", Axis("TTFT, mean", "s", log=True, start_at_zero=False)),
    ("throughput", "output_tokens_per_s_per_gpu", "throughput", Axis("output of a GPU", "tok/s/GPU")),
)
"""Column of the band, column of the figure, its name and its axis."""
_PAST = 4.0
"""The curve is drawn to this multiple of the largest measured load: beyond, it would only flatten the points."""


def measured_charts(curve: Series, measured: Series) -> Iterator[Chart]:
    """TPOT, TTFT and throughput against concurrency: the curve with its band, and the published points over it."""
    points = _numbers(measured, "concurrency")
    last = _PAST * max(point for point in points if point is not None)
    versions = [f"version {version}" for version in measured.column("version").values]
    for band, name, words, axis in _FIGURES:
        columns = (_numbers(curve, column) for column in ("concurrency", name, f"{band}_band"))
        rows = [row for row in zip(*columns, strict=True) if row[0] is not None and row[0] <= last]
        if all(value is None for _, value, _ in rows):
            continue
        yield Chart(
            name=f"measured_{band}",
            title=f"Does {words} agree with what was measured?",
            subtitle=_subtitle(len(points)),
            form="line",
            x=Axis("requests in the system", "requests", log=True, start_at_zero=False),
            y=axis,
            traces=(
                Trace(
                    "estimate",
                    [load for load, _, _ in rows],
                    [value for _, value, _ in rows],
                    low=[None if value is None else value / (width or 1.0) for _, value, width in rows],
                    high=[None if value is None else value * (width or 1.0) for _, value, width in rows],
                ),
                Trace("measured", points, _numbers(measured, name), order=1, marker_only=True, labels=versions),
            ),
            summary=f"{axis.label} against the number of requests: the estimate with its 80 % band, and {len(points)} "
            "published measurements of the same replica.",
        )


def _subtitle(count: int) -> str:
    points = "The point is a published measurement" if count == 1 else f"{count} points are published measurements"
    return f"{points} of this replica at these lengths; the curve leans on them, with its 80 % band."


def _numbers(series: Series, name: str) -> Sequence[float | None]:
    return [value if isinstance(value, int | float) else None for value in series.column(name).values]
