"""What a simulation tells in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from planner.core.quantities import show
from planner.core.result import Finding
from planner.formulas.affinity import TIE
from planner.kinds.gateway.policies import IN_WORDS
from planner.kinds.gateway.simulated_series import keeps_up
from planner.kinds.gateway.waits import UNCAPPED
from planner.kinds.gateway.words import counted, few, percent

if TYPE_CHECKING:
    from planner.kinds.gateway.simulated import Run
    from sims.engine.interval import Interval
    from sims.systems.gateway import Outcome

    Outcomes = Mapping[str, Outcome]
    Intervals = Mapping[str, Interval | None]

AFTERWARDS_S = 20.0
"""Before and after a loss over which hits are compared."""


def findings(run: Run, *, outcomes: Outcomes, intervals: Intervals) -> Iterator[Finding]:
    """Errors of the run first, then what the policies did, then the drill."""
    outcome = next(iter(outcomes.values()))
    yield from _not_steady(run, outcome)
    yield from _cut_short(outcome)
    yield from _missed(run, outcome)
    yield from _side_by_side(outcomes)
    yield from _turned_away(outcome)
    yield from _drill(run, outcome)
    yield from _canary(run, outcome)
    yield from _out_for_nothing(outcome)
    yield from _simplified(run)
    yield from _unreliable(intervals)


def _not_steady(run: Run, outcome: Outcome) -> Iterator[Finding]:
    if outcome.is_steady:
        return
    inside = outcome.timeline.counts["in_flight"]
    yield Finding(
        code="not_steady",
        severity="error",
        message=f"The system did not reach a steady state: {inside[-1]:,.0f} requests were in it at the end, after "
        f"{inside[len(inside) // 3]:,.0f} at one third; {outcome.counts['arrived']:,} arrived. Latencies of this run "
        "are "
        "lower bounds.",
        metric="ttft_p99_s",
        suggestion="Add instances, or route so that more is hit.",
        change={"instances": min(round(1.25 * run.plan.spec.instances) + 1, 100_000)},
    )


def _cut_short(outcome: Outcome) -> Iterator[Finding]:
    if outcome.ending == "budget":
        reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: its computing time was up.")
    if outcome.ending == "full":
        many = f"{outcome.counts['in_flight']:,} requests in flight"
        yield Finding(
            "cut_short",
            "warning",
            f"The run was cut at {show(outcome.simulated_s, 's')}: {many} are more than it keeps.",
        )


def _missed(run: Run, outcome: Outcome) -> Iterator[Finding]:
    p99, limit = outcome.quantile("ttft", q=0.99), run.plan.spec.ttft_p99_slo_s
    if p99 is not None and p99.value > limit:
        text = f"TTFT P99 is {show(p99.value, 's')}; the objective is {show(limit, 's')}."
        yield Finding("ttft_objective_missed", "warning", text, "ttft_p99_s")


def _side_by_side(outcomes: Outcomes) -> Iterator[Finding]:
    """Whether the policies differ by more than the noise, on the same requests."""
    if len(outcomes) < 2:
        return
    rows = {
        name: (each.hit_rate.value if each.hit_rate else 0.0, each.mean_ttft_s.value if each.mean_ttft_s else None)
        for name, each in outcomes.items()
        if name != UNCAPPED
    }
    work = {name: float(outcomes[name].work_by_instance.sum()) for name in rows}
    steady = [name for name in rows if keeps_up(outcomes[name])]
    least = min(steady or rows, key=lambda name: work[name])
    most = max(steady or rows, key=lambda name: work[name])
    spread = work[most] / work[least] - 1 if work[least] > 0 else 0.0
    fallen = [IN_WORDS[name] for name in rows if not keeps_up(outcomes[name])]
    also = f" {len(fallen)} of them do not keep up: {', '.join(fallen)}." if fallen else ""
    told = f"hits {percent(rows[least][0])} of the prompt tokens with TTFT {show(rows[least][1], 's')} on average"
    if spread < TIE and not fallen:
        message = (
            f"On the same requests all policies do the same prefill within {100 * spread:.1f} %: they tie. "
            f"{IN_WORDS[least].capitalize()} {told}."
        )
        yield Finding("policies_tie", "info", message, "hit_share")
        return
    message = (
        f"On the same requests {IN_WORDS[least]} {told}; {IN_WORDS[most]} computes {1 + spread:.3g} times as much and "
        "hits "
        f"{percent(rows[most][0])} ({show(rows[most][1], 's')}).{also}"
    )
    yield Finding("policies_differ", "info", message, "hit_share")


def _turned_away(outcome: Outcome) -> Iterator[Finding]:
    counts = outcome.counts
    if not counts["rejected"]:
        return
    share = counts["rejected"] / max(counts["arrived"], 1)
    text = (
        f"{counts['rejected']:,} requests were turned away, {percent(share)}: their queue was at its limit of "
        f"{outcome.config.queue_limit:,}, or no instance was open."
    )
    yield Finding("turned_away", "warning" if share > 0.01 else "info", text, "requests_rejected")


def _drill(run: Run, outcome: Outcome) -> Iterator[Finding]:
    """What the loss of instances did."""
    counts, at_s = outcome.counts, run.options.fail_at_s
    if at_s is None:
        return
    spec = run.plan.spec
    sent = counts["refused"] + counts["timed_out"]
    out = [one for one in outcome.verdicts if one.instance < spec.instances_lost and not one.up and one.at_s >= at_s]
    noticed = [one.at_s - at_s for one in out if one.what in ("probe_out", "breaker_open")]
    first = f" The first verdict came after {show(min(noticed), 's')}, the last after {show(max(noticed), 's')}."
    text = (
        f"{counted(spec.instances_lost, 'instance')} died at {show(at_s, 's')}: {show(sent, 'requests')} were sent "
        "there "
        f"and {few(float(counts['lost']), 'request')} failed for good; {show(counts['broken_streams'], 'streams')} "
        "broke "
        f"and {show(counts['resumed'], 'streams')} went on elsewhere.{first if noticed else ' Nobody noticed.'}"
    )
    yield Finding("instances_lost", "info" if noticed else "warning", text, "requests_lost")
    yield from _afterwards(outcome, at_s=at_s)


def _afterwards(outcome: Outcome, *, at_s: float) -> Iterator[Finding]:
    """Hits before and after the loss: the cold cache."""
    hits, moments = outcome.timeline.hit_rate(), outcome.timeline.at_s
    before = hits[(moments <= at_s) & (moments > at_s - AFTERWARDS_S)]
    after = hits[(moments > at_s) & (moments <= at_s + AFTERWARDS_S)]
    if not len(before) or not len(after) or np.isnan(before).all() or np.isnan(after).all():
        return
    fell = float(np.nanmean(before)) - float(np.nanmean(after))
    if fell < 0.002:
        return
    span = f"over the {AFTERWARDS_S:g} s after the loss"
    text = f"The share of prompt tokens hit fell by {100 * fell:.1f} points on average {span}."
    yield Finding("cold_cache", "info", text, "hit_share")


def _canary(run: Run, outcome: Outcome) -> Iterator[Finding]:
    """How the new version's own cache fared."""
    counts = outcome.timeline.counts
    if run.options.canary_at_s is None or not counts["prompt_tokens_b"][-1]:
        return
    hit = counts["hit_tokens_b"][-1] / counts["prompt_tokens_b"][-1]
    rest = (counts["hit_tokens"][-1] - counts["hit_tokens_b"][-1]) / max(
        counts["prompt_tokens"][-1] - counts["prompt_tokens_b"][-1], 1.0
    )
    text = (
        f"The new version hit {percent(float(hit))} of its prompt tokens from a cold start, the old one "
        f"{percent(float(rest))}: what looks like a regression of latency is a cold cache until it is warm."
    )
    yield Finding("canary_cold", "info", text, "hit_share")


