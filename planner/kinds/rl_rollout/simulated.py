"""What a simulation has shown, as metrics with intervals and the answer in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, Result, order_findings
from planner.core.simulated import measured, nothing_ran, plain, provenance
from planner.core.simulation import SimulationRequest, Workload
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.simulated_metrics import DEFINITIONS, UNKNOWN
from planner.kinds.rl_rollout.simulated_system import Case
from planner.kinds.rl_rollout.simulation_options import Options

if TYPE_CHECKING:
    from sims.systems.rl_rollout import Outcome

    Outcomes = Mapping[str, Outcome]

GONE = ("discarded", "filtered", "aborted", "timed_out", "lost")
"""Fates of tokens that nothing is trained on."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was simulated."""

    plan: Plan
    request: SimulationRequest
    options: Options
    catalog_digest: str
    warmup: int
    """Steps before."""
    steps: int
    """Measured ones."""
    trace: Workload | None


@dataclass(frozen=True, slots=True)
class _Made:
    """How a run was made, in the words of every kind."""

    warmup_s: float
    horizon_s: float
    events: int
    ending: str


def nothing_to_run(run: Run) -> Finding | None:
    """Why there is nothing to simulate, if there is not."""
    if run.plan.base.demand.trained <= 0:
        return Finding("no_requests", "info", "No problems, so there is nothing to generate.")
    if not run.plan.fits:
        return Finding("does_not_fit", "error", "An instance does not hold the weights and an answer: nothing runs.")
    held = run.plan.base.physics.kv_bytes / run.plan.base.physics.kv_bytes_per_token
    if run.plan.spec.prompt_tokens + 1 > held:
        return Finding("prompt_does_not_fit", "error", "An instance does not hold the KV of a prompt: nothing runs.")
    return None


def empty(run: Run, *, finding: Finding) -> Result:
    """A result without answers: counts of zero and no times."""
    return nothing_ran(
        DEFINITIONS,
        unknown=UNKNOWN,
        finding=finding,
        metric="step_s",
        request=run.request,
        catalog_digest=run.catalog_digest,
    )


def result(run: Run, *, cases: Sequence[Case], outcomes: Outcomes) -> Result:
    """The whole answer of finished runs; the first is of the design's own mode."""
    from planner.kinds.rl_rollout import simulated_findings, simulated_series
    from sims.engine import kernel

    case, outcome = cases[0], next(iter(outcomes.values()))
    metrics = figures(run, case=case, outcome=outcome)
    return Result(
        metrics=metrics,
        answer=_answer(run, outcome=outcome, metrics=metrics),
        findings=order_findings(tuple(simulated_findings.findings(run, cases=cases, outcomes=outcomes))),
        series={series.name: series for series in simulated_series.all_series(run, cases=cases, outcomes=outcomes)},
        provenance=_provenance(run, outcome=outcome, code=kernel.source_digest()),
    )


def _provenance(run: Run, *, outcome: Outcome, code: str) -> dict[str, object]:
    rows = outcome.rows
    made = _Made(
        warmup_s=float(rows[outcome.warmup_steps].at_s) if len(rows) > outcome.warmup_steps else 0.0,
        horizon_s=outcome.simulated_s,
        events=outcome.events,
        ending=outcome.ending,
    )
    return provenance(run.request, workload=run.trace, outcome=made, catalog_digest=run.catalog_digest, code=code)


def figures(run: Run, *, case: Case, outcome: Outcome) -> dict[str, Metric]:
    """The metrics of one run, in the estimate's terms."""
    spec = run.plan.spec
    limit_s = spec.training_s * (1 + spec.allowed_slowdown)
    found = {"step_s": measured(DEFINITIONS["step_s"], interval=outcome.step_s, objective=limit_s)}
    found |= plain(
        DEFINITIONS,
        {
            "rollout_gpus": float(case.turn.rollout_gpus),
            "rollout_instances": float(case.turn.instances),
            **_parts(case, outcome),
            **_roles(case, outcome),
            **_ages(outcome),
            **_scores(outcome),
            **_money(run, case=case, outcome=outcome),
            **_counts(outcome),
        },
    )
    return found


def _parts(case: Case, outcome: Outcome) -> dict[str, float | None]:
    parts, times = outcome.parts_s, outcome.step_times_s
    if not parts:
        return {}
    together = case.mode == "colocated"
    waits = parts["wait"] if "wait" in parts else parts["generate"]
    return {
        "step_training_s": parts["train"],
        "step_generation_s": waits,
        "step_scoring_s": 0.0 if "wait" in parts else parts["score"],
        "step_weight_sync_s": 0.0 if together else parts["other"],
        "step_switch_s": parts["other"] if together else 0.0,
        "generation_s": parts.get("generate"),
        "training_slowdown": float(times.mean()) / case.base.spec.training_s - 1,
        "step_longest_s": float(times.max()),
        "steps_measured": float(outcome.measured_steps),
    }


def utilisation(case: Case, outcome: Outcome) -> float:
    """Tokens written over the full rate of all rollout GPUs."""
    physics = case.base.physics
    return outcome.utilisation(physics.full_rate * physics.gpus)


