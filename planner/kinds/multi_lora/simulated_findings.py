"""What a simulation tells in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.simulated import unreliable
from planner.core.wording import percent
from planner.kinds.multi_lora.simulated_metrics import DEFINITIONS
from planner.kinds.multi_lora.words import some, times

if TYPE_CHECKING:
    from planner.kinds.multi_lora.simulated import Run
    from sims.engine.interval import Interval
    from sims.systems.multi_lora import Outcome

    Outcomes = Mapping[str, Outcome]
    Intervals = Mapping[str, Interval | None]

UNLIKE = 0.03
FELT_S = 0.01
LATER_S = 30.0


def findings(run: Run, *, outcomes: Outcomes, intervals: Intervals) -> Iterator[Finding]:
    """Errors of the run first, then what slots and ways did, then the drill."""
    outcome = next(iter(outcomes.values()))
    yield from _not_steady(run, outcome)
    yield from _cut_short(outcome)
    yield from _missed(run, intervals)
    yield from _slots(outcome)
    yield from _side_by_side(run, outcomes)
    yield from _levels(outcome)
    yield from _tenants(run, outcomes)
    yield from _drill(run, outcome)
    yield from _shift(run, outcome)
    yield from _simplified(run)
    yield from unreliable(intervals, definitions=DEFINITIONS)


def _not_steady(run: Run, outcome: Outcome) -> Iterator[Finding]:
    if outcome.is_steady or run.options.is_eventful:
        return
    waiting = outcome.timeline.replicas.waiting.sum(axis=1)
    settles_s = run.plan.settles_s
    late = (
        ""
        if settles_s is None
        else f" The estimate has waits for slots settle at {show(run.plan.slot_wait_s, 's')}, after some "
        f"{show(settles_s, 's')}: this run is too short to see it."
    )
    yield Finding(
        code="not_steady",
        severity="error" if settles_s is None else "warning",
        message=f"The system did not reach a steady state: {waiting[-1]:,.0f} requests waited at the end, after "
        f"{waiting[len(waiting) // 3]:,.0f} at one third; {outcome.counts['arrived']:,} arrived. Latencies of this "
        f"run are lower bounds.{late}",
        metric="ttft_p99_s",
        suggestion="Add replicas or slots." if settles_s is None else "Simulate a longer time, or add slots.",
    )


def _cut_short(outcome: Outcome) -> Iterator[Finding]:
    reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
    if outcome.ending == "budget":
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: its computing time was up.")
    if outcome.ending == "full":
        many = f"{outcome.counts['in_flight']:,} requests in flight are more than it keeps."
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: {many}")


def _missed(run: Run, intervals: Intervals) -> Iterator[Finding]:
    spec = run.plan.spec
    for name, limit in (("ttft_p99_s", spec.ttft_p99_slo_s), ("tpot_s", spec.tpot_slo_s)):
        found = intervals[name]
        if found is not None and found.value > limit:
            label = DEFINITIONS[name].label
            text = f"{label} is {show(found.value, 's')}; the objective is {show(limit, 's')}."
            yield Finding(f"{name.split('_', maxsplit=1)[0]}_missed", "warning", text, name)


def _slots(outcome: Outcome) -> Iterator[Finding]:
    """Waits for slots, against copies: the cliff as it happened."""
    parts, line = outcome.waits_s(), outcome.timeline
    slot_s, copy_s = parts.get("slot", 0.0), parts.get("copy", 0.0)
    if slot_s <= FELT_S:
        return
    replicas = outcome.config.replicas
    wanting = float(np.mean(line.replicas.wanting[line.at_s > outcome.warmup_s].sum(axis=1))) / replicas
    where = "on each of the replicas " if replicas > 1 else ""
    than = f", {times(slot_s / copy_s)} the time of copies" if copy_s > 0 else ""
    yield Finding(
        code="past_cliff",
        severity="warning",
        message=f"Requests waited {show(slot_s, 's')} for a slot on average{than}: {where}{some(wanting)} "
        "adapters wanted one at any time, and each of those in place kept its own as long as one of its requests ran.",
        metric="slot_wait_s",
        suggestion="Give more slots, send requests to their adapter, or lower the rank.",
    )


def _side_by_side(run: Run, outcomes: Outcomes) -> Iterator[Finding]:
    """What the ways differ in, on the same requests."""
    if len(outcomes) < 2 or run.options.policies != "routing":
        return
    steady = {name: each for name, each in outcomes.items() if each.is_steady}
    late = [name for name in outcomes if name not in steady]
    told = f" Not keeping up: {', '.join(late)}." if late else ""
    if len(steady) < 2:
        yield Finding("ways_differ", "info", f"{len(steady)} of {len(outcomes)} ways keep up.{told}", "goodput_rps")
        return
    hits = {name: each.found().get("hot", 0.0) for name, each in steady.items()}
    best, worst = max(hits, key=lambda name: hits[name]), min(hits, key=lambda name: hits[name])
    if hits[best] - hits[worst] < UNLIKE:
        who = "the ways that keep up" if late else "all ways"
        yield Finding("ways_tie", "info", f"On the same requests {who} find adapters alike.{told}", "gpu_hit_share")
        return
    one, other = steady[best], steady[worst]
    yield Finding(
        code="ways_differ",
        severity="info",
        message=f"On the same requests “{best}” finds {percent(hits[best])} of the adapters in a slot and has "
        f"{some(one.distinct_busy or 0.0)} different ones in a batch; “{worst}” {percent(hits[worst])} and "
        f"{some(other.distinct_busy or 0.0)}. TPOT is {show(_tpot_s(one), 's')} against "
        f"{show(_tpot_s(other), 's')}.{told}",
        metric="gpu_hit_share",
    )


def _tpot_s(outcome: Outcome) -> float | None:
    found = outcome.share("tpot_sum_s", of="tpot_n")
    return None if found is None else found.value


def _levels(outcome: Outcome) -> Iterator[Finding]:
    """First tokens by where the adapter was."""
    shares = outcome.found()
    if not shares or shares.get("cold", 0.0) <= 0:
        return
    cold, warm = outcome.quantile("ttft_cold", q=0.5), outcome.quantile("ttft_hot", q=0.5)
    yield Finding(
        code="cold_adapters",
        severity="warning" if shares["cold"] > 0.01 else "info",
        message=f"{percent(shares['cold'])} of the requests found their adapter in no host memory: their TTFT has a "
        f"median of {show(cold.value if cold else None, 's')} against {show(warm.value if warm else None, 's')} of "
        "those with it on the GPU.",
        metric="store_share",
    )


def _tenants(run: Run, outcomes: Outcomes) -> Iterator[Finding]:
    """Fair counters against one line, where both ran; what limits refused."""
    outcome = next(iter(outcomes.values()))
    limited = outcome.counts["limited"]
    if limited:
        share = limited / max(outcome.counts["arrived"], 1)
        text = f"{limited:,} requests were over their tenant's limit, {percent(share)}."
        yield Finding("limited", "info", text, "requests_limited")
    if run.options.policies != "fairness" or len(outcomes) < 2:
        return
    noisy = int(np.argmax(run.plan.tenants.shares))
    told = []
    for name, each in outcomes.items():
        rows = each.tenants
        others = [place for place in range(len(rows)) if place != noisy]
        mine, theirs = float(rows.out_tokens[noisy]), float(rows.out_tokens[others].sum())
        told.append(f"{name}: {percent(theirs / max(mine + theirs, 1e-12))}")
    yield Finding(
        code="fairness",
        severity="info",
        message="Of the output tokens, the tenants beside the largest got, with " + "; ".join(told) + ".",
        metric="fairness_gap_tokens",
    )


def _around(outcome: Outcome, at_s: float) -> tuple[float, float] | None:
    """Share of adapters found on the GPU before and after a moment; None where nothing came."""
    line = outcome.timeline
    hot = line.counts["hot"]
    found = hot + line.counts["warm"] + line.counts["cold"]
    places = np.searchsorted(line.at_s, [max(at_s - LATER_S, 0.0), at_s, at_s + LATER_S], side="right") - 1
    before, at, after = (min(max(int(each), 0), len(line.at_s) - 1) for each in places)
    asked = found[at] - found[before], found[after] - found[at]
    if min(asked) <= 0:
        return None
    return float((hot[at] - hot[before]) / asked[0]), float((hot[after] - hot[at]) / asked[1])


def _drill(run: Run, outcome: Outcome) -> Iterator[Finding]:
    at_s = run.options.fail_at_s
    if at_s is None:
        return
    hits = _around(outcome, at_s)
    fell = (
        ""
        if hits is None
        else (
            f" Of the requests, {percent(hits[0])} found their adapter on the GPU before, {percent(hits[1])} in the "
            f"{LATER_S:.0f} s after."
        )
    )
    yield Finding(
        code="replica_lost",
        severity="info",
        message=f"A replica was lost at {show(at_s, 's')}: {outcome.counts['restarted']:,} requests started again "
        f"elsewhere.{fell}",
        metric="requests_restarted",
    )


def _shift(run: Run, outcome: Outcome) -> Iterator[Finding]:
    at_s = run.options.shift_at_s
    hits = None if at_s is None else _around(outcome, at_s)
    if at_s is None or hits is None:
        return
    yield Finding(
        code="popularity_shifted",
        severity="info",
        message=f"Other adapters became popular at {show(at_s, 's')}: {percent(hits[0])} of the requests found theirs "
        f"on the GPU before, {percent(hits[1])} in the {LATER_S:.0f} s after.",
        metric="gpu_hit_share",
    )


def _simplified(run: Run) -> Iterator[Finding]:
    """What the simulation takes more simply than the design says."""
    parts, spec = [], run.plan.spec
    if spec.prefix_share > 0:
        parts.append("prompts find as much in the prefix cache as the estimate says")
    if run.plan.parts.base.expert_bytes > 0:
        parts.append("a step reads as many experts as one of the mean batch")
    trace = run.request.workload
    if run.replays and trace is not None and trace.adapters is None:
        parts.append("the trace names no adapters, so that they are drawn by the law of the design")
    if parts:
        yield Finding("simplified", "info", f"In this run {'; '.join(parts)}.")
