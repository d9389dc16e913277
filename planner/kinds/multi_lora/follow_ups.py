"""What an experienced reviewer asks, answered with the design's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.kind import FollowUp
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.simulation_options import DEFAULT_DURATION_S, USUAL_REQUESTS
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.words import loaded, some, times


def follow_ups(spec: MultiLoraSpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    return (
        _cold(spec, result),
        _noisy(spec, result),
        _rank(result),
        _lost(spec, result),
        _version(spec, result),
        _dedicated(result),
        _shift(spec, result),
    )


def _moment_s(spec: MultiLoraSpec) -> float:
    """A third into a run of usual length: at rest, and early enough to see what follows."""
    usual_s = min(DEFAULT_DURATION_S, USUAL_REQUESTS / max(spec.requests_per_s, 1e-9))
    return float(f"{usual_s / 3:.2g}")


def _shown(spec: MultiLoraSpec, **options: Any) -> Mapping[str, Any] | None:
    """The run that shows it; None without requests."""
    return {"policies": "chosen", **options} if spec.requests_per_s > 0 else None


def _cold(spec: MultiLoraSpec, result: Result) -> FollowUp:
    swap, load = result.value("swap_s"), result.value("cold_load_s")
    waited = result.value("slot_wait_s") or 0.0
    slot = (
        "A slot is free at once here; past the cliff it would wait for one as well."
        if waited <= (swap or 0.0)
        else f"And it waits for a slot, {show(waited, 's')} on average: that is the larger part."
    )
    all_bytes, kept = result.value("all_adapters_bytes"), result.value("host_adapters") or 0.0
    everywhere = (
        "Every host keeps all adapters already, so this happens once, to a new one."
        if kept >= spec.adapters
        else f"Keeping all in every host takes {show(all_bytes, 'bytes')} a replica, and the download is gone."
    )
    helped = (
        f"{counted(spec.cold_replicas, 'cold-start replica')} serve it meanwhile, with all adapters in host memory."
        if spec.cold_replicas
        else "A cold-start replica with all adapters in host memory can serve it, while its own replica loads in the "
        f"background: then {show(result.value('ttft_warm_s'), 's')} instead of "
        f"{show(result.value('ttft_cold_s'), 's')}."
    )
    return FollowUp(
        "The first request of a rarely used adapter is slow. Why?",
        f"Not the swap-in: that takes {show(swap, 's')}. The download and reading the file take {show(load, 's')}. "
        f"{slot} {everywhere} {helped}",
        _shown(spec, hosts="cold"),
    )


def _noisy(spec: MultiLoraSpec, result: Result) -> FollowUp:
    served = result.value("noisy_others_served")
    how = "weighted counters serve whoever had least first" if spec.fairness == "weighted" else "all wait in one line"
    return FollowUp(
        f"The largest tenant sends {spec.noisy_factor:g} times its share. What do the others notice?",
        f"{percent(result.value('noisy_utilisation'))} of the capacity is asked for; {how}, and {percent(served)} of "
        f"the others' requests get through. It holds {some(result.value('noisy_slots') or 0.0)} of "
        f"{counted(result.value('gpu_slots') or 0.0, 'slot')} of a replica: counters of tokens do not give them back, "
        "a quota of slots does. What it uses is on its own bill.",
        None if spec.requests_per_s <= 0 else {"policies": "fairness", "noisy_at_s": _moment_s(spec)},
    )


def _rank(result: Result) -> FollowUp:
    series = result.series["step_by_distinct"]
    now, doubled = series.columns[1], series.columns[2]
    at = len(now.values) - 1
    count = series.columns[0].values[at]
    slots = result.value("resident_adapters") or 0.0
    return FollowUp(
        "The rank doubles. What changes?",
        f"A slot is twice as large, so the same memory holds {counted(slots // 2, 'slot')}; each copy and each "
        f"reading takes twice as long. With {count} different adapters in a batch a step goes from "
        f"{_factor(now.values[at])} to {_factor(doubled.values[at])} that of the base. One adapter of the larger rank "
        "is enough: slots follow the largest rank configured.",
    )


def _factor(value: object) -> str:
    return times(value) if isinstance(value, int | float) else "no time"


def _lost(spec: MultiLoraSpec, result: Result) -> FollowUp:
    used = result.value("utilisation_one_lost")
    replicas = int(result.value("replicas") or 1)
    if used is None or replicas <= 1:
        return FollowUp("A replica is lost. What happens?", "It is the only one: nothing is served until it is back.")
    slots = result.value("gpu_slots") or 0.0
    copied_s = slots * (result.value("swap_s") or 0.0)
    kept = (result.value("host_adapters") or 0.0) >= spec.adapters
    moved = (
        "Every host has all adapters, so the others swap in what moves to them"
        if kept or spec.copies > 1
        else "What only its host had is downloaded again by the others"
    )
    return FollowUp(
        "A replica is lost. What happens?",
        f"{counted(replicas - 1, 'replica')} are left, {loaded(used)}. {moved}: "
        f"{counted(slots, 'copy').replace('copys', 'copies')} of {show(result.value('swap_s'), 's')}, "
        f"{show(copied_s / max(replicas - 1, 1), 's')} of each of them. Requests that ran there start again "
        f"elsewhere; their KV cache and {percent(result.value('prefix_hit_share'))} of hits on prefixes are gone for "
        "those adapters.",
        _shown(spec, fail_at_s=_moment_s(spec)),
    )


def _version(spec: MultiLoraSpec, result: Result) -> FollowUp:
    return FollowUp(
        "The base LLM gets a new version. What about the adapters?",
        f"Adapters belong to the base they were trained on: all {counted(spec.adapters, 'adapter')} are trained "
        f"again, {show(result.value('all_adapters_bytes'), 'bytes')} in the store beside the old ones. Until the last "
        "tenant has moved, both bases run, each on replicas of its own with slots of its own; a tenant moves with "
        "its adapter, never request by request. The version belongs into the key of the prefix cache, as the adapter "
        "does.",
    )


def _dedicated(result: Result) -> FollowUp:
    saved, share = result.value("dedicated_saves_replicas"), result.value("hottest_share")
    if saved is None:
        verdict = "There is no load to decide it by."
    elif saved >= 0:
        verdict = f"It saves {some(saved)} replicas: merge it."
    else:
        verdict = f"It would cost {some(-saved)} replicas more, because whole replicas are bought for it."
    return FollowUp(
        "Should the most popular adapter be merged into replicas of its own?",
        f"It has {percent(share)} of the requests. {verdict} Merged weights run without adapter kernels, which is "
        f"worth {percent((result.value('step_factor') or 1.0) - 1)} of a step, and free a slot on each replica; "
        "isolation may be a reason of its own.",
    )


def _shift(spec: MultiLoraSpec, result: Result) -> FollowUp:
    slots, rate = result.value("gpu_slots") or 0.0, result.value("swaps_per_s") or 0.0
    filled = (
        f"About {counted(slots, 'swap')} a replica, {show(slots * (result.value('swap_s') or 0.0), 's')} of copies, "
        "and as many from the store where hosts do not keep all."
    )
    return FollowUp(
        "Which adapters are popular changes overnight. How long until hits are back?",
        f"{filled} At rest there are {show(rate, '1/s')} swaps a replica. Copies by load must be placed anew too, or "
        "the new favourite has one replica only.",
        _shown(spec, shift_at_s=_moment_s(spec), place_every_s=_moment_s(spec)) if spec.popularity == "zipf" else None,
    )
