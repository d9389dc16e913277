"""The answer of a design: one sentence, figures, findings and series."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Answer, LazySeries, Result
from planner.core.wording import counted, percent
from planner.kinds.multi_lora.figures import metrics
from planner.kinds.multi_lora.findings import findings
from planner.kinds.multi_lora.plan import Plan, plan_of
from planner.kinds.multi_lora.series import all_series
from planner.kinds.multi_lora.spec import MultiLoraSpec
from planner.kinds.multi_lora.steps import LAUNCHES
from planner.kinds.multi_lora.words import loaded, times

FACTS = (
    "cost_usd_per_h",
    "cost_usd_per_m_output_tokens",
    "ttft_p99_s",
    "tpot_s",
    "gpu_hit_share",
    "step_factor",
    "resident_adapters",
)

SOURCES = {
    "swap_and_store": "vLLM pull requests 31250, 31317 and 31941; SGLang pull request 20875; LoRAX issue 433; Amazon "
    "S3 performance guidelines",
    "gathering_kernels": "S-LoRA, arXiv 2311.03285, and the results in its repository",
    "engine_generation": "vLLM pull request 11267",
    "fair_counters": "Fairness in Serving Large Language Models, arXiv 2401.00588",
    "shares_of_peaks": "estimate: what good decode and prefill kernels reach; inputs of the design",
}
"""Where the figures come from that a design takes without being told."""


def estimate(spec: MultiLoraSpec, catalog: Catalog) -> Result:
    """Size the replicas, say what adapters cost them, and what binds and breaks."""
    return answer(plan_of(spec, catalog=catalog))


def answer(made: Plan) -> Result:
    """A worked design as the surfaces take it."""
    spec = made.spec
    return Result(
        metrics=metrics(made),
        answer=Answer(
            metric="replicas",
            sentence=_sentence(made),
            note=f"at {spec.requests_per_s:,.10g} req/s over {counted(spec.adapters, 'adapter')} of "
            f"{made.parts.base.llm.name}",
            facts=FACTS,
        ),
        findings=findings(made),
        series=LazySeries(lambda: all_series(made)),
        provenance=_provenance(made),
    )


def _sentence(made: Plan) -> str:
    spec, fleet, found = made.spec, made.fleet, made.latency
    if not made.parts.adapter.exists:
        return "**There is nothing to adapt**: the LLM has none of the matrices named."
    if made.replica.best.rate_rps <= 0:
        return "**No number of replicas works**: one cannot serve a single request as it is set."
    if spec.requests_per_s <= 0:
        return f"**No load**: {counted(fleet.replicas, 'replica')} wait for requests."
    replicas = f"**{counted(fleet.replicas, 'replica')}**"
    if found is None:
        return (
            f"{replicas} **cannot keep up** with {show(fleet.rate_rps, 'req/s')}: at most "
            f"{show(fleet.full_rps, 'req/s')} are served, and queues grow without end."
        )
    serve = "serves" if fleet.replicas == 1 else "serve"
    factor = times(found.replica.step(found.running).factor)
    return (
        f"{replicas} {serve} {show(fleet.rate_rps, 'req/s')}, {loaded(fleet.utilisation or 0.0)}; "
        f"{percent(made.tiers.gpu)} of the requests find their adapter on the GPU, and adapters make a step {factor} "
        f"the base's. {_waits(made)}"
    )


def _waits(made: Plan) -> str:
    found = made.latency
    if found is None or found.waits is None:
        return "**Some adapters never get a slot.**"
    p99 = found.quantile_s(0.99)
    if found.waits.mean_s > made.loading.swap_s:
        return (
            f"Slots are too few: **requests wait {show(found.waits.mean_s, 's')} for one**, TTFT P99 {show(p99, 's')}."
        )
    return f"TTFT P99 {show(p99, 's')}."


def _provenance(made: Plan) -> dict[str, object]:
    launch = LAUNCHES[made.spec.launches]
    return {
        "catalog_digest": made.catalog.digest,
        "catalog_as_of": made.catalog.as_of,
        "spec_version": made.spec.version,
        "llm": made.parts.base.llm.source,
        "gpu": {name: figure.source for name, figure in made.parts.base.gpu.figures.items()},
        "kernel_launches": launch.source,
        **SOURCES,
    }
