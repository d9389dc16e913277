"""What a simulation has shown, as metrics with intervals, findings and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Answer, Finding, Metric, MetricDef, Result, Series, order_findings
from planner.core.simulated import how_much, measured, nothing_ran, plain, provenance, unreliable
from planner.core.simulation import SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving import engine
from planner.kinds.llm_serving import simulated_losses as losses
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.loss_metrics import LOSS_METRICS
from planner.kinds.llm_serving.metrics import BY_NAME, LOAD, count, latency
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.simulation_options import Options
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.engine.interval import Interval
    from sims.systems.llm_serving import Outcome

RUN = _("Run")
_GAP = _("Gap between two tokens of an answer.")
ONLY_SIMULATED: tuple[MetricDef, ...] = (
    latency("itl_p50_s", _("ITL P50"), help=_GAP),
    latency("itl_p90_s", _("ITL P90"), help=_GAP),
    latency("itl_p99_s", _("ITL P99"), help=_GAP),
    latency("e2e_p50_s", _("Whole answer P50")),
    latency("e2e_p90_s", _("Whole answer P90")),
    latency("e2e_p99_s", _("Whole answer P99")),
    MetricDef(
        "goodput_share",
        _("Inside both objectives"),
        "ratio",
        "higher",
        LOAD,
        help=_("Of the requests answered, refused or lost."),
    ),
    MetricDef("decode_kv_used_share", _("KV pool in use, decode"), "ratio", "none", LOAD, help=_("Mean over time.")),
    MetricDef(
        "decode_rank_wait_share",
        _("Ranks wait for the slowest, decode"),
        "ratio",
        "lower",
        LOAD,
        help=_("Share of the decode steps' time: the slowest rank of a unit sets the step."),
    ),
    count(
        "requests_arrived",
        _("Requests arrived"),
        "requests",
        group=RUN,
        direction="none",
        help=_("Arrived = finished + refused + lost + in flight."),
    ),
    count("requests_finished", _("Requests finished"), "requests", group=RUN, direction="none"),
    count("requests_rejected", _("Requests refused"), "requests", group=RUN),
    count("requests_in_flight", _("Requests in flight at the end"), "requests", group=RUN, direction="none"),
    count("requests_restarted", _("Requests computed again"), "requests", group=RUN),
    *LOSS_METRICS,
    count(
        "requests_preempted",
        _("Times a full KV pool sent one back"),
        "requests",
        group=RUN,
        help=_("The last admitted gives its KV back and is computed again."),
    ),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{definition.name: definition for definition in ONLY_SIMULATED}}
QUANTILES = tuple((name, f"p{round(100 * q)}", q) for name in ("ttft", "tpot", "itl", "e2e") for q in (0.5, 0.9, 0.99))
FULL_STAYS = 20
"""In stays of a request; see `sims.systems.llm_serving.warm_up_s`."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was simulated."""

    spec: LlmServingSpec
    facts: Physics
    fleet: Fleet
    request: SimulationRequest
    chosen: Options
    catalog_digest: str
    stay_s: float
    """About how long a request stays."""
    closed_rps: float | None = None
    """What the clients of a closed loop reach by the estimate."""
    alike_tpot_p99_s: float | None = None
    """By the estimate, were all units alike; of a fleet in which some are slower."""

    @property
    def full_s(self) -> float:
        """How long a run lasts whose warm-up is not cut short."""
        return FULL_STAYS * self.stay_s

    def keeps_up(self, outcome: Outcome) -> bool:
        """Whether the fleet kept up; clients that wait for their answers cannot outrun it."""
        return self.chosen.is_closed or outcome.is_steady or self.still_fills(outcome)

    def still_fills(self, outcome: Outcome) -> bool:
        """Whether the run was over before the system was full: short, with more requests in the system from moment to
        moment, but no more than are in it by Little's law while answers meet their objective."""
        if outcome.is_steady or self.chosen.is_closed or outcome.horizon_s >= self.full_s:
            return False
        inside = outcome.samples[-1].in_flight if outcome.samples else outcome.in_flight
        return outcome.ending == "complete" and inside <= outcome.arrived_rps * self.stay_s

    @property
    def objectives(self) -> Mapping[str, float]:
        spec = self.spec
        return {"ttft_p99_s": spec.ttft_p99_slo_s, "tpot_p50_s": spec.tpot_slo_s, "tpot_p99_s": spec.tpot_slo_s}


