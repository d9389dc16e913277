"""Charts of a simulation, with the estimate drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import filled, numbers
from planner.core.wording import percent
from planner.kinds.rl_rollout.charts_staleness import by_age
from planner.kinds.rl_rollout.gantt import traces_of
from planner.kinds.rl_rollout.simulated_series import ACTIVITIES, COLOURS, ROLE_PARTS
from planner.kinds.rl_rollout.spec import RlRolloutSpec

IDLE = ("wait", "idle", "down")
FATES = ("trained_on", "discarded", "filtered", "aborted", "timed_out", "lost")


def charts(spec: RlRolloutSpec, estimate: Result, simulated: Result) -> Sequence[Chart]:
    """Modes, Gantt charts, ages, steps, roles, tokens and levels; those without data are left out."""
    del estimate  # its figures of each mode stand in the series of the run
    made = [
        _modes(spec, simulated),
        _gantt(
            simulated, "gantt", "Who does what, and who waits?", "The design over some steps: trainer and instances."
        ),
        _gantt(
            simulated,
            "gantt_modes",
            "How do the modes look over the same time?",
            "Trainer and two instances of each, on the same answers.",
        ),
        _ages(spec, simulated),
        _by_length(simulated),
        _steps(spec, simulated),
        _roles(simulated),
        _fates(simulated),
        _levels(simulated),
    ]
    return [chart for chart in made if chart is not None]


def _modes(spec: RlRolloutSpec, simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_modes")
    if series is None:
        return None
    names, steps = list(series.column("mode").values), numbers(series, "step_s")
    told = [f"{name} {show(step, 's')}" for name, step in zip(names, steps, strict=True)]
    return Chart(
        name="simulated_modes",
        title="How long is a step in each mode?",
        subtitle="Simulated on the same answers, with the estimate beside it.",
        form="bars",
        x=Axis("step", unit="s"),
        y=Axis("mode"),
        traces=(
            Trace("simulated", x=names, y=steps, low=numbers(series, "low_s"), high=numbers(series, "high_s")),
            Trace("estimate", x=names, y=numbers(series, "estimated_step_s"), order=1),
        ),
        limits=(Limit(spec.training_s, f"training alone {show(spec.training_s, 's')}", axis="x"),),
        summary="; ".join(told) + ".",
    )


def _gantt(simulated: Result, name: str, title: str, subtitle: str) -> Chart | None:
    series = filled(simulated, name)
    if series is None:
        return None
    traces = traces_of(series, activities=ACTIVITIES, colours=COLOURS, idle=IDLE)
    return Chart(
        name=name,
        title=title,
        subtitle=subtitle,
        form="gantt",
        x=Axis("simulated time", unit="s"),
        y=Axis("role"),
        traces=traces,
        summary="Stretches of time in which trainer and instances generate, train, take weights or wait.",
    )


def _ages(spec: RlRolloutSpec, simulated: Result) -> Chart | None:
    series = filled(simulated, "staleness_histogram")
    if series is None or not any(numbers(series, "share")):
        return None
    names, (shares, estimated) = by_age(series, "share", "estimated")
    beyond = simulated.value("staleness_beyond")
    late = "" if beyond is None else f" {percent(beyond)} of the answers are older than the bound allows."
    return Chart(
        name="staleness_histogram",
        title="How old are samples when they are trained on?",
        subtitle=f"Groups by the age of their oldest answer, in versions.{late}",
        form="bars",
        x=Axis("groups", unit="ratio", shown="%"),
        y=Axis("versions"),
        traces=(
            Trace("simulated", x=names, y=shares),
            Trace("estimate", x=names, y=estimated, order=1),
        ),
        summary=f"Shares of groups by age; the bound of the design is {spec.staleness_bound}.",
    )


def _by_length(simulated: Result) -> Chart | None:
    series = filled(simulated, "simulated_by_length")
    if series is None or not any(numbers(series, "age")):
        return None
    lengths = numbers(series, "tokens")
    return Chart(
        name="simulated_by_length",
        title="Are long answers staler?",
        subtitle="Mean age of the answers trained on, by eighths of the longest.",
        form="line",
        x=Axis("length", unit="tokens"),
        y=Axis("age", unit="versions"),
        traces=(
            Trace("simulated", x=lengths, y=numbers(series, "age")),
            Trace("estimate", x=lengths, y=numbers(series, "estimated"), order=1),
        ),
        summary="Age of answers by their length.",
    )


def _steps(spec: RlRolloutSpec, simulated: Result) -> Chart | None:
    series = filled(simulated, "step_times")
    if series is None:
        return None
    numbered = numbers(series, "step")
    return Chart(
        name="step_times",
        title="How even are the steps?",
        subtitle="Each training step, the warm-up included.",
        form="line",
        x=Axis("training step"),
        y=Axis("step", unit="s"),
        traces=tuple(
            Trace(column.label, x=numbered, y=numbers(series, column.name), order=min(order, 5))
            for order, column in enumerate(series.columns[1:])
        ),
        limits=(Limit(spec.training_s, f"training alone {show(spec.training_s, 's')}"),),
        summary="Time of each training step in each mode.",
    )


def _roles(simulated: Result) -> Chart | None:
    series = filled(simulated, "instance_time")
    if series is None:
        return None
    names = list(series.column("mode").values)
    traces = [
        Trace(part, x=names, y=numbers(series, part), order=min(order, 5), idle=part in IDLE)
        for order, part in enumerate(ROLE_PARTS)
    ]
    return Chart(
        name="instance_time",
        title="What do instances do with their time?",
        subtitle="Shares of the time of all instances. Decoding counts however small the batch is.",
        form="stacked",
        x=Axis("time", unit="ratio", shown="%"),
        y=Axis("mode"),
        traces=tuple(trace for trace in traces if any(trace.y)),
        summary="For each mode the share of time spent decoding, computing prompts, taking weights, training or idle.",
    )


def _fates(simulated: Result) -> Chart | None:
    series = filled(simulated, "token_fates")
    if series is None or not any(any(numbers(series, name)) for name in FATES[1:]):
        return None
    names = list(series.column("mode").values)
    traces = [
        Trace(name.replace("_", " "), x=names, y=numbers(series, name), order=min(order, 5), idle=order > 0)
        for order, name in enumerate(FATES)
    ]
    return Chart(
        name="token_fates",
        title="What becomes of the tokens?",
        subtitle="Of the measured steps. The tint was written for nothing.",
        form="stacked",
        x=Axis("tokens", unit="tokens"),
        y=Axis("mode"),
        traces=tuple(trace for trace in traces if any(trace.y)),
        summary="Tokens by mode: trained on, discarded, filtered, given up, timed out.",
    )


def _levels(simulated: Result) -> Chart | None:
    series = filled(simulated, "levels")
    if series is None:
        return None
    times = numbers(series, "at_s")
    return Chart(
        name="levels",
        title="What runs, and what waits?",
        subtitle="Answers over the steps that are drawn, in the mode of the design.",
        form="step",
        x=Axis("simulated time", unit="s"),
        y=Axis("answers", unit="answers"),
        traces=(
            Trace("running", x=times, y=numbers(series, "running")),
            Trace("waiting for room", x=times, y=numbers(series, "waiting"), order=1),
            Trace("being scored", x=times, y=numbers(series, "scoring"), order=2),
        ),
        summary="Running and waiting answers over time.",
    )
