"""What measurements add to a formula, against a Gaussian process written out, theory and limits."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.formulas import neighbours
from planner.formulas.neighbours import FEATURES, Kernel
from planner.formulas.traffic import Layout
from tests.formulas import measured
from tests.formulas.llms import DEEPSEEK_V3, LLAMA_8B, LLAMA_70B, gpu

SEEDS = st.integers(0, 2**32)


def process(seed: int, *, rows: int, noise: float = 0.1) -> measured.PlainProcess:
    draw = random.Random(seed)
    places = [measured.place(draw) for _ in range(rows)]
    return measured.PlainProcess(
        rows=places, residuals=[draw.gauss(0, 0.4) for _ in places], like=measured.kernel(draw, noise=noise)
    )


def at(plain: measured.PlainProcess, asked: measured.Place) -> neighbours.Correction:
    found = measured.lean(plain, asked)
    return found.at(concurrency=asked[1], capacity=measured.capacity(asked))


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 60))
def test_an_answer_is_that_of_a_gaussian_process_over_all_rows(seed: int, rows: int) -> None:
    plain = process(seed, rows=rows)
    asked = measured.place(random.Random(seed + 1))
    mean, deviation = plain.at(asked)
    found = at(plain, asked)
    # Rows less like than 1e-5 of the amplitude are left out of the mean; each weighs at most |residual|/noise².
    assert math.log(found.tpot) == pytest.approx(mean, abs=1e-4)
    assert found.tpot_sd == pytest.approx(deviation, rel=1e-4)
    assert found.ttft_sd == found.tpot_sd
    # A TTFT is read as the value of which predicted over measured is one on average: E[exp(N(m, s²))] = exp(m + s²/2).
    assert math.log(found.ttft) == pytest.approx(mean - deviation**2 / 2, abs=1e-4)


def test_the_point_of_ttft_makes_predicted_over_measured_one_on_average() -> None:
    plain = process(5, rows=40)
    found = at(plain, plain.rows[0])
    mean, deviation = plain.at(plain.rows[0])
    # 400,000 draws of what is left: the mean of predicted over measured is known to 0.1 % of its spread.
    left = np.random.default_rng(1).normal(mean, deviation, size=400_000)
    assert np.mean(found.ttft / np.exp(left)) == pytest.approx(1.0, abs=0.003)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_with_more_rows_than_the_variance_looks_at_the_spread_errs_on_the_high_side(seed: int) -> None:
    plain = process(seed, rows=150)
    asked = measured.place(random.Random(seed + 1))
    mean, deviation = plain.at(asked)
    found = at(plain, asked)
    assert math.log(found.tpot) == pytest.approx(mean, abs=1e-4)
    assert deviation * (1 - 1e-6) <= found.tpot_sd <= math.hypot(math.sqrt(plain.like.variance), plain.like.noise)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, rows=st.integers(2, 60))
def test_another_row_never_widens_the_spread(seed: int, rows: int) -> None:
    many = process(seed, rows=rows)
    few = replace(many, rows=many.rows[:-1], residuals=many.residuals[:-1])
    asked = measured.place(random.Random(seed + 1))
    assert at(many, asked).tpot_sd <= at(few, asked).tpot_sd * (1 + 1e-9)


def test_far_from_all_measurements_the_formula_stands_alone() -> None:
    plain = process(11, rows=30)
    configuration, _, _ = plain.rows[0]
    strange = replace(configuration, shape=(900.0, 900.0, 900.0), engine="unheard of")
    far = replace(plain, like=Kernel(plain.like.amplitudes, np.full_like(plain.like.rates, 5.0), noise=0.1))
    found = at(far, (strange, 8.0, 0.0))
    prior = math.hypot(0.2, 0.4, 0.1)
    assert found.tpot == 1.0
    assert found.tpot_sd == pytest.approx(prior)
    assert found.ttft_sd == pytest.approx(prior)
    assert measured.lean(far, (strange, 8.0, 0.0)).nearest(concurrency=8.0, capacity=8.0) is None


def test_at_a_measured_row_the_answer_is_the_measurement() -> None:
    plain = process(3, rows=20, noise=1e-4)
    for row, residual in zip(plain.rows, plain.residuals, strict=True):
        found = at(plain, row)
        assert math.log(found.tpot) == pytest.approx(residual, abs=1e-3)
        # What the row knows of itself but for its noise, and the noise of a second measurement: √2 · noise.
        assert found.tpot_sd == pytest.approx(math.sqrt(2) * 1e-4, rel=0.01)


@given(seed=SEEDS)
def test_distances_are_symmetric_and_none_from_oneself(seed: int) -> None:
    draw = random.Random(seed)
    one, other = measured.place(draw), measured.place(draw)
    there = neighbours.distances(one[0], measured.columns([other, one]))
    back = neighbours.distances(other[0], measured.columns([one, other]))
    for name in there:
        assert there[name][0] == back[name][0]
        assert there[name][1] == back[name][1] == 0
    for name, expected in measured.apart(one, other).items():
        if name in there:
            assert there[name][0] == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize(
    ("asked", "measured_at", "expected"),
    [("1.0", "1.0", 0), ("1.0", "2.0", 1), ("", "1.0", 0.5), ("1.0", "", 0.5), ("", "", 0)],
)
def test_an_unknown_version_is_half_a_version_away(asked: str, measured_at: str, expected: float) -> None:
    configuration, concurrency, pressure = measured.place(random.Random(1))
    rows = [(replace(configuration, version=version), concurrency, pressure) for version in (measured_at, "9.9")]
    found = neighbours.distances(replace(configuration, version=asked), measured.columns(rows))
    assert found["version"][0] == expected


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_distances_of_pairs_are_those_of_each_row(seed: int) -> None:
    draw = random.Random(seed)
    rows = [measured.place(draw) for _ in range(12)]
    loads, pressures = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    columns = measured.columns(rows)
    pairs = neighbours.pair_distances(columns, concurrency=loads, pressures=pressures)
    assert set(pairs) == set(FEATURES)
    for place, (configuration, concurrency, pressure) in enumerate(rows):
        single = neighbours.distances(configuration, columns) | neighbours.load_distances(
            concurrency, pressure, to_concurrency=loads, to_pressure=pressures
        )
        for name in FEATURES:
            # Shapes are points of length 60: their distance from squares is known to a millionth.
            assert pairs[name][place] == pytest.approx(single[name], abs=2e-6), name


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_covariance_is_the_written_out_one(seed: int) -> None:
    plain = process(seed, rows=15)
    found = neighbours.covariance(
        measured.columns(plain.rows),
        concurrency=np.array([row[1] for row in plain.rows]),
        pressures=np.array([row[2] for row in plain.rows]),
        kernel=plain.like,
    )
    assert found == pytest.approx(plain.covariance, abs=1e-6)
    assert np.linalg.eigvalsh(found).min() > 0


def test_columns_number_names_and_keep_sizes() -> None:
    rows = [measured.place(random.Random(seed)) for seed in range(20)]
    columns = measured.columns(rows)
    for name in ("gpu", "generation", "engine", "format", "version", "copies", "experts"):
        numbers = columns.values[name]
        for one, (configuration, _, _) in zip(numbers, rows, strict=True):
            assert columns.codes[name][getattr(configuration, name)] == one
        assert len(set(numbers)) == len({getattr(row[0], name) for row in rows})
    assert list(columns.values["input"]) == [row[0].input for row in rows]
    assert list(columns.unknown()) == [row[0].version == "" for row in rows]
    some = columns.of(np.array([4, 2]))
    assert list(some.values["output"]) == [rows[4][0].output, rows[2][0].output]
    assert some.codes is columns.codes


def test_a_curve_over_concurrency_has_no_kink_at_a_measurement() -> None:
    plain = process(7, rows=25)
    configuration, concurrency, pressure = plain.rows[0]
    view = measured.lean(plain, plain.rows[0])
    places = measured.capacity((configuration, concurrency, pressure))

    def slope(step: float) -> float:
        near = [view.at(concurrency=concurrency * 2**octaves, capacity=places * 2**octaves) for octaves in (0, step)]
        return (math.log(near[1].tpot) - math.log(near[0].tpot)) / step

    # One-sided slopes of a smooth curve differ by the step times its curvature; |x| would leave twice the rate, 0.01+.
    assert slope(1e-4) == pytest.approx(slope(-1e-4), abs=2e-4)
    assert abs(slope(1e-4)) > 1e-3


@pytest.mark.parametrize(
    ("concurrency", "capacity", "octaves"),
    [(64, 64, 0), (128, 64, 1), (1e9, 1, 3), (1, 1e9, -1), (0, 10, -1), (10, 0, 3)],
)
def test_pressure_counts_octaves_between_half_empty_and_eight_times_full(
    concurrency: float, capacity: float, octaves: float
) -> None:
    assert neighbours.pressure(concurrency=concurrency, capacity=capacity) == octaves


def one_part(**rates: float) -> Kernel:
    return Kernel(np.array([0.3]), np.array([[rates.get(name, 0.0) for name in FEATURES]]), noise=0.1)


def test_the_nearest_measurement_is_as_far_as_its_likeness_has_fallen() -> None:
    configuration, _, _ = measured.place(random.Random(2))
    rows = [(replace(configuration, gpu=name), 8.0, 0.0) for name in ("near", "far")]
    plain = measured.PlainProcess(rows=rows, residuals=[0.1, 0.2], like=one_part(gpu=1.0))
    here = measured.lean(plain, rows[0])
    assert here.nearest(concurrency=8.0, capacity=8.0) == (0, 0.0)
    few = here.nearest_few(concurrency=8.0, capacity=8.0, count=5)
    assert [row for row, _ in few] == [0, 1]
    assert few[1][1] == pytest.approx(1.0)  # likeness of exp(−1)
    loaded = measured.lean(replace(plain, like=one_part(load=2.0)), rows[0])
    found = loaded.nearest(concurrency=32.0, capacity=32.0)
    assert found is not None
    assert found[1] == pytest.approx(2.0 * (math.sqrt(4.25) - 0.5))  # two octaves, rounded at zero


def test_seen_counts_rows_of_one_llm_gpu_engine_and_format() -> None:
    configuration, _, _ = measured.place(random.Random(4))
    changes: list[dict[str, object]] = [
        {},
        {"version": "7"},
        {"ranks": 5.0, "input": 3.0},
        {"gpu": "other"},
        {"engine": "other"},
        {"format": "int4"},
        {"shape": (1.0, 2.0, 3.0)},
    ]
    rows = [(replace(configuration, **change), 8.0, 0.0) for change in changes]  # type: ignore[arg-type]
    plain = measured.PlainProcess(rows=rows, residuals=[0.0] * len(rows), like=measured.kernel(random.Random(1)))
    assert measured.lean(plain, rows[0]).seen == 3


def test_a_kernel_is_read_by_the_names_of_its_features() -> None:
    table = {
        "amplitude": [0.1, 0.2],
        "noise": 0.05,
        "rate": {name: [place, 10 + place] for place, name in enumerate(reversed(FEATURES))},
    }
    read = Kernel.read(table)
    assert list(read.rates[0]) == list(reversed(range(len(FEATURES))))
    assert list(read.rates[1]) == [10 + place for place in reversed(range(len(FEATURES)))]
    assert read.variance == pytest.approx(0.05)


def test_a_replica_is_described_by_what_an_engine_sees_of_it() -> None:
    described = neighbours.configuration(
        DEEPSEEK_V3,
        gpu(),
        engine="tensorrt-llm",
        version=None,
        weight_dtype="nvfp4",
        layout=Layout(gpus=8, tensor_parallel=1, data_parallel=8, expert_parallel=8),
        input_tokens=1024,
        output_tokens=0.5,
    )
    assert (described.engine, described.format, described.version) == ("tensorrt_llm", "fp4", "")
    assert (described.ranks, described.copies, described.experts) == (3.0, True, True)
    assert (described.input, described.output) == (10.0, 0.0)
    assert described.generation == "hopper"


def test_llms_are_points_by_shape_and_not_by_name() -> None:
    point = neighbours.shape(DEEPSEEK_V3)
    assert point == neighbours.shape(replace(DEEPSEEK_V3, slug="another-name", name="Another"))
    # Published: 671 B total, 37 B active, 61 layers of width 7,168 and 70,272 bytes of cache a token, experts, latent.
    expected = (math.log2(671e9), math.log2(37e9), math.log2(61), math.log2(7168), 2, 2, 0, 0, 0, math.log2(70272) / 2)
    assert point == pytest.approx(expected, abs=0.05)
    assert math.dist(neighbours.shape(LLAMA_8B), neighbours.shape(LLAMA_70B)) > 1