def nothing_to_run(run: Run, *, arriving: bool) -> Finding | None:
    """Why there is nothing to simulate, if there is not."""
    if not arriving:
        return Finding("no_requests", "info", "No requests arrive, so there is nothing to measure.")
    if not run.fleet.decode.units or not (run.spec.is_aggregated or run.fleet.prefill.units):
        return Finding(
            "no_fleet",
            "error",
            "The design has no units for these requests: its peak rate or one of its lengths is zero.",
            suggestion="Set the peak rate and the lengths to those of the workload.",
        )
    if engine.kv_tokens(run.facts, chosen=run.chosen) < engine.ranks(run.spec, facts=run.facts):
        needed = run.facts.decode_memory.weights_bytes
        return Finding(
            "kv_does_not_fit",
            "error",
            f"Weights of {show(needed, 'bytes')} a GPU leave no memory for a KV cache, so no request can run.",
            suggestion="Use larger units, narrower weights or a GPU with more memory.",
        )
    return None


def empty(run: Run, *, finding: Finding) -> Result:
    """A result without requests: counts of zero and no latencies."""
    return nothing_ran(
        DEFINITIONS,
        unknown=[*(f"{name}_{rank}_s" for name, rank, _ in QUANTILES), "goodput_share"],
        finding=finding,
        metric="ttft_p99_s",
        request=run.request,
        catalog_digest=run.catalog_digest,
    )


def result(run: Run, *, outcome: Outcome) -> Result:
    """The whole answer of a finished run."""
    from sims.engine import kernel

    intervals = {f"{name}_{rank}_s": outcome.quantile(name, q=q) for name, rank, q in QUANTILES}
    intervals["ttft_mean_s"] = outcome.share(lambda rows: rows.ttft_sum_s, of=lambda rows: rows.ttft_n)
    intervals["goodput_share"] = outcome.share(
        lambda rows: rows.good, of=lambda rows: rows.finished + rows.rejected + rows.lost
    )
    objectives = run.objectives
    metrics = {
        name: measured(DEFINITIONS[name], interval=each, objective=objectives.get(name))
        for name, each in intervals.items()
    }
    metrics |= plain(DEFINITIONS, {**_loads(run, outcome=outcome), **_counts(outcome), **losses.figures(outcome)})
    return Result(
        metrics=metrics,
        answer=_answer(run, outcome=outcome, metrics=metrics),
        findings=order_findings(_findings(run, outcome=outcome, metrics=metrics, intervals=intervals)),
        series={series.name: series for series in _series(run, outcome=outcome)},
        provenance=provenance(
            run.request,
            workload=run.request.workload,
            outcome=outcome,
            catalog_digest=run.catalog_digest,
            code=kernel.source_digest(),
        ),
    )


def _loads(run: Run, *, outcome: Outcome) -> dict[str, float | None]:
    """Loads in the estimate's terms: work done over what the bought GPUs can do."""
    facts, fleet, rates = run.facts, run.fleet, outcome.rates
    if not rates:
        return {}
    prefill = rates["prefill_tokens_per_s"] / facts.prefill_tokens_per_s_per_gpu
    decode = rates["output_tokens_per_s"] / facts.decode_tokens_per_s_per_gpu
    share = outcome.share(lambda rows: rows.good, of=lambda rows: rows.finished + rows.rejected + rows.lost)
    kv = [sample.kv_tokens for sample in outcome.samples if sample.at_s >= outcome.warmup_s]
    loads: dict[str, float | None] = {
        "output_tokens_per_s": rates["output_tokens_per_s"],
        "decode_running_per_gpu": rates["running"] / fleet.decode.gpus,
        "decode_kv_used_share": sum(kv) / len(kv) / outcome.config.kv_tokens if kv else None,
        "goodput_rps": share.value * rates["finished_per_s"] if share else 0.0,
    }
    if run.spec.is_aggregated:
        # As in the estimate: a chunk of prefill also pays for the fixed part of the step it rides on.
        prefill /= 1 - min(facts.decode_fixed_s / run.spec.tpot_slo_s, 0.95)
    else:
        loads["decode_rank_wait_share"] = rates.get("rank_wait")
        loads["kv_transfer_bytes_per_s"] = rates["moved_tokens_per_s"] * facts.kv_bytes_per_token
    prefill_gpus = fleet.decode.gpus if run.spec.is_aggregated else fleet.prefill.gpus
    return {**loads, "prefill_utilisation": prefill / prefill_gpus, "decode_utilisation": decode / fleet.decode.gpus}


