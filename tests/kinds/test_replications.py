"""Several runs of a simulation and their one result, the same for every kind that simulates."""

from __future__ import annotations

import json

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.replications import seeds
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Trial
from planner.designs.serial import result_json

CATALOG = files.load()
SMALL: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "gateway": ({"peak_rps": 50.0, "instances": 2, "prefix_groups": 20}, {"duration_s": 20.0}),
    "kv_pool": ({}, {"duration_s": 200.0}),
    "llm_serving": ({"peak_rps": 20.0}, {"duration_s": 60.0}),
    "multi_lora": ({}, {"duration_s": 20.0}),
    "rl_rollout": ({}, {"options": {"steps": 3, "warmup_steps": 1}}),
}
"""A design small enough to be run often, and how long."""
USUAL: tuple[dict[str, object], dict[str, object]] = ({}, {"duration_s": 20.0})
TRIALS = [slug for slug, kind in kinds.all_kinds().items() if kind.simulator and kind.simulator.trial]


class Quiet:
    def progress(self, fraction: float, **_: object) -> None:
        pass

    def cancelled(self) -> bool:
        return False


def trial_of(slug: str) -> tuple[Trial, object, SimulationRequest]:
    kind = kinds.get(slug)
    assert kind.simulator is not None
    assert kind.simulator.trial is not None
    spec, how = SMALL.get(slug, USUAL)
    return kind.simulator.trial, kind.spec.model_validate(spec), SimulationRequest(seed=4, **how)


def part(slug: str, *, place: int) -> bytes:
    trial, spec, request = trial_of(slug)
    return trial.part(spec, CATALOG, request, Quiet(), place=place)


@pytest.fixture(scope="module", params=TRIALS)
def slug(request):
    return request.param


@pytest.fixture(scope="module")
def parts(slug):
    return [part(slug, place=place) for place in range(3)]


def together(slug: str, parts: list[bytes]) -> Result:
    trial, spec, request = trial_of(slug)
    return trial.together(spec, CATALOG, request, parts=parts)


def written(result: Result) -> str:
    return json.dumps(result_json(result), sort_keys=True)


def test_one_replication_is_the_run_as_ever(slug, parts) -> None:
    _trial, spec, request = trial_of(slug)
    assert written(together(slug, parts[:1])) == written(kinds.get(slug).simulator.run(spec, CATALOG, request, Quiet()))


def test_a_replication_gives_the_same_bytes_wherever_it_runs(slug, parts) -> None:
    assert part(slug, place=1) == parts[1]
    assert parts[0] != parts[1]


def test_replications_say_how_many_there_were_and_with_which_seeds(slug, parts) -> None:
    found = together(slug, parts)
    assert found.provenance["replications"] == 3
    assert found.provenance["seeds"] == [str(seed) for seed in seeds(4, count=3)]
    assert found.answer.note.startswith("3 replications")


def test_counts_of_replications_add_up(slug, parts) -> None:
    whole, alone = together(slug, parts), [together(slug, [one]) for one in parts]
    for name in ("requests_arrived", "requests_finished", "requests_rejected"):
        assert whole.value(name) == sum(one.value(name) or 0.0 for one in alone), name


def test_figures_of_replications_lie_among_those_of_each(slug, parts) -> None:
    whole, alone = together(slug, parts), [together(slug, [one]) for one in parts]
    assert set(whole.metrics) == set(alone[0].metrics)
    for name, metric in whole.metrics.items():
        values = [one.value(name) for one in alone]
        if metric.value is None or None in values or name.startswith("requests_"):
            continue
        low, high = min(values), max(values)
        assert low - 0.01 * abs(low) <= metric.value <= high + 0.01 * abs(high), name


def test_a_figure_with_an_interval_keeps_one(slug, parts) -> None:
    whole, alone = together(slug, parts), together(slug, parts[:1])
    bounded = {name for name, metric in alone.metrics.items() if metric.low is not None}
    assert bounded
    assert {name for name, metric in whole.metrics.items() if metric.low is not None} >= bounded


def test_all_of_the_result_can_be_stored(slug, parts) -> None:
    assert "NaN" not in written(together(slug, parts))


def test_each_replication_is_told_beside_the_whole(slug, parts) -> None:
    table = together(slug, parts).series["replications"]
    assert table.column("seed").values == [str(seed) for seed in seeds(4, count=3)]
    name = table.columns[2].name
    alone = [together(slug, [one]).value(name) for one in parts]
    assert list(table.columns[2].values) == alone


def test_the_time_line_lies_between_the_least_and_the_most(slug, parts) -> None:
    series = together(slug, parts).series
    if "timeline" not in series:
        pytest.skip("a run of this kind has no time line")
    spread = series["timeline_spread"]
    for column in series["timeline"].columns[1:]:
        low, high = (spread.column(f"{column.name}_{end}").values for end in ("low", "high"))
        for ends in zip(low, high, strict=True):
            assert None in ends or ends[0] <= ends[1], column.name
