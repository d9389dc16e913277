"""The answer of a design: one sentence, figures, findings and series."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.result import Answer, Evidence, LazySeries, Result
from planner.core.wording import counted
from planner.kinds.llm_serving import nearest
from planner.kinds.llm_serving.figures import metrics, ttft_parts
from planner.kinds.llm_serving.findings import findings
from planner.kinds.llm_serving.fleet import Role
from planner.kinds.llm_serving.plan import Plan, plan_of
from planner.kinds.llm_serving.series import all_series
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.words import percent

FACTS = (
    "nodes",
    "gpus",
    "cost_usd_per_h",
    "cost_usd_per_month",
    "ttft_p99_s",
    "tpot_p99_s",
    "decode_left_after_unit_loss",
)


def estimate(spec: LlmServingSpec, catalog: Catalog) -> Result:
    """Size the fleet for its peak, check memory, links and latency, and say what binds."""
    return answer(plan_of(spec, catalog=catalog), catalog=catalog)


def answer(made: Plan, *, catalog: Catalog) -> Result:
    """A worked design as the surfaces take it."""
    spec = made.spec
    return Result(
        metrics=metrics(made),
        answer=Answer(
            metric="cost_usd_per_m_output_tokens",
            sentence=_sentence(made),
            note=f"at the {spec.peak_rps:,g} req/s peak, rates {spec.rate_mode}",
            facts=FACTS,
        ),
        findings=findings(made),
        series=LazySeries(lambda: all_series(made, catalog=catalog)),
        provenance=_provenance(made, catalog=catalog),
        evidence=_evidence(made, catalog=catalog),
    )


def _evidence(made: Plan, *, catalog: Catalog) -> tuple[Evidence, ...]:
    derived, parts = made.physics.derived, ttft_parts(made)
    return nearest.evidence(
        made.spec,
        derived.pools,
        tpot_s=derived.decode_batch_per_gpu / derived.decode_tokens_per_s_per_gpu,
        tokens_per_s_per_gpu=derived.decode_tokens_per_s_per_gpu,
        ttft_s=sum(parts.values()) if parts else None,
        catalog=catalog,
    )


def _sentence(made: Plan) -> str:
    fleet, spec = made.fleet, made.spec
    if spec.peak_rps <= 0 or not fleet.gpus:
        return "**No load**: nothing is needed."
    nodes = f"**{counted(fleet.nodes, 'node')}**"
    if not made.fits_weights:
        return f"**No fleet of these units works**: {made.llm.name} does not fit the memory of a unit."
    if not made.is_stable and spec.output_tokens > 0:
        return f"**Unstable**: {nodes} **cannot carry {spec.peak_rps:,g} req/s**, queues grow without end."
    binding = made.binding_role or "decode"
    role = next((role for role in fleet.roles if role.name == binding), fleet.decode)
    room = 1 - (role.utilisation or 0.0)
    binds = "the replicas bind" if role.name == "replica" else f"{role.name} binds first"
    carry = "carries" if fleet.nodes == 1 else "carry"
    return (
        f"{nodes} {carry} the peak {_objectives(made)}, with {percent(room)} of {role.capacity_words} to spare; "
        f"{binds}, on {made.bottleneck}. {_survival(made)}"
    )


def _objectives(made: Plan) -> str:
    spec = made.spec
    ttft, tpot = made.latencies.ttft_s["p99"], made.latencies.tpot_s["p99"]
    first = ttft is not None and ttft <= spec.ttft_p99_slo_s
    rest = tpot is None or tpot <= spec.tpot_slo_s * (1 + 1e-9)
    if first and rest:
        return "inside both latency objectives"
    if not first and not rest:
        return "but **miss both latency objectives**"
    return "but **miss the TTFT objective**" if not first else "but **miss the TPOT objective**"


def _survival(made: Plan) -> str:
    alone = made.fleet.nodes == 1
    lost = [role for role in made.fleet.roles if role.survives_one is False]
    if not lost:
        return f"{'It survives' if alone else 'They survive'} the loss of any one unit."
    names = " or of ".join(_what_is_lost(role) for role in lost)
    return f"{'It **does' if alone else 'They **do'} not survive the loss of {names}**."


def _what_is_lost(role: Role) -> str:
    if role.together > 1:
        return f"a node of {role.noun}s"
    return f"a {role.noun}"


def _hardware(made: Plan) -> str:
    """The GPUs by name."""
    if made.spec.is_aggregated or made.gpu.slug == made.decode_gpu.slug:
        return made.decode_gpu.name
    return f"{made.gpu.name} for prefill, {made.decode_gpu.name} for decode"


def _provenance(made: Plan, *, catalog: Catalog) -> dict[str, object]:
    spec = made.spec
    return {
        "catalog_digest": catalog.digest,
        "catalog_as_of": catalog.as_of,
        "spec_version": spec.version,
        "rates": "stated in the spec" if spec.rate_mode == "assumed" else "calibrations/roofline.toml",
        "llm": made.llm.source,
        "draft_layers": made.llm.mtp_layers,
        "hardware": _hardware(made),
        "gpu": {name: figure.source for name, figure in made.gpu.figures.items()},
        **nearest.provenance(made.physics.derived.pools, catalog=catalog),
        "calibration": catalog.calibration("roofline").get("source", ""),
    }