def _roles(case: Case, outcome: Outcome) -> dict[str, float | None]:
    used = utilisation(case, outcome)
    generate_s, step = outcome.parts_s.get("generate"), outcome.step_s
    while_s = None
    if generate_s and step is not None and case.mode != "asynchronous":
        while_s = min(used * step.value / generate_s, 1.0)
    scoring = outcome.scoring_share
    running = outcome.mean_running / case.turn.instances
    return {
        "utilisation": used,
        "generation_utilisation": while_s,
        "rollout_idle": 1 - used,
        "trainer_idle": 1 - outcome.trainer_shares["train"],
        "scorer_idle": None if scoring is None else 1 - scoring,
        # Taken in turns it is a mean over decode steps in the estimate, and one over time here.
        **({"running_per_instance": running} if case.mode == "asynchronous" else {}),
    }


def _ages(outcome: Outcome) -> dict[str, float | None]:
    counts = outcome.counts
    groups = counts["groups_consumed"] + counts["groups_discarded"]
    ended = groups + counts["groups_filtered"]
    return {
        "staleness_mean": outcome.mean_staleness,
        "token_staleness_mean": outcome.mean_token_staleness,
        "staleness_beyond": outcome.late_share,
        "discarded_share": counts["groups_discarded"] / groups if groups else None,
        "filtered_share": counts["groups_filtered"] / ended if ended else None,
        "wasted_tokens": wasted_share(outcome),
        "share_at_cap": outcome.capped_share,
        "preemptions_per_answer": counts["preempted"] / counts["ended"] if counts["ended"] else None,
        "kv_recompute_share": outcome.instance_shares["recompute"],
    }


def wasted_share(outcome: Outcome) -> float | None:
    """Tokens that nothing is trained on, those masked among them."""
    gone, whole = outcome.token_share(*GONE), sum(tokens for _, tokens in outcome.fates.values())
    return None if gone is None else gone + outcome.counts["masked_tokens"] / whole


def _scores(outcome: Outcome) -> dict[str, float | None]:
    counts = outcome.counts
    scored = counts["ended"]
    return {
        "answers_per_s": scored / outcome.window_s if outcome.window_s > 0 else None,
        "score_timeout_share": counts["timeouts"] / scored if scored else None,
        "scorers_busy": outcome.mean_scoring,
        "score_wait_mean_s": outcome.mean_score_wait_s,
    }


def useful_per_step(outcome: Outcome) -> float:
    """Answers trained on in a step."""
    return outcome.useful_answers / outcome.measured_steps if outcome.measured_steps else 0.0


def _money(run: Run, *, case: Case, outcome: Outcome) -> dict[str, float | None]:
    step = outcome.step_s
    if step is None:
        return {}
    usd = bill_usd_per_h(run, case=case) * step.value / 3600
    useful = useful_per_step(outcome)
    return {
        "useful_samples_per_gpu_h": useful * 3600 / (step.value * case.turn.all_gpus),
        "cost_usd_per_step": usd,
        "cost_usd_per_useful_sample": usd / useful if useful > 0 else None,
    }


def bill_usd_per_h(run: Run, *, case: Case) -> float:
    """Both roles and the scorers of a mode."""
    from planner.kinds.rl_rollout.bill import bill_of

    compared = run.plan.comparison
    trains = run.plan.spec.training_gpus if case.mode == run.plan.spec.mode else compared.training_gpus
    return bill_of(case.base, turn=case.turn, training_gpus=trains).usd_per_h


def _counts(outcome: Outcome) -> dict[str, float | None]:
    fates = outcome.fates
    return {
        "requests_in_flight_before": float(outcome.open_at(outcome.warmup_steps)),
        "requests_arrived": outcome.window("opened"),
        "requests_finished": float(fates["trained_on"][0]),
        "requests_rejected": float(sum(fates[name][0] for name in GONE)),
        "requests_in_flight": float(outcome.open_at(outcome.steps)),
        "simulated_s": outcome.simulated_s,
    }


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    step, age = metrics["step_s"], metrics["staleness_mean"].value
    mode = MODE_LABELS[run.plan.spec.mode].lower()
    if step.value is None:
        sentence = "**Too short to measure.** No training step ended after the warm-up."
    else:
        verdict = "Training is not slowed" if step.met else "Training is slowed"
        used = metrics["utilisation"].value or 0.0
        sentence = (
            f"**{verdict}**: {mode}, a step takes {show(step.value, 's')} against {show(step.objective, 's')}; rollout "
            f"is {percent(used)} used and samples are {show(age or 0.0, 'versions')} old."
        )
    note = (
        f"{counted(outcome.measured_steps, 'step')} of {run.plan.base.demand.trained:,.0f} answers; the first "
        f"{outcome.warmup_steps:,} are warm-up and not counted."
    )
    facts = ("utilisation", "trainer_idle", "staleness_mean", "staleness_beyond", "wasted_tokens")
    return Answer(metric="step_s", sentence=sentence, note=note, facts=facts, cost_metric=None)
