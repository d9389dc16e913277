"""The KV pool of one rank as the engine cuts it: one page for all layers, groups of layers, or two pools."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.formulas import attention, paging
from planner.formulas.stages import Mix
from planner.kinds.engine_instance.plan import Plan


def pool_of(plan: Plan, *, pool_bytes: float, mix: Mix, last: bool) -> paging.Pool:
    """The pool of a rank; the draft layer keeps its cache on the last stage."""
    if plan.spec.draft and last:
        mix = replace(mix, full=mix.full + 1)
    return _capped(plan, _cut(plan, pool_bytes=pool_bytes, mix=mix))


def _capped(plan: Plan, pool: paging.Pool) -> paging.Pool:
    most = plan.spec.max_total_tokens
    return pool if most is None else replace(pool, blocks=min(pool.blocks, most // pool.block_size * pool.groups))


@dataclass(frozen=True, slots=True)
class Cells:
    """Cache of a token in a full and in a window layer on a rank, and the state of a recurrent one [bytes]."""

    full: float
    window: float
    state: float
    index: float
    """Keys of an indexer, mean of an attention layer."""


def cells_of(plan: Plan) -> Cells:
    """What one layer keeps on a rank; context-parallel ranks share the tokens."""
    llm, layout, width = plan.llm, plan.layout, plan.kv_dtype_bytes
    ranks, share = layout.tensor_parallel, layout.context_parallel
    full = attention.layer_kv_bytes_per_token(llm, dtype_bytes=width, tensor_parallel=ranks)
    window = attention.layer_kv_bytes_per_token(llm, dtype_bytes=width, tensor_parallel=ranks, windowed=True)
    if llm.compressed:
        full = window = attention.kv_bytes_per_token(llm, dtype_bytes=width, tensor_parallel=ranks) / llm.layers
    state = attention.recurrent_state_bytes(llm, tensor_parallel=ranks)
    index = 0.0
    if plan.settings["indexer_in_pool"]:
        index = attention.indexer_bytes_per_token(llm, dtype_bytes=width) / max(attention.attention_layers(llm), 1)
    return Cells(full / share, window / share, state / llm.linear.layers if llm.linear else 0.0, index / share)


def _cut(plan: Plan, *, pool_bytes: float, mix: Mix) -> paging.Pool:
    cells = cells_of(plan)
    # Context-parallel ranks hold a block's worth of tokens each: together their block is longer.
    block = plan.block_size * plan.layout.context_parallel
    alone = plan.hybrid_cache == "two_pools" and not (mix.full or mix.state)
    if not plan.pages_by_kind or alone:
        token = cells.full * mix.full + cells.window * mix.window + cells.index * mix.attention
        fixed = cells.state * mix.state + _compressed_window(plan, mix)
        return paging.uniform_pool(pool_bytes=pool_bytes, block_size=block, token_bytes=token, state_bytes=fixed)
    if plan.hybrid_cache == "two_pools":
        return paging.two_pools(
            mix=mix,
            pool_bytes=pool_bytes,
            block_size=block,
            layer_token_bytes=cells.full + cells.index,
            window_token_bytes=cells.window,
            state_bytes=cells.state * mix.state,
            window_ratio=plan.settings["sliding_pool_ratio"],
            state_ratio=plan.settings["state_pool_ratio"],
        )
    return _grouped(plan, cells, pool_bytes=pool_bytes, mix=mix, block=block)


def _compressed_window(plan: Plan, mix: Mix) -> float:
    """The last tokens that compressed attention keeps uncompressed, a constant of a request [bytes]."""
    shape = plan.llm.compressed
    if shape is None:
        return 0.0
    return shape.window * plan.llm.head_dim * plan.kv_dtype_bytes * mix.attention


def stretched(plan: Plan, *, block: int) -> int:
    """The block where recurrent layers share pages with attention: at least a state long [tokens]."""
    cells, share = cells_of(plan), plan.layout.context_parallel
    return paging.stretched_block(
        block_size=block,
        layer_token_bytes=max(cells.full, cells.window) * share,
        state_layer_bytes=cells.state,
        step=plan.settings["state_block_step"],
        context_parallel=share,
    )


def _grouped(plan: Plan, cells: Cells, *, pool_bytes: float, mix: Mix, block: int) -> paging.Pool:
    llm = plan.llm
    if mix.state and mix.attention:
        block = stretched(plan, block=block)
    windows, states = llm.sliding.layers if llm.sliding else 0, llm.linear.layers if llm.linear else 0
    full = attention.full_layers(llm) + (1 if plan.spec.draft else 0)
    return paging.grouped_pool(
        llm,
        mix=mix,
        groups=paging.layer_groups(full=full, window=windows, state=states),
        pool_bytes=pool_bytes,
        block_size=block,
        layer_token_bytes=cells.full + cells.index,
        window_token_bytes=cells.window,
        in_flight_tokens=plan.batched_tokens * plan.settings["in_flight_steps"],
        state_blocks=plan.settings["state_blocks"],
    )
