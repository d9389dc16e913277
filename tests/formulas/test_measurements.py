"""Published measurements beside a replica: which is nearest, what differs, and the badge that follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.catalog import files
from planner.formulas import measurements, neighbours
from planner.formulas.traffic import Layout

CATALOG = files.load()
TABLE = CATALOG.table(measurements.TABLE)
LIBRARY = measurements.library(TABLE)


def row(place: int) -> dict[str, str]:
    return {name: values[place] for name, values in TABLE.columns.items()}


def subject_of(one: dict[str, str], **changes: Any) -> measurements.Subject:
    """The replica of a measured row, asked for as a design would."""
    layout = Layout(
        gpus=int(one["gpus"]),
        tensor_parallel=int(one["tensor_parallel"]),
        data_parallel=int(one["data_parallel"]),
        expert_parallel=int(one["expert_parallel"]),
    )
    new, output = float(one["input_tokens"]), float(one["output_tokens"])
    asked = neighbours.configuration(
        CATALOG.llm(one["llm"]),
        CATALOG.gpu(one["gpu"]),
        engine=one["engine"],
        version=one["version"],
        weight_dtype=one["format"] if one["format"] != "fp4" else "nvfp4",
        layout=layout,
        input_tokens=new,
        output_tokens=output,
    )
    given: dict[str, Any] = {
        "configuration": asked,
        "layout": layout,
        "input_tokens": new,
        "output_tokens": output,
        "concurrency": float(one["concurrency"]),
        "capacity": 4096.0,
    }
    return measurements.Subject(**{**given, **changes})


def near(subject: measurements.Subject, count: int = 1) -> tuple[measurements.Nearest, ...]:
    lean = LIBRARY.seen_from(subject.configuration)
    return measurements.nearest(subject, lean=lean, catalog=CATALOG, count=count)


@pytest.mark.parametrize("place", range(0, 2000, 211))
def test_a_measured_replica_finds_itself_at_distance_nothing(place: int) -> None:
    one = row(place)
    capacity = float(one["concurrency"]) / 2.0 ** float(one["pressure"])
    found = near(subject_of(one, capacity=capacity))[0]
    assert found.distance == pytest.approx(0.0, abs=0.02)
    for name in ("gpu", "engine", "format", "gpus", "concurrency", "input_tokens", "output_tokens"):
        assert found.row[name] == one[name], name
    assert found.differs == ()
    assert measurements.differences(found) == "nothing that is stated"


def test_rows_come_nearest_first_and_name_what_they_are() -> None:
    one = row(0)
    found = near(subject_of(one), count=6)
    assert [each.distance for each in found] == sorted(each.distance for each in found)
    assert CATALOG.gpu(one["gpu"]).name in found[0].words
    assert CATALOG.llm(one["llm"]).name in found[0].words
    assert f"{float(one['concurrency']):,.0f} requests at once" in found[0].words.replace("\u00a0", " ")


def test_what_differs_is_named() -> None:
    one = row(0)
    subject = subject_of(one, concurrency=37.0, input_tokens=999.0, also=("prefix cache",))
    found = near(subject)[0]
    assert found.differs[-3:] == ("lengths", "load", "prefix cache")
    open_loop = near(subject_of(one, held=False))[0]
    assert open_loop.differs == ("load",)
    elsewhere = subject_of(one)
    elsewhere = replace(elsewhere, configuration=replace(elsewhere.configuration, gpu="another", version="99"))
    assert {"GPU", "version"} <= set(near(elsewhere)[0].differs)


def test_throughput_follows_from_the_two_latencies() -> None:
    # Little's law: each of C requests gives o tokens in TTFT + (o − 1)·TPOT.
    one = {"concurrency": "10", "output_tokens": "101", "ttft_s": "1", "tpot_s": "0.09"}
    assert measurements.Nearest(one, "", (), 0.0).output_tokens_per_s == pytest.approx(101.0)


@pytest.mark.parametrize(
    ("seen", "distance", "differs", "expected"),
    [
        (3, 0.0, (), "measured"),
        (3, measurements.SAME, ("load", "lengths", "version"), "measured"),
        (3, 0.0, ("pipeline stages",), "calibrated"),
        (3, 0.0, ("load", "GPUs"), "calibrated"),
        (3, 0.2, (), "calibrated"),
        (3, measurements.FAR + 0.01, (), "extrapolated"),
        (0, 0.0, (), "extrapolated"),
    ],
)
def test_the_badge_follows_what_was_seen_and_how_far_it_is(
    seen: int, distance: float, differs: tuple[str, ...], expected: str
) -> None:
    near = measurements.Nearest(row={}, words="", differs=differs, distance=distance)
    assert measurements.badge(near, seen=seen) == expected
    assert measurements.badge(None, seen=seen) == "extrapolated"


def test_the_sweep_of_a_replica_holds_its_rows_and_no_other() -> None:
    one = row(0)
    subject = subject_of(one)
    found = measurements.sweep(subject, table=TABLE)
    assert one["id"] in {each["id"] for each in found}
    for name in ("gpu", "engine", "format", "gpus", "data_parallel", "input_tokens", "output_tokens"):
        assert {each[name] for each in found} == {one[name]}, name
    loads = [float(each["concurrency"]) for each in found]
    assert loads == sorted(loads)
    assert measurements.sweep(replace(subject, also=("drafts",)), table=TABLE) == []
    assert measurements.sweep(replace(subject, input_tokens=1023.0), table=TABLE) == []


def test_evidence_carries_both_figures_and_its_source() -> None:
    found = near(subject_of(row(0)))[0]
    made = measurements.evidence(found, table=TABLE, said="It leans.", tpot_s=0.01, subject="Decode unit")
    assert made.source_url.startswith("https://")
    assert made.place == {name: found.row[name] for name in ("llm", "gpu", "engine")}
    by_name = {figure.name: figure for figure in made.figures}
    assert by_name["tpot"].measured == float(found.row["tpot_s"])
    assert by_name["tpot"].estimate == 0.01
    assert by_name["ttft"].estimate is None
    table = measurements.series([found])
    assert table.column("distance").values == [found.distance]
