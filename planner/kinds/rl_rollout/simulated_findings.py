"""What a simulation of a rollout tells in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.simulated import GONE, utilisation, wasted_share
from planner.kinds.rl_rollout.simulated_system import Case

if TYPE_CHECKING:
    from planner.kinds.rl_rollout.simulated import Run
    from sims.systems.rl_rollout import Outcome

    Outcomes = Mapping[str, Outcome]

APART = 0.1
OFTEN = 0.5
_GROWING = 0.5
_SOME = 0.005


def findings(run: Run, *, cases: Sequence[Case], outcomes: Outcomes) -> Iterator[Finding]:
    """How the run ended first, then what the modes did."""
    case, outcome = cases[0], outcomes[cases[0].label]
    yield from _ending(outcome)
    yield from _cut(outcome)
    yield from _side_by_side(cases, outcomes)
    yield from _against_estimate(case, outcome)
    yield from _still_filling(case, outcome)
    yield from _preempted(outcome)
    yield from _thrown_away(outcome)
    yield from _lost(run, case, outcome)
    yield from _unreliable(outcome)


def _ending(outcome: Outcome) -> Iterator[Finding]:
    if outcome.ending == "stuck":
        yield Finding(
            code="stuck",
            severity="error",
            message=f"After {counted(outcome.steps, 'training step')} nothing could happen any more: no instance is "
            "left, or nearly all that is generated is thrown away.",
            metric="step_s",
        )
    elif outcome.ending == "budget":
        yield Finding(
            code="cut_short",
            severity="warning",
            message=f"The run was cut short after {counted(outcome.steps, 'training step')}: its time was up.",
            metric="step_s",
        )


def _cut(outcome: Outcome) -> Iterator[Finding]:
    if outcome.cut_share <= 0:
        return
    yield Finding(
        code="answers_cut",
        severity="warning",
        message=f"{percent(outcome.cut_share)} of the answers were cut because an instance cannot hold their KV.",
        metric="memory_answers",
    )


def _side_by_side(cases: Sequence[Case], outcomes: Outcomes) -> Iterator[Finding]:
    known = [(case, outcomes[case.label]) for case in cases if outcomes[case.label].step_s is not None]
    if len(known) < 2:
        return
    told = [
        f"{case.label} {show(each.step_s.value if each.step_s else None, 's')}, {percent(utilisation(case, each))} used"
        for case, each in known
    ]
    yield Finding(
        code="modes_simulated",
        severity="info",
        message=f"On the same answers: {'; '.join(told)}.",
        metric="step_s",
    )


def _against_estimate(case: Case, outcome: Outcome) -> Iterator[Finding]:
    step = outcome.step_s
    if step is None or abs(step.value / case.turn.step_s - 1) <= APART:
        return
    side = "longer" if step.value > case.turn.step_s else "shorter"
    yield Finding(
        code="apart_from_estimate",
        severity="warning",
        message=f"A simulated step of {show(step.value, 's')} is {percent(abs(step.value / case.turn.step_s - 1))} "
        f"{side} than estimated. The simulation counts what the estimate takes as steady: see the method.",
        metric="step_s",
    )


def _still_filling(case: Case, outcome: Outcome) -> Iterator[Finding]:
    age = outcome.mean_staleness
    if case.mode != "asynchronous" or age is None or age >= case.turn.mean_age - _GROWING:
        return
    yield Finding(
        code="still_filling",
        severity="info",
        message=f"Samples are {show(age, 'versions')} old on average where {show(case.turn.mean_age, 'versions')} are "
        "estimated: rollout is hardly faster than training, so that groups that wait gather over many more steps than "
        "these.",
        metric="staleness_mean",
        suggestion="More warm-up steps show where they come to rest.",
    )


def _preempted(outcome: Outcome) -> Iterator[Finding]:
    counts = outcome.counts
    each = counts["preempted"] / counts["ended"] if counts["ended"] else 0.0
    if each < OFTEN:
        return
    yield Finding(
        code="preempted",
        severity="info",
        message=f"An answer is put back {each:.2g} times as KV memory runs out, and {percent(_recomputed(outcome))} "
        "of the instances' time goes into computing what was lost.",
        metric="preemptions_per_answer",
        suggestion="A lower limit on running answers.",
    )


def _recomputed(outcome: Outcome) -> float:
    return outcome.instance_shares["recompute"]


def _thrown_away(outcome: Outcome) -> Iterator[Finding]:
    share = wasted_share(outcome)
    if share is None or share < _SOME:
        return
    fates = outcome.fates
    lost = {name: fates[name][1] for name in GONE} | {"masked": outcome.counts["masked_tokens"]}
    told = [f"{name.replace('_', ' ')} {show(tokens, 'tokens')}" for name, tokens in lost.items() if tokens]
    yield Finding(
        code="tokens_thrown_away",
        severity="info",
        message=f"{percent(share)} of the tokens are written for nothing: {', '.join(told)}.",
        metric="wasted_tokens",
    )


def _lost(run: Run, case: Case, outcome: Outcome) -> Iterator[Finding]:
    at_s = run.options.fail_at_s
    if at_s is None:
        return
    ends = outcome.rows["at_s"]
    struck = int((ends < at_s).sum())
    times = outcome.rows["at_s"][1:] - outcome.rows["at_s"][:-1]
    if not 0 < struck <= len(times):
        return
    usual = float(times[outcome.warmup_steps :].mean()) if len(times) > outcome.warmup_steps else float(times.mean())
    lost_tokens = outcome.fates["lost"][1]
    again = f" and {show(lost_tokens, 'tokens')} are written again" if lost_tokens else ""
    yield Finding(
        code="instance_lost",
        severity="info",
        message=f"An instance of {case.turn.instances:,} is lost in step {struck}: that step takes "
        f"{show(float(times[struck - 1]), 's')} where {show(usual, 's')} are usual{again}.",
        metric="step_longest_s",
    )


def _unreliable(outcome: Outcome) -> Iterator[Finding]:
    if outcome.measured_steps >= 10 or len(outcome.windows_s) > 1:
        return
    yield Finding(
        code="few_steps",
        severity="warning",
        message=f"{counted(outcome.measured_steps, 'measured step')}: the interval of a step is no more than a hint.",
        metric="step_s",
    )