def _out_for_nothing(outcome: Outcome) -> Iterator[Finding]:
    false = [one for one in outcome.verdicts if one.up and one.what in ("probe_out", "breaker_open")]
    if false:
        text = f"{counted(len(false), 'time')} an instance that was up was taken for dead."
        yield Finding("false_ejections", "warning", text, "false_ejections_per_day")


def _simplified(run: Run) -> Iterator[Finding]:
    """What the simulation takes more simply than the design says."""
    spec, parts = run.plan.spec, []
    if spec.gap_sigma is not None and not run.replays:
        parts.append("gaps between turns are exponential with the same mean")
    if spec.index_place == "approximate":
        parts.append("the index is one for all gateways and knows what they dispatched")
    if run.replays:
        parts.append("the estimate beside it knows the lengths of the trace, and nothing of what its prompts share")
    if parts:
        yield Finding("simplified", "info", f"In this run {'; '.join(parts)}.")


def _unreliable(intervals: Intervals) -> Iterator[Finding]:
    doubtful = {name: each for name, each in intervals.items() if each is not None and each.unreliable}
    if not doubtful:
        return
    reasons = sorted({interval.reason for interval in doubtful.values()})
    names = ", ".join(sorted(name.removesuffix("_s").replace("_", " ") for name in doubtful))
    text = f"The intervals of {names} are unreliable: {'; '.join(reasons)}."
    yield Finding("interval_unreliable", "info", text, suggestion="Simulate a longer time.")
