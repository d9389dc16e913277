"""Pictures of the tail: lengths, the decaying batch, what more GPUs and a shorter cap do, and the split."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import percent
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.spec import RlRolloutSpec


def lengths(spec: RlRolloutSpec, result: Result) -> Chart:
    """Answers and tokens by length."""
    series = result.series["lengths"]
    points = numbers(series, "tokens")
    longest = result.value("longest_tokens") or 0.0
    return Chart(
        name="lengths",
        title="Where are the tokens?",
        subtitle=f"Share of answers, and of their tokens, in answers no longer. The longest of a step has "
        f"{longest:,.0f}.",
        form="line",
        x=Axis("length", unit="tokens"),
        y=Axis("share up to this length", unit="ratio", shown="%"),
        traces=(
            Trace("answers", x=points, y=numbers(series, "answers")),
            Trace("tokens", x=points, y=numbers(series, "written"), order=1),
        ),
        limits=(Limit(spec.output_tokens, f"mean {spec.output_tokens:,g}", axis="x"),),
        summary=f"Cumulative shares by length; {percent(result.value('share_at_cap') or 0.0)} end at the cap.",
    )


def batch_decay(result: Result) -> Chart:
    """A synchronous step of one instance."""
    series = result.series["batch_decay"]
    times = numbers(series, "elapsed_s")
    running = numbers(series, "running")
    half = next((t for t, share in zip(times, running, strict=True) if (share or 0.0) < 0.1), times[-1])
    whole = times[-1] or 1.0
    return Chart(
        name="batch_decay",
        title="How does a synchronous step empty?",
        subtitle=f"One instance: after {percent((half or 0.0) / whole)} of the time less than a tenth of its answers "
        "still runs.",
        form="line",
        x=Axis("since the start", unit="s"),
        y=Axis("share", unit="ratio", shown="%"),
        traces=(
            Trace("answers still running", x=times, y=running),
            Trace("utilisation", x=times, y=numbers(series, "utilisation"), order=1),
        ),
        summary=f"Running answers fall below a tenth after {show(half, 's')} of {show(whole, 's')}.",
    )


def sizes(spec: RlRolloutSpec, result: Result) -> Chart:
    """The step against the rollout GPUs."""
    series = result.series["step_by_gpus"]
    gpus = numbers(series, "rollout_gpus")
    names = ("synchronous", "one_step_off", "asynchronous")
    step, here = result.value("step_s"), result.value("rollout_gpus")
    marks: tuple[Mark, ...] = ()
    if step is not None and here is not None and spec.mode != "colocated":
        marks = (Mark(here, step, f"this design {show(step, 's')}", order=names.index(spec.mode)),)
    return Chart(
        name="step_by_gpus",
        title="Do more rollout GPUs help?",
        subtitle="Training GPUs stay. Once the longest answer binds, doubling the rollout gains almost nothing.",
        form="line",
        x=Axis("rollout GPUs", unit="GPUs", log=True, start_at_zero=False),
        y=Axis("step", unit="s"),
        traces=(
            *(
                Trace(MODE_LABELS[name], x=gpus, y=numbers(series, name), order=order)
                for order, name in enumerate(names)
            ),
            Trace("longest answer, then training", x=gpus, y=numbers(series, "floor"), order=-1),
            Trace("training alone", x=gpus, y=[spec.training_s] * len(gpus), order=3),
        ),
        marks=marks,
        summary="Step time against rollout GPUs for three modes, with the floor of the synchronous one.",
    )


def cap(spec: RlRolloutSpec, result: Result) -> Chart | None:
    """Synchronous utilisation against the cap."""
    series = result.series["utilisation_by_cap"]
    caps = numbers(series, "cap_tokens")
    if len(caps) < 2:
        return None
    return Chart(
        name="utilisation_by_cap",
        title="What does the cap decide?",
        subtitle="Utilisation of a synchronous generation on the same GPUs, mean length kept; and answers cut off.",
        form="line",
        x=Axis("cap", unit="tokens", log=True, start_at_zero=False),
        y=Axis("share", unit="ratio", shown="%"),
        traces=(
            Trace("utilisation while generating", x=caps, y=numbers(series, "utilisation")),
            Trace("answers cut off", x=caps, y=numbers(series, "share_at_cap"), order=1),
        ),
        limits=(Limit(spec.max_output_tokens, f"cap {spec.max_output_tokens:,g}", axis="x"),),
        summary="Utilisation falls as the cap rises, because the longest answer reaches it.",
    )


def split(spec: RlRolloutSpec, result: Result) -> Chart | None:
    """Both roles against the training GPUs."""
    series = result.series["split"]
    gpus = numbers(series, "training_gpus")
    if len(gpus) < 2:
        return None
    best = result.value("best_training_gpus")
    found = () if best is None else (Limit(best, f"best {best:,.0f}", axis="x"),)
    whole = (gpus[-1] or 0.0) + spec.instance_gpus
    return Chart(
        name="split",
        title="How many GPUs should train?",
        subtitle=f"Time of each role with its part of {whole:,.0f} GPUs. Where training and generation cross, neither "
        "waits.",
        form="line",
        x=Axis("training GPUs", unit="GPUs"),
        y=Axis("time of a step's work", unit="s", shown="min", log=True, start_at_zero=False),
        traces=(
            Trace("training", x=gpus, y=numbers(series, "training_s")),
            Trace("generation, asynchronous", x=gpus, y=numbers(series, "generation_s"), order=1),
            Trace("generation, synchronous", x=gpus, y=numbers(series, "synchronous_s"), order=2),
        ),
        limits=found,
        summary="Training falls and generation rises with the training GPUs.",
    )


def gains(spec: RlRolloutSpec, result: Result) -> Chart | None:
    """What asynchrony gains over co-location, by how training scales."""
    series = result.series["gain_by_exponent"]
    exponents, found = numbers(series, "train_exponent"), numbers(series, "gain")
    known = [gain for gain in found if gain is not None]
    if len(known) < 2:
        return None
    return Chart(
        name="gain_by_exponent",
        title="What does asynchrony gain over taking turns?",
        subtitle=f"Steps an hour on as many GPUs, best split: {min(known):.3g} to {max(known):.3g}. One "
        "measured time of training leaves this range.",
        form="line",
        x=Axis("training speeds up with GPUs to the power", start_at_zero=False),
        y=Axis("gain", unit="×"),
        traces=(Trace("asynchronous over co-located", x=exponents, y=found),),
        limits=(Limit(1.0, "no gain"), Limit(spec.train_exponent, f"this design {spec.train_exponent:g}", axis="x")),
        summary=f"Gain from {found[0] or 0.0:.3g} at a power of {exponents[0]:g} to {found[-1] or 0.0:.3g} at 1.",
    )
