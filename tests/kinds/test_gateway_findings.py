"""Every finding of a gateway can be reached, its change mends it, and its sentence holds the numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import files
from planner.core import ignored
from planner.core.result import Finding, Result
from planner.kinds import gateway, get

KIND = get("gateway")
CATALOG = files.load()
HOT: dict[str, Any] = {"policy": "prefix_aware", "hot_prefix_cap": None}
BUSY: dict[str, Any] = {"policy": "random", "prefill_tokens_per_s": 95_000.0, "probe_path": "queued"}
WAYS: dict[str, tuple[dict[str, Any], str | None]] = {
    "no_load": ({"peak_rps": 0.0}, None),
    "instances_saturated": ({"policy": "random", "peak_rps": 6000.0}, None),
    "hot_spot": (HOT, "load_skew"),
    "ttft_slo_missed": ({"policy": "random", "ttft_p99_slo_s": 1.0}, None),
    "hot_prefixes": ({}, None),
    "affinity_pays": ({}, None),
    "policies_tie": (
        {"peak_rps": 2000.0, "input_tokens": 256.0, "prefix_tokens": 128.0, "output_tokens": 3000.0},
        None,
    ),
    "policy_leaves_capacity": ({"policy": "random"}, None),
    "hash_tears_apart": ({"policy": "bounded_hash"}, None),
    "counts_are_streams": ({"policy": "least_requests"}, None),
    "old_views": ({"own_dispatches": "not_counted"}, None),
    "probing_or_tree": ({}, None),
    "index_intake": ({"index_updates_per_s": 1e5}, None),
    "approximate_index": ({"index_place": "approximate"}, None),
    "index_place": ({}, None),
    "index_lag": ({"event_lag_s": 5.0}, None),
    "duplicate_prefills": ({"index_own": "off"}, None),
    "index_does_not_fit": ({"index_place": "in_process", "index_bytes_per_node": 27_000.0}, None),
    "gateway_too_small": ({"gateway_replicas": 1}, None),
    "gateway_too_full": ({"gateway_replicas": 3}, None),
    "in_flight_cap": ({"requests_in_flight_cap": 1024, "gateway_replicas": 5}, None),
    "proxy_default_caps": ({}, None),
    "gateway_single": ({"peak_rps": 100.0, "spare_replicas": 0}, None),
    "gateway_not_n_plus_1": ({"gateway_replicas": 2}, None),
    "gateway_survives": ({}, None),
    "gateway_binding": ({}, None),
    "external_processing": ({"processing": "external"}, None),
    "reconnect_storm": ({"reconnect_s": 0.2}, None),
    "detection": ({}, None),
    "active_only": ({"detection": "active"}, None),
    "dead_looks_idle": ({"policy": "least_requests", "detection": "active"}, "requests_lost"),
    "passive_only": ({"detection": "passive"}, None),
    "private_verdicts": ({"gateway_replicas": 8, "passive_failures": 5}, None),
    "hangs": ({"failure_mode": "hangs"}, None),
    "streams_cut": ({"broken_streams": "error"}, None),
    "no_retries": ({"retries": 0}, None),
    "no_idempotency": ({"idempotency_keys": "off"}, None),
    "retry_storm": ({"retries": 3, "retry_budget": None}, None),
    "retry_budget": ({}, None),
    "busy_taken_for_dead": (BUSY, None),
    "false_ejections": ({"probe_error": 0.05}, None),
    "quarantine_for_ever": ({"half_open": "off"}, None),
    "slow_return": ({"outage_s": 40.0}, None),
    "loose_ejection_cap": ({"ejection_cap": 1.0}, None),
    "all_lost": ({"instances_lost": 200}, None),
    "cold_after_loss": ({"instances_lost": 150}, None),
    "canary": ({}, None),
    "canary_long": ({"canary_weight": 0.001, "canary_error_rate": 0.0011}, None),
    "canary_by_request": ({"canary_by": "request"}, None),
    "canary_step_too_large": ({"canary_weight": 0.9}, None),
    "overload": ({}, None),
    "queue_limit": ({"queue_limit": 2000}, None),
    "shed_by_priority": ({"urgent_share": 0.9}, None),
    "field_ignored": ({"half_open": "off", "half_open_trials": 3}, None),
}
REMAINS = {
    # The change shortens, softens or prices these; they are told all the same.
    "streams_cut", "hangs", "hot_prefixes", "affinity_pays", "old_views", "shed_by_priority",
}  # fmt: skip


def answer(given: dict[str, Any]) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


def finding(given: dict[str, Any], code: str) -> Finding | None:
    return next((each for each in answer(given).findings if each.code == code), None)


def test_every_code_is_reached() -> None:
    folder = Path(str(gateway.__file__)).parent
    codes = {ignored.CODE}
    for module in (found for found in folder.glob("*.py") if not found.name.startswith("simul")):
        text = module.read_text(encoding="utf-8")
        for place in re.findall(r"code=([^,\n]*),", text):
            codes |= set(re.findall(r'"(\w+)"', place))
    assert codes == set(WAYS)


@pytest.mark.parametrize("code", WAYS)
def test_a_finding_is_reached_and_has_numbers(code: str) -> None:
    given, metric = WAYS[code]
    found = finding(given, code)
    assert found is not None, [each.code for each in answer(given).findings]
    assert found.metric is None or found.metric in {definition.name for definition in KIND.metrics}
    assert metric is None or found.metric == metric
    words_only = {"no_load", "gateway_single", "quarantine_for_ever", "field_ignored"}
    assert code in words_only or re.search(r"\d", found.message), found.message


@pytest.mark.parametrize("code", [code for code in WAYS if code not in REMAINS])
def test_a_change_mends_what_it_is_offered_for(code: str) -> None:
    given, _ = WAYS[code]
    found = finding(given, code)
    assert found is not None
    if found.change is None or found.severity == "info":
        return
    after = {**given, **found.change}
    again = finding(after, code)
    assert again is None or again.severity == "info" or again.message != found.message


def test_a_hot_spot_is_gone_with_a_cap_and_spilling() -> None:
    found = finding(HOT, "hot_spot")
    assert found is not None
    assert found.severity == "error"
    assert found.change is not None
    mended = answer({**HOT, **found.change})
    assert all(each.severity != "error" for each in mended.findings)
    assert (mended.value("load_skew") or 9.0) <= 1.25


def test_a_fleet_whose_caches_hold_everything_ties() -> None:
    found = finding({"kv_tokens_per_instance": 200_000_000, "turns": 1.0, "gap_s": 1.0}, "policies_tie")
    assert found is not None
    assert "working set" in found.message
    decode = finding(WAYS["policies_tie"][0], "policies_tie")
    assert decode is not None
    assert "decode" in decode.message


def test_a_low_load_ties() -> None:
    found = finding({"peak_rps": 500.0}, "policies_tie")
    assert found is not None
    assert "busy" in found.message


def test_notes_begin_with_what_binds_and_end_with_what_was_weighed() -> None:
    codes = [each.code for each in answer({}).findings]
    assert codes[:2] == ["gateway_binding", "affinity_pays"]
    assert codes.index("detection") < codes.index("canary") < codes.index("index_place")


def test_a_share_of_a_failure_is_a_share_of_failures() -> None:
    """Of five requests a retry within its budget loses 0.5 %: 0.025, one in forty failures."""
    found = finding({}, "retry_budget")
    assert found is not None
    assert "one fails for good in 40 such failures" in found.message


def test_a_hot_spot_is_not_called_even_in_its_own_answer() -> None:
    spec = KIND.spec.model_validate(HOT)
    told = next(each.answer for each in KIND.advice.follow_ups(spec, answer(HOT)) if "very popular" in each.question)
    assert "as this design does" in told
    assert (answer(HOT).value("goodput_rps_overload") or 0.0) < 1.5 * (answer(HOT).value("max_rps") or 0.0)


def test_what_a_policy_moves_is_told_beside_the_replicas() -> None:
    moves = {each.label: each.moves for each in KIND.advice.variants(KIND.spec(), answer({}))}
    assert moves["Random routing"] == ("hit_share", "ttft_p99_s", "max_rps")
    assert moves["Probes alone"] == ("requests_lost", "requests_failed")
    names = {definition.name for definition in KIND.metrics}
    assert {name for row in moves.values() for name in row} <= names


@pytest.mark.parametrize(
    "given",
    [
        {"instances": 100_000, "peak_rps": 1e6},
        {"instances": 1},
        {"input_tokens": 1e7},
        {"block_tokens": 8192},
        {"event_lag_s": 600.0},
        {"peak_rps": 1e-9},
        {"kv_tokens_per_instance": 0},
        {"output_tokens": 1e7},
        {"prefix_groups": 1, "policy": "prefix_aware"},
    ],
)
def test_a_fleet_nobody_designed_for_has_every_table(given: dict[str, Any]) -> None:
    result = answer(given)
    figures = [value for series in result.series.values() for column in series.columns for value in column.values]
    figures += [metric.value for metric in result.metrics.values()]
    assert all(math.isfinite(value) for value in figures if isinstance(value, int | float))


def test_the_reference_has_no_error_and_no_warning() -> None:
    assert answer({}).severity == "info"
