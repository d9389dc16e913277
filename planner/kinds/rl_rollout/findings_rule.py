"""What the rule of thumb says, and what it overlooks: a step is a sum, memory bounds the batch, tails the rate."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas import rollout_demand, sizing
from planner.formulas.decode_step import shared_weight
from planner.formulas.generation_utilisation import utilisation_for_deadline
from planner.kinds.rl_rollout.memory_rate import memory_rate, read_step_s
from planner.kinds.rl_rollout.plan import Plan

_CLEARLY = 1.02
"""A step that reads for so much longer than it is said to take is worth a word."""


def rule_findings(plan: Plan) -> Iterator[Finding]:
    """The conclusion of the reference first, then what is not in it."""
    yield from _third(plan)
    yield from _rounding(plan)
    yield from _sum(plan)
    yield from _memory(plan)
    yield from _reading(plan)
    yield from _in_part(plan)


def _third(plan: Plan) -> Iterator[Finding]:
    demand = plan.base.demand
    share = demand.async_gpus / demand.sync_gpus
    if share >= 1:
        return
    told = "a third" if abs(share - 1 / 3) < 0.02 else percent(share)
    yield Finding(
        code="rule_async_third",
        severity="info",
        message=f"By the rule of thumb, tokens over stated rate and utilisation, synchronous rollout needs "
        f"{show(demand.sync_gpus, 'GPUs')} and asynchronous {show(demand.async_gpus, 'GPUs')}: asynchrony cuts the "
        f"rollout GPUs to {told}.",
        metric="rollout_gpus_async_needed",
    )


def _rounding(plan: Plan) -> Iterator[Finding]:
    for words, gpus in (("asynchronous", plan.base.demand.async_gpus), ("synchronous", plan.base.demand.sync_gpus)):
        bought = sizing.whole(gpus)
        if 1 <= round(gpus) < bought:
            yield Finding(
                code="rule_rounds_up",
                severity="info",
                message=f"The {words} need of {show(gpus, 'GPUs')} is often rounded to {round(gpus):,}; that many do "
                f"not keep up, and {counted(bought, 'GPU')} must be bought.",
                metric="rollout_gpus_async" if words == "asynchronous" else "rollout_gpus_sync",
            )


def _sum(plan: Plan) -> Iterator[Finding]:
    spec, demand = plan.spec, plan.base.demand
    step_s = 2 * spec.train_step_s
    yield Finding(
        code="sync_step_is_sum",
        severity="info",
        message=f"{counted(demand.sync_gpus_whole, 'GPU')} buy a generation window of {show(spec.train_step_s, 's')}, "
        f"not a step: a synchronous step generates, then trains, and takes {show(step_s, 's')} or more. Training "
        "stands still half of it.",
        metric="rollout_gpus_sync",
    )


def _memory(plan: Plan) -> Iterator[Finding]:
    spec, physics, demand = plan.spec, plan.base.physics, plan.base.demand
    if spec.rate_source != "stated" or not plan.fits or physics.memory_batch >= spec.rate_batch * physics.gpus:
        return
    rate = memory_rate(plan.base) or 0.0
    if rate >= spec.rate_tokens_per_s:
        return
    gpus = rollout_demand.gpus_to_keep_up(
        demand.tokens,
        tokens_per_s_per_gpu=rate,
        utilisation=spec.utilisation_async,
        window_s=spec.train_step_s,
    )
    yield Finding(
        code="rate_batch_memory",
        severity="warning",
        message=f"{spec.rate_tokens_per_s:,g} tok/s a GPU are stated at {spec.rate_batch:,g} running answers, but KV "
        f"memory holds {physics.memory_batch / physics.gpus:,.3g} a GPU, at {physics.context_tokens:,.0f} tokens of "
        f"context each. Reading weights and caches alone then allows {rate:,.0f} tok/s, and the rule gives "
        f"{counted(sizing.whole(gpus), 'GPU')}, not {demand.async_gpus_whole:,}.",
        metric="memory_rate_tokens_per_s",
        suggestion="Share the weights of an instance between more GPUs: each then has more room for KV.",
        change={"instance_gpus": min(2 * spec.instance_gpus, 1024)},
    )


def _reading(plan: Plan) -> Iterator[Finding]:
    spec, physics = plan.spec, plan.base.physics
    if spec.rate_source != "stated":
        return
    stated_s = spec.rate_batch / spec.rate_tokens_per_s
    reads_s = read_step_s(plan.base, answers=spec.rate_batch * physics.gpus)
    if reads_s <= stated_s * _CLEARLY:
        return
    yield Finding(
        code="rate_beyond_bandwidth",
        severity="warning",
        message=f"At the stated rate a decode step of {spec.rate_batch:,g} answers a GPU takes {show(stated_s, 's')}; "
        f"reading weights and {physics.context_tokens:,.0f} tokens of KV an answer takes {show(reads_s, 's')}. The "
        "rate was measured with shorter contexts, or it is not reached.",
        metric="memory_rate_tokens_per_s",
        suggestion="Take the rate from weights, KV and FLOP.",
        change={"rate_source": "roofline"},
    )


def _in_part(plan: Plan) -> Iterator[Finding]:
    spec, base = plan.spec, plan.base
    step, window_s = base.physics.decode.with_context(base.physics.context_tokens), spec.training_s
    beta = shared_weight(step, batch=base.physics.full_batch)
    floor_s = base.tail_floor_s
    reached = utilisation_for_deadline(shared=beta, longest_s=floor_s, deadline_s=window_s)
    fitting = window_s / step.fixed_s * (1 - spec.utilisation_sync * beta / (1 + beta))
    if reached is None:
        here = (
            f"here the longest of a step has {base.longest_tokens:,.0f} and takes {show(floor_s, 's')} alone, so that "
            "no number of GPUs generates in time"
        )
    else:
        here = (
            f"here the longest has {base.longest_tokens:,.0f} and a fleet just large enough reaches "
            f"{percent(min(reached, 1.0))}"
        )
    yield Finding(
        code="utilisation_in_part",
        severity="info",
        message=f"{percent(spec.utilisation_sync)} is one point on a steep curve: it follows if the longest answer has "
        f"{max(fitting, 0.0):,.0f} tokens; {here}. {_of_async(plan)}",
        metric="generation_utilisation",
    )


def _of_async(plan: Plan) -> str:
    spec, needed = plan.spec, plan.bound_needed if plan.spec.mode == "asynchronous" else None
    stated = percent(spec.utilisation_async)
    if spec.mode != "asynchronous" or not plan.runs:
        return f"{stated} when asynchronous needs kept KV and a staleness bound that long answers fit in."
    reached = percent(plan.turn.utilisation)
    if needed is None:
        return f"Asynchronous, this design reaches {reached} where {stated} is stated."
    return (
        f"Asynchronous, this design reaches {reached} where {stated} is stated, with answers up to "
        f"{needed:,.2g} versions ahead; computing KV again at each version would take "
        f"{percent(min(_recompute_share(plan), 1.0))} of it."
    )


def _recompute_share(plan: Plan) -> float:
    physics = plan.base.physics
    return physics.running * physics.context_tokens / physics.prefill_tokens_per_s / plan.turn.step_s
