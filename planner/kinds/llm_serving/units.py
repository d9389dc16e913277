"""Prefill and decode units as step times: within a node by the roofline, with experts on more GPUs by the schedule of
wide expert parallelism.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from planner.core.catalog import Catalog, Gpu, Llm
from planner.formulas import calibration, collectives, lengths, memory, roofline, wide_expert, wide_layer
from planner.formulas.traffic import Layout
from planner.kinds.llm_serving.spec import LlmServingSpec


class UnitStep(Protocol):
    """What a decode step tells."""

    @property
    def total_s(self) -> float: ...
    @property
    def kv_s(self) -> float: ...
    @property
    def bottleneck(self) -> str: ...


class Unit(Protocol):
    """GPUs that step together."""

    @property
    def lanes(self) -> int: ...
    def step(self, *, per_gpu: float, context_tokens: float, tokens_per_sequence: float) -> UnitStep: ...
    def prefill_rate(self, *, step_tokens: float, new_tokens: float, cached_tokens: float) -> float: ...


@dataclass(frozen=True, slots=True)
class RooflineUnit:
    """All experts within a node, or none."""

    made: roofline.Replica
    gpus: int

    @property
    def lanes(self) -> int:
        return self.made.layout.data_parallel

    def step(self, *, per_gpu: float, context_tokens: float, tokens_per_sequence: float) -> UnitStep:
        return self.made.decode_step(
            batch=per_gpu * self.gpus, context_tokens=context_tokens, tokens_per_sequence=tokens_per_sequence
        )

    def prefill_rate(self, *, step_tokens: float, new_tokens: float, cached_tokens: float) -> float:
        """Computed tokens a second and GPU; the coefficients already hold the usual chunks."""
        del step_tokens
        busy_s = self.made.prefill(new_tokens=new_tokens, cached_tokens=cached_tokens).busy_s
        return new_tokens / busy_s / self.gpus


@dataclass(frozen=True, slots=True)
class WideUnit:
    """Experts on more GPUs than a node has: tokens travel over the links of a rack or over the NICs."""

    made: wide_expert.Unit

    @property
    def lanes(self) -> int:
        return max(1, self.made.layer.gpus // self.made.layer.rank_gpus)

    def step(self, *, per_gpu: float, context_tokens: float, tokens_per_sequence: float) -> UnitStep:
        return self.made.decode_step(
            per_gpu=per_gpu, context_tokens=context_tokens, tokens_per_sequence=tokens_per_sequence
        )

    def prefill_rate(self, *, step_tokens: float, new_tokens: float, cached_tokens: float) -> float:
        return self.made.prefill_tokens_per_s_per_gpu(
            step_tokens=step_tokens, new_tokens=new_tokens, cached_tokens=cached_tokens
        )


def unit(spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, unit_gpus: int, rank_gpus: int, catalog: Catalog) -> Unit:
    """The unit of these GPUs; raises `MissingFigure` when the catalog lacks a figure it needs."""
    if is_wide(spec, llm=llm, unit_gpus=unit_gpus):
        return _wide(spec, llm=llm, gpu=gpu, unit_gpus=unit_gpus, rank_gpus=rank_gpus, catalog=catalog)
    return _roofline(
        spec, llm=llm, gpu=gpu, unit_gpus=unit_gpus, rank_gpus=rank_gpus, table=catalog.calibration("roofline")
    )


def redundant_experts(spec: LlmServingSpec, *, llm: Llm, unit_gpus: int) -> int:
    """Copies of busy experts: only where experts lie on several nodes is balancing worth the memory."""
    return spec.redundant_experts if is_wide(spec, llm=llm, unit_gpus=unit_gpus) else 0


def is_wide(spec: LlmServingSpec, *, llm: Llm, unit_gpus: int) -> bool:
    """Whether experts lie on more GPUs than a node has."""
    return llm.moe is not None and unit_gpus > spec.gpus_per_node


def placed(spec: LlmServingSpec, *, llm: Llm, unit_gpus: int, rank_gpus: int) -> Layout:
    """How a unit is cut: ranks of so many GPUs, the experts on all of them."""
    lanes = max(1, unit_gpus // rank_gpus)
    return Layout(
        gpus=lanes * rank_gpus,
        tensor_parallel=rank_gpus,
        data_parallel=lanes,
        expert_parallel=lanes * rank_gpus if llm.moe else 1,
        redundant_experts=redundant_experts(spec, llm=llm, unit_gpus=unit_gpus),
        gpus_per_node=spec.gpus_per_node,
    )


def _wide(spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, unit_gpus: int, rank_gpus: int, catalog: Catalog) -> WideUnit:
    layer = wide_layer.Layer(
        llm=llm,
        gpu=gpu,
        gpus=unit_gpus,
        rank_gpus=rank_gpus,
        gpus_per_node=max(collectives.scaleup_gpus(gpu, gpus_per_node=spec.gpus_per_node), spec.gpus_per_node),
        redundant_experts=redundant_experts(spec, llm=llm, unit_gpus=unit_gpus),
        weight_dtype=spec.weight_dtype,
        kv_dtype_bytes=memory.kv_dtype_bytes(spec.kv_dtype),
        reach=wide_layer.reach(catalog.calibration("wide_expert")),
    )
    return WideUnit(wide_expert.Unit(layer=layer, may_overlap=spec.overlap == "two_batch", spread=_spread(spec)))


def _spread(spec: LlmServingSpec) -> wide_expert.Spread:
    """Of prompts, and of the context of a sequence halfway through its answer."""
    prompt, written = lengths.squared_variation(spec.input_sigma), lengths.squared_variation(spec.output_sigma)
    context = spec.input_tokens**2 * prompt + (spec.output_tokens / 2) ** 2 * written
    return wide_expert.Spread(prompt=prompt, context=context / spec.mean_context_tokens**2)


def _roofline(
    spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, unit_gpus: int, rank_gpus: int, table: Mapping[str, Any]
) -> RooflineUnit:
    made = roofline.replica(
        llm,
        gpu,
        layout=placed(spec, llm=llm, unit_gpus=unit_gpus, rank_gpus=rank_gpus),
        weight_dtype=spec.weight_dtype,
        coefficients=calibration.coefficients(table, gpu=gpu, engine=spec.engine),
        kv_dtype_bytes=memory.kv_dtype_bytes(spec.kv_dtype),
    )
    return RooflineUnit(made=made, gpus=unit_gpus)
