"""Whether the replica starts: memory of the tightest rank, its KV pool, and the smallest replica that would do."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import attention, engine_memory, memory, moe, paging, roofline
from planner.kinds.engine_instance.plan import Plan

_ADAPTER_RANK = 16
_KV_LENGTH_SHARE = 0.75
"""Share of the output that a running request holds on average when places run out: the calibrated form of the cap."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A rank of one pipeline stage."""

    index: int
    layers: int
    terms: engine_memory.Terms
    pool: paging.Pool


@dataclass(frozen=True, slots=True)
class Fit:
    """``stages`` of the replica; ``tight`` is the one whose pool holds the fewest requests."""

    stages: tuple[Stage, ...]
    tight: Stage
    kv_bytes_per_token: float
    longest_request: int
    problem: str
    """Code of the reason why the engine does not start; "" when it does."""

    @property
    def starts(self) -> bool:
        return not self.problem


def fit(plan: Plan) -> Fit:
    """Memory of every stage, and whether the engine starts."""
    weights = _stage_weights(plan)
    layers = memory.stage_layers(plan.llm, pipeline_parallel=plan.layout.pipeline_parallel)
    stages = tuple(
        _stage(plan, index=index, layers=count, weights_bytes=size)
        for index, (count, size) in enumerate(zip(layers, weights, strict=True))
    )
    tight = min(stages, key=lambda stage: stage.pool.requests(plan.max_model_len))
    longest = tight.pool.longest_request(limit=max(plan.llm.max_context_tokens, plan.max_model_len))
    return Fit(
        stages=stages,
        tight=tight,
        kv_bytes_per_token=_kv_bytes_per_token(plan, share=max(layers) / plan.llm.layers),
        longest_request=longest,
        problem=_problem(plan, tight=tight, longest=longest),
    )


def _problem(plan: Plan, *, tight: Stage, longest: int) -> str:
    layout = plan.layout
    if plan.llm.heads % layout.tensor_parallel:
        return "tensor_parallel_splits_heads"
    if layout.pipeline_parallel > plan.llm.layers:
        return "more_stages_than_layers"
    if layout.stage_gpus % layout.expert_parallel:
        return "expert_parallel_does_not_divide"
    if layout.tensor_parallel % layout.context_parallel:
        return "context_parallel_does_not_divide"
    if tight.terms.kv_pool <= 0:
        return "weights_do_not_fit"
    if longest < 1:
        return "no_room_for_cache"
    needed = plan.max_model_len if _must_hold_longest(plan) else 1
    return "longest_request_does_not_fit" if longest < needed else ""


def _must_hold_longest(plan: Plan) -> bool:
    """vLLM refuses to start unless one request of the longest length fits; the others cap the length."""
    return plan.spec.engine == "vllm"


def _stage_weights(plan: Plan) -> tuple[float, ...]:
    layout, spec = plan.layout, plan.spec
    sizes = memory.stage_weight_bytes(
        plan.llm,
        dtype=plan.weight_dtype,
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=min(layout.pipeline_parallel, plan.llm.layers),
        data_parallel_attention=layout.data_parallel,
        redundant_experts=layout.redundant_experts,
        expert_padding=memory.expert_padding(plan.llm) if _is_padded(plan) else 1.0,
    )
    sizes += (0.0,) * (layout.pipeline_parallel - len(sizes))
    if spec.checkpoint_bytes is None:
        return sizes
    scale = spec.checkpoint_bytes / memory.weight_bytes(plan.llm, dtype=plan.weight_dtype)
    return tuple(size * scale for size in sizes)


def _is_padded(plan: Plan) -> bool:
    """MXFP4 experts computed in 16 bits are stored in the tiles of that kernel."""
    return roofline.precision(plan.gpu, weight_dtype=plan.weight_dtype) == "mxfp4"


def _stage(plan: Plan, *, index: int, layers: int, weights_bytes: float) -> Stage:
    layout = plan.layout
    rank = engine_memory.Rank(
        visible_bytes=plan.visible_bytes,
        weights_bytes=weights_bytes,
        activation_bytes=_activation(plan),
        extra_bytes=_extra(plan),
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        data_parallel=layout.data_parallel,
        graph_capture=plan.graph_capture,
    )
    terms = engine_memory.engine_terms(
        plan.settings,
        rank=rank,
        common=plan.memory_rules,
        memory_fraction=plan.spec.memory_fraction,
        batched_tokens=plan.batched_tokens,
        graph_sequences=plan.graph_sequences,
    )
    return Stage(index=index, layers=layers, terms=terms, pool=_pool(plan, pool_bytes=terms.kv_pool, layers=layers))


