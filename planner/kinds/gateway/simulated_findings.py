"""What a simulation tells in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.core.quantities import NBSP, show
from planner.core.result import Finding
from planner.core.simulated import unreliable
from planner.core.wording import counted, percent
from planner.formulas.affinity import TIE
from planner.formulas.hashing import CAP
from planner.kinds.gateway.policies import IN_WORDS, LABELS
from planner.kinds.gateway.simulated import instance_s
from planner.kinds.gateway.simulated_metrics import DEFINITIONS
from planner.kinds.gateway.simulated_series import MUCH_TURNED_AWAY, keeps_up, turned_away
from planner.kinds.gateway.waits import UNCAPPED

if TYPE_CHECKING:
    from planner.kinds.gateway.simulated import Run
    from sims.engine.interval import Interval
    from sims.systems.gateway import Outcome, Verdict

    Outcomes = Mapping[str, Outcome]
    Intervals = Mapping[str, Interval | None]

FIRST_VERDICTS_S = 25.0
"""Later ones are of trials that failed, not of the loss."""
BY_CACHE = (UNCAPPED, "prefix_aware", "bounded_hash")
HOT = 2.5
"""Prefill work of the busiest instance over the mean."""
ENOUGH_REQUESTS = 10
"""An instance with fewer is busy or idle by chance."""
SAME_HITS = 0.02
AFTERWARDS_S = 20.0
"""Before and after a loss over which hits are compared."""


def findings(run: Run, *, outcomes: Outcomes, intervals: Intervals) -> Iterator[Finding]:
    """Errors of the run first, then what the policies did, then the drill."""
    outcome = next(iter(outcomes.values()))
    yield from _not_steady(run, outcome)
    yield from _cut_short(outcome)
    yield from _missed(run, outcome)
    yield from _hot_spots(run, outcomes)
    yield from _side_by_side(run, outcomes)
    yield from _turned_away(outcome)
    yield from _drill(run, outcome)
    yield from _canary(run, outcome)
    yield from _out_for_nothing(outcome)
    yield from _simplified(run)
    yield from unreliable(intervals, definitions=DEFINITIONS)


def _not_steady(run: Run, outcome: Outcome) -> Iterator[Finding]:
    if outcome.is_steady:
        return
    waiting = outcome.timeline.queued.sum(axis=1)
    yield Finding(
        code="not_steady",
        severity="error",
        message=f"The system did not reach a steady state: {waiting[-1]:,.0f} requests waited at the end, after "
        f"{waiting[len(waiting) // 3]:,.0f} at one third; {outcome.counts['arrived']:,} arrived. Latencies of this run "
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


def _side_by_side(run: Run, outcomes: Outcomes) -> Iterator[Finding]:
    """Whether the policies differ by more than the noise, on the same requests."""
    if len(outcomes) < 2:
        return
    rows = [name for name in outcomes if name != UNCAPPED]
    fallen = [IN_WORDS[name] for name in rows if not keeps_up(outcomes[name])]
    steady = [name for name in rows if keeps_up(outcomes[name])] or rows
    taken = {name: instance_s(run, outcomes[name]) for name in steady}
    least, most = min(steady, key=lambda name: taken[name]), max(steady, key=lambda name: taken[name])
    spread = taken[most] / taken[least] - 1 if taken[least] > 0 else 0.0
    late = f" Not keeping up: {', '.join(fallen)}." if fallen else ""
    if spread < TIE:
        who = "the policies that keep up tie" if fallen else "all policies tie"
        found = [_hit(outcomes[name]) for name in steady]
        why = (
            "caches find the same with each of them"
            if max(found) - min(found) < SAME_HITS
            else "decode takes nearly all of the time, and no cache shortens it"
        )
        within = f"{max(100 * spread, 0.1):.1f}{NBSP}%"
        text = f"On the same requests {who}: they take the same time of the instances within {within}, because {why}."
        yield Finding("policies_tie", "info", text + late, "hit_share")
        return
    message = (
        f"On the same requests {_told(outcomes, least)}; {_told(outcomes, most)} and takes {1 + spread:.3g} times as "
        f"much of the instances' time.{late}"
    )
    yield Finding("policies_differ", "info", message, "hit_share")


def _told(outcomes: Outcomes, name: str) -> str:
    ttft = outcomes[name].mean_ttft_s
    return (
        f"{IN_WORDS[name]} hits {percent(_hit(outcomes[name]))} of the prompt tokens, TTFT "
        f"{show(ttft.value if ttft else None, 's')} on average"
    )


def _hit(outcome: Outcome) -> float:
    return outcome.hit_rate.value if outcome.hit_rate else 0.0


def _hot_spots(run: Run, outcomes: Outcomes) -> Iterator[Finding]:
    """Affinity that puts far more on one instance than on the mean, and what spreading by load makes of it."""
    names = [name for name in (run.plan.spec.policy, UNCAPPED, "prefix_aware") if name in outcomes and name in BY_CACHE]
    hot = next((name for name in names if _is_hot(outcomes[name])), None)
    if hot is None:
        return
    outcome, spread = outcomes[hot], outcomes.get("cost_based")
    away = turned_away(outcome)
    cost = f" and {percent(away)} of the requests are turned away" if away > MUCH_TURNED_AWAY else ""
    other = (
        f" With a cap and spilling by load the busiest has {spread.max_over_mean:.3g} ×."
        if spread is not None and not _is_hot(spread)
        else ""
    )
    mine = hot == run.plan.spec.policy
    yield Finding(
        code="hot_spot",
        severity="warning" if mine else "info",
        message=f"{LABELS[hot]} makes a hot spot: the busiest instance computes {outcome.max_over_mean:.3g} × the mean"
        f"{cost}.{other}",
        metric="work_skew",
        suggestion="Cap what one prefix may put on an instance, and let requests spill by load." if mine else None,
        change={"policy": "cost_based", "hot_prefix_cap": CAP} if mine else None,
    )


def _is_hot(outcome: Outcome) -> bool:
    enough = len(outcome.requests_by_instance) > 2 and float(np.mean(outcome.requests_by_instance)) >= ENOUGH_REQUESTS
    return enough and (outcome.max_over_mean or 0.0) >= HOT


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
    out = [one for one in out if one.what in ("probe_out", "breaker_open")]
    text = (
        f"{counted(spec.instances_lost, 'instance')} died at {show(at_s, 's')}: {show(sent, 'requests')} were sent "
        f"there and {_none(counts['lost'])} failed for good; {show(counts['broken_streams'], 'streams')} broke and "
        f"{_of_all(counts['resumed'], counts['broken_streams'])} went on elsewhere."
        f"{_noticed(out, at_s=at_s) or ' Nobody noticed.'}"
    )
    yield Finding("instances_lost", "info" if out else "warning", text, "requests_lost")
    yield from _afterwards(outcome, at_s=at_s)


def _none(count: float) -> str:
    return f"{count:,.0f}" if count else "none"


def _of_all(count: float, whole: float) -> str:
    return "all of them" if count == whole > 0 else _none(count)


def _noticed(out: Sequence[Verdict], *, at_s: float) -> str:
    """When errors told the first gateway and the last, and when probes told all of them."""
    told = ""
    errors = [one.at_s - at_s for one in out if one.what == "breaker_open" and one.at_s - at_s < FIRST_VERDICTS_S]
    if errors and max(errors) > min(errors):
        told += f" Errors told the first gateway {_after(min(errors))}, the last after {show(max(errors), 's')}."
    elif errors:
        told += f" Errors told {_after(min(errors))}."
    probes = [one.at_s - at_s for one in out if one.what == "probe_out"]
    return told + (f" Probes told after {show(min(probes), 's')}." if probes else "")


def _after(delay_s: float) -> str:
    return "at once" if delay_s < 1e-3 else f"after {show(delay_s, 's')}"


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
    counts, at_s = outcome.timeline.counts, run.options.canary_at_s
    if at_s is None or not counts["prompt_tokens_b"][-1]:
        return
    before = max(int(np.searchsorted(outcome.timeline.at_s, at_s, side="right")) - 1, 0)
    since = {name: float(sums[-1] - sums[before]) for name, sums in counts.items()}
    hit = since["hit_tokens_b"] / max(since["prompt_tokens_b"], 1.0)
    rest = (since["hit_tokens"] - since["hit_tokens_b"]) / max(since["prompt_tokens"] - since["prompt_tokens_b"], 1.0)
    text = (
        f"The new version hit {percent(hit)} of its prompt tokens from a cold start, the old one "
        f"{percent(rest)}: what looks like a regression of latency is a cold cache until it is warm."
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
