"""What a simulation tells in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.kinds.llm_serving.physics import own_cache_tokens
from planner.kinds.llm_serving.simulation_options import OWN_CACHES

if TYPE_CHECKING:
    from planner.kinds.llm_serving.simulated import Run
    from sims.systems.llm_serving import Outcome

ALIKE = 0.1
"""A trace within a tenth of the design's rate and lengths is the same workload."""


def not_steady(run: Run, *, outcome: Outcome) -> Sequence[Finding]:
    """The fleet fell behind."""
    if run.keeps_up(outcome):
        return []
    inside = [sample.in_flight for sample in outcome.samples] or [outcome.in_flight]
    message = (
        f"The system did not reach a steady state: {inside[-1]:,.0f} requests were in it at the end, after "
        f"{inside[len(inside) // 3]:,.0f} at one third; {outcome.arrived / outcome.replications:,.0f} arrived. "
        "Latencies of this run are lower bounds."
    )
    spare = max(1, run.fleet.decode.spare_units + 1)
    prefill_bound = bool(outcome.samples) and outcome.samples[-1].queued > outcome.samples[-1].waiting
    field = "spare_prefill_units" if prefill_bound and not run.spec.is_aggregated else "spare_decode_units"
    if field == "spare_prefill_units":
        spare = run.fleet.prefill.spare_units + 1
    unit = "prefill unit" if field == "spare_prefill_units" else "replica" if run.spec.is_aggregated else "decode unit"
    suggestion = f"One more {unit}, and simulate again."
    return [Finding("not_steady", "error", message, "ttft_p99_s", suggestion, {field: spare})]


def still_filling(run: Run, *, outcome: Outcome) -> Sequence[Finding]:
    """The run ended before the system was full."""
    if not run.still_fills(outcome):
        return []
    message = (
        f"The system was still filling when the run of {show(outcome.horizon_s, 's')} ended: a request stays up to "
        f"{show(run.stay_s, 's')}. A full system is slower than what was measured."
    )
    suggestion = f"Simulate {show(run.full_s, 's')} or longer."
    return [Finding("still_filling", "warning", message, "ttft_p99_s", suggestion)]


def cut_short(outcome: Outcome) -> Sequence[Finding]:
    """The run ended before its time."""
    if outcome.ending == "budget":
        reached = f"{show(outcome.simulated_s, 's')} of {show(outcome.horizon_s, 's')}"
        text = f"The run was cut at {reached}: its computing time was up."
        return [Finding("cut_short", "warning", text)]
    if outcome.ending == "full":
        many = f"{outcome.in_flight / outcome.replications:,.0f} requests in flight"
        text = f"The run was cut at {show(outcome.simulated_s, 's')}: {many} are more than it keeps."
        return [Finding("cut_short", "warning", text)]
    if outcome.in_flight and outcome.simulated_s > outcome.horizon_s:
        text = f"{outcome.in_flight:,} requests were still unfinished long after the last arrival."
        return [Finding("cut_short", "warning", text)]
    return []


def missed(metrics: Mapping[str, Metric], *, steady: bool) -> Sequence[Finding]:
    """Objectives that the simulation does not meet."""
    found = []
    for name in ("ttft_p99_s", "tpot_p99_s"):
        metric = metrics[name]
        if metric.met is False and metric.value is not None:
            over = "" if steady else " and still growing"
            limit = show(metric.objective, "s")
            text = f"{metric.definition.label} is {show(metric.value, 's')}{over}; the objective is {limit}."
            found.append(Finding(f"{name.removesuffix('_p99_s')}_objective_missed", "warning", text, name))
    return found


def refused(outcome: Outcome) -> Sequence[Finding]:
    """Requests that no unit can hold."""
    if not outcome.rejected:
        return []
    text = (
        f"{outcome.rejected:,} requests need more KV than a rank of a unit has "
        f"({outcome.config.most_tokens:,} tokens); they were refused once and not tried again."
    )
    return [Finding("too_long_refused", "warning", text, "requests_rejected")]


def other_workload(run: Run, *, outcome: Outcome) -> Sequence[Finding]:
    """The trace is not what the design was sized for: says so, and what the estimate beside it is of."""
    trace, spec = run.request.workload, run.spec
    if trace is None or not outcome.arrived or run.chosen.is_closed:
        return []
    came = (outcome.arrived_rps, float(trace.input_tokens.mean()), float(trace.output_tokens.mean()))
    sized = (spec.peak_rps, spec.input_tokens, spec.output_tokens)
    if all(abs(a - b) <= ALIKE * b for a, b in zip(came, sized, strict=True)):
        return []
    brought, asked = (
        f"{show(rate, 'req/s')} of {prompt:,.0f} input and {answer:,.0f} output tokens"
        for rate, prompt, answer in (came, sized)
    )
    text = (
        f"The run brought {brought} on average; the fleet was sized for {asked}. The estimate beside it is of the run."
    )
    return [Finding("workload_differs", "info", text)]


def own_hits(run: Run, *, outcome: Outcome) -> Sequence[Finding]:
    """What the units' own caches found, beside what one without limit would have."""
    found, trace = outcome.rates.get("prefix_hit_share"), run.request.workload
    if found is None or run.chosen.prefix_hits != OWN_CACHES:
        return []
    tokens = show(own_cache_tokens(run.spec, facts=run.facts), "tokens")
    owners = f"replicas, at most {tokens} each" if run.spec.is_aggregated else f"prefill units, {tokens} each"
    text = f"The caches of the {owners}, found {show(found, 'ratio')} of the input."
    if trace is not None and trace.cached_tokens is not None:
        most = float(trace.cached_tokens.sum() / trace.input_tokens.sum())
        text += f" One cache for all, without limit, would find {show(most, 'ratio')}, which the estimate takes."
    return [Finding("own_cache_hits", "info", text)]


def rate_varied(run: Run, *, outcome: Outcome) -> Sequence[Finding]:
    """Between which rates requests came, where they were drawn at a rate that changes."""
    chosen = run.chosen
    replays = chosen.replays(has_trace=run.request.workload is not None)
    if replays or (chosen.arrivals not in ("diurnal", "bursty") and chosen.spike_at_s is None):
        return []
    rates = [(b.arrived - a.arrived) / (b.at_s - a.at_s) for a, b in pairwise(outcome.samples) if b.at_s > a.at_s]
    if not rates:
        return []
    low, high, mean = (show(each, "req/s") for each in (min(rates), max(rates), outcome.arrived_rps))
    text = f"Between {low} and {high} came over the run; the estimate beside it is at the mean of {mean}."
    return [Finding("rate_varied", "info", text)]
