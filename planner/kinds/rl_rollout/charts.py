"""The pictures of a design, as neutral figures: modes side by side, over time, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.kinds.rl_rollout.charts_services import bill, scoring_pool, weight_sync
from planner.kinds.rl_rollout.charts_staleness import ages, by_length, knee
from planner.kinds.rl_rollout.charts_tail import batch_decay, cap, gains, lengths, sizes, split
from planner.kinds.rl_rollout.gantt import traces_of
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.series_timeline import ACTIVITIES, COLOURS
from planner.kinds.rl_rollout.spec import RlRolloutSpec
from planner.kinds.rl_rollout.turn import PARTS

PART_LABELS = {
    "training": "training",
    "generation": "waiting for generation",
    "scoring": "waiting for scores",
    "weight_sync": "weight sync",
    "switch": "role switch",
}
IDLE = ("waiting",)


def charts(spec: RlRolloutSpec, result: Result) -> Sequence[Chart]:
    """All charts of a design; those without data are left out."""
    made = [lengths(spec, result), weight_sync(result), bill(result)]
    if "modes" in result.series:
        made = [
            _modes(spec, result),
            timeline(result),
            knee(spec, result),
            sizes(spec, result),
            batch_decay(result),
            cap(spec, result),
            by_length(spec, result),
            ages(spec, result),
            split(spec, result),
            gains(spec, result),
            *made[:2],
            scoring_pool(result),
            _costs(spec, result),
            _cost_by_gpus(spec, result),
            made[2],
        ]
    return [chart for chart in made if chart is not None]


def _modes(spec: RlRolloutSpec, result: Result) -> Chart:
    series = result.series["modes"]
    modes, steps = list(series.column("mode").values), numbers(series, "step_s")
    # The mode of the design first: small pictures have room for one bar.
    rows = sorted(range(len(modes)), key=lambda row: modes[row] != MODE_LABELS[spec.mode])
    names = [modes[row] for row in rows]
    told = [f"{modes[row]} {show(steps[row], 's')}" for row in rows]
    parts = {part: numbers(series, f"{part}_s") for part in PARTS}
    traces = [
        Trace(PART_LABELS[part], x=names, y=[times[row] for row in rows], order=order, idle=part == "generation")
        for order, (part, times) in enumerate(parts.items())
    ]
    return Chart(
        name="modes",
        title="How long is a step in each mode?",
        subtitle="On the same GPUs. Parts as training sees them: what is hidden behind it does not count.",
        form="stacked",
        x=Axis("mode"),
        y=Axis("step", unit="s"),
        traces=tuple(trace for trace in traces if any(trace.y)),
        limits=(Limit(spec.training_s, f"training alone {show(spec.training_s, 's')}"),),
        summary="; ".join(told) + ".",
    )


def timeline(result: Result) -> Chart:
    """Two steps of each mode, a row a role."""
    series = result.series["timeline"]
    traces = traces_of(series, activities=ACTIVITIES, colours=COLOURS, idle=IDLE)
    return Chart(
        name="timeline",
        title="Who does what, and who waits?",
        subtitle="Two steps of each mode on the same GPUs, mean times. Longest answers: the last tenth still runs.",
        form="gantt",
        x=Axis("time", unit="s"),
        y=Axis("role"),
        traces=traces,
        summary="For each mode the stretches in which rollout and training generate, train, sync or wait.",
    )


def _costs(spec: RlRolloutSpec, result: Result) -> Chart | None:
    series = result.series["modes"]
    names, costs = list(series.column("mode").values), numbers(series, "cost_usd_per_useful_sample")
    if not any(costs):
        return None
    mine = MODE_LABELS[spec.mode]
    own: list[float | None] = [cost if name == mine else None for name, cost in zip(names, costs, strict=True)]
    others: list[float | None] = [None if name == mine else cost for name, cost in zip(names, costs, strict=True)]
    told = [f"{name} {show(cost, 'USD')}" for name, cost in zip(names, costs, strict=True)]
    return Chart(
        name="cost_per_useful_sample",
        title="What does a useful sample cost?",
        subtitle="An answer that is trained on, on the same GPUs; training and scoring are in the bill.",
        form="bars",
        x=Axis("cost", unit="USD"),
        y=Axis("mode"),
        traces=(Trace("this design", x=names, y=own), Trace("other modes", x=names, y=others, order=1)),
        summary="; ".join(told) + ".",
    )


def _cost_by_gpus(spec: RlRolloutSpec, result: Result) -> Chart | None:
    series = result.series["cost_by_gpus"]
    gpus, prices = numbers(series, "rollout_gpus"), numbers(series, "cost_usd_per_m_output_tokens")
    if not any(prices):
        return None
    now, here = result.value("cost_usd_per_m_output_tokens"), result.value("rollout_gpus") or 0.0
    extra = spec.mode == "colocated"
    at = here - spec.training_gpus if extra else here
    return Chart(
        name="cost_per_m_output_tokens",
        title="How many rollout GPUs are worth their price?",
        subtitle="The whole bill over the tokens trained on. Too few make training wait, too many stand idle.",
        form="line",
        x=Axis("GPUs beyond those of training" if extra else "rollout GPUs", unit="GPUs", start_at_zero=False),
        y=Axis("cost", unit="USD/M output tokens"),
        traces=(Trace("cost", x=gpus, y=prices),),
        marks=() if now is None else (Mark(at, now, f"this design {show(now, 'USD')}"),),
        summary=f"Price per million output tokens against the rollout GPUs; {show(now, 'USD/M output tokens')} here.",
        compare=True,
    )
