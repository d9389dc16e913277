"""A batch says of each point what an estimate says of it: the same figures, verdicts and reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.catalog import files
from planner.core.batch import BatchResult, changed, one_by_one
from planner.core.kind import Spec
from planner.kinds import get, planning
from tests.kinds.test_engine_instance_odd import BASES, ODD
from tests.kinds.test_engine_instance_properties import PLACEMENTS, SPECS

KIND = get("engine_instance")
CATALOG = files.load()
SAME = 1e-9

POINTS = st.lists(
    st.fixed_dictionaries(
        {
            "input_tokens": st.one_of(st.sampled_from([1, 1024, 8192]), st.floats(1, 200_000)),
            "output_tokens": st.one_of(st.sampled_from([1, 256]), st.floats(1, 20_000)),
            "prefix_hit_rate": st.sampled_from([0, 0.5, 1]),
            "load": st.one_of(
                st.just(("concurrency", None)),
                st.tuples(st.just("concurrency"), st.floats(1e-2, 1e6)),
                st.tuples(st.just("rate_rps"), st.one_of(st.just(0), st.floats(1e-6, 100))),
            ),
            "utilisation": st.floats(0.01, 1),
            "gpu_price_usd_per_h": st.one_of(st.none(), st.floats(0, 10)),
            "ttft_p99_slo_s": st.one_of(st.none(), st.floats(1e-3, 100)),
            "tpot_slo_s": st.one_of(st.none(), st.floats(1e-4, 1)),
            "tensor_parallel": st.sampled_from([1, 3, 8]),
            "gpu": st.sampled_from(["b200-sxm", "h200-sxm", "h100-sxm", "l40s", "mi300x", "tpu-v5e"]),
        }
    ),
    min_size=3,
    max_size=6,
)


def batch(base: Spec, columns: Mapping[str, Sequence[Any]]) -> BatchResult:
    own = planning(KIND.slug).batch
    assert own is not None
    return own(base, columns, CATALOG)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    flat = [
        {**{name: row[name] for name in row if name != "load"}, "concurrency": None, "rate_rps": None} for row in rows
    ]
    for one, row in zip(flat, rows, strict=True):
        name, value = row["load"]
        one[name] = value
    return {name: [one[name] for one in flat] for name in flat[0]}


def assert_same(base: Spec, columns: Mapping[str, Sequence[Any]]) -> BatchResult:
    got, want = batch(base, columns), one_by_one(KIND, base=base, columns=columns, catalog=CATALOG)
    assert list(zip(got.statuses(), got.reasons(), strict=True)) == list(
        zip(want.statuses(), want.reasons(), strict=True)
    )
    for name, figures in want.figures.items():
        mine = got.figures[name]
        assert mine.known.tolist() == figures.known.tolist(), name
        assert np.isfinite(mine.values).all(), name
        np.testing.assert_allclose(mine.values, figures.values, rtol=SAME, err_msg=name)
    assert {name: limits.listed() for name, limits in got.objectives.items()} == {
        name: limits.listed() for name, limits in want.objectives.items()
    }
    return got


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spec=SPECS, placement=PLACEMENTS, rows=POINTS)
def test_any_points_are_as_estimated_one_by_one(
    spec: dict[str, Any], placement: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    columns = columns_of(rows)
    own = {name: value for name, value in {**spec, **placement}.items() if name not in columns}
    assert_same(KIND.spec.model_validate(own), columns)


@pytest.mark.parametrize("name", BASES)
def test_odd_points_are_as_estimated_one_by_one(name: str) -> None:
    names = {field for change in ODD for field in change} - set(BASES[name])
    changes = [change for change in ODD if set(change) <= names]
    base = KIND.spec.model_validate(BASES[name])
    assert_same(base, {field: [change.get(field, getattr(base, field)) for change in changes] for field in names})


def test_a_grid_holds_every_verdict() -> None:
    grid = [
        (gpu, ranks, concurrency, tokens)
        for gpu in ("h100-sxm", "b200-sxm")
        for ranks in (1, 3, 8)
        for concurrency in (1, 4000, 0)
        for tokens in (500, 200_000)
    ]
    names = ("gpu", "tensor_parallel", "concurrency", "input_tokens")
    found = assert_same(
        KIND.spec(), {name: list(values) for name, values in zip(names, zip(*grid, strict=True), strict=True)}
    )
    assert set(found.statuses()) == {"ok", "misses", "infeasible", "refused"}


@pytest.mark.parametrize(
    "columns",
    [
        {"rate_rps": [1, 1e5, 0], "concurrency": [None, None, 4]},
        {"rate_rps": [1, "1", True, [1]], "tensor_parallel": [1, 1, 0, 1]},
        {"gpu": ["h100-sxm", "none", "h100-sxm"], "concurrency": [0, 1, 1e7], "llm": ["llama-3-1-8b"] * 3},
        {"latency_source": ["roofline", "measured_kernels"], "concurrency": [8, 8]},
        {"expert_parallel": [True, 2], "weight_dtype": ["FP8", "awq"]},
        {"max_num_seqs": np.array([4.0, 512.0]), "concurrency": np.array([64.0, 64.0])},
    ],
    ids=["both loads", "not numbers", "refused", "another source", "other spellings", "arrays"],
)
def test_points_are_checked_as_specs_are(columns: Mapping[str, Sequence[Any]]) -> None:
    assert_same(KIND.spec(), columns)


def test_a_rate_beside_a_concurrency_of_the_base_is_refused() -> None:
    found = assert_same(changed(KIND.spec(), {"concurrency": 8}), {"rate_rps": [None, 2.0]})
    assert found.statuses() == ["ok", "refused"]


def test_no_points_are_no_points() -> None:
    assert len(batch(KIND.spec(), {"concurrency": []})) == 0
