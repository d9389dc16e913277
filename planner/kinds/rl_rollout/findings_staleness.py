"""How old samples are, whom that concerns, what it costs to limit it, and what is generated for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.balance import LEFT_OUT
from planner.kinds.rl_rollout.batch import early_stop_of
from planner.kinds.rl_rollout.plan import Plan

_OLD = 0.05
_ENDLESS = 5000.0
_RECOMPUTE = 0.1
_NEARLY_FREE = 4
"""Versions up to which AReaL found a decoupled loss to learn nearly as well."""
_MANY_FILTERED = 0.3
"""Share of the groups from which on an asynchronous step is estimated too short; see METHOD.md."""


def staleness_findings(plan: Plan) -> Iterator[Finding]:
    """Asynchronous modes first, then what is wasted in any."""
    if plan.spec.mode == "asynchronous":
        yield from _loss(plan)
        yield from _near_balance(plan)
        yield from _beyond(plan)
        yield from _long_answers(plan)
        yield from _discarded(plan)
        yield from _recomputed(plan)
    yield from _masked(plan)
    yield from _oversampled(plan)
    yield from _filtered(plan)


def _loss(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    if spec.loss == "plain" and spec.staleness_bound > 1:
        yield Finding(
            code="plain_loss_too_stale",
            severity="warning",
            message=f"η = {spec.staleness_bound} with plain PPO: samples are up to so many versions old and nothing "
            "corrects for it. AReaL saw training collapse at 4.",
            metric="staleness_mean",
            suggestion="A decoupled loss, importance-corrected by the log-probabilities returned.",
            change={"loss": "decoupled"},
        )
    elif spec.staleness_bound > _NEARLY_FREE:
        yield Finding(
            code="bound_beyond_published",
            severity="warning",
            message=f"η = {spec.staleness_bound} is beyond what was published to learn nearly as well, 4 with a "
            "decoupled loss.",
            metric="staleness_mean",
            suggestion="η = 4.",
            change={"staleness_bound": _NEARLY_FREE},
        )


def _near_balance(plan: Plan) -> Iterator[Finding]:
    just = plan.balance
    if just is None:
        return
    writes = f"{percent(just.surplus)} more than" if just.surplus > 0 else "no more than"
    lasts = f"about {show(float(f'{just.steps:.1g}'), 'steps')}" if just.steps < _ENDLESS else "thousands of steps"
    yield Finding(
        code="near_balance",
        severity="info",
        message=f"Near balance: rollout writes {writes} a step needs. Samples are between {just.youngest:.2g} and "
        f"{just.oldest:.2g} versions old: at this pace it takes {lasts} until as many wait as "
        f"η = {plan.spec.staleness_bound} allows, and with {percent(LEFT_OUT)} less hundreds or for ever.",
        metric="staleness_mean",
        suggestion="One instance more settles it.",
        change={"rollout_gpus": plan.turn.rollout_gpus + plan.spec.instance_gpus},
    )


def _beyond(plan: Plan) -> Iterator[Finding]:
    spec, turn = plan.spec, plan.turn
    if spec.enforcement == "discard" or turn.beyond <= _OLD:
        return
    yield Finding(
        code="older_than_bound",
        severity="info",
        message=f"{percent(turn.beyond)} of the groups are older than η = {spec.staleness_bound} when they are trained "
        "on: the bound limits starts, and long answers take several versions.",
        metric="staleness_beyond",
        suggestion="Drop them at the door of training, and generate more for it.",
        change={"enforcement": "discard"},
    )


def _long_answers(plan: Plan) -> Iterator[Finding]:
    spec, turn = plan.spec, plan.turn
    if turn.cycle is None:
        return
    mean = spec.output_tokens / turn.cycle.tokens
    yield Finding(
        code="long_answers_are_stale",
        severity="info",
        message=f"Staleness concentrates in long answers: {show(mean, 'versions')} pass while a mean one is written, "
        f"{show(turn.at_cap_versions, 'versions')} while one at the cap is, and its group waits for it. Samples "
        f"wait as well; they are {show(turn.mean_age, 'versions')} old on average, and {turn.policies:.3g} versions "
        "write one, which the importance weights correct for.",
        metric="staleness_at_cap",
        suggestion="Group answers by length, or cap them lower.",
    )


def _discarded(plan: Plan) -> Iterator[Finding]:
    if plan.spec.enforcement != "discard" or plan.turn.discarded <= 0:
        return
    yield Finding(
        code="groups_discarded",
        severity="info",
        message=f"{percent(plan.turn.discarded)} of the groups are dropped as older than η = "
        f"{plan.spec.staleness_bound}, the longest answers among them: what is trained on is shorter than what the "
        "policy writes.",
        metric="discarded_share",
    )


def _recomputed(plan: Plan) -> Iterator[Finding]:
    turn = plan.turn
    if turn.recompute_s <= _RECOMPUTE * turn.step_s:
        return
    yield Finding(
        code="kv_recompute",
        severity="warning",
        message=f"Computing the KV of running answers again takes {show(turn.recompute_s, 's')} at every version, "
        f"{percent(turn.recompute_s / turn.step_s)} of the rollout.",
        metric="kv_recompute_share",
        suggestion="Keep the KV: answers then mix versions, which the log-probabilities record.",
        change={"new_weights": "keep"},
    )


def _masked(plan: Plan) -> Iterator[Finding]:
    spec, turn = plan.spec, plan.turn
    if spec.enforcement != "carry" or (spec.mode != "asynchronous" and spec.oversampling <= 0):
        return
    kept = "what is unfinished when enough groups have ended goes on in the next step"
    if spec.mode == "asynchronous":
        kept = "answers go on under new weights"
    yield Finding(
        code="partial_rollouts",
        severity="info",
        message=f"Partial rollouts: {kept}, and tokens older than η = {spec.staleness_bound} are masked; "
        f"{percent(turn.wasted)} of the tokens do not count in the loss.",
        metric="wasted_tokens",
    )


def _oversampled(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    early = early_stop_of(plan.base)
    if early is None or spec.mode == "asynchronous" or plan.base.demand.completed <= 0:
        return
    if early.steps >= plan.base.law.cap_tokens:
        message = (
            f"Over-sampling by {percent(spec.oversampling)} cuts no tail: so many groups of "
            f"{spec.answers_per_problem:,} hold an answer at the cap that the step still waits for one, and "
            f"{percent(plan.turn.wasted)} of the tokens are wasted."
        )
    else:
        message = (
            f"Over-sampling by {percent(spec.oversampling)} ends a step at {early.steps:,.0f} tokens; "
            f"{percent(plan.turn.wasted)} of the tokens are wasted, and answers kept have "
            f"{early.kept_mean_tokens:,.0f} "
            f"tokens on average instead of {spec.output_tokens:,g}: it teaches the policy to be short."
        )
    yield Finding(
        code="oversampling",
        severity="warning",
        message=message,
        metric="wasted_tokens",
        suggestion="No over-sampling.",
        change={"oversampling": 0.0},
    )


def _filtered(plan: Plan) -> Iterator[Finding]:
    spec, demand = plan.spec, plan.base.demand
    if spec.filtering != "on":
        return
    if spec.answers_per_problem == 1:
        yield Finding(
            code="nothing_to_compare",
            severity="error",
            message="With one answer a problem every group is all right or all wrong: filtering would drop them all. "
            "Figures are those without it.",
            metric="filtered_share",
            suggestion="Filter no groups, or ask for more answers a problem.",
            change={"filtering": "off"},
        )
        return
    more = demand.completed / demand.trained - 1 if demand.trained > 0 else 0.0
    yield Finding(
        code="filtered_groups",
        severity="info",
        message=f"{percent(demand.filtered)} of the groups are all right or all wrong and dropped: generation does "
        f"{percent(more)} more work, and every {counted(spec.problems, 'problem')} trained on teach something.",
        metric="filtered_share",
    )
    if spec.mode == "asynchronous" and demand.filtered > _MANY_FILTERED:
        yield Finding(
            code="filtering_estimated_short",
            severity="warning",
            message=f"Where {percent(demand.filtered)} of the groups are dropped, replacements start one after the "
            "other, which the estimate of an asynchronous step leaves out: simulated steps are 15 % longer at 43 % "
            "dropped and twice as long at 85 %, unless places of instances bind.",
            metric="step_s",
        )
