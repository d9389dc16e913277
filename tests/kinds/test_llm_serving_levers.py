"""The cheapest fleet: as cheap as trying everything finds, with reasons that hold when looked at again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core import optimise
from planner.core.batch import changed
from planner.core.catalog import Gpu
from planner.core.compare import lacks
from planner.core.sweep_goal import read_goal

CATALOG = files.load()
KIND = kinds.get("llm_serving")
SEARCH = kinds.planning("llm_serving").search
PRICE = "cost_usd_per_m_output_tokens"


class FewGpus:
    """The catalog with some of its GPUs only."""

    def __init__(self, *slugs: str) -> None:
        self._slugs = slugs

    def __getattr__(self, name: str) -> Any:
        return getattr(CATALOG, name)

    def gpus(self) -> Sequence[Gpu]:
        return [CATALOG.gpu(slug) for slug in self._slugs]


def searched(spec: dict[str, Any], catalog: Any = CATALOG) -> optimise.Found:
    base = KIND.spec.model_validate(spec)
    assert SEARCH is not None
    goal = read_goal(KIND, result=KIND.estimate(base, catalog))
    return optimise.find(KIND, base=base, search=SEARCH, goal=goal, catalog=catalog)


@cache
def reference() -> optimise.Found:
    return searched({})


SMALL = {
    "llm": "llama-3-1-8b",
    "gpu": "l40s",
    "gpu_price_usd_per_h": 1.2,
    "gpus_per_node": 2,
    "kv_bytes_per_token": None,
    "weight_dtype": "fp8",
    "kv_dtype": "fp8",
    "mtp": "off",
    "rate_mode": "derived",
    "prefill_unit_gpus": 1,
    "decode_unit_gpus": 1,
    "peak_rps": 12.0,
    "ttft_p99_slo_s": 0.7,
    "tpot_slo_s": 0.03,
}


@pytest.mark.parametrize("more", [{"ttft_p99_slo_s": 0.5}, {"tpot_slo_s": 0.012, "peak_rps": 5.0}])
def test_it_is_as_cheap_as_trying_every_fleet_with_every_number_of_spares(more: dict[str, Any]) -> None:
    spec, catalog = {**SMALL, **more}, FewGpus("l40s", "h100-sxm")
    base = KIND.spec.model_validate(spec)
    assert SEARCH is not None
    space = SEARCH.space(base, KIND.estimate(base, catalog), catalog)
    tried: list[float] = []
    for candidate, prefill, decode in itertools.product(space.stream, range(3), range(3)):
        is_aggregated = candidate.change["topology"] == "aggregated"
        if candidate.change["weight_dtype"] != "fp8" or (is_aggregated and prefill):
            continue  # wider weights are dearer throughout, replicas have no prefill units
        spares = {"spare_prefill_units": prefill, "spare_decode_units": decode}
        result = KIND.estimate(changed(base, {**candidate.change, **spares}), catalog)
        value = result.value(PRICE)
        if value is not None and not lacks(result):
            tried.append(value)
    assert searched(spec, catalog).value == pytest.approx(min(tried))


def test_fleets_known_not_to_work_do_not_when_they_are_worked_out() -> None:
    points = reference().sweep.points
    base = KIND.spec.model_validate({})
    known = [place for place, status in enumerate(points.status) if status == "infeasible"]
    assert len(known) > 200
    for place in known[::60]:
        result = KIND.estimate(changed(base, points.change(place)), CATALOG)
        codes = " ".join(finding.code for finding in result.findings if finding.severity == "error")
        reason = points.reasons[place] or ""
        if "weights take" in reason:
            assert "memory_does_not_fit" in codes
        elif "long prompt" in reason:
            assert result.metrics["ttft_p99_s"].met is False or "unstable" in codes
        else:
            assert "tpot_out_of_reach" in codes


def test_points_are_what_their_changes_answer() -> None:
    points = reference().sweep.points
    base = KIND.spec.model_validate({})
    taken = [place for place, status in enumerate(points.status) if status in ("ok", "misses")]
    for place in taken[::15]:
        result = KIND.estimate(changed(base, points.change(place)), CATALOG)
        assert result.value(PRICE) == points.figures[PRICE][place]
        assert (points.status[place] == "ok") == (not lacks(result))


def test_no_fleet_costs_less_than_its_bound() -> None:
    base = KIND.spec.model_validate({})
    assert SEARCH is not None
    space = SEARCH.space(base, KIND.estimate(base, CATALOG), CATALOG)
    bounds = [(one.least, one.change) for one in itertools.islice(space.stream, 600)]
    assert [least for least, _ in bounds] == sorted(least for least, _ in bounds)
    for least, change in bounds[::60]:
        assert (KIND.estimate(changed(base, change), CATALOG).value(PRICE) or 0.0) >= least * (1 - 1e-9)


def test_the_reference_is_answered_over_many_gpus_with_the_price_and_source_of_each() -> None:
    found = reference()
    prices = found.provenance["prices"]
    holding = {
        found.sweep.points.values["gpu"][place]
        for place, status in enumerate(found.sweep.points.status)
        if status == "ok" and place
    }
    assert len(holding) >= 5
    assert holding <= prices.keys()
    assert all(one["source"] and one["usd_per_h"] > 0 for one in prices.values())
    assert prices["h800-sxm"] == {
        "usd_per_h": 2.0, "provider": "this design", "source": "stated in the design", "as_of": "",
    }  # fmt: skip
    assert found.provenance["is_whole"]
    assert "rubin" in found.provenance["left_out"]
    assert found.sweep.points.status[0] == "misses"
    assert "leaves 67" in (found.sweep.points.reasons[0] or "")


def test_what_is_changed_together_belongs_together() -> None:
    points = reference().sweep.points
    prices = reference().provenance["prices"]
    for place, status in enumerate(points.status):
        change = points.change(place)
        if "gpu" not in change:
            continue
        assert change["rate_mode"] == "derived"
        assert change["kv_bytes_per_token"] == (70272.0 if change["kv_dtype"] == "bf16" else None)
        assert change["gpu_price_usd_per_h"] == prices[change["gpu"]]["usd_per_h"]
        if change["decode_gpu"]:
            assert change["decode_gpu_price_usd_per_h"] == prices[change["decode_gpu"]]["usd_per_h"]
        assert status != "refused"


def test_a_fleet_that_holds_at_the_least_cost_is_kept() -> None:
    found = reference()
    assert found.sweep.best is not None
    again = searched(found.sweep.points.change(found.sweep.best))
    assert again.value == pytest.approx(found.value)
    assert again.sweep.best == 0
