"""What one rank of a replica holds and needs: weights of its stage, activations, adapters, draft."""

from __future__ import annotations

from planner.formulas import activations, adapter_shapes, adapters, memory, roofline, weights
from planner.formulas.memory_terms import NOTHING, Rank, Spread
from planner.kinds.engine_instance.plan import Plan

_ADAPTER_RANK = 16
_ADAPTED = frozenset((*adapter_shapes.LINEAR, "shared_experts", "experts"))
_LEFT_WHEN_KNOWN = 0.2
"""Of the unexplained, what stays once a log names what was taken before loading or beside the allocator."""
_PLAIN = ("fp32", "bf16", "fp16")


def split_of(plan: Plan) -> weights.Split:
    layout, settings = plan.layout, plan.settings
    copies = settings["absorbed_copies"]
    across = settings.get("mlp_over_copies", False) and plan.spec.all_to_all == "none"
    return weights.Split(
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=min(layout.pipeline_parallel, plan.llm.layers),
        data_parallel_attention=layout.data_parallel,
        redundant_experts=layout.redundant_experts,
        expert_padding=weights.expert_padding(plan.llm) if _is_padded(plan) else 1.0,
        mlp_ranks=layout.stage_gpus if across else None,
        vision_copies=plan.llm.family in settings.get("vision_whole_in", ()),
        absorbed_copies=copies == "always" or (copies == "quantised" and plan.weight_dtype not in _PLAIN),
    )


def _is_padded(plan: Plan) -> bool:
    """MXFP4 experts computed in 16 bits are stored in the tiles of that kernel."""
    return roofline.precision(plan.gpu, weight_dtype=plan.weight_dtype) == "mxfp4"


def stage_weights(plan: Plan) -> tuple[float, ...]:
    """Weights of a rank of each stage [bytes]; empty stages hold none."""
    found = weights.stage_weight_bytes(plan.llm, dtype=plan.weight_dtype, split=split_of(plan))
    found += (0.0,) * (plan.layout.pipeline_parallel - len(found))
    measured = 1.0 if plan.weights_scale is None else plan.weights_scale
    beside = float(plan.settings.get("loaded_beside", 0.0))
    return tuple((size * _checkpoint_scale(plan) + (beside if size else 0.0)) * measured for size in found)


def _checkpoint_scale(plan: Plan) -> float:
    if plan.spec.checkpoint_bytes is None:
        return 1.0
    return plan.spec.checkpoint_bytes / memory.weight_bytes(plan.llm, dtype=plan.weight_dtype)


def load_peak_bytes(plan: Plan) -> float:
    """Most that a rank holds while it loads: the files' format whole, and the layer that is being converted [bytes]."""
    runtime = max(stage_weights(plan))
    stored = plan.spec.checkpoint_dtype
    if stored is None or memory.dtype_name(stored) == plan.weight_dtype:
        return runtime
    split = split_of(plan)
    on_disk = max(weights.stage_weight_bytes(plan.llm, dtype=stored, split=split))
    return max(on_disk, runtime) + weights.layer_weight_bytes(plan.llm, dtype=plan.weight_dtype, split=split)


def of_stage(plan: Plan, *, weights_bytes: float) -> Rank:
    """The rank as the engines' rules see it."""
    layout = plan.layout
    # Where a log gives the sum of all terms, errors of the single ones cancel.
    summed = plan.measured is not None and plan.measured.rest_shift is not None
    return Rank(
        visible=Spread.exact(plan.visible_bytes) if summed else plan.visible,
        weights=Spread.exact(weights_bytes) if summed else _weights_spread(plan, weights_bytes),
        activation=_activation(plan),
        extra_bytes=_adapters(plan),
        draft_bytes=_draft(plan),
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        data_parallel=layout.data_parallel,
        graph_capture=plan.graph_capture,
        gpu_class=plan.gpu_class,
        dispatch=_dispatch(plan),
        unexplained=0.0 if summed else _unexplained(plan),
        measured=plan.measured,
    )


def _unexplained(plan: Plan) -> float:
    share = plan.memory_rules["unexplained"][plan.settings["memory_fraction_of"]]
    # What was free before loading leaves no room for other processes and most of the rest.
    known = plan.measured is not None and plan.measured.context is not None
    return float(share * plan.visible_bytes * (_LEFT_WHEN_KNOWN if known else 1.0))


def _weights_spread(plan: Plan, size: float) -> Spread:
    if plan.weights_scale is not None:
        return Spread.exact(size)
    rules = plan.memory_rules["weights"]
    share = rules["plain" if plan.weight_dtype in _PLAIN else "quantised"]
    if memory.parameters(plan.llm).get("vision", 0.0):
        share = max(share, rules["vision"])
    return Spread.within(size, down=share, up=share)


def _activation(plan: Plan) -> Spread:
    settings = plan.settings
    peak = activations.peak_bytes(
        plan.llm,
        step=activations.Step(
            batched_tokens=plan.batched_tokens,
            sequences=plan.max_num_seqs,
            max_model_len=plan.max_model_len,
            block_size=plan.block_size,
            tensor_parallel=plan.layout.tensor_parallel,
            hidden_factor=settings["activation_hidden_factor"],
            logit_bytes=settings["logit_bytes"],
            profiles_latent_prefill=bool(settings["profiles_latent_prefill"]),
        ),
    )
    if plan.activation_scale is not None:
        return Spread.exact(peak * plan.activation_scale)
    return Spread.within(peak, down=settings["activation_down"], up=settings["activation_up"])


def _dispatch(plan: Plan) -> Spread:
    if plan.spec.all_to_all == "none" or plan.llm.moe is None:
        return NOTHING
    rules = plan.memory_rules["dispatch"]
    return Spread(rules["typical"], rules["low"], rules["high"])


def _adapters(plan: Plan) -> float:
    """LoRA slots on all linear layers, one factor of each cut over the tensor-parallel ranks [bytes]."""
    layout = plan.layout
    slot = adapters.rank_bytes(
        adapter_shapes.adapted_matrices(plan.llm, targets=_ADAPTED),
        rank=_ADAPTER_RANK,
        tensor_parallel=layout.tensor_parallel,
        expert_parallel=layout.expert_parallel,
    )
    return plan.spec.adapters * slot / layout.pipeline_parallel


def _draft(plan: Plan) -> float:
    """The draft layer: the LLM's own, or one like its layers [bytes]."""
    llm, layout = plan.llm, plan.layout
    if not plan.spec.draft:
        return 0.0
    own = memory.parameters(llm)["mtp"]
    if not own:
        one = memory.attention_layer_parameters(llm) + float(llm.mlp_matrices) * llm.hidden * llm.intermediate
        return 2.0 * one / layout.tensor_parallel
    width = memory.part_bytes_per_parameter(llm, part="experts" if llm.moe else "attention", dtype=plan.weight_dtype)
    return own * width / layout.data_parallel / layout.tensor_parallel
