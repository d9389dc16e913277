"""Reference figures through the kind, adapters of other LLMs, and what the design must say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from planner.catalog import files
from planner.core.catalog import MissingFigure
from planner.core.result import Finding, Result
from planner.core.simulation import Workload
from planner.kinds import get

CATALOG = files.load()
KIND = get("multi_lora")
CLIFF = {"slots": 16, "routing": "random", "replicas": 4}


def answer(**spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), CATALOG)


def figure(result: Result, name: str) -> float:
    value = result.metrics[name].value
    assert value is not None, name
    return value


def found(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


REFERENCE = {
    "adapter_parameters": 41_943_040,
    "adapter_bytes": 83_886_080,
    "all_adapters_bytes": 83_886_080_000,
    "resident_adapters": 102,
    "swap_in_s": Fraction(83_886_080, 25_000_000_000),
    "base_flops_per_token": 16_000_000_000,
    "lora_flops_per_token": 83_886_080,
    "lora_flops_ratio": Fraction(83_886_080, 16_000_000_000),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_default_is_the_reference(name: str) -> None:
    assert figure(answer(), name) == pytest.approx(float(REFERENCE[name]), rel=1e-15)
    assert answer().metrics[name].basis == "exact"


def test_adapters_read_by_a_batch_of_the_reference() -> None:
    series = answer().series["adapter_read_by_distinct"]
    rows = dict(zip(series.column("distinct").values, series.column("read_bytes").values, strict=True))
    shares = dict(zip(series.column("distinct").values, series.column("share_of_base").values, strict=True))
    for distinct, gib, share in ((1, 0.078125, 0.00524288), (16, 1.25, 0.08388608), (64, 5.0, 0.33554432)):
        assert rows[distinct] == gib * 2**30
        assert shares[distinct] == pytest.approx(share, rel=1e-15)


def test_the_conclusion_of_the_reference_is_a_finding_and_so_is_what_it_leaves_out() -> None:
    result = answer()
    said = found(result, "reading_is_the_price").message
    assert "negligible" in said
    assert "0.524" in said
    assert "34" in said
    assert "448 copies" in found(result, "swap_is_copies").message
    assert "12.3" in found(result, "swap_is_copies").message
    assert "205" in found(result, "swap_is_copies").message
    assert "65,280" in found(result, "slots_cost_kv").message
    assert "256 small kernels" in found(result, "kernels_switch_on").message
    assert {"share_of_step", "slots_and_running", "prefix_key", "affinity", "dedicated"} <= codes(result)


@pytest.mark.parametrize(
    ("llm", "rank", "targets", "expected"),
    [
        ("llama-3-1-8b", 16, "qv", 6_815_744 * 2),
        ("llama-3-1-8b", 16, "attention", 13_631_488 * 2),
        ("qwen3-30b-a3b", 16, "attention", 13_369_344 * 2),
        ("qwen3-30b-a3b", 16, "experts", 1_687_683_072),
        ("gpt-oss-20b", 32, "experts", 881_197_056),
        ("deepseek-v3", 16, "attention", 97_006_592 * 2),
        ("deepseek-v3", 16, "linear", 252_700_672),
        ("deepseek-v3", 16, "experts", 13_389_260_800),
    ],
)
def test_adapters_of_any_shape(llm: str, rank: int, targets: str, expected: int) -> None:
    result = answer(llm=llm, base_parameters=None, rank=rank, targets=targets, gpus_per_replica=8, gpu="h200-sxm")
    assert figure(result, "adapter_bytes") == expected


@pytest.mark.parametrize(
    ("gpus", "sharding", "expected"),
    [(2, "default", 56_623_104), (8, "default", 36_175_872), (4, "full", 20_971_520)],
)
def test_a_slot_on_each_gpu_of_a_replica(gpus: int, sharding: str, expected: int) -> None:
    assert figure(answer(gpus_per_replica=gpus, sharding=sharding), "slot_bytes") == expected


def test_a_slot_follows_the_largest_rank_and_a_swap_the_file() -> None:
    plain, wide = answer(), answer(max_rank=64)
    assert figure(wide, "slot_bytes") == 4 * figure(plain, "slot_bytes")
    assert figure(wide, "adapter_bytes") == figure(plain, "adapter_bytes")
    assert figure(wide, "swap_s") == figure(plain, "swap_s")
    assert figure(wide, "resident_adapters") == 25
    assert found(wide, "slot_wasted").change == {"max_rank": None}
    assert figure(answer(engine="slora", max_rank=64), "slot_bytes") == figure(plain, "slot_bytes")


def test_vllm_rounds_a_rank_up_to_one_it_allows() -> None:
    assert figure(answer(rank=20), "slot_bytes") == 2 * figure(answer(rank=16), "slot_bytes")
    assert figure(answer(rank=20, engine="sglang"), "slot_bytes") == 1.25 * figure(answer(rank=16), "slot_bytes")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"slots": 64, "host_adapters": 32}, "host_adapters"),
        ({"rank": 32, "max_rank": 16}, "rank"),
        ({"max_rank": 48}, "max_rank"),
        ({"slots": 8, "pinned_adapters": 9}, "pinned_adapters"),
        ({"targets": "linear", "enabled_targets": "attention"}, "enabled_targets"),
        ({"popularity": "trace"}, "workload"),
        ({"adapters": 10, "tenants": 11}, "tenants"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=f"{field}: "):
        KIND.spec.model_validate(spec)


def test_host_memory_below_the_slots_is_an_error_with_its_mending() -> None:
    result = answer(host_adapters=50)
    told = found(result, "host_below_slots")
    assert told.severity == "error"
    assert figure(result, "gpu_slots") == 50
    assert told.change is not None
    assert "host_below_slots" not in codes(answer(**{"host_adapters": 50, **told.change}))


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"adapter_memory_bytes": 1e6}, "no_slot"),
        ({"llm": "llama-3-1-405b", "base_parameters": None}, "no_room"),
        ({"tpot_slo_s": 1e-3}, "cannot_serve"),
        ({"requests_per_s": 500.0, "replicas": 1}, "overloaded"),
        ({"pinned_adapters": 200}, "pinned_over_slots"),
    ],
)
def test_a_design_that_cannot_work_is_an_answer_that_says_why(spec: dict[str, Any], code: str) -> None:
    assert found(answer(**spec), code).severity == "error"


def test_more_slots_leave_less_kv() -> None:
    few, many = answer(slots=50), answer(slots=200)
    lost = figure(many, "kv_tokens_lost") - figure(few, "kv_tokens_lost")
    assert figure(few, "kv_tokens") - figure(many, "kv_tokens") == pytest.approx(lost)
    assert lost == 150 * 640


def test_throughput_has_an_optimum_between_few_slots_and_many() -> None:
    series = answer().series["throughput_by_slots"]
    rates = [float(each or 0.0) for each in series.column("max_rps").values]
    best = rates.index(max(rates))
    assert 0 < best < len(rates) - 1
    assert series.column("binds").values[0] == "slots"
    assert series.column("binds").values[-1] == "KV memory"


def test_a_slot_too_few_costs_far_more_than_a_copy() -> None:
    result = answer(**CLIFF)
    assert figure(result, "slot_wait_s") > 1000 * figure(result, "swap_s")
    assert found(result, "past_cliff").change == {"routing": "load_aware"}
    assert figure(result, "ttft_p99_s") > figure(result, "slot_wait_s")
    series = result.series["slot_cliff"]
    waits = [float(each or 0.0) for each in series.column("slot_wait_s").values]
    assert waits == sorted(waits, reverse=True)


def test_adapters_cost_an_on_off_step_and_then_little_each() -> None:
    result = answer()
    rows = result.series["step_by_distinct"]
    none, one, two = (float(each or 0.0) for each in rows.columns[1].values[:3])
    assert none - 1 > 10 * (two - one)
    assert two - one == pytest.approx(one - none)


def test_graphs_of_their_own_spare_requests_to_the_base() -> None:
    alone = answer(base_share=1.0, specialised_graphs="on")
    assert figure(alone, "step_factor") == 1.0
    assert figure(answer(base_share=1.0), "step_factor") > 1.05


def test_gathering_kernels_do_not_see_how_many_adapters_differ() -> None:
    one, other = (answer(kernels="gather", zipf_exponent=each, replicas=4, copying="beside") for each in (0.0, 2.0))
    assert figure(one, "step_read_s") == pytest.approx(figure(other, "step_read_s"), rel=1e-6)
    assert figure(one, "distinct_in_batch") > 2 * figure(other, "distinct_in_batch")


def test_affinity_hits_more_and_a_hash_is_uneven() -> None:
    random, hashed, loads = (answer(routing=name, replicas=8) for name in ("random", "hash", "load_aware"))
    assert figure(random, "gpu_hit_share") < 0.6 < figure(loads, "gpu_hit_share")
    assert figure(loads, "gpu_hit_share") == pytest.approx(0.946, abs=0.006)
    assert figure(random, "gpu_hit_share") == pytest.approx(0.47914, abs=2e-5)
    assert "uneven" in codes(hashed)
    assert figure(hashed, "load_imbalance") == pytest.approx(1.69, rel=0.15)


def test_copies_that_stop_the_engine_cost_throughput_and_a_slab_gives_it_back() -> None:
    tensors, slab, beside = answer(), answer(copies_as="slab"), answer(copying="beside")
    assert figure(tensors, "replica_max_rps") < figure(slab, "replica_max_rps") < figure(beside, "replica_max_rps")
    assert figure(tensors, "loads_usd_per_h") > 0 == figure(beside, "loads_usd_per_h")


def test_a_cold_start_replica_spares_the_download() -> None:
    cold = {"adapters": 20_000, "host_adapters": 500, "zipf_exponent": 0.9, "requests_per_s": 20.0, "replicas": 3}
    without, with_one = answer(**cold), answer(**cold, cold_replicas=1)
    load = figure(without, "cold_load_s")
    assert figure(without, "ttft_cold_s") == pytest.approx(figure(without, "ttft_warm_s") + load)
    assert figure(with_one, "ttft_cold_s") < figure(with_one, "ttft_warm_s") + 0.1 * load
    assert figure(with_one, "gpus") == figure(without, "gpus") + 1
    assert 0 < figure(with_one, "cold_utilisation") < 1
    # what begins there is taken off the others
    assert figure(with_one, "utilisation") < figure(without, "utilisation")
    assert found(without, "cold_adapters").severity == "warning"


def test_a_cold_start_replica_that_cannot_do_it_says_so() -> None:
    result = answer(adapters=20_000, host_adapters=500, zipf_exponent=0.7, cold_replicas=1)
    assert figure(result, "cold_utilisation") > 1
    assert found(result, "cold_replicas_full").change == {"cold_replicas": 2}


@pytest.mark.parametrize(
    "spec", [{}, CLIFF, {"tenants": 7, "base_share": 0.3}, {"cold_replicas": 2, "gpus_per_replica": 2}]
)
def test_tenants_and_what_none_used_sum_to_the_bill(spec: dict[str, Any]) -> None:
    result = answer(**spec)
    bill = figure(result, "cost_usd_per_h")
    lines = ("base", "adapter_steps", "slot_rent", "loads", "idle", "spare")
    assert sum(figure(result, f"{name}_usd_per_h") for name in lines) == bill
    series = result.series["tenant_bill"]
    totals = [float(each or 0.0) for each in series.column("usd_per_h").values]
    assert sum(totals) == pytest.approx(bill, rel=1e-12)
    for row, total in enumerate(totals[:-1]):
        parts = [float(column.values[row] or 0.0) for column in series.columns[2:6]]
        assert sum(parts) == pytest.approx(total, rel=1e-9)
    assert min(totals) >= 0


def test_memory_parts_sum_to_what_the_engine_uses() -> None:
    result = answer()
    parts = [figure(result, f"memory_{name}_bytes") for name in ("weights", "slots", "reserved", "kv")]
    assert sum(parts) == figure(result, "memory_bytes")


def test_first_tokens_are_the_sum_of_their_parts() -> None:
    result = answer(**{**CLIFF, "slots": 40})
    series = result.series["ttft_parts"]
    for row, name in enumerate(("hot", "warm", "cold")):
        parts = [float(column.values[row] or 0.0) for column in series.columns[1:]]
        assert sum(parts) == pytest.approx(figure(result, f"ttft_{name}_s"))


def test_counters_serve_the_others_when_one_is_noisy() -> None:
    loud: dict[str, Any] = {"noisy_factor": 200.0, "replicas": 4}
    fair, queue = answer(**loud), answer(**loud, fairness="first_come")
    assert figure(fair, "noisy_others_served") > 0.999
    assert figure(queue, "noisy_others_served") < 0.5
    assert "noisy_tenant" in codes(queue)
    assert figure(fair, "noisy_slots") <= figure(fair, "gpu_slots")
    assert figure(answer(**loud, tenant_slots=1), "noisy_slots") <= 1


def test_a_limit_refuses_and_the_fleet_is_sized_for_what_passes() -> None:
    result = answer(tenant_limit_rps=0.2)
    assert figure(result, "refused_share") > 0.1
    assert figure(result, "replicas_needed") < figure(answer(), "replicas_needed")


def test_a_stated_base_that_is_not_the_llms_is_told() -> None:
    result = answer(llm="deepseek-v3", gpus_per_replica=8, gpu="h200-sxm")
    assert found(result, "base_differs").change == {"base_parameters": None}


def test_an_llm_that_can_be_adapted_in_part_only_says_so() -> None:
    result = answer(llm="jamba-1-5-mini", base_parameters=None, gpus_per_replica=4)
    assert "recurrent" in found(result, "not_adapted").message


class WithTrace:
    """The catalog, and a trace of which the adapters are known."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    def __getattr__(self, name: str) -> Any:
        return getattr(CATALOG, name)

    def workload(self, name: str) -> Workload:
        return self._workload