def _activation(plan: Plan) -> float:
    llm, common = plan.llm, plan.memory_rules["activation"]
    dense = llm.intermediate if moe.expert_layers(llm) < llm.layers else 0
    shared = memory.shared_expert_parameters(llm) / (3 * llm.hidden)
    return engine_memory.activation_bytes(
        llm,
        batched_tokens=plan.batched_tokens,
        sequences=plan.max_num_seqs,
        tensor_parallel=plan.layout.tensor_parallel,
        hidden_factor=plan.settings.get("activation_hidden_factor", common["hidden_factor"]),
        logit_bytes=plan.settings.get("logit_bytes", common["logit_bytes"]),
        mlp_width=max(dense, shared),
    )


def _extra(plan: Plan) -> float:
    """Adapter slots and the draft layer, each spread over the tensor-parallel ranks."""
    llm, ranks = plan.llm, plan.layout.tensor_parallel
    widths = 2 * (llm.hidden + llm.heads * llm.head_dim) + 2 * (llm.hidden + llm.kv_heads * llm.head_dim)
    widths += 3 * (llm.hidden + llm.intermediate)
    adapters = plan.spec.adapters * 2.0 * _ADAPTER_RANK * widths * llm.layers / plan.layout.pipeline_parallel
    draft = 0.0
    if plan.spec.draft:
        one = memory.attention_layer_parameters(llm) + 3.0 * llm.hidden * llm.intermediate
        own = memory.parameters(llm)["mtp"]
        width = memory.part_bytes_per_parameter(
            llm, part="experts" if llm.moe else "attention", dtype=plan.weight_dtype
        )
        draft = own * width / plan.layout.data_parallel if own else 2.0 * one
    return (adapters + draft) / ranks


def _pool(plan: Plan, *, pool_bytes: float, layers: int) -> paging.Pool:
    llm, layout = plan.llm, plan.layout
    share = (layers + (1 if plan.spec.draft else 0)) / llm.layers
    layer_bytes = attention.layer_kv_bytes_per_token(
        llm, dtype_bytes=plan.kv_dtype_bytes, tensor_parallel=layout.tensor_parallel
    )
    layer_bytes /= layout.context_parallel
    if not plan.pages_by_kind:
        token = layer_bytes * attention.attention_layers(llm) * share
        return paging.uniform_pool(llm, pool_bytes=pool_bytes, block_size=plan.block_size, token_bytes=token)
    state = attention.recurrent_state_bytes(llm, tensor_parallel=layout.tensor_parallel)
    if plan.hybrid_cache == "two_pools":
        return paging.two_pools(
            llm,
            pool_bytes=pool_bytes,
            block_size=plan.block_size,
            layer_token_bytes=layer_bytes * share,
            state_bytes=state * share,
            window_ratio=plan.settings["sliding_pool_ratio"],
            state_ratio=plan.settings["state_pool_ratio"],
        )
    return paging.grouped_pool(
        llm,
        pool_bytes=pool_bytes,
        block_size=plan.block_size,
        layer_token_bytes=layer_bytes,
        state_bytes=state,
        in_flight_tokens=plan.batched_tokens,
        stage_share=share,
    )


def _kv_bytes_per_token(plan: Plan, *, share: float) -> float:
    whole = attention.kv_bytes_per_token(
        plan.llm,
        dtype_bytes=plan.kv_dtype_bytes,
        tensor_parallel=plan.layout.tensor_parallel,
        sliding_as_full=not plan.pages_by_kind,
    )
    return whole * share / plan.layout.context_parallel


def pool_tokens(plan: Plan, fitted: Fit) -> int:
    """Tokens of the pool as the engine prints them: all blocks; of mixed layers what the longest requests hold."""
    pool = fitted.tight.pool
    if plan.pages_by_kind and plan.hybrid_cache != "two_pools":
        return int(pool.requests(plan.max_model_len) * plan.max_model_len)
    return pool.blocks * pool.block_size


def held_tokens(*, input_tokens: float, output_tokens: float) -> float:
    """Tokens that a running request of these lengths holds in the cache on average."""
    return input_tokens + _KV_LENGTH_SHARE * output_tokens


def capacity(plan: Plan, fitted: Fit) -> float:
    """Requests of this workload that may run at once on the whole replica."""
    held = held_tokens(input_tokens=plan.spec.input_tokens, output_tokens=plan.spec.output_tokens)
    return plan.layout.data_parallel * min(fitted.tight.pool.requests(held), float(plan.max_num_seqs))
