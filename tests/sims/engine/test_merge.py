from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sims.engine import merge
from sims.engine.kernel import from_python
from sims.engine.packing import pack, unpack
from sims.engine.sketch import BINS, bin_of, percentile

bin_of = from_python(bin_of)


@dataclass(frozen=True)
class Seen:
    at_s: float
    inside: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One field of each sort that an outcome may have."""

    ending: str
    horizon_s: float
    found_s: float | None
    arrived: int
    histograms: dict[str, np.ndarray]
    batches: np.recarray
    whole: np.record
    sums: np.ndarray
    samples: tuple[Seen, ...]
    pair: tuple[float, int]
    counts: dict[str, int]
    replications: int = 1

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "ending": merge.worst,
        "histograms": merge.stacked,
        "batches": merge.stacked,
        "samples": merge.averaged,
    }


def records(*finished: int) -> np.recarray:
    rows = np.zeros(len(finished), [("finished", "i8"), ("sum_s", "f8")]).view(np.recarray)
    rows.finished, rows.sum_s = finished, [0.5 * each for each in finished]
    return rows


def shown(seed: int, *, samples: int = 3, ending: str = "complete", found_s: float | None = 1.0) -> Shown:
    rng = np.random.default_rng(seed)
    histogram = np.zeros((2, BINS), np.int64)
    for value in rng.exponential(1.0, 500):
        histogram[rng.integers(2), bin_of(value)] += 1
    return Shown(
        ending=ending,
        horizon_s=60.1,
        found_s=found_s,
        arrived=100 + seed,
        histograms={"ttft": histogram},
        batches=records(seed, 2 * seed),
        whole=records(7 * seed)[0],
        sums=rng.random(3),
        samples=tuple(Seen(20.0 * (1 + place), seed * place) for place in range(samples)),
        pair=(float(seed), seed),
        counts={"lost": seed},
    )


def same(one: Shown, other: Shown) -> bool:
    return pack({"": one}) == pack({"": other})


def test_an_outcome_comes_back_from_its_bytes_as_it_was() -> None:
    one = shown(1, found_s=float("inf"))
    back = unpack(pack({"a": one, "b": shown(2)}), of=Shown)
    assert list(back) == ["a", "b"]
    assert same(back["a"], one)
    assert (back["a"].samples, back["a"].pair, back["a"].counts) == (one.samples, one.pair, one.counts)
    assert back["a"].batches.finished.tolist() == [1, 2]
    assert back["a"].whole.finished == 7


def test_bytes_that_hold_no_outcome_are_refused() -> None:
    with pytest.raises(ValueError, match=r"allow_pickle|load|zip|magic"):
        unpack(b"cos\nsystem\n(S'true'\ntR.", of=Shown)


def test_one_run_is_left_as_it_is() -> None:
    one = shown(1)
    assert merge.merged([one]) is one


def test_histograms_of_all_runs_add_up_to_that_of_all_observations() -> None:
    runs = [shown(seed) for seed in (1, 2, 3)]
    whole = merge.merged(runs).histograms["ttft"]
    assert whole.shape == (6, BINS)
    assert (whole.sum(axis=0) == sum(run.histograms["ttft"].sum(axis=0) for run in runs)).all()
    alone = [percentile(run.histograms["ttft"].sum(axis=0), q=0.99) for run in runs]
    assert percentile(whole.sum(axis=0), q=0.99) != pytest.approx(np.mean(alone), rel=1e-3)


def test_counts_add_up_levels_are_averaged_and_settings_stay() -> None:
    whole = merge.merged([shown(1), shown(2), shown(6)])
    assert (whole.arrived, whole.counts, whole.replications) == (309, {"lost": 9}, 3)
    assert (whole.horizon_s, whole.found_s, whole.pair) == (60.1, 1.0, (3.0, 9))
    assert (whole.whole.finished, whole.whole.sum_s) == (63, 31.5)
    assert whole.batches.finished.tolist() == [1, 2, 2, 4, 6, 12]
    assert [one.inside for one in whole.samples] == [0, 3.0, 6.0]
    assert whole.sums.tolist() == np.sum([shown(seed).sums for seed in (1, 2, 6)], axis=0).tolist()


def test_a_time_line_goes_as_far_as_all_runs_came() -> None:
    assert len(merge.merged([shown(1), shown(2, samples=2)]).samples) == 2


def test_what_a_run_does_not_have_the_whole_does_not_have() -> None:
    assert merge.merged([shown(1), shown(2, found_s=None)]).found_s is None


@pytest.mark.parametrize(
    ("endings", "worst"),
    [(("complete", "budget"), "budget"), (("budget", "full", "complete"), "full"), (("complete", "stuck"), "stuck")],
)
def test_the_whole_ends_as_the_run_that_ended_worst(endings: tuple[str, ...], worst: str) -> None:
    assert merge.merged([shown(seed, ending=ending) for seed, ending in enumerate(endings)]).ending == worst


def test_runs_that_were_cut_short_may_lack_figures_and_moments() -> None:
    one = dataclasses.replace(shown(1), counts={"lost": 1, "kept": 2}, pair=(1.0,))
    whole = merge.merged([shown(2), one])
    assert whole.counts == {"lost": 3, "kept": 2}
    assert whole.pair == (2.0, 2, 1.0)


def test_runs_of_different_systems_are_not_put_together() -> None:
    with pytest.raises(ValueError, match="differ"):
        merge.same(["a", "b"])
