"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core import ignored
from planner.core.result import Finding
from planner.kinds.llm_serving.plan import Plan

_DERIVED = ("prefill_tokens_per_s_per_gpu", "decode_tokens_per_s_per_gpu", "rate_uncertainty")
_OF_HANDOVER = ("handover_fixed_s", "nic_efficiency")
_OF_PREFILL = ("prefill_unit_gpus", "prefill_rank_gpus", "spare_prefill_units")
_OF_DRAFTS = ("mtp_accepted_tokens", "mtp_step_cost")


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    return ignored.told(plan.spec, _ignored(plan))


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    spec, llm = plan.spec, plan.llm
    yield "detection_s", "only what is said of a failure, and the simulation of one, depend on it"
    if spec.rate_mode == "derived":
        yield from ((name, "rates are derived") for name in _DERIVED)
    if spec.is_aggregated:
        yield from ((name, "there is no prefill pool") for name in _OF_PREFILL)
        yield from ((name, "nothing is handed over") for name in _OF_HANDOVER)
    yield from _drafts(plan)
    if spec.is_aggregated and spec.decode_gpu is not None:
        yield "gpu", "an aggregated fleet has the GPU for decode only"
    if spec.is_aggregated and spec.decode_gpu_price_usd_per_h is not None:
        yield "gpu_price_usd_per_h", "an aggregated fleet has the GPU for decode only, and its price is given"
    if _is_all_wide(plan):
        yield "engine", "wide expert parallelism is computed from the hardware, and only its range is the engine's"
    if not _may_be_wide(plan):
        inside = "its experts stay inside a node" if llm.moe else f"{llm.name} has no experts"
        yield from ((name, inside) for name in ("overlap", "redundant_experts"))
        yield "output_sigma", "lengths of answers spread the load of wide expert parallelism, and the simulation's"
    if spec.output_tokens <= 0:
        nothing = "there are no output tokens"
        yield from ((name, nothing) for name in ("output_sigma", "decode_gpu_price_usd_per_h", "mean_to_peak"))


def _drafts(plan: Plan) -> Iterator[tuple[str, str]]:
    spec, llm = plan.spec, plan.llm
    if not llm.mtp_layers:
        yield from ((name, f"{llm.name} has no draft layer") for name in ("mtp", *_OF_DRAFTS))
    elif spec.rate_mode == "derived":
        yield "mtp_step_cost", "derived rates count the step that verifies a draft"
        if spec.mtp == "off":
            yield "mtp_accepted_tokens", "nothing is drafted"
    elif spec.mtp == "on":
        yield "mtp_step_cost", "the assumed rate is one with drafts"


def _may_be_wide(plan: Plan) -> bool:
    """Whether this unit, or one of twice its size, spans nodes with its experts."""
    spec = plan.spec
    largest = max(2 * spec.decode_unit_gpus, 0 if spec.is_aggregated else spec.prefill_unit_gpus)
    return plan.llm.moe is not None and largest > spec.gpus_per_node


def _is_all_wide(plan: Plan) -> bool:
    spec = plan.spec
    smallest = spec.decode_unit_gpus if spec.is_aggregated else min(spec.decode_unit_gpus, spec.prefill_unit_gpus)
    # Half a decode unit is compared with it.
    return plan.llm.moe is not None and min(smallest, spec.decode_unit_gpus / 2) > spec.gpus_per_node
