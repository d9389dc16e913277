"""The reference of a gateway: every figure quoted from its specification."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Result
from planner.kinds import get

KIND = get("gateway")
CATALOG = files.load()

REFERENCE = {
    "blocks_per_request": 64,
    "lookups_per_s_per_instance_probing": 64_000_000,
    "lookups_per_s_prefix_tree": 320_000,
    "index_nodes": 6_250_000,
    "index_bytes": 400_000_000,
    "requests_lost_before_ejection": 75,
    "streams": 62_500,
    "events_per_s": 2_000_000,
}


def answer(**given: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


@pytest.fixture(scope="module")
def reference() -> Result:
    return answer()


@pytest.mark.parametrize(("name", "value"), REFERENCE.items())
def test_a_reference_figure_comes_out_exactly(reference: Result, name: str, value: float) -> None:
    assert reference.value(name) == value


def test_the_size_of_the_index_is_shown_in_mebibytes_too(reference: Result) -> None:
    assert "381.5 MiB" in reference.metrics["index_bytes"].working


def test_the_parts_of_the_bill_sum_to_it_to_the_last_bit(reference: Result) -> None:
    parts = ("replicas_used", "replicas_spare", "replicas_headroom", "instances", "egress")
    assert sum(reference.value(f"{name}_usd_per_h") or 0.0 for name in parts) == reference.value("cost_usd_per_h")
