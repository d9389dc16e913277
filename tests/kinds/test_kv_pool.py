"""The pool through its kind: published tables, verdicts, and what every finding takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from planner.catalog import files
from planner.core import ignored
from planner.core.result import Finding, Result
from planner.kinds import get

KIND = get("kv_pool")
CATALOG = files.load()
FOLDER = Path(__file__).resolve().parents[2] / "planner" / "kinds" / "kv_pool"
KV = 160e3


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def value(result: Result, name: str) -> float:
    found = result.value(name)
    assert found is not None, name
    return found


def found(result: Result, code: str) -> Finding:
    return next(finding for finding in result.findings if finding.code == code)


def one_tier(tokens: float, **spec: Any) -> Result:
    """A design with a single cache of so many tokens."""
    sizes = {"nodes": 1, "gpus_per_node": 1, "dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0}
    return answer(**{**sizes, "hbm_bytes_per_gpu": tokens * KV, **spec})


# Sessions λ = 2/s, q = 5/6, S_k = 2,000 + 1,000 k, exponential pauses: C = 70,000·300(1 − e^(−T/300)) + 14,000 T.
SESSIONS = {
    "turns_per_s": 12.0,
    "continue_probability": 5 / 6,
    "context_tokens": 7000.0,
    "new_tokens": 1000.0,
    "gap_law": "exponential",
    "gap_s": 300.0,
}
LAW = [
    (1e6, 12.105587, 0.039548657),
    (1e7, 143.62421, 0.38044101),
    (2e7, 368.19230, 0.70691942),
    (4e7, 1372.5973, 0.98969704),
]


@pytest.mark.parametrize(("tokens", "kept_s", "hits"), LAW)
def test_sessions_are_kept_and_hit_as_their_law_says(tokens: float, kept_s: float, hits: float) -> None:
    made = one_tier(tokens, **SESSIONS)
    assert value(made, "hbm_keep_s") == pytest.approx(kept_s, rel=1e-6)
    assert value(made, "hit_share") == pytest.approx(hits, abs=6e-7)


def test_tokens_computed_again_after_a_flush_are_the_early_pauses() -> None:
    made = one_tier(1e7, **SESSIONS)
    assert value(made, "flush_tokens") == pytest.approx(70_000 * 25.148633, rel=1e-5)


@pytest.mark.parametrize(("relation", "last_s"), [("exclusive", 35_268.0), ("ssd_inclusive", 34_158.0)])
def test_the_reference_keeps_sessions_as_long_as_the_reach_of_its_tiers(relation: str, last_s: float) -> None:
    made = answer(relation=relation)
    assert [value(made, f"{tier}_keep_s") for tier in ("hbm", "dram", "ssd")] == pytest.approx(
        [39.6, 276, last_s], rel=2e-3
    )
    within = value(made, "hbm_hit_share"), value(made, "hbm_hit_share") + value(made, "dram_hit_share")
    assert within == pytest.approx((0.046, 0.473), abs=1e-3)
    assert value(made, "hit_share") == pytest.approx(1.0, abs=1e-4)


def test_one_more_terabyte_is_worth_what_the_derivative_says() -> None:
    made = answer(relation="exclusive")
    gpus = [value(made, f"{tier}_tb_gpu_s_per_s") for tier in ("hbm", "dram", "ssd")]
    assert gpus[:2] == pytest.approx([2.99, 2.76], abs=0.006)
    assert gpus[2] == pytest.approx(2.5e-5, abs=0.1e-5)
    usd = [value(made, f"{tier}_tb_usd_per_month") for tier in ("hbm", "dram", "ssd")]
    assert usd[:2] == pytest.approx([5465, 5031], rel=1e-3)
    assert usd[2] == pytest.approx(0.05, abs=0.005)


# Che's approximation, Zipf items of one token each, exact to the digits given.
@pytest.mark.parametrize(
    ("items", "exponent", "held", "hits"),
    [
        (10_000, 0.8, 1000, 0.43666),
        (10_000, 1.0, 1000, 0.675602),
        (10_000, 1.2, 100, 0.656341),
        (100_000, 0.9, 5000, 0.515196),
    ],
)
def test_popular_prefixes_are_hit_as_che_says(items: int, exponent: float, held: int, hits: float) -> None:
    load = {"source": "zipf", "zipf_items": items, "zipf_exponent": exponent, "new_tokens": 0.0, "output_tokens": 0.0}
    made = one_tier(held * 4000.0, context_tokens=4000.0, **load)
    assert value(made, "hit_share") == pytest.approx(hits, abs=2e-5)


TRACES = {
    "mooncake-conversation": (
        288_500,
        105_710,
        {5_000: 31_840, 10_000: 60_921, 20_000: 82_939, 50_000: 102_290},
        0.001,
    ),
    "mooncake-synthetic": (121_877, 77_953, {5_000: 34_018, 10_000: 51_614, 20_000: 69_649}, 0.014),
}
"""Look-ups, hits without limit, hits of an LRU of so many blocks by exact replay, and the error of the law in share."""


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_hit_as_its_replay_says(name: str) -> None:
    lookups, endless, replayed, error = TRACES[name]
    for blocks, hits in replayed.items():
        made = one_tier(blocks * 512.0, source="trace", workload=name, turns_per_s=3.0)
        assert value(made, "hit_share") * endless / lookups == pytest.approx(hits / lookups, abs=error)


def test_two_exclusive_tiers_cut_one_stack() -> None:
    tiers = {"nodes": 1, "gpus_per_node": 1, "hbm_bytes_per_gpu": 5000 * 512 * KV, "ssd_bytes_per_node": 0.0}
    made = answer(**tiers, dram_bytes_per_node=15_000 * 512 * KV, source="trace", workload="mooncake-conversation")
    hits = [value(made, f"{tier}_hit_share") * 105_710 for tier in ("hbm", "dram")]
    assert hits == pytest.approx([31_840, 51_099], abs=0.001 * 288_500)


@pytest.mark.parametrize(("nodes", "simulated"), [(8, 0.0473), (32, 0.0117)])
def test_sessions_that_wander_hit_as_was_simulated(nodes: int, simulated: float) -> None:
    spread = {**SESSIONS, "nodes": nodes, "gpus_per_node": 1, "placement": "random"}
    made = answer(**spread, hbm_bytes_per_gpu=1e7 * KV / nodes, dram_bytes_per_node=0.0, ssd_bytes_per_node=0.0)
    assert value(made, "hit_share") == pytest.approx(simulated, abs=0.001)


# B_min in GB/s at 8,192 and 131,072 tokens; n* on an idle 100G network (11 GB/s, 0.1 ms) and one NVMe (6 GB/s, 1 ms).
LLMS: dict[str, tuple[dict[str, Any], float, float, float, float]] = {
    "llama-3-1-8b": (
        {
            "active_parameters": 7.5e9,
            "attention_width": 32 * 4096.0,
            "kv_bytes_per_token": 131_072.0,
            "prefill_gpus": 1,
        },
        *(3.78, 1.31, 5.4, 117),
    ),
    "llama-3-1-70b": (
        {"active_parameters": 69.5e9, "attention_width": 80 * 8192.0, "kv_bytes_per_token": 327_680.0},
        *(8.66, 4.17, 19, 58_836),
    ),
    "deepseek-v3": (
        {"active_parameters": 37e9, "attention_width": 61 * 20_480.0, "kv_bytes_per_token": 70_272.0},
        *(2.94, 0.69, 8.1, 141),
    ),
}


@pytest.mark.parametrize("llm", LLMS)
def test_break_even_is_a_bandwidth(llm: str) -> None:
    replica, at_8k, at_128k, network, drive = LLMS[llm]
    links = {"dram_read_bytes_per_s": 11e9, "ssd_read_bytes_per_s": 6e9, "placement": "affinity"}
    one = {"llm": llm, "turns_per_s": 0.0, "gpus_per_node": replica.get("prefill_gpus", 8), **replica, **links}
    made = answer(**one)
    assert value(made, "least_bytes_per_s") / 1e9 == pytest.approx(at_8k, abs=0.006)
    long = answer(**one, context_tokens=131_072.0)
    assert value(long, "least_bytes_per_s") / 1e9 == pytest.approx(at_128k, abs=0.006)
    assert value(made, "dram_break_even_tokens") == pytest.approx(network, rel=0.02)
    assert value(made, "ssd_break_even_tokens") == pytest.approx(drive, rel=0.01)


ALL_NEW = {"shared_prefix_tokens": 3192.0, "shared_prefix_groups": 1}
"""Contexts of 3,192 shared tokens and 1,000 new ones a turn: then a turn writes its new tokens and nothing else."""


@pytest.mark.parametrize(("turns", "per_day", "years"), [(50.0, 0.72, 6.9), (100.0, 1.44, 3.5), (400.0, 5.76, 0.87)])
def test_drives_wear_by_the_new_tokens(turns: float, per_day: float, years: float) -> None:
    made = answer(turns_per_s=turns, **ALL_NEW)
    assert value(made, "ssd_writes_per_day") == pytest.approx(per_day, rel=0.01)
    assert value(made, "ssd_life_years") == pytest.approx(years, abs=0.05)
    assert value(made, "ssd_life_optimistic_years") == pytest.approx(5 * value(made, "ssd_life_years"))


def test_whole_contexts_wear_drives_eight_times_as_fast() -> None:
    made = answer(written="context")
    assert value(made, "ssd_writes_per_day") == pytest.approx(11.8, abs=0.05)
    assert value(made, "ssd_life_years") == pytest.approx(0.42, abs=0.005)


def test_first_turns_bring_the_rest_of_a_context() -> None:
    """A mean of 8,192 in five turns of 1,000 new tokens each starts at 4,192: 1,638 new ones a turn, not 1,000."""
    per_turn = 0.2 * 4192 + 0.8 * 1000
    assert value(answer(), "write_bytes_per_s") == pytest.approx(100 * per_turn * KV, rel=1e-3)


def test_a_hit_takes_its_path_at_low_load() -> None:
    """One turn in a thousand seconds waits for nobody: the fixed part, and prompts of the first turns alone."""
    alone = {"turns_per_s": 1e-3, "continue_probability": 0.0}
    made = answer(**alone)
    compute_s = 2 * 70.6e9 * (8192 - 250) / (8 * 989e12 * 0.5)
    assert value(made, "ttft_p50_s") == pytest.approx(0.05 + compute_s, rel=1e-6)
    assert value(made, "ttft_p99_s") == pytest.approx(0.05 + compute_s, rel=1e-3)


def test_the_bill_is_the_sum_of_its_parts() -> None:
    for spec in ({}, {"turns_per_s": 0.0}, {"dram_paid": "in_rent"}, {"prefill_units": 40}):
        made = answer(**spec)
        parts = ("new", "again", "idle", "dram", "ssd")
        assert sum(value(made, f"{part}_usd_per_h") for part in parts) == value(made, "cost_usd_per_h")


def test_a_pool_that_pays_says_so_and_names_its_price() -> None:
    verdict = found(answer(), "pool_pays")
    assert "208\u00a0GPUs" in verdict.message
    assert "$20.84/h" in verdict.message


NO_GAIN = {
    "link_too_slow": {"dram_read_bytes_per_s": 2e9, "ssd_read_bytes_per_s": 2e9},
    "little_is_reused": {"one_shot_share": 0.96},
    "gpu_memory_suffices": {"gap_law": "exponential", "gap_s": 5.0},
    "prefill_does_not_bind": {"turns_per_s": 0.5},
}


TOLD = {
    "link_too_slow": "computing is quicker below",
    "little_is_reused": "were ever computed before",
    "gpu_memory_suffices": "HBM alone keeps a session",
    "prefill_does_not_bind": "prefill needs no unit more",
}


@pytest.mark.parametrize("reason", NO_GAIN)
def test_the_pool_is_refused_once_and_with_the_reason(reason: str) -> None:
    made = answer(**NO_GAIN[reason])
    (refused,) = (finding for finding in made.findings if finding.code.startswith("no_gain"))
    assert refused.message.startswith("No gain: ")
    assert TOLD[reason] in refused.message
    assert "pool_pays" not in {finding.code for finding in made.findings}


REACHED: dict[str, dict[str, Any]] = {
    "no_load": {"turns_per_s": 0.0},
    "hbm_holds_few": {},
    "lower_tiers_hold_more": {},
    "reading_beats_computing": {},
    "computing_beats_reading": {"dram_read_bytes_per_s": 2e9, "ssd_read_bytes_per_s": 2e9},
    "prefill_unstable": {"prefill_units": 2},
    "prefill_near_saturation": {"prefill_units": 6},
    "ttft_slo_missed": {"ttft_p99_slo_s": 0.05},
    "prefill_exceeds_nodes": {"nodes": 2},
    "only_with_the_pool": {},
    "no_pool": {"dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0},
    "no_gain_money": {"dram_usd_per_gb_month": 100.0},
    "pool_pays": {},
    "tier_not_read": {"ssd_read_bytes_per_s": 2e9},
    "ssd_oversized": {},
    "link_full": {"ssd_read_bytes_per_s": 5e9, "turns_per_s": 200.0, "contention": "fifo"},
    "link_busy": {"ssd_read_bytes_per_s": 4.6e9},
    "links_best_case": {},
    "ttl_drops_early": {"eviction": "ttl"},
    "value_gains": {"agent_share": 0.5, "one_shot_share": 0.3, "dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0},
    "value_gains_nothing": {"eviction": "value"},
    "times_by_class": {"eviction": "value"},
    "nothing_dropped": {"source": "zipf", "zipf_items": 1000, "new_tokens": 0.0, "output_tokens": 0.0},
    "sessions_wander": {"placement": "random"},
    "upgrade_is_cold": {},
    "version_by_request": {"version_by": "request"},
    "nothing_written": {"admitted_share": 0.0},
    "ssd_endures": {"ssd_dwpd": 3.0},
    "ssd_wears_out": {},
    "ssd_write_full": {"ssd_write_bytes_per_s": 1e9},
    "ssd_written_again": {"relation": "exclusive"},
    "dram_holds_copies": {"relation": "inclusive"},
    "whole_contexts_written": {"written": "context"},
    "write_back_waits": {"write_mode": "back"},
    "writes_fill_network": {"network_bytes_per_s": 4e9},
    "blocks_small": {"block_tokens": 1},
    "kv_bytes_differ": {"kv_dtype": "bf16"},
    "attention_left_out": {},
    "context_too_long": {"context_tokens": 200_000.0},
    "latent_on_each_gpu": {"llm": "deepseek-v3"},
    "reuse_at_saved_states": {"llm": "qwen3-next-80b-a3b"},
    "tails_lost": {"block_tokens": 2048},
    "histories_cut": {"new_tokens": 4000.0},
    "nothing_reusable": {"continue_probability": 0.0},
    "no_output": {"output_tokens": 0.0},
    "dram_may_be_paid": {},
    "field_ignored": {"flush_s": 30.0},
    "sessions_bound": {"hbm_bytes_per_gpu": 80e9, "gap_law": "exponential", "gap_s": 30.0, "turns_per_s": 50.0},
}


def test_every_finding_is_in_the_list() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py") if "simul" not in path.name)
    codes = set(re.findall(r'code="([a-z_]+)"', text)) | set(re.findall(r'Finding\(\s*"([a-z_]+)"', text))
    codes |= set(re.findall(r'code="([a-z_]+)" if', text)) | {"computing_beats_reading", ignored.CODE}
    assert codes - {f"no_gain_{reason}" for reason in NO_GAIN} == set(REACHED)


@pytest.mark.parametrize("code", REACHED)
def test_a_finding_is_reached_and_its_change_answers_it(code: str) -> None:
    made = answer(**REACHED[code])
    finding = found(made, code)
    if finding.change:
        after = answer(**{**REACHED[code], **finding.change})
        messages = {each.message for each in after.findings}
        assert finding.message not in messages


def test_the_best_mix_is_within_the_budget_and_lowers_the_bill() -> None:
    made, spec = answer(), KIND.spec()
    mix = made.series["tier_mix"]
    best, dram_only, ssd_only = (
        [float(bill or 0) for bill in mix.column(name).values]
        for name in ("bill_usd_per_h", "dram_only_usd_per_h", "ssd_only_usd_per_h")
    )
    assert all(one <= min(rest) + 1e-9 for one, *rest in zip(best, dram_only, ssd_only, strict=True))
    assert best == sorted(best, reverse=True)
    assert max(float(spend or 0) for spend in mix.column("spend_usd_per_month").values) == pytest.approx(15_216)
    change = next(each for each in KIND.advice.variants(spec, made) if each.label.startswith("Least bill")).change
    assert value(answer(**change), "cost_usd_per_h") < value(made, "cost_usd_per_h")


def test_missing_hashes_are_named() -> None:
    from planner.core.catalog import MissingFigure

    with pytest.raises(MissingFigure, match="block hashes"):
        answer(source="trace", workload="azure-2023-conversation")
