"""Times lean on published measurements: badge, interval, nearest row, findings, and a rate scaled by them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Finding, Result
from planner.formulas import measurements, neighbours, serving
from planner.kinds import get
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, rivals, sources
from planner.kinds.engine_instance.plan import resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec

KIND = get("engine_instance")
CATALOG = files.load()
TABLE = CATALOG.table(measurements.TABLE)
LIBRARY = measurements.library(TABLE)
ROWS = [{name: cells[place] for name, cells in TABLE.columns.items()} for place in range(len(TABLE.columns["id"]))]


def spec_of(row: dict[str, str], **changes: Any) -> dict[str, Any]:
    """A stored row as a user would type it."""
    llm = CATALOG.llm(row["llm"])
    native = llm.native_dtype if llm.native_dtype == "mxfp4" else "nvfp4"
    return {
        "llm": row["llm"],
        "gpu": row["gpu"],
        "engine": row["engine"],
        "engine_version": row["version"] or None,
        "weight_dtype": native if row["format"] == "fp4" else row["format"],
        "gpus": int(row["gpus"]),
        "tensor_parallel": int(row["tensor_parallel"]),
        "data_parallel_attention": int(row["data_parallel"]),
        "expert_parallel": int(row["expert_parallel"]),
        "input_tokens": float(row["input_tokens"]),
        "output_tokens": float(row["output_tokens"]),
        "concurrency": float(row["concurrency"]),
        **changes,
    }


def row_where(**wanted: str) -> dict[str, str]:
    return next(row for row in ROWS if all(row[name] == value for name, value in wanted.items()))


LLAMA = row_where(llm="llama-3-1-70b", gpu="b200-sxm", engine="tensorrt_llm", format="fp8", gpus="4", concurrency="64")
SOME = ROWS[::37]


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def finding(result: Result, code: str) -> Finding | None:
    return next((finding for finding in result.findings if finding.code == code), None)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def operation(spec: dict[str, Any]) -> load.Operation:
    plan = resolve(EngineInstanceSpec.model_validate(spec), CATALOG)
    return lean.operation(plan, fits.fit(plan), CATALOG)


@pytest.mark.parametrize("row", SOME, ids=lambda row: row["id"][-40:])
def test_a_measured_replica_at_its_load_is_called_measured_and_names_its_row(row: dict[str, str]) -> None:
    result = answer(**spec_of(row))
    near = result.provenance["nearest_measurement"]
    # Places may have moved a little since the row was stored, and with them its distance to itself.
    assert near["distance"] <= measurements.SAME
    assert result.metrics["tpot_mean_s"].basis == result.metrics["ttft_mean_s"].basis == "measured"
    assert near["differs_in"] == "nothing that is stated"
    twins = [each for each in ROWS if each["id"] == near["id"]]
    for name in ("gpu", "engine", "format", "gpus", "input_tokens", "output_tokens", "concurrency"):
        assert twins[0][name] == row[name], name


def test_four_of_five_measurements_lie_inside_the_range_of_their_own_replica() -> None:
    inside, asked = {"tpot": 0, "ttft": 0}, 0
    for row in SOME:
        result = answer(**spec_of(row))
        asked += 1
        for name in inside:
            metric = result.metrics[f"{name}_mean_s"]
            assert metric.low is not None
            assert metric.high is not None
            inside[name] += metric.low <= float(row[f"{name}_s"]) <= metric.high
    # The interval is made for 80 % of rows that were left out; these were seen, so it holds at least as many.
    assert inside["tpot"] >= 0.8 * asked
    assert inside["ttft"] >= 0.8 * asked


@pytest.mark.parametrize(
    ("change", "interval"),
    [
        ({}, "seen"),
        ({"concurrency": 90.0}, "seen"),
        ({"input_tokens": 300.0, "output_tokens": 2000.0}, "seen"),
        ({"gpu": "a100-sxm-80gb", "weight_dtype": "bf16"}, "unseen"),
        ({"draft": 2}, "unseen"),
    ],
    ids=["itself", "another load", "other lengths", "another GPU", "drafts"],
)
def test_ranges_are_the_spread_of_the_likeness_times_the_width_of_left_out_rows(
    change: dict[str, Any], interval: str
) -> None:
    spec = spec_of(LLAMA, **change)
    result, ready = answer(**spec), operation(spec)
    plan = ready.plan
    spread = LIBRARY.seen_from(lean.configuration(plan)).at(concurrency=plan.concurrency, capacity=ready.capacity)
    width = TABLE.meta["interval"][interval]
    for names, factor in (
        (("tpot_mean_s", "tpot_p99_s", "itl_p99_s", "e2e_mean_s"), math.exp(width["tpot"] * spread.tpot_sd)),
        (("ttft_mean_s", "ttft_p99_s"), math.exp(width["ttft"] * spread.ttft_sd)),
        (("output_tokens_per_s", "request_rate_rps"), math.exp(width["throughput"] * spread.tpot_sd)),
    ):
        for name in names:
            metric = result.metrics[name]
            assert metric.value is not None
            assert metric.high == pytest.approx(metric.value * factor), name
            assert metric.low == pytest.approx(metric.value / factor), name


@pytest.mark.parametrize(
    ("change", "basis"),
    [
        ({}, "measured"),
        ({"concurrency": 66.0}, "measured"),  # 0.04 octaves off
        ({"concurrency": 400.0}, "calibrated"),
        ({"input_tokens": 300.0}, "calibrated"),
        ({"gpus": 3, "tensor_parallel": None, "data_parallel_attention": 3, "expert_parallel": None}, "calibrated"),
        ({"gpus": 8, "pipeline_parallel": 2}, "calibrated"),  # likeness knows ranks of a stage, not stages
        ({"context_parallel": 2}, "calibrated"),
        ({"graph_capture": False}, "calibrated"),
        ({"adapters": 16}, "calibrated"),
        ({"prefix_hit_rate": 0.02}, "calibrated"),
        ({"weight_dtype": "int8"}, "extrapolated"),
        ({"engine": "sglang"}, "extrapolated"),
        ({"gpu": "h100-sxm"}, "extrapolated"),
        ({"llm": "gemma-3-27b"}, "extrapolated"),
        ({"draft": 2}, "extrapolated"),
    ],
)
def test_the_badge_says_how_near_the_measurements_are(change: dict[str, Any], basis: str) -> None:
    result = answer(**spec_of(LLAMA, **change))
    for name in ("tpot_mean_s", "ttft_p99_s", "output_tokens_per_s", "cost_usd_per_m_output_tokens"):
        assert result.metrics[name].basis == basis, name
    assert (finding(result, "extrapolated") is not None) == (basis == "extrapolated")


def test_ranges_widen_with_distance() -> None:
    widths = []
    for change in ({}, {"input_tokens": 30.0}, {"llm": "gemma-3-27b"}):
        metric = answer(**spec_of(LLAMA, **change)).metrics["tpot_mean_s"]
        assert metric.high is not None
        assert metric.value is not None
        widths.append(metric.high / metric.value)
    assert widths[0] < widths[1] < widths[2]


def test_the_nearest_measurement_is_told_to_people_and_to_scripts() -> None:
    result = answer(**spec_of(LLAMA))
    near = result.provenance["nearest_measurement"]
    assert near["id"] == LLAMA["id"]
    assert (near["ttft_s"], near["tpot_s"]) == (float(LLAMA["ttft_s"]), float(LLAMA["tpot_s"]))
    # Little's law in a closed loop of 64.
    rate = 64 * float(LLAMA["output_tokens"]) / (near["ttft_s"] + (float(LLAMA["output_tokens"]) - 1) * near["tpot_s"])
    assert near["output_tokens_per_s"] == pytest.approx(rate)
    assert "AIConfigurator" in near["source"]
    assert near["source"].endswith(TABLE.meta["source_url"])
    assert (
        result.provenance["measurements_behind"]
        == LIBRARY.seen_from(lean.configuration(operation(spec_of(LLAMA)).plan)).seen
    )
    json.dumps(result.provenance, allow_nan=False)
    told = finding(result, "nearest_measurement")
    assert told is not None
    assert told.severity == "info"
    words = told.message.replace("\u00a0", " ")
    for part in ("Llama 3.1 70B", "FP8", "4 × ", "B200", "TensorRT-LLM", "64 requests at once", "distance is 0.00"):
        assert part in words
    assert f"{result.provenance['measurements_behind']} measurements of this LLM, GPU and engine" in words


def test_an_extrapolated_answer_says_by_what_factors() -> None:
    result = answer(**spec_of(LLAMA, gpu="h100-sxm"))
    told = finding(result, "extrapolated")
    assert told is not None
    for name in ("tpot", "ttft"):
        metric = result.metrics[f"{name}_mean_s"]
        assert metric.high is not None
        assert metric.value is not None
        assert f"{metric.high / metric.value:.2f}" in told.message
    assert result.provenance["measurements_behind"] == 0


def test_the_table_of_the_nearest_begins_with_the_nearest() -> None:
    result = answer(**spec_of(LLAMA))
    table = result.series["nearest"]
    distances = [float(distance or 0) for distance in table.column("distance").values]
    assert distances == sorted(distances)
    assert table.column("tpot_s").values[0] == float(LLAMA["tpot_s"])


def test_an_fp8_cache_is_assumed_where_it_decides_and_said() -> None:
    spec: dict[str, Any] = {
        "llm": "llama-3-1-70b",
        "gpu": "h200-sxm",
        "gpus": 2,
        "weight_dtype": "fp8",
        "max_model_len": 9300,
        "input_tokens": 8192,
        "output_tokens": 1024,
        "concurrency": 100,
    }
    left_out, eight, sixteen = (answer(**spec, **({"kv_dtype": kv} if kv else {})) for kv in (None, "fp8", "bf16"))
    told = finding(left_out, "cache_width_assumed")
    assert told is not None
    assert told.change == {"kv_dtype": "fp8"}
    assert told.severity == "warning"
    calm = answer(**{**spec, "concurrency": 4})
    quiet = finding(calm, "cache_width_assumed")
    assert quiet is not None
    assert quiet.severity == "info"
    stated = answer(**{**spec, "concurrency": 4, "kv_dtype": "fp8"})
    assert value(calm, "tpot_mean_s") == pytest.approx(value(stated, "tpot_mean_s"))
    assert finding(left_out, "requests_wait_for_a_place") is None
    assert finding(eight, "cache_width_assumed") is finding(sixteen, "cache_width_assumed") is None
    # The same places as with the cache it assumes; a stated 16-bit cache holds half of them, and requests wait.
    assert value(eight, "max_concurrency") == pytest.approx(2 * value(left_out, "max_concurrency"), rel=0.01)
    assert finding(eight, "requests_wait_for_a_place") is None
    assert finding(sixteen, "requests_wait_for_a_place") is not None
    assert value(sixteen, "ttft_mean_s") > 2 * value(left_out, "ttft_mean_s")
    plain = answer(**{**spec, "weight_dtype": "bf16", "gpus": 4})
    assert finding(plain, "cache_width_assumed") is None


def test_a_replica_that_would_start_with_shorter_requests_has_the_times_it_would_have_then() -> None:
    refused = answer(gpu="rtx-4090")
    told = finding(refused, "times_if_it_started")
    assert told is not None
    change = refused.findings[0].change
    assert change is not None
    assert f"{change['max_model_len']:,} tokens" in told.message
    mended = answer(gpu="rtx-4090", **change)
    assert value(mended, "fits") == 1
    for name in ("tpot_mean_s", "ttft_mean_s", "output_tokens_per_s"):
        assert value(refused, name) == value(mended, name)
    assert finding(mended, "times_if_it_started") is None


class Constant:
    """Measurements that say the same at every load."""

    def __init__(self, *, tpot: float, ttft: float) -> None:
        self.correction = neighbours.Correction(tpot=tpot, ttft=ttft, tpot_sd=0.1, ttft_sd=0.2)

    def at(self, *, concurrency: float, capacity: float) -> neighbours.Correction:
        return self.correction


def roofline_alone(spec: dict[str, Any]) -> load.Operation:
    plan = resolve(EngineInstanceSpec.model_validate(spec), CATALOG)
    return load.operation(plan, capacity=load.places(plan, fits.fit(plan)), times=sources.calibrated(plan))


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_replica_whose_times_are_longer_serves_a_lower_rate_alike(factor: float) -> None:
    """All times f-fold at a rate are f times those of the roofline at f times that rate: a change of clock."""
    alone = roofline_alone(spec_of(LLAMA, concurrency=None, rate_rps=1.0))
    slower = replace(alone, lean=Constant(tpot=factor, ttft=factor))  # type: ignore[arg-type]
    assert slower.max_rate_rps == pytest.approx(alone.max_rate_rps / factor)
    for share in (0.1, 0.5, 0.9):
        rate_rps = share * slower.max_rate_rps
        ours, base = slower.at_rate(rate_rps), alone.at_rate(factor * rate_rps)
        assert ours is not None
        assert base is not None
        assert ours.ttft_s == pytest.approx(factor * base.ttft_s)
        assert ours.tpot_s == pytest.approx(factor * (base.tpot_s or 0))
        assert ours.concurrency == pytest.approx(rate_rps * ours.e2e_s)
        assert ours.running == pytest.approx(base.running, rel=0.01)
    assert slower.at_rate(1.001 * slower.max_rate_rps) is None


@pytest.mark.parametrize("row", ROWS[::97], ids=lambda row: row["id"][-40:])
def test_every_rate_below_the_largest_is_served_and_none_above(row: dict[str, str]) -> None:
    ready = operation(spec_of(row))
    for share in (0.05, 0.5, 0.9, 0.99):
        found = ready.at_rate(share * ready.max_rate_rps)
        assert found is not None, share
        assert found.concurrency == pytest.approx(share * ready.max_rate_rps * found.e2e_s)
    assert ready.at_rate(1.01 * ready.max_rate_rps) is None


@pytest.mark.parametrize("row", ROWS[::97], ids=lambda row: row["id"][-40:])
def test_factors_at_a_rate_are_those_of_the_requests_it_keeps_in_the_system(row: dict[str, str]) -> None:
    own = replace(operation(spec_of(row)), lesser=())
    for share in (0.1, 0.5, 0.8):
        rate_rps = share * own.max_rate_rps
        found = own.at_rate(rate_rps)
        assert found is not None
        # Requests beyond the places wait as an open queue does: what closed loops measured of them is left out.
        factors = own.correction(min(max(found.concurrency, 1.0), max(own.capacity, 1.0)))
        base = serving.open_loop(own.times, load=own.load, rate_rps=rate_rps * factors.tpot, capacity=own.capacity)
        assert base is not None
        # The search stops where the requests in the system move by less than half a hundredth.
        assert found.ttft_s == pytest.approx(base.ttft_s * factors.ttft, rel=0.02)
        assert found.tpot_s == pytest.approx((base.tpot_s or 0) * factors.tpot, rel=0.02)


def test_a_closed_loop_takes_the_factors_of_its_load() -> None:
    alone = roofline_alone(spec_of(LLAMA))
    ours, base = replace(alone, lean=Constant(tpot=1.2, ttft=3.0)).at(64.0), alone.at(64.0)  # type: ignore[arg-type]
    assert ours.tpot_s == pytest.approx(1.2 * (base.tpot_s or 0))
    assert ours.ttft_s == pytest.approx(3.0 * base.ttft_s)
    assert ours.request_rate_rps * ours.e2e_s == pytest.approx(64.0)


def test_another_source_of_step_times_does_not_lean() -> None:
    alone = roofline_alone(spec_of(LLAMA))
    assert alone.correction(64.0) == neighbours.Correction(tpot=1.0, ttft=1.0, tpot_sd=0.0, ttft_sd=0.0)
    found = lean.trust(alone.plan, CATALOG, alone, alone.at_design())
    assert found.nearest is None
    assert list(lean.remarks(alone.plan, found, alone)) == []
    assert lean.series(alone.plan, alone, CATALOG) == {}


def test_a_gpu_is_at_least_another_by_every_published_figure() -> None:
    h100, h200, b200 = (CATALOG.gpu(slug) for slug in ("h100-sxm", "h200-sxm", "b200-sxm"))
    assert rivals.is_at_least(h200, h100)
    assert not rivals.is_at_least(h100, h200)
    assert rivals.is_at_least(b200, h200)
    assert rivals.is_at_least(h100, h100)
    fast_but_small = replace(h200, figures={**h200.figures, "memory_bytes": h100.figures["nic_bytes_per_s"]})
    assert not rivals.is_at_least(fast_but_small, h100)


@pytest.mark.parametrize("concurrency", [1.0, 32.0, 900.0])
def test_a_lesser_gpu_bounds_the_answer(concurrency: float) -> None:
    ready = operation(spec_of(LLAMA, concurrency=concurrency))
    quick = replace(ready, lean=Constant(tpot=0.2, ttft=0.2), lesser=())  # type: ignore[arg-type]
    found = replace(ready, lesser=(quick,)).at(concurrency)
    bound = quick.at(concurrency)
    assert found.request_rate_rps * found.e2e_s == pytest.approx(concurrency)
    carried = replace(ready.correction(concurrency), tpot_carried=1.0, ttft_carried=1.0)
    assert load._as_carried(found, found.bounded(bound), carried).e2e_s <= bound.e2e_s * (1 + 1e-9)
    measured = replace(carried, tpot_carried=0.0, ttft_carried=0.0)
    own = replace(ready, lesser=()).at(concurrency)
    assert load._as_carried(own, own.bounded(bound), measured).e2e_s == pytest.approx(own.e2e_s)
    slow = replace(ready, lean=Constant(tpot=9.0, ttft=9.0), lesser=())  # type: ignore[arg-type]
    assert replace(ready, lesser=(slow,)).at(concurrency) == replace(ready, lesser=()).at(concurrency)


def test_a_point_with_longer_times_keeps_littles_law() -> None:
    base = roofline_alone(spec_of(LLAMA)).at(64.0)
    found: serving.Point = base.leaning(tpot=0.5, ttft=4.0)
    decoding_s = found.output_tokens * (found.decode_s + found.interference_s)
    assert found.running == pytest.approx(64.0 * decoding_s / (decoding_s + found.ttft_s))
    assert found.tpot_s == found.decode_s + found.interference_s
    parts = found.base_s + found.prefill_s + found.first_step_s + found.queue_s + found.admission_s
    assert found.ttft_s == parts
