"""What a simulation tells of the engines in sentences: what binds in them, slower units, and clients that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.core import engine_findings
from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.core.wording import counted, percent
from planner.kinds.llm_serving import engine

if TYPE_CHECKING:
    from planner.kinds.llm_serving.simulated import Run
    from sims.systems.llm_serving import Outcome


def findings(run: Run, *, outcome: Outcome, tpot: Metric) -> Iterator[Finding]:
    """All sentences about the engines of a run."""
    yield from engine_findings.binds(limits(run, outcome=outcome), outcome=outcome, metric="ttft_p99_s")
    yield from engine_findings.preempted(outcome, metric="requests_preempted")
    yield from _slower_units(run, tpot=tpot)
    yield from _other_pool(run)
    yield from _clients(run, outcome=outcome)


def limits(run: Run, *, outcome: Outcome) -> engine_findings.Limits:
    """What all engines hold together."""
    config = outcome.config
    if not config.aggregated:
        return engine_findings.Limits(config.kv_tokens)
    engines = config.decode_units * config.prefill_ranks
    cap = run.chosen.max_running
    running = None if cap is None else engines * engine.most_running(run.facts, chosen=run.chosen)
    return engine_findings.Limits(config.kv_tokens, running, engines * config.engine_blocks)


def _slower_units(run: Run, *, tpot: Metric) -> Iterator[Finding]:
    if run.chosen.odd_units is None:
        return
    role, odd, speed = run.fleet.decode, int(run.chosen.odd_units), run.chosen.odd_speed
    text = (
        f"{odd:,} of {counted(role.units, role.noun)} {'runs' if odd == 1 else 'run'} at {percent(speed)} of the speed."
    )
    if tpot.value is not None and run.alike_tpot_p99_s is not None:
        text += (
            f" TPOT P99 is {show(tpot.value, 's')}; the estimate, which takes all as alike, says "
            f"{show(run.alike_tpot_p99_s, 's')}."
        )
    text += (
        " Ranks wait for each other within a unit only. The least loaded is chosen by what a token of load costs a "
        "unit, so a slower one is sent less; in turn all get the same."
    )
    yield Finding("units_differ", "info", text, "tpot_p99_s")


def _other_pool(run: Run) -> Iterator[Finding]:
    if run.chosen.kv_tokens is None:
        return
    given, ours = run.chosen.kv_tokens, run.facts.kv_tokens_per_decode_unit
    text = (
        f"A unit has {show(given, 'tokens')} of KV as given; by the memory of its GPUs it is {show(ours, 'tokens')}, "
        "which the estimate takes."
    )
    yield Finding("kv_pool_given", "info", text, "decode_kv_used_share")


def _clients(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    if run.closed_rps is None:
        return
    found = outcome.rates.get("finished_per_s")
    clients = counted(run.chosen.clients, "client")
    pause = f" with a pause of {show(run.chosen.think_s, 's')}" if run.chosen.think_s else ""
    got = "" if found is None else f" reached {show(found, 'req/s')}"
    text = (
        f"{clients}{pause}{got}; the estimate beside is at {show(run.closed_rps, 'req/s')}, which they reach "
        "if each answer takes as long as it says."
    )
    yield Finding("closed_loop", "info", text)
