"""The design as the simulator wants it: a configuration for each mode, and the answers they all get."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.core.catalog import Catalog
from planner.core.simulation import SimulationRequest, Workload
from planner.formulas.answer_lengths import AnswerLengths
from planner.kinds.rl_rollout.base import Base, base_at
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS, Mode
from planner.kinds.rl_rollout.lengths import NO_SPREAD, scaled
from planner.kinds.rl_rollout.modes import turn_of
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.simulation_options import BOUNDS, Options
from planner.kinds.rl_rollout.spec import RlRolloutSpec
from planner.kinds.rl_rollout.turn import MODES, Turn

if TYPE_CHECKING:
    from sims.systems.rl_rollout import Config, Failure, Problems, Scoring

ENFORCED = {"admission": "none", "discard": "discard", "carry": "carry"}
MOST_SLOTS = 100_000
DRAWN_SAMPLE = 4096
"""Lengths of a trace that answers are drawn from."""


@dataclass(frozen=True)
class Case:
    """One of the runs side by side, with the step that the estimate gives it."""

    label: str
    mode: Mode
    base: Base
    turn: Turn


def cases_of(plan: Plan, *, chosen: Options) -> tuple[Case, ...]:
    """The mode of the design first; the others on the same GPUs."""
    own = Case(plan.turn.label, plan.spec.mode, plan.base, plan.turn)
    if chosen.modes == "chosen":
        return (own,)
    compared = plan.comparison
    if chosen.modes == "all":
        others = [mode for mode in MODES if mode != plan.spec.mode]
        return own, *(Case(MODE_LABELS[mode], mode, plan.base, compared.turn(mode)) for mode in others)
    bounds = sorted({*BOUNDS, plan.spec.staleness_bound})
    mine = plan.spec.staleness_bound
    return tuple(_bounded(plan, bound) for bound in sorted(bounds, key=lambda bound: (bound != mine, bound)))


def _bounded(plan: Plan, bound: int) -> Case:
    base, compared = base_at(plan.base, changes={"staleness_bound": bound}), plan.comparison
    turn = turn_of(base, "asynchronous", rollout_gpus=compared.rollout_gpus, training_gpus=compared.training_gpus)
    return Case(f"η = {bound}", "asynchronous", base, turn)


def trace_of(spec: RlRolloutSpec, *, request: SimulationRequest, chosen: Options, catalog: Catalog) -> Workload | None:
    """The trace whose outputs are taken, if one is."""
    if chosen.replays(request):
        return request.workload
    if spec.lengths == "trace" and chosen.lengths != "law":
        return catalog.workload(spec.workload or "")
    return None


def law_of(spec: RlRolloutSpec, *, trace: Workload | None) -> AnswerLengths | None:
    """The law of the run where it is not that of the design."""
    if trace is None or trace.requests == 0:
        return None
    return scaled(trace, mean_tokens=spec.output_tokens, cap_tokens=spec.max_output_tokens)


def config_for(case: Case, *, chosen: Options) -> Config:
    """One mode with its instances, its trainer and its scorers."""
    from sims.systems.rl_rollout import Config

    spec, physics, turn = case.base.spec, case.base.physics, case.turn
    is_async = case.mode == "asynchronous"
    held = max(math.floor(physics.memory_batch), 1)
    slots = spec.running_cap or (held if chosen.memory == "held" else MOST_SLOTS)
    return Config(
        problems=spec.problems,
        answers=spec.answers_per_problem,
        instances=turn.instances,
        slots=min(slots, spec.problems * spec.answers_per_problem * (spec.staleness_bound + 2)),
        step_s=physics.decode.fixed_s,
        step_s_per_sequence=physics.decode.sequence_s,
        step_s_per_kv_token=physics.decode.kv_token_s,
        kv_tokens=physics.kv_bytes / physics.kv_bytes_per_token,
        prefill_tokens_per_s=physics.prefill_tokens_per_s,
        train_s=turn.parts["training"],
        mode=case.mode,
        staleness=spec.staleness_bound,
        enforcement=ENFORCED[spec.enforcement] if is_async or spec.enforcement != "discard" else "none",
        swap=spec.new_weights if is_async else "keep",
        pause_s=turn.parts["weight_sync"],
        switch_s=turn.parts["switch"] / 2,
        oversample=0.0 if is_async else spec.oversampling,
        filtering=spec.filtering == "on" and spec.answers_per_problem > 1,
        scoring=_scoring(case),
        gpus_per_instance=spec.instance_gpus,
        trainer_gpus=spec.training_gpus,
    )


def _scoring(case: Case) -> Scoring:
    from sims.systems.rl_rollout import Scoring

    spec, service = case.base.spec, case.base.service
    if service.law is None:
        return Scoring()
    when = "group" if spec.scored == "batch" and case.mode == "asynchronous" else spec.scored
    if when == "batch" and spec.oversampling > 0:
        when = "group"
    return Scoring(
        servers=case.turn.pool.scorers,
        mean_s=spec.score_s,
        cv=spec.score_cv if spec.score_cv > NO_SPREAD else 0.0,
        timeout_s=math.inf if spec.score_timeout_s is None else spec.score_timeout_s,
        on_timeout=spec.timed_out,
        when=when,
    )


def problems_for(spec: RlRolloutSpec, *, trace: Workload | None) -> Problems:
    """The stream of answers that every mode gets."""
    from sims.systems.rl_rollout import Lengths, Measured, Problems

    lengths: Lengths | Measured
    law = law_of(spec, trace=trace)
    if law is not None:
        shares = (np.arange(DRAWN_SAMPLE) + 0.5) / DRAWN_SAMPLE
        lengths = Measured(np.maximum(np.rint(law.quantile(shares)), 1).astype(np.int64))
    else:
        lengths = Lengths(
            spec.output_tokens,
            cv=spec.length_cv if spec.length_cv > NO_SPREAD else 0.0,
            cap_tokens=math.ceil(spec.max_output_tokens),
        )
    return Problems(
        lengths,
        prompt_tokens=spec.prompt_tokens,
        chance_a=spec.success_alpha,
        chance_b=spec.success_beta,
    )


def failures_for(case: Case, *, chosen: Options) -> tuple[Failure, ...]:
    """The instance that is lost, if one is to be."""
    from sims.systems.rl_rollout import Failure

    if chosen.fail_at_s is None:
        return ()
    back_s = case.base.spec.restart_s if chosen.rejoin_s is None else chosen.rejoin_s
    return (Failure(0, at_s=chosen.fail_at_s, rejoin_s=back_s),)
