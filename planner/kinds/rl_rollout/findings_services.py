"""Weight sync, scoring, returned data and modes: what they take, and which mode the figures speak for."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.batch import drain_s
from planner.kinds.rl_rollout.comparison import TIE, Verdict
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.sync import sync_of, tensors
from planner.kinds.rl_rollout.words import IN_WORDS

SCORER_NOUNS = {"rules": "process", "sandbox": "sandbox", "reward_model": "replica"}
_SYNC_MATTERS = 0.05
_SLOW = 5.0
_SHORT_TAIL = 0.1
_MOSTLY = 3.0


def service_findings(plan: Plan) -> Iterator[Finding]:
    """What stands around generation."""
    yield from _sync(plan)
    yield from _scoring(plan)
    yield from _timeouts(plan)
    yield from _returned(plan)


def _sync(plan: Plan) -> Iterator[Finding]:
    spec, sync = plan.spec, plan.sync
    if spec.mode == "colocated":
        return
    tensors_s = tensors(plan.base) * spec.sync_per_tensor_s
    share = sync.seconds / plan.turn.step_s
    counted_s = f"{show(tensors_s, 's')} for {tensors(plan.base):,} tensors"
    parts = f"{show(spec.sync_fixed_s, 's')} fixed, {counted_s}, the rest bytes"
    message = (
        f"{show(plan.sync_ideal_s, 's')} is the bound of the links; with the share of them that published runs reach a "
        f"weight sync takes {show(sync.seconds, 's')} ({parts}), {percent(share)} of a step."
    )
    if share <= _SYNC_MATTERS:
        yield Finding(code="sync_is_a_bound", severity="info", message=message, metric="weight_sync_expected_s")
        return
    delta = sync_of(plan.base, instances=plan.turn.instances, method="delta")
    better = delta.seconds < 0.9 * sync.seconds and spec.sync_method != "delta"
    yield Finding(
        code="sync_takes_long",
        severity="warning",
        message=message,
        metric="weight_sync_expected_s",
        suggestion=f"Only changed weights: {show(delta.seconds, 's')}." if better else "Fewer, larger tensors.",
        change={"sync_method": "delta"} if better else {"sync_per_tensor_s": 0.0},
    )


def _scoring(plan: Plan) -> Iterator[Finding]:
    spec, turn, service = plan.spec, plan.turn, plan.base.service
    pool = turn.pool
    workers = counted(pool.scorers, SCORER_NOUNS[spec.scorer]).replace("processs", "processes").replace("xs", "xes")
    if not pool.keeps_up or pool.rate_per_s * service.mean_s > pool.scorers * (1 + 1e-9):
        yield Finding(
            code="scorers_too_few",
            severity="error",
            message=f"{show(pool.rate_per_s, '1/s')} answers of {show(service.mean_s, 's')} keep "
            f"{pool.rate_per_s * service.mean_s:,.0f} busy; {workers} fall behind.",
            metric="scorers_busy",
            suggestion="Let the planner size them.",
            change={"scorers": None},
        )
        return
    if service.law is None:
        return
    together_s = drain_s(plan.base, scorers=pool.scorers)
    late = service.group_s(wait_s=pool.wait_s or 0.0, answers=spec.answers_per_problem)
    how = {"each": "as they end", "group": "by the group", "batch": "when all have ended"}[spec.scored]
    sent = "" if spec.scored == "batch" else f"; all at once the same would take {show(together_s, 's')}"
    yield Finding(
        code="slow_scoring" if service.mean_s >= _SLOW else "scoring",
        severity="info",
        message=f"Scored {how}, answers need {workers} and wait {show(pool.wait_s, 's')}{sent}. The "
        f"slowest score of {counted(spec.answers_per_problem, 'answer')} comes after {show(late, 's')}, which adds "
        f"{show(late / turn.step_s, 'versions')} to the age of a group.",
        metric="scorers_used",
    )


def _timeouts(plan: Plan) -> Iterator[Finding]:
    spec, share = plan.spec, plan.base.service.timeout_share
    if share < 1e-3:
        return
    fate = "count as failed: slow tests teach the policy as wrong answers do"
    if spec.timed_out == "drop":
        fate = "are dropped from their group and recorded"
    yield Finding(
        code="scoring_timeouts",
        severity="info",
        message=f"{percent(share)} of the answers reach the timeout of {show(spec.score_timeout_s, 's')} and {fate}.",
        metric="score_timeout_share",
    )


def _returned(plan: Plan) -> Iterator[Finding]:
    returned = plan.returned
    if returned.routing_bytes <= returned.token_bytes:
        return
    whole = returned.routing_bytes + returned.token_bytes
    yield Finding(
        code="routing_dominates",
        severity="info",
        message=f"Routing takes {returned.routing_bytes:,.0f} of {whole:,.0f} B a "
        f"token: {show(returned.step_bytes, 'bytes')} a step go back to training, and "
        f"{counted(plan.spec.kept_steps, 'step')} kept take {show(returned.stored_bytes, 'bytes')}.",
        metric="returned_bytes_per_step",
        suggestion="One byte an expert, where there are no more than 256.",
        change={"routing_index_bytes": 1} if plan.spec.routing_index_bytes > 1 else None,
    )


def mode_findings(plan: Plan) -> Iterator[Finding]:
    """Which mode the figures speak for, and why asynchrony does not pay where it does not."""
    yield from _verdict(plan)
    yield from _recommended(plan)


def _recommended(plan: Plan) -> Iterator[Finding]:
    compared = plan.comparison
    best, mine = compared.cheapest, plan.spec.mode
    costs = {mode: bill.per_sample for mode, bill in compared.bills.items()}
    ranked = sorted(costs.items(), key=lambda cost: cost[1] or 0.0)
    told = ", ".join(f"{IN_WORDS[mode]} {show(cost, 'USD')}" for mode, cost in ranked)
    message = f"On these GPUs a useful sample costs: {told}."
    if best == mine:
        yield Finding(
            "mode_recommended", "info", f"{message} This mode is the one to take.", "cost_usd_per_useful_sample"
        )
        return
    change = {"mode": best, **({"scored": "each"} if best == "asynchronous" and plan.spec.scored == "batch" else {})}
    yield Finding(
        code="mode_recommended",
        severity="info",
        message=f"{message} {MODE_LABELS[best]} is the one to take.",
        metric="cost_usd_per_useful_sample",
        suggestion=f"{MODE_LABELS[best]}.",
        change=change,
    )


def _verdict(plan: Plan) -> Iterator[Finding]:
    verdict = plan.verdict
    if verdict is None or verdict.pays:
        return
    other = IN_WORDS[verdict.other]
    saves = "saves nothing" if verdict.gain <= 1 else f"saves {percent(1 - 1 / verdict.gain)}"
    yield Finding(
        code="async_does_not_pay",
        severity="warning" if plan.spec.mode == "asynchronous" else "info",
        message=f"Asynchrony does not pay: {counted(plan.all_gpus, 'GPU')} make a step in "
        f"{show(verdict.other_s, 's')} {other} and in {show(verdict.asynchronous_s, 's')} asynchronously, which "
        f"{saves}. {_reason(plan, verdict)}",
        metric="async_gain_apart",
        suggestion=f"{MODE_LABELS[verdict.other]}.",
        change={"mode": verdict.other} if plan.spec.mode != verdict.other else None,
    )


def _reason(plan: Plan, verdict: Verdict) -> str:
    rival, tail_s = verdict.rival, plan.base.tail_floor_s
    if rival.generation_s < plan.sync.seconds:
        return (
            f"Generation takes {show(rival.generation_s, 's')}, less than the {show(plan.sync.seconds, 's')} that each "
            "weight sync stops it for."
        )
    if tail_s <= _SHORT_TAIL * rival.step_s:
        return (
            f"The longest answer takes {show(tail_s, 's')}, {percent(tail_s / rival.step_s)} of the step: there is "
            "hardly a tail to hide, and work is the same in both."
        )
    if rival.generation_s > _MOSTLY * rival.parts["training"]:
        return (
            f"Generation, {show(rival.generation_s, 's')}, is much longer than training, "
            f"{show(rival.parts['training'], 's')}: there is little to overlap."
        )
    return (
        f"What the tail of {show(tail_s, 's')} costs is lost again to the bound on staleness, weight sync and training "
        f"on fewer GPUs (a tie is within {percent(TIE)})."
    )
