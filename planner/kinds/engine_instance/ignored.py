"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Finding
from planner.kinds.engine_instance import pools
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.spec_start_up import measured_fields

_DEFAULTS = {name: field.default for name, field in EngineInstanceSpec.model_fields.items()}


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding a field."""
    for name, reason in _ignored(plan):
        yield Finding(
            code="field_ignored",
            severity="info",
            message=f"{plan.spec.label_of(name)} ({name}) changes nothing: {reason}.",
            suggestion=f"Leave {plan.spec.label_of(name)} out.",
            change={name: _DEFAULTS[name]},
        )


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    yield from _of_the_llm(plan)
    yield from _of_the_cache(plan)
    yield from _of_measurements(plan)
    spec = plan.spec
    if spec.engine_core is not None and spec.engine != "vllm":
        yield "engine_core", f"{plan.engine_name} has one core"
    if spec.checkpoint_dtype is not None and spec.checkpoint_dtype == plan.weight_dtype:
        yield "checkpoint_dtype", "the files are in the format of the weights"
    if not spec.draft and spec.draft_acceptance != _DEFAULTS["draft_acceptance"]:
        yield "draft_acceptance", "nothing is drafted"
    if plan.price_usd_per_h is None and spec.utilisation != _DEFAULTS["utilisation"]:
        yield "utilisation", f"no price is known for {plan.gpu.name}"


def _of_the_llm(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.llm.moe is not None:
        return
    if plan.spec.redundant_experts:
        yield "redundant_experts", f"{plan.llm.name} has no experts"
    if plan.spec.all_to_all != "none":
        yield "all_to_all", f"{plan.llm.name} has no experts to dispatch to"


def _of_the_cache(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.hybrid_cache is not None and not plan.is_mixed:
        yield "hybrid_cache", f"all layers of {plan.llm.name} keep the same"
    elif spec.hybrid_cache == "hybrid_manager" and plan.hybrid_cache == "unified_pages":
        yield "hybrid_cache", f"{plan.engine_name} {plan.settings['version']} has one page for all layers"
    if spec.block_size is not None and _pages_are_states(plan):
        longer = pools.stretched(plan, block=1)
        if spec.block_size <= longer:
            yield "block_size", f"a page holds the state of a recurrent layer, so that blocks have {longer:,} tokens"


def _of_measurements(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.measured_free_before_load_bytes is not None and not plan.takes_free_memory:
        yield (
            "measured_free_before_load_bytes",
            f"{plan.engine_name} takes its fraction of all memory, not of what is free",
        )
    if spec.measured_memory_fraction is not None and not measured_fields(spec):
        yield "measured_memory_fraction", "nothing measured is given with it"


def _pages_are_states(plan: Plan) -> bool:
    return plan.llm.linear is not None and plan.pages_by_kind and plan.hybrid_cache != "two_pools"
