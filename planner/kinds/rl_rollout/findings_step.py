"""What binds the step: memory, the tail of the lengths, the bound on staleness, or too few GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.batch import batch_of
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.words import IN_WORDS

_TAIL_MATTERS = 0.5
_CENSORED = 0.05
_HARDLY = 0.02
_SAME = 0.1
"""Published totals are rounded, and formats leave some parts in 16 bits."""


def memory_findings(plan: Plan) -> Iterator[Finding]:
    """Whether an instance holds what it has to."""
    spec, physics = plan.spec, plan.base.physics
    yield from _other_policy(plan)
    if not physics.fits:
        left = "they leave nothing for KV" if physics.kv_bytes <= 0 else "what is left holds less than one mean answer"
        yield Finding(
            code="does_not_fit",
            severity="error",
            message=f"The weights of {show(physics.weight_bytes, 'bytes')} on "
            f"{counted(spec.instance_gpus, 'GPU')} an instance: {left}. Nothing is generated.",
            metric="memory_answers",
            suggestion="More GPUs an instance.",
            change={"instance_gpus": min(2 * spec.instance_gpus, 1024)},
        )
        return
    longest = (spec.prompt_tokens + spec.max_output_tokens) * physics.kv_bytes_per_token
    if longest > physics.kv_bytes:
        yield Finding(
            code="cap_does_not_fit",
            severity="error",
            message=f"An answer at the cap holds {show(longest, 'bytes')} of KV, an instance has "
            f"{show(physics.kv_bytes, 'bytes')}: it never ends.",
            metric="memory_answers",
            suggestion="A shorter cap, or more GPUs an instance.",
            change={"instance_gpus": min(2 * spec.instance_gpus, 1024)},
        )
    if spec.running_cap is not None and spec.running_cap > physics.memory_batch:
        yield Finding(
            code="running_cap_beyond_memory",
            severity="info",
            message=f"The engine may run {counted(spec.running_cap, 'answer')} an instance; memory holds "
            f"{physics.memory_batch:,.3g}, so that answers are preempted first.",
            metric="memory_answers",
            suggestion="Leave the limit to memory.",
            change={"running_cap": None},
        )


def _other_policy(plan: Plan) -> Iterator[Finding]:
    """Weights or parameters that are stated, and are not those of the LLM that was chosen."""
    spec, physics = plan.spec, plan.base.physics
    figures = (
        ("weight_bytes", "weights", spec.weight_bytes, physics.own_weight_bytes, "bytes"),
        ("active_parameters", "active ones", spec.active_parameters, physics.own_active_parameters, "parameters"),
    )
    other = [row for row in figures if row[2] is not None and abs(row[2] / row[3] - 1) > _SAME]
    if other:
        stated = " and ".join(f"{word} of {show(value, unit)}" for _, word, value, _, unit in other)
        own = " and ".join(show(value, unit) for *_, value, unit in other)
        yield Finding(
            code="policy_differs",
            severity="warning",
            message=f"The policy is stated with {stated}; {physics.llm.name} has {own}. A stated rate of a GPU is that "
            "of the LLM it was measured with.",
            metric="weight_bytes",
            suggestion="Leave the fields empty to take the figures of the LLM, and take the rate from weights, KV and "
            "FLOP.",
            change={name: None for name, *_ in other} | {"rate_source": "roofline"},
        )


def step_findings(plan: Plan) -> Iterator[Finding]:
    """What keeps training waiting, and what more GPUs would do about it."""
    yield from _too_slow(plan)
    yield from _tail(plan)
    yield from _small_batch(plan)
    yield from _censored(plan)
    yield from _idle_scorers(plan)


def _too_slow(plan: Plan) -> Iterator[Finding]:
    spec, turn = plan.spec, plan.turn
    if spec.mode in ("synchronous", "one_step_off") and plan.needed_gpus is None:
        yield _no_window(plan)
        return
    if plan.slowdown <= spec.allowed_slowdown:
        return
    if spec.mode in ("synchronous", "colocated"):
        yield Finding(
            code="rollout_slows_training",
            severity="warning",
            message=f"A step takes {show(turn.step_s, 's')}, {1 + plan.slowdown:.3g} times training alone: "
            f"{IN_WORDS[spec.mode]}, training waits {show(turn.step_s - turn.parts['training'], 's')} of it.",
            metric="training_slowdown",
            suggestion="Let generation of the next step run beside training.",
            change={"mode": "asynchronous", **({"scored": "each"} if spec.scored == "batch" else {})},
        )
        return
    if turn.parts["scoring"] > 0.5 * (turn.step_s - turn.parts["training"]):
        return
    yield _waits(plan)


def _no_window(plan: Plan) -> Finding:
    spec, base = plan.spec, plan.base
    return Finding(
        code="tail_longer_than_window",
        severity="error",
        message=f"No number of GPUs generates a step in {show(spec.training_s, 's')}: the longest answer, "
        f"{base.longest_tokens:,.0f} tokens at {show(base.physics.step.fixed_s, 's')} each, takes "
        f"{show(base.tail_floor_s, 's')} alone. Figures are for {counted(plan.turn.rollout_gpus, 'GPU')}; the step "
        f"takes {show(plan.turn.step_s, 's')}.",
        metric="rollout_gpus_needed",
        suggestion="Faster decode steps by more GPUs an instance, a shorter cap, or a fully asynchronous mode.",
        change={"instance_gpus": min(2 * spec.instance_gpus, 1024)},
    )


def _waits(plan: Plan) -> Finding:
    spec, turn, needed = plan.spec, plan.turn, plan.bound_needed if plan.spec.mode == "asynchronous" else None
    waits_s = show(turn.parts["generation"], "s")
    if needed is not None and needed > spec.staleness_bound:
        return Finding(
            code="staleness_binds",
            severity="warning",
            message=f"The staleness bound η = {spec.staleness_bound} makes training wait {waits_s} each step: no more "
            f"answers may start until the longest have ended. From η = {needed:.2g} on it would not wait.",
            metric="staleness_bound_needed",
            suggestion="A looser bound, or a shorter cap.",
            change={"staleness_bound": min(int(needed) + 1, 64)},
        )
    if plan.needed_gpus is None:
        return Finding(
            code="staleness_binds",
            severity="warning",
            message=f"Training waits {waits_s} each step, and no number of GPUs mends that at η = "
            f"{spec.staleness_bound}: the longest answers take {turn.at_cap_versions:.3g} versions.",
            metric="rollout_gpus_needed",
            suggestion="A looser bound, or faster decode steps by more GPUs an instance.",
            change={"staleness_bound": min(spec.staleness_bound + 2, 64)},
        )
    return Finding(
        code="rollout_too_small",
        severity="warning",
        message=f"{counted(turn.rollout_gpus, 'rollout GPU')} make training wait {waits_s} each step; "
        f"{show(plan.needed_gpus, 'GPUs')} keep up.",
        metric="rollout_gpus_needed",
        suggestion="Let the planner size the fleet.",
        change={"rollout_gpus": None},
    )


def _tail(plan: Plan) -> Iterator[Finding]:
    spec, turn, base = plan.spec, plan.turn, plan.base
    if spec.mode == "asynchronous" or base.tail_floor_s <= _TAIL_MATTERS * turn.generation_s:
        return
    twice_s = batch_of(base, instances=2 * turn.instances).generation_s
    saved = 1 - (turn.step_s - turn.generation_s + twice_s) / turn.step_s
    gain = "almost nothing" if saved < _HARDLY else f"only {percent(saved)} of the step"
    yield Finding(
        code="tail_binds",
        severity="warning",
        message=f"Of {show(turn.generation_s, 's')} of generation, {show(base.tail_floor_s, 's')} are the longest "
        f"answer alone, which no GPU shortens: twice the rollout GPUs would save {gain}.",
        metric="tail_floor_s",
        suggestion="A shorter cap, or faster decode steps by more GPUs an instance.",
        change={"instance_gpus": min(2 * spec.instance_gpus, 1024)},
    )


def _small_batch(plan: Plan) -> Iterator[Finding]:
    spec, turn, physics = plan.spec, plan.turn, plan.base.physics
    each = plan.base.demand.completed / turn.instances
    if spec.mode == "asynchronous" or each >= physics.full_batch / 2 or turn.instances < 2:
        return
    yield Finding(
        code="few_answers_an_instance",
        severity="info",
        message=f"{MODE_LABELS[spec.mode]}, an instance starts with {each:,.0f} answers where its rate is quoted at "
        f"{physics.full_batch:,.0f}: fewer, fuller instances would lose little time.",
        metric="generation_utilisation",
    )


def _censored(plan: Plan) -> Iterator[Finding]:
    share = plan.base.law.share_at_cap
    if share <= _CENSORED or plan.spec.length_cv <= 0:
        return
    yield Finding(
        code="lengths_censored",
        severity="warning",
        message=f"{percent(share)} of the answers end, unfinished, at {plan.spec.max_output_tokens:,g} tokens: "
        "they earn no reward, and the spread stated is not the one the policy has.",
        metric="share_at_cap",
        suggestion="A higher cap, if the step allows it.",
        change={"max_output_tokens": min(1.5 * plan.spec.max_output_tokens, 1e7)},
    )


def _idle_scorers(plan: Plan) -> Iterator[Finding]:
    turn = plan.turn
    if turn.pool.keeps_up and turn.parts["scoring"] <= 0.05 * turn.step_s:
        return
    yield Finding(
        code="scoring_slows_training",
        severity="warning",
        message=f"Training waits {show(turn.parts['scoring'], 's')} of each step for scores: "
        f"{counted(turn.pool.scorers, 'scorer')}, {show(plan.base.service.mean_s, 's')} an answer.",
        metric="step_scoring_s",
        suggestion="Score each answer as it ends, with scorers sized for that.",
        change={"scorers": None, "scored": "each"},
    )