def _counts(outcome: Outcome) -> dict[str, float | None]:
    return {
        "requests_arrived": float(outcome.arrived),
        "requests_finished": float(outcome.finished),
        "requests_rejected": float(outcome.rejected),
        "requests_in_flight": float(outcome.in_flight),
        "requests_restarted": float(outcome.restarted),
        "requests_preempted": float(outcome.preempted),
        "simulated_s": outcome.simulated_s,
    }


def _answer(run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric]) -> Answer:
    ttft, tpot = metrics["ttft_p99_s"], metrics["tpot_p99_s"]
    good = metrics["goodput_share"].value
    if outcome.arrived > 0 and outcome.rejected == outcome.arrived:
        sentence = "**No request fits.** Each needs more KV than a rank of a unit has."
    elif not run.keeps_up(outcome):
        sentence = f"**The fleet does not keep up.** {_flows(outcome)} and latencies grow with the length of the run."
    elif ttft.value is None:
        sentence = "**Too short to measure.** No request was answered after the warm-up."
    else:
        verdict = "Both objectives are met" if ttft.met and tpot.met in (True, None) else "An objective is missed"
        verdict = "Too short to tell" if run.still_fills(outcome) else verdict
        sentence = f"**{verdict}**: TTFT P99 {show(ttft.value, 's')} against {show(run.spec.ttft_p99_slo_s, 's')}"
        if tpot.value is not None:
            sentence += f", TPOT P99 {show(tpot.value, 's')} against {show(run.spec.tpot_slo_s, 's')}"
        sentence += f"; {show(good, 'ratio')} of the requests are inside both." if good is not None else "."
    facts = ("tpot_p99_s", "goodput_share", "output_tokens_per_s")
    return Answer(
        metric="ttft_p99_s",
        sentence=sentence,
        note=how_much(outcome.finished, simulated_s=outcome.simulated_s, warmup_s=outcome.warmup_s),
        facts=facts,
        cost_metric=None,
    )


def _flows(outcome: Outcome) -> str:
    """What comes and what is answered in the last two thirds of the run, where requests pile up."""
    samples = outcome.samples
    begun, ended = (samples[len(samples) // 3], samples[-1]) if samples else (None, None)
    if begun is None or ended is None or ended.at_s <= begun.at_s:
        return "Requests pile up,"
    came, left = (
        (getattr(ended, name) - getattr(begun, name)) / (ended.at_s - begun.at_s) for name in ("arrived", "finished")
    )
    return f"{show(came, 'req/s')} come and {show(left, 'req/s')} are answered: requests pile up,"


def _findings(
    run: Run, *, outcome: Outcome, metrics: Mapping[str, Metric], intervals: Mapping[str, Interval | None]
) -> Sequence[Finding]:
    from planner.kinds.llm_serving import simulated_engines as engines
    from planner.kinds.llm_serving import simulated_findings as write

    return [
        *write.not_steady(run, outcome=outcome),
        *write.still_filling(run, outcome=outcome),
        *write.cut_short(outcome),
        *write.missed(metrics, steady=run.keeps_up(outcome)),
        *engines.findings(run, outcome=outcome, tpot=metrics["tpot_p99_s"]),
        *write.refused(outcome),
        *unreliable(intervals, definitions=DEFINITIONS),
        *write.other_workload(run, outcome=outcome),
        *write.rate_varied(run, outcome=outcome),
        *write.own_hits(run, outcome=outcome),
        *losses.findings(run, outcome=outcome, values=losses.figures(outcome)),
    ]


def _series(run: Run, *, outcome: Outcome) -> Sequence[Series]:
    from planner.kinds.llm_serving import simulated_series as tables

    return [
        tables.cdf(outcome, name="ttft", label="TTFT"),
        tables.cdf(outcome, name="tpot", label="TPOT"),
        tables.timeline(outcome, gpus=run.fleet.prefill.gpus or run.fleet.decode.gpus, facts=run.facts),
        *losses.tables(outcome),
    ]
