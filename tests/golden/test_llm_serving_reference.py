"""The reference fleet of the published exercise: every figure exactly, from the default spec."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.result import Result

# The reference design: 500 req/s, 3,000 in, 800 out, hit 0.5; 4,000 and 1,850 tok/s a GPU; units of 32 and 144 GPUs.
EXACT = {
    "prefill_gpus_needed": Fraction(500 * 3000, 2 * 4000),
    "prefill_units": 8,
    "prefill_gpus": 256,
    "decode_gpus_needed": Fraction(500 * 800, 1850),
    "decode_units": 2,
    "decode_gpus": 288,
    "decode_concurrency_per_gpu": Fraction(1850, 20),
    "decode_kv_bytes_per_gpu": 22_100_544_000,
    "nodes": 68,
    "cost_usd_per_h": 1088,
    "cost_usd_per_m_output_tokens": Fraction(1088 * 10**6, 500 * 800 * 3600),
    "kv_transfer_bytes_per_s": 500 * 3000 * 70_272,
    "decode_left_after_unit_loss": Fraction(144 * 1850, 500 * 800),
    "cost_usd_per_m_total_tokens": Fraction(1088 * 10**6, 500 * 3800 * 3600),
    "max_rps_within_headroom": 555,
}

# (change, nodes, USD/h, USD/M output tokens, survives one decode unit): arithmetic by hand on the same exercise.
VARIANTS: list[tuple[dict[str, Any], int, float, float, bool]] = [
    ({"spare_decode_units": 1}, 86, 1376, 0.9556, True),
    ({"decode_unit_gpus": 72, "decode_tokens_per_s_per_gpu": 1720.0, "spare_decode_units": 1}, 77, 1232, 0.8556, True),
    ({"prefix_hit_rate": 0.62}, 60, 960, 0.6667, False),
    ({"headroom": 0.1}, 64, 1024, 0.7111, False),
    ({"gpu_price_usd_per_h": 1.5}, 68, 816, 0.5667, False),
    ({"prefix_hit_rate": 1.0}, 36, 576, 0.4, False),
]


def estimate(**spec: Any) -> Result:
    kind = kinds.get("llm_serving")
    return kind.estimate(kind.spec.model_validate(spec), files.load())


@pytest.fixture(scope="module")
def reference() -> Result:
    return estimate()


@pytest.mark.parametrize("name", EXACT)
def test_the_reference_figure_is_exact(reference: Result, name: str) -> None:
    value = reference.value(name)
    assert value is not None
    assert value == pytest.approx(float(EXACT[name]), rel=1e-14)
    if isinstance(EXACT[name], int):
        assert value == EXACT[name]


@pytest.mark.parametrize(("change", "nodes", "bill", "price", "survives"), VARIANTS)
def test_each_variant_costs_what_its_arithmetic_says(
    change: dict[str, Any], nodes: int, bill: float, price: float, survives: bool
) -> None:
    result = estimate(**change)
    assert result.value("nodes") == nodes
    assert result.value("cost_usd_per_h") == bill
    assert result.value("cost_usd_per_m_output_tokens") == pytest.approx(price, abs=5e-5)
    assert result.value("decode_n_plus_1") == float(survives)


def test_the_reference_fails_n_plus_1_and_says_what_would_not(reference: Result) -> None:
    finding = next(finding for finding in reference.findings if finding.code == "decode_not_n_plus_1")
    assert finding.severity == "error"
    assert "67 % of the decode capacity the peak needs" in finding.message
    assert finding.suggestion is not None
    for figure in ("3 decode units", "86 nodes", "$1,376/h", "$0.956/M"):
        assert figure in finding.suggestion
    assert finding.change == {"spare_decode_units": 1}
    assert "decode_not_n_plus_1" not in {found.code for found in estimate(**finding.change).findings}
    assert reference.value("decode_units_for_availability") == 3


def test_the_derived_rates_are_within_15_percent_of_the_published_day() -> None:
    # open-infra-index, day 6: 73.7k input tok/s with 56.3 % hits and 14.8k output tok/s a node of eight H800, at 20–22
    # tok/s a user and a mean context of 4,989 tokens; no draft tokens are mentioned.
    day = estimate(
        rate_mode="derived",
        mtp="off",
        prefix_hit_rate=0.563,
        input_tokens=4339.0,
        output_tokens=1300.0,
        tpot_slo_s=1 / 21,
    )
    assert day.value("prefill_tokens_per_s_per_gpu") == pytest.approx(73_700 * (1 - 0.563) / 8, rel=0.15)
    assert day.value("decode_tokens_per_s_per_gpu") == pytest.approx(14_800 / 8, rel=0.15)
