"""What is told of several runs, and charts with what they leave open."""

from __future__ import annotations

import pytest

from planner.core.chart import Axis, Chart, Trace
from planner.core.replications import Repeated, _metric, _of_all, banded
from planner.core.result import Answer, Column, Finding, Metric, MetricDef, Result, Series
from planner.core.simulation import SimulationRequest

SPEED = MetricDef("speed", "Speed", "tok/s", "higher")
ARRIVED = MetricDef("requests_arrived", "Arrived", "requests")
GPUS = MetricDef("gpus", "GPUs", "GPUs")
LATE = MetricDef("late_s", "Late", "s")


class Seen:
    """An outcome that is put together by adding; see the kinds' tests for real ones."""


def result(*speeds: float, code: str = "") -> Result:
    """The result of runs with these speeds."""
    mean = sum(speeds) / len(speeds)
    line = Series("timeline", "Time", (Column("time_s", "time", "s", [1.0, 2.0]), Column("a", "A", "", [mean, None])))
    return Result(
        metrics={
            "speed": Metric(SPEED, mean, basis="simulated"),
            "requests_arrived": Metric(ARRIVED, mean * 10),
            "gpus": Metric(GPUS, 4.0),
            "late_s": Metric(LATE, 7.0, low=6.0, high=8.0),
        },
        answer=Answer("speed", "Fast.", note="So it is.", facts=("late_s",)),
        findings=(Finding(code, "error", "It piles up."),) if code else (),
        series={"timeline": line},
    )


def of_all(*speeds: float, codes: tuple[str, ...] = ("", "", "")) -> Result:
    """What is told of one run for each speed."""
    return _of_all(result(*speeds), each=[result(s, code=c) for s, c in zip(speeds, codes, strict=True)], seed=1)


def test_figures_are_means_with_students_interval_counts_sums_and_pooled_ones_stay() -> None:
    found = of_all(1.0, 2.0, 3.0).metrics
    speed = found["speed"]
    assert speed.value == 2.0
    # t of two degrees of freedom is 4.303, the standard error 1 / √3: below 0 there is no speed.
    assert speed.low == 0.0
    assert speed.high == pytest.approx(2.0 + 4.30265 / 3**0.5, rel=1e-5)
    assert found["requests_arrived"].value == 60.0
    assert (found["late_s"].value, found["late_s"].low) == (7.0, 6.0)


def test_a_percentile_is_that_of_all_observations_whatever_the_replications_say() -> None:
    p99 = MetricDef("ttft_p99_during_s", "TTFT P99", "s")
    found = _metric(Metric(p99, 9.0), own=[1.0, 2.0, 3.0])
    assert found.value == 9.0
    assert found.high == pytest.approx(9.0 + 4.30265 / 3**0.5, rel=1e-5)


def test_what_all_replications_have_alike_needs_no_interval() -> None:
    assert of_all(1.0, 2.0, 3.0).metrics["gpus"] == Metric(GPUS, 4.0)


def test_the_answer_says_how_many_there_were() -> None:
    assert of_all(1.0, 2.0, 3.0).answer.note == "3 replications; counts are of all of them. So it is."


def test_what_only_some_replications_found_is_told() -> None:
    found = of_all(1.0, 2.0, 3.0, codes=("not_steady", "", "not_steady")).findings
    assert [(one.code, one.severity, one.message) for one in found] == [
        ("not_steady", "warning", "In 2 of 3 replications: It piles up.")
    ]


def test_replications_that_do_not_differ_are_called_alike() -> None:
    assert [one.code for one in of_all(2.0, 2.0, 2.0).findings] == ["replications_alike"]


def test_each_replication_has_a_row() -> None:
    table = of_all(1.0, 2.0, 3.0).series["replications"]
    assert [column.name for column in table.columns] == ["replication", "seed", "speed", "late_s"]
    assert table.column("speed").values == [1.0, 2.0, 3.0]


def test_lines_over_time_get_the_band_of_the_replications() -> None:
    found = of_all(1.0, 2.0, 6.0)
    traces = (Trace("A", [1.0, 2.0], [3.0, None]), Trace("B", [1.0, 2.0], [1.0, 1.0]))
    chart = Chart("t", "T?", "", "line", Axis("t", "s"), Axis("A"), traces)
    drawn = banded([chart], simulated=found)[0]
    assert (drawn.traces[0].low, drawn.traces[0].high) == ([1.0, None], [6.0, None])
    assert drawn.traces[1] == traces[1]
    assert banded([chart], simulated=result(1.0)) == [chart]


def test_nothing_to_run_stays_nothing() -> None:
    empty = Result({"requests_arrived": Metric(ARRIVED, 0.0)}, Answer("speed", "Nothing was simulated."))
    trial = Repeated(observe=lambda *_: {}, conclude=lambda *_: empty, outcome=lambda: Seen)
    parts = [trial.part(None, None, SimulationRequest(), None, place=place) for place in range(2)]
    found = trial.together(None, None, SimulationRequest(), parts=parts)
    assert (found.value("requests_arrived"), found.findings) == (0.0, ())
