"""The metrics of a plan: the rule of thumb, the step, its roles, lengths and memory, staleness, modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.core.result import Metric
from planner.formulas import rollout_demand
from planner.formulas.answer_lengths import squared_variation
from planner.kinds.rl_rollout.figures_services import money, services
from planner.kinds.rl_rollout.memory_rate import memory_rate
from planner.kinds.rl_rollout.metrics import METRICS, figure
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.turn import PARTS

ALWAYS = frozenset(
    {
        *("tokens_per_step", "rollout_gpus_sync_needed", "rollout_gpus_async_needed", "rollout_gpus_sync"),
        *("rollout_gpus_async", "weight_sync_s", "weight_bytes", "sync_tensors_counted", "share_at_cap"),
        *("longest_tokens", "longest_of_group_tokens", "realised_cv", "tail_floor_s", "memory_answers"),
        *("filtered_share", "returned_bytes_per_token", "routing_bytes_per_token", "returned_bytes_per_step"),
        *("stored_bytes", "score_service_s", "score_timeout_share", "switch_s"),
        "rate_lost_to_failures",
    }
)
"""Figures that exist even where an instance cannot hold the weights."""


def metrics(plan: Plan) -> Mapping[str, Metric]:
    """Every metric of a design by name; without room for an answer, those that do not need one."""
    found = (
        *_rule(plan),
        *_design(plan),
        *_roles(plan),
        *_lengths(plan),
        *_staleness(plan),
        *_modes(plan),
        *services(plan),
        *money(plan),
    )
    made = {metric.definition.name: metric for metric in found}
    if not plan.fits:
        made = {name: one if name in ALWAYS else figure(name, None) for name, one in made.items()}
    return {definition.name: made[definition.name] for definition in METRICS}


def _rule(plan: Plan) -> Iterator[Metric]:
    spec, demand = plan.spec, plan.base.demand
    yield figure(
        "tokens_per_step",
        demand.tokens,
        working=f"{spec.problems:,} × {spec.answers_per_problem:,} × {spec.output_tokens:,g}",
    )
    for name, gpus, whole, share in (
        ("sync", demand.sync_gpus, demand.sync_gpus_whole, spec.utilisation_sync),
        ("async", demand.async_gpus, demand.async_gpus_whole, spec.utilisation_async),
    ):
        working = f"{demand.tokens:,.0f} / ({spec.rate_tokens_per_s:,g} × {share:g} × {spec.train_step_s:,g} s)"
        yield figure(f"rollout_gpus_{name}_needed", gpus, working=working)
        yield figure(f"rollout_gpus_{name}", whole)
    yield figure(
        "weight_sync_s",
        plan.sync_ideal_s,
        working=f"{plan.base.physics.weight_bytes:,.0f} B / ({spec.sync_links:,} × {spec.link_bytes_per_s:,.0f} B/s)",
    )


def _design(plan: Plan) -> Iterator[Metric]:
    spec, turn = plan.spec, plan.turn
    runs = plan.runs
    yield figure("rollout_gpus", turn.rollout_gpus)
    yield figure("rollout_instances", turn.instances)
    yield figure("rollout_gpus_needed", plan.needed_gpus)
    limit_s = spec.training_s * (1 + spec.allowed_slowdown)
    just = plan.balance
    low, high = (turn.step_s, just.longest_step_s) if just and just.longest_step_s > turn.step_s else (None, None)
    yield figure("step_s", turn.step_s if runs else None, objective=limit_s, low=low, high=high)
    for part in PARTS:
        yield figure(f"step_{part}_s", turn.parts[part] if runs else None)
    yield figure("training_slowdown", plan.slowdown if runs else None, objective=spec.allowed_slowdown)
    yield figure("generation_s", turn.generation_s if runs else None)
    yield figure("instance_failures_per_day", turn.instances * spec.instance_failures_per_h * 24)
    yield figure("rate_lost_to_failures", min(spec.instance_failures_per_h * spec.restart_s / 3600, 1.0))
    per_gpu_h = plan.useful * 3600 / (turn.step_s * turn.all_gpus)
    yield figure("useful_samples_per_gpu_h", per_gpu_h if runs else None)


def _roles(plan: Plan) -> Iterator[Metric]:
    turn, runs = plan.turn, plan.runs
    for name, share in (
        ("utilisation", turn.utilisation),
        ("generation_utilisation", turn.utilisation_generating),
        ("rollout_idle", 1 - turn.utilisation),
        ("trainer_idle", turn.trainer_idle),
        ("scorer_idle", turn.scorer_idle),
    ):
        yield figure(name, min(max(share, 0.0), 1.0) if runs else None)
    yield figure("running_per_instance", turn.running if runs else None)


def _lengths(plan: Plan) -> Iterator[Metric]:
    base, spec = plan.base, plan.spec
    yield figure("longest_tokens", base.longest_tokens)
    yield figure("longest_of_group_tokens", base.law.expected_maximum(spec.answers_per_problem))
    yield figure("share_at_cap", base.law.share_at_cap)
    yield figure("realised_cv", squared_variation(base.law) ** 0.5)
    yield figure("tail_floor_s", base.tail_floor_s)
    yield figure("memory_answers", base.physics.memory_batch)
    rate = memory_rate(base)
    yield figure("memory_rate_tokens_per_s", rate)
    gpus = None
    if rate:
        gpus = rollout_demand.gpus_to_keep_up(
            base.demand.tokens,
            tokens_per_s_per_gpu=rate,
            utilisation=spec.utilisation_async,
            window_s=spec.train_step_s,
        )
    yield figure("rollout_gpus_by_memory", gpus)


def _staleness(plan: Plan) -> Iterator[Metric]:
    turn, runs = plan.turn, plan.runs
    is_async = plan.spec.mode == "asynchronous"
    just = plan.balance
    low, high = (just.youngest, max(just.oldest, just.youngest)) if just else (None, None)
    yield figure("staleness_mean", turn.mean_age if runs else None, low=low, high=high)
    low, high = (just.least_beyond, just.most_beyond) if just and turn.admitted_bound is not None else (None, None)
    yield figure("staleness_beyond", turn.beyond if runs else None, low=low, high=high)
    yield figure("staleness_at_cap", turn.at_cap_versions if runs else None)
    yield figure("policies_per_answer", turn.policies if runs else None)
    yield figure("staleness_bound_needed", plan.bound_needed if runs and is_async else None)
    yield figure("discarded_share", turn.discarded)
    yield figure("filtered_share", plan.base.demand.filtered)
    yield figure("wasted_tokens", turn.wasted if runs else None)
    yield figure("kv_recompute_share", turn.recompute_s / turn.step_s if runs else None)


def _modes(plan: Plan) -> Iterator[Metric]:
    compared, runs = plan.comparison, plan.runs
    verdict, split = plan.verdict, plan.split
    gain = None
    if runs:
        gain = compared.turn("synchronous").step_s / compared.turn("asynchronous").step_s
    yield figure("async_gain", gain)
    yield figure("async_gain_apart", verdict.gain if runs and verdict else None)
    yield figure("best_training_gpus", split.training_gpus if runs and split else None)
    yield figure("best_rollout_gpus", split.rollout_gpus if runs and split else None)
    yield figure("best_step_s", split.step_s if runs and split else None)