def trace(adapters: np.ndarray | None) -> Workload:
    count = 6000
    plain = Workload(
        name="log",
        arrival_s=np.arange(count) / 10.0,
        input_tokens=np.full(count, 700),
        output_tokens=np.full(count, 90),
    )
    return replace(plain, adapters=adapters)


def test_popularity_and_lengths_of_a_trace_replace_the_law() -> None:
    named = np.arange(6000) % 12
    named[named > 8] = 0
    named[::10] = -1
    spec = KIND.spec(popularity="trace", workload="log", requests_per_s=20.0, tenants=50)
    result = KIND.estimate(spec, WithTrace(trace(named)))
    counts = np.sort(np.bincount(named[named >= 0]))[::-1]
    assert figure(result, "hottest_share") == pytest.approx(counts[0] / counts.sum() * 0.9)
    assert figure(result, "gpu_slots") == 9
    assert "9 adapters" in found(result, "trace_popularity").message
    assert figure(result, "prefill_s") > figure(answer(), "prefill_s")


def test_a_trace_that_names_no_adapters_is_refused_with_the_reason() -> None:
    spec = KIND.spec(popularity="trace", workload="log")
    with pytest.raises(MissingFigure, match="adapter of each request"):
        KIND.estimate(spec, WithTrace(trace(None)))
