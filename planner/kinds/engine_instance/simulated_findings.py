"""What a simulation tells in sentences: what binds, what was lost to it, and how far the figures hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.core.wording import percent
from planner.kinds.engine_instance.simulated import recomputed_share
from planner.kinds.engine_instance.steps import Served

if TYPE_CHECKING:
    from planner.kinds.engine_instance.simulated import Run
    from sims.systems.llm_serving import Outcome
    from sims.systems.llm_serving.timeline import Sample

NOTABLE = 0.01
"""Share of tokens computed twice from which that is a warning."""
FULL = 0.9
"""A pool this full has no room for another prompt; of the places, the share at which the limit counts as reached."""


def findings(run: Run, served: Served, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Iterator[Finding]:
    """All sentences of a run."""
    yield from _keeps_up(run, outcome=outcome)
    yield from _cut_short(outcome)
    yield from _missed(metrics)
    yield from _binds(served, outcome=outcome)
    yield from _preempted(outcome)
    yield from _refused(served, outcome=outcome)
    yield from _leaning(served)


def _keeps_up(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    if run.way != "poisson" or outcome.is_steady:
        return
    inside = [each.in_flight for each in outcome.samples] or [outcome.in_flight]
    yield Finding(
        code="not_steady",
        severity="error",
        message=(
            f"The replica did not reach a steady state: {inside[-1]:,} requests were in it at the end, after "
            f"{inside[len(inside) // 3]:,} at one third; {outcome.arrived:,} arrived. "
            "Latencies of this run are lower bounds."
        ),
        metric="ttft_p99_s",
    )


def _cut_short(outcome: Outcome) -> Iterator[Finding]:
    reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
    if outcome.ending == "budget":
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: its computing time was up.")
    elif outcome.ending == "full":
        many = f"{outcome.in_flight:,} requests in flight"
        yield Finding("cut_short", "warning", f"The run was cut at {reached}: {many} are more than it keeps.")
    elif outcome.in_flight and outcome.simulated_s > outcome.horizon_s:
        text = f"{outcome.in_flight:,} requests were still unfinished long after the last arrival."
        yield Finding("cut_short", "warning", text)


def _missed(metrics: Mapping[str, Metric]) -> Iterator[Finding]:
    for name in ("ttft_p99_s", "tpot_p99_s"):
        metric = metrics[name]
        if metric.met is False and metric.value is not None:
            text = (
                f"{metric.definition.label} is {show(metric.value, 's')}; "
                f"the objective is {show(metric.objective, 's')}."
            )
            yield Finding(f"{name.removesuffix('_p99_s')}_objective_missed", "warning", text, name)


def _binds(served: Served, *, outcome: Outcome) -> Iterator[Finding]:
    """What keeps waiting requests waiting: places or room, and which comes first."""
    held = [each for each in outcome.whole_line if each.waiting > 0]
    if not held:
        return
    by_places = [each for each in held if _running(each) >= FULL * served.all_running]
    by_room = [each for each in held if each.free_blocks <= (1.0 - FULL) * served.all_blocks]
    first = min((each[0].at_s for each in (by_places, by_room) if each), default=None)
    if first is None:
        return
    if by_places and by_places[0].at_s == first:
        yield _binding(outcome, by_places, code="running_cap_binds", what=_cap_words(served), change=_more(served))
    else:
        yield _binding(outcome, by_room, code="kv_pool_binds", what=_pool_words(served), change=None)


def _binding(
    outcome: Outcome, samples: list[Sample], *, code: str, what: str, change: dict[str, int] | None
) -> Finding:
    running = sum(_running(each) for each in samples) / len(samples)
    share = len(samples) / len(outcome.whole_line)
    return Finding(
        code=code,
        severity="warning",
        message=(
            f"{what} From {show(samples[0].at_s, 's')} on and for {percent(share)} of the run requests wait for it "
            f"while {show(running, 'requests')} run; at most {max(each.waiting for each in samples):,} wait."
        ),
        metric="ttft_mean_s",
        suggestion=None if change is None else "Let more requests run at once, and simulate again.",
        change=change,
    )


def _cap_words(served: Served) -> str:
    return f"The limit of {show(served.all_running, 'requests')} running binds before the KV pool does."


def _pool_words(served: Served) -> str:
    return (
        f"The KV pool of {show(served.all_kv_tokens, 'tokens')} binds before the limit of "
        f"{show(served.all_running, 'requests')} running does."
    )


def _more(served: Served) -> dict[str, int]:
    return {"max_num_seqs": 2 * served.most_running}


def _running(sample: Sample) -> int:
    return sample.running + sample.queued


def _preempted(outcome: Outcome) -> Iterator[Finding]:
    """Requests that had to give up their cache, and what that cost."""
    if not outcome.preempted:
        return
    share = recomputed_share(outcome)
    often = "once" if outcome.preempted == 1 else f"{outcome.preempted:,} times"
    yield Finding(
        code="preempted",
        severity="warning" if share >= NOTABLE else "info",
        message=(
            f"A running request gave up its cache {often} because the pool was full, and computed prompt and answer so "
            f"far again later: {outcome.preempted_tokens:,} tokens, {percent(share)} of what was computed in prompts."
        ),
        metric="preemptions",
    )


def _refused(served: Served, *, outcome: Outcome) -> Iterator[Finding]:
    if outcome.rejected:
        text = (
            f"{outcome.rejected:,} requests are longer than the KV pool of a rank ({served.kv_tokens:,} tokens); they "
            "were refused once and not tried again."
        )
        yield Finding("too_long_refused", "warning", text, "requests_rejected")


def _leaning(served: Served) -> Iterator[Finding]:
    if abs(served.tpot_factor - 1.0) < 0.005:
        return
    yield Finding(
        code="steps_lean",
        severity="info",
        message=(
            f"Steps take {served.tpot_factor:.2f} times what the formula says, and what passes outside them before a "
            f"first token {served.ttft_factor:.2f} times: the estimate leans on like measurements, and so does the run."
        ),
        metric="tpot_mean_s",
    )
