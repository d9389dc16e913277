"""The metrics of weight sync, scoring, returned data and money."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Metric
from planner.formulas.rollout_modes import recompute_s
from planner.formulas.scoring import staleness_of_scoring
from planner.kinds.rl_rollout.batch import drain_s
from planner.kinds.rl_rollout.metrics import figure
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.sync import tensors


def services(plan: Plan) -> Iterator[Metric]:
    """Weights out, answers and rewards in."""
    yield from _sync(plan)
    yield from _scoring(plan)
    returned = plan.returned
    yield figure("returned_bytes_per_token", returned.token_bytes + returned.routing_bytes)
    yield figure("routing_bytes_per_token", returned.routing_bytes)
    yield figure("returned_bytes_per_step", returned.step_bytes)
    yield figure("stored_bytes", returned.stored_bytes)


def _sync(plan: Plan) -> Iterator[Metric]:
    physics = plan.base.physics
    yield figure("weight_sync_expected_s", plan.sync.seconds)
    yield figure("weight_bytes", physics.weight_bytes)
    yield figure("sync_bytes", plan.sync.size_bytes)
    yield figure("sync_tensors_counted", tensors(plan.base))
    again_s = recompute_s(
        batch=min(physics.running, max(plan.turn.running, 0.0)),
        context_tokens=physics.context_tokens,
        prefill_tokens_per_s=physics.prefill_tokens_per_s,
    )
    yield figure("kv_recompute_s", again_s)
    yield figure("switch_s", plan.switch_s)


def _scoring(plan: Plan) -> Iterator[Metric]:
    turn, service, runs = plan.turn, plan.base.service, plan.runs
    pool = turn.pool
    yield figure("answers_per_s", turn.scored_per_s if runs else None)
    yield figure("score_service_s", service.mean_s)
    yield figure("score_timeout_share", service.timeout_share)
    yield figure("scorers_busy", min(turn.scored_per_s * service.mean_s, pool.scorers) if runs else None)
    yield figure("scorers_used", pool.scorers)
    yield figure("score_wait_mean_s", pool.wait_s if runs else None)
    yield figure("score_drain_s", drain_s(plan.base, scorers=pool.scorers) if runs else None)
    late_s = service.group_s(wait_s=pool.wait_s or 0.0, answers=plan.spec.answers_per_problem)
    yield figure("score_staleness", staleness_of_scoring(late_s, step_s=turn.step_s) if runs else None)


def money(plan: Plan) -> Iterator[Metric]:
    """The bill and what a step and a sample make of it."""
    bill, runs = plan.bill, plan.runs
    yield figure("cost_usd_per_h", bill.usd_per_h)
    yield figure("cost_usd_per_step", bill.per_step if runs else None)
    yield figure("cost_usd_per_1000_steps", 1000 * bill.per_step if runs else None)
    yield figure("cost_usd_per_useful_sample", bill.per_sample if runs else None)
    yield figure("cost_usd_per_m_output_tokens", bill.per_m_tokens if runs else None)
    for name, usd_per_h in bill.parts.items():
        yield figure(f"{name}_usd_per_h", usd_per_h)
