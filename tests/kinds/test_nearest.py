"""Every kind names the nearest published measurement, with its distance, its figures and ours beside them."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Result
from planner.formulas import measurements
from planner.kinds import get

CATALOG = files.load()
TABLE = CATALOG.table(measurements.TABLE)
SMALL = {
    "rate_mode": "derived",
    "llm": "llama-3-1-70b",
    "gpu": "h200-sxm",
    "engine": "vllm",
    "topology": "aggregated",
    "decode_unit_gpus": 8,
    "kv_bytes_per_token": None,
    "prefix_hit_rate": 0.0,
    "peak_rps": 50.0,
}
MEASURED = {
    "llm": "llama-3-1-70b",
    "gpu": "h200-sxm",
    "gpus": 8,
    "engine": "vllm",
    "weight_dtype": "fp8",
    "output_tokens": 1024,
}


def answer(kind: str, **spec: Any) -> Result:
    found = get(kind)
    return found.estimate(found.spec.model_validate(spec), CATALOG)


def row(id: str) -> dict[str, str]:
    place = TABLE.columns["id"].index(id)
    return {name: values[place] for name, values in TABLE.columns.items()}


@pytest.mark.parametrize("kind", ["engine_instance", "llm_serving"])
def test_the_default_design_names_its_nearest_measurement(kind: str) -> None:
    result = answer(kind)
    assert result.evidence
    for found in result.evidence:
        assert found.distance >= 0
        assert found.differs
        assert found.source_url.startswith("https://")
        stored = row(found.id)
        for figure in found.figures:
            if figure.name != "throughput":
                assert figure.measured == float(stored[f"{figure.name}_s"])
        table = result.series[found.series]
        assert table.column("measurement").values[0] == found.configuration
        assert table.column("distance").values[0] == pytest.approx(found.distance)
    assert result.provenance["nearest_measurement"]["id"] == result.evidence[0].id


def test_ours_beside_it_are_the_figures_of_the_answer() -> None:
    result = answer("engine_instance", **MEASURED)
    beside = {figure.name: figure.estimate for figure in result.evidence[0].figures}
    assert beside == {
        "tpot": result.value("tpot_mean_s"),
        "ttft": result.value("ttft_mean_s"),
        "throughput": pytest.approx(result.value("output_tokens_per_s_per_gpu")),
    }


def test_a_rate_that_cannot_be_served_still_has_its_nearest_measurement() -> None:
    result = answer("engine_instance", **MEASURED, rate_rps=1000.0)
    assert result.value("tpot_mean_s") is None
    assert result.evidence[0].figures[0].estimate is None
    assert result.evidence[0].distance < measurements.FAR


def test_points_of_the_same_replica_are_drawn_over_the_curve_and_none_of_another() -> None:
    kind = get("engine_instance")
    spec = kind.spec.model_validate(MEASURED)
    result = kind.estimate(spec, CATALOG)
    charts = {chart.name: chart for chart in kind.charts(spec, result)}
    points = charts["measured_tpot"].traces[1]
    assert points.marker_only
    stored = [
        (float(load), float(tpot))
        for llm, gpu, engine, number_format, gpus, new, output, load, tpot in zip(
            *(
                TABLE.columns[name]
                for name in (
                    "llm",
                    "gpu",
                    "engine",
                    "format",
                    "gpus",
                    "input_tokens",
                    "output_tokens",
                    "concurrency",
                    "tpot_s",
                )
            ),
            strict=True,
        )
        if (llm, gpu, engine, number_format, gpus, new, output)
        == ("llama-3-1-70b", "h200-sxm", "vllm", "fp8", "8", "1024", "1024")
    ]
    assert sorted(zip(points.x, points.y, strict=True)) == sorted(stored)
    curve = charts["measured_tpot"].traces[0]
    assert curve.low is not None
    assert curve.high is not None
    for low, value, high in zip(curve.low, curve.y, curve.high, strict=True):
        assert low is not None
        assert value is not None
        assert high is not None
        assert low < value < high
    other = answer("engine_instance")
    assert not [chart.name for chart in kind.charts(kind.spec(), other) if chart.name.startswith("measured_")]


def test_the_band_of_the_curve_is_that_of_the_design_at_its_load() -> None:
    result = answer("engine_instance", **MEASURED, concurrency=64.0)
    curve, tpot = result.series["concurrency"], result.metrics["tpot_mean_s"]
    place = list(curve.column("concurrency").values).index(64.0)
    assert tpot.value is not None
    assert tpot.high is not None
    assert curve.column("tpot_band").values[place] == pytest.approx(tpot.high / tpot.value)


def test_a_pool_within_what_was_measured_is_calibrated_and_a_wide_one_extrapolated() -> None:
    small = answer("llm_serving", **SMALL)
    assert [found.subject for found in small.evidence] == ["replica"]
    assert small.evidence[0].distance < measurements.FAR
    assert small.metrics["tpot_p99_s"].basis == "calibrated"
    wide = answer("llm_serving", rate_mode="derived")
    assert [found.subject for found in wide.evidence] == ["decode unit", "prefill unit"]
    assert wide.metrics["tpot_p99_s"].basis == "extrapolated"
    assert wide.evidence[0].distance > small.evidence[0].distance
    said = [found.message for found in wide.findings if found.code.endswith("_nearest_measurement")]
    assert len(said) == 2
    assert all("extrapolated" in sentence for sentence in said)


def test_rates_that_lean_on_no_measurement_are_never_called_measured() -> None:
    lengths = {"input_tokens": 1024.0, "output_tokens": 1024.0}
    result = answer("llm_serving", **{**SMALL, **lengths})
    assert result.metrics["decode_tokens_per_s_per_gpu"].basis == "calibrated"
    assert "do not lean" in result.evidence[0].said


def test_assumed_rates_stay_assumed_beside_their_nearest_measurement() -> None:
    result = answer("llm_serving")
    assert result.metrics["tpot_p99_s"].basis == "assumed"
    assert result.evidence[0].said.startswith("The rates in use are assumed")


@pytest.mark.parametrize("mode", ["assumed", "derived"])
def test_what_depends_on_rates_has_a_range(mode: str) -> None:
    result = answer("llm_serving", rate_mode=mode)
    ranged = ["ttft_mean_s", "tpot_p99_s", "prefill_utilisation", "decode_running_per_gpu"]
    ranged += ["decode_tokens_per_s_per_gpu", "cost_usd_per_m_input_tokens", "cost_usd_per_m_total_tokens"]
    ranged += ["gpus", "prefill_gpus_needed", "cost_usd_per_h"] if mode == "derived" else []
    for name in ranged:
        metric = result.metrics[name]
        assert metric.low is not None, name
        assert metric.high is not None, name
        assert metric.low < metric.high, name
