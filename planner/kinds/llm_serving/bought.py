"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import Failures, Fleet, Pool, TokenBasis, purposes_of
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import sizing
from planner.kinds.llm_serving.fleet import Role
from planner.kinds.llm_serving.plan import plan_of
from planner.kinds.llm_serving.spec import LlmServingSpec

PARTS = ("prefill_used", "decode_used", "headroom", "spare_units", "whole_units")
IDLE = frozenset({"headroom", "spare_units", "whole_units"})
_LABELS = {"prefill": _("Prefill"), "decode": _("Decode"), "replica": _("Replicas")}
_SPARE = {"prefill": "spare_prefill_units", "decode": "spare_decode_units", "replica": "spare_decode_units"}
_SIZE = {"prefill": "prefill_unit_gpus", "decode": "decode_unit_gpus", "replica": "decode_unit_gpus"}


def fleet(spec: LlmServingSpec, result: Result, catalog: Catalog) -> Fleet:
    """Prefill and decode units, or replicas."""
    made = plan_of(spec, catalog=catalog).fleet
    return Fleet(
        pools=tuple(_pool(spec, role) for role in made.roles),
        purposes=purposes_of(result, names=PARTS, idle=IDLE),
        tokens_per_s=_tokens(spec, good_rps=result.value("goodput_rps") or 0.0),
        demand_field="peak_rps",
        mean_to_peak=spec.mean_to_peak,
        failures=Failures(spec.failures_per_node_h, spec.repair_h, spec.availability),
    )


def _tokens(spec: LlmServingSpec, *, good_rps: float) -> Mapping[TokenBasis, float]:
    inputs, outputs = spec.peak_rps * spec.input_tokens, spec.peak_rps * spec.output_tokens
    return {
        "output": outputs,
        "input": inputs,
        "cached_input": inputs * spec.prefix_hit_rate,
        "total": inputs + outputs,
        "good_output": good_rps * spec.output_tokens,
    }


def _pool(spec: LlmServingSpec, role: Role) -> Pool:
    gpu = spec.gpu if role.name == "prefill" else spec.decode_gpu or spec.gpu
    return Pool(
        name=role.name,
        label=_LABELS[role.name],
        noun=role.noun,
        units=role.units,
        needed_units=role.needed_gpus / role.unit_gpus,
        spare_units=role.spare_units,
        unit_gpus=role.unit_gpus,
        gpu=gpu,
        unit_usd_per_h=role.unit_gpus * role.price_usd_per_h,
        nodes_per_unit=sizing.nodes_failing_with_a_unit(unit_gpus=role.unit_gpus, gpus_per_node=spec.gpus_per_node),
        units_per_node=role.together,
        headroom=spec.headroom,
        spare_field=_SPARE[role.name],
        spare_value=role.spare_units,
        price_field="gpu_price_usd_per_h" if role.name == "prefill" else "decode_gpu_price_usd_per_h",
        size_field=_SIZE[role.name],
    )
