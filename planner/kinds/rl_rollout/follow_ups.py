"""What an experienced reviewer asks of a rollout, answered with its own figures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.kind import FollowUp
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.spec import RlRolloutSpec

MINUTES_S = 120.0
TIMES = 10


def follow_ups(spec: RlRolloutSpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    if "modes" not in result.series:
        return (FollowUp("What does it cost to keep nothing running?", "The GPUs that are bought, and no more."),)
    return (
        _slow_scoring(result),
        _cap_doubled(spec, result),
        _more_gpus(result),
        _instance_dies(spec, result),
        _bound_relaxed(result),
        _weights_tenfold(spec, result),
        _upgrade(spec, result),
        _over_sampling(spec, result),
    )


def _slow_scoring(result: Result) -> FollowUp:
    rate, step_s = result.value("answers_per_s") or 0.0, result.value("step_s") or 1.0
    slower = MINUTES_S / max(result.value("score_service_s") or MINUTES_S, 1e-9)
    together_s = show((result.value("score_drain_s") or 0.0) * slower, "s")
    return FollowUp(
        "Scoring becomes slow: tests of code take two minutes. What then?",
        f"{show(rate, '1/s')} answers end, so that {rate * MINUTES_S:,.0f} scorers are busy where "
        f"{show(result.value('scorers_busy'), 'scorers')} are now. Sent one by one as they end, they hardly cost the "
        f"step anything: {show(MINUTES_S, 's')} are {show(MINUTES_S / step_s, 'versions')} more of age, which the "
        f"bound must count. Sent all at once the scorers of this design would take {together_s} a step. Scale scorers "
        "on their own, give them a timeout, and record what it drops.",
        {"score_s": MINUTES_S, "modes": "chosen"},
    )


def _cap_doubled(spec: RlRolloutSpec, result: Result) -> FollowUp:
    floor_s = result.value("tail_floor_s") or 0.0
    series = result.series["utilisation_by_cap"]
    rows = list(zip(numbers(series, "cap_tokens"), numbers(series, "floor_s"), strict=True))
    twice = 2 * spec.max_output_tokens
    near = min(rows, key=lambda row: abs((row[0] or 0.0) - twice))
    later = f"about {show(near[1], 's')}" if len(rows) > 1 else "up to twice that"
    return FollowUp(
        "The cap on answers is doubled. What changes?",
        f"The longest answer alone takes {show(floor_s, 's')} now and {later} then, in every synchronous step, on any "
        f"number of GPUs. Asynchronously the mean counts, and it hardly moves while only "
        f"{percent(result.value('share_at_cap') or 0.0)} of the answers end at the cap; but those that are longer age "
        f"by more versions than the {show(result.value('staleness_at_cap'), 'versions')} of today.",
    )


def _more_gpus(result: Result) -> FollowUp:
    series = result.series["step_by_gpus"]
    gpus = numbers(series, "rollout_gpus")
    sync, free = numbers(series, "synchronous"), numbers(series, "asynchronous")
    here = result.value("rollout_gpus") or gpus[0] or 1.0
    at = min(range(len(gpus)), key=lambda place: abs((gpus[place] or 0.0) - here))
    twice = min(range(len(gpus)), key=lambda place: abs((gpus[place] or 0.0) - 2 * (gpus[at] or 0.0)))
    gain = 1 - (sync[twice] or 0.0) / (sync[at] or 1.0)
    return FollowUp(
        "Would twice the rollout GPUs help?",
        f"From {show(gpus[at], 'GPUs')} to {show(gpus[twice], 'GPUs')} a synchronous step goes from "
        f"{show(sync[at], 's')} "
        f"to {show(sync[twice], 's')}, {percent(max(gain, 0.0))} less; an asynchronous one from "
        f"{show(free[at], 's')} to "
        f"{show(free[twice], 's')}. What is left are training and the longest answer.",
    )


def _instance_dies(spec: RlRolloutSpec, result: Result) -> FollowUp:
    instances = result.value("rollout_instances") or 1.0
    running = result.value("running_per_instance") or 0.0
    lost = running * spec.output_tokens / 2
    a_day = result.value("instance_failures_per_day") or 0.0
    often = f"{show(a_day, '1/d')} on average" if a_day > 0 else "never, as stated"
    part = 1 / max(instances, 1.0)
    return FollowUp(
        "An instance dies within a step. What is lost?",
        f"Its {show(running, 'answers')}, about {show(lost, 'tokens')} half written; they go on elsewhere from what "
        f"was returned, or start again. For {show(spec.restart_s, 's')} rollout has {percent(1 - part)} of its rate. "
        "Synchronously the step ends later by as much as the answers that started again take; asynchronously the "
        f"others fill in. With {counted(instances, 'instance')} this happens {often}.",
        {"fail_at_s": 2000.0, "modes": "chosen"},
    )


def _bound_relaxed(result: Result) -> FollowUp:
    series = result.series["staleness_knee"]
    rows = list(zip(numbers(series, "bound"), numbers(series, "step_s"), strict=True))
    told = ", ".join(
        f"{show(step, 's')} at η = {bound:g}" for bound, step in rows if bound in (0.0, 1.0, 2.0, 4.0, 8.0)
    )
    needed = result.value("staleness_bound_needed")
    knee = "" if needed is None else f" The knee is at {needed:.2g}: beyond it samples only grow older."
    return FollowUp(
        "What would a looser staleness bound bring?",
        f"The asynchronous step takes {told}.{knee}",
        {"modes": "bounds"},
    )


def _weights_tenfold(spec: RlRolloutSpec, result: Result) -> FollowUp:
    size = result.value("weight_bytes") or 0.0
    moved = (result.value("weight_sync_expected_s") or 0.0) - spec.sync_fixed_s
    return FollowUp(
        "The policy becomes a mixture of experts with ten times the weights. What about the sync?",
        f"{show(size, 'bytes')} take {show(result.value('weight_sync_expected_s'), 's')} now, and "
        f"{show(spec.sync_fixed_s + TIMES * moved, 's')} if bytes and tensors grow together; experts stored one by one "
        f"have tens of thousands of tensors, at {show(spec.sync_per_tensor_s, 's')} each. Only changed weights "
        f"would be {show(TIMES * size * spec.delta_share * 3, 'bytes')} of BF16. Routing has to be returned as well, "
        "hundreds of bytes a token.",
    )


def _upgrade(spec: RlRolloutSpec, result: Result) -> FollowUp:
    return FollowUp(
        "A new policy LLM is to be trained. What has to be measured again?",
        f"The rate and the batch it was measured at ({spec.rate_tokens_per_s:,g} tok/s at {spec.rate_batch:,g} "
        "answers a GPU here), KV of a token (memory holds "
        f"{show(result.value('memory_answers'), 'answers/instance')}), the lengths of its answers, which decide "
        f"{show(result.value('tail_floor_s'), 's')} of every synchronous step, and the time of training, "
        f"{show(spec.training_s, 's')}. Lengths grow as a policy learns to reason: plan for those at the end.",
    )


def _over_sampling(spec: RlRolloutSpec, result: Result) -> FollowUp:
    wasted = result.value("wasted_tokens") or 0.0
    if spec.oversampling > 0 and spec.mode != "asynchronous":
        said = f"It is used here, and {percent(wasted)} of the tokens are wasted."
    else:
        said = "It is not used here."
    return FollowUp(
        "Could over-sampling cut the tail instead?",
        f"{said} A step then ends when enough groups have; but a group waits for its longest of "
        f"{counted(spec.answers_per_problem, 'answer')}, {show(result.value('longest_of_group_tokens'), 'tokens')} "
        "expected, so that little over-sampling cuts little, and what is kept is shorter than what the policy writes. "
        "Partial rollouts keep what was written instead.",
        {"oversampling": 0.5, "modes": "all"},
    )
