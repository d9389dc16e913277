"""Pages of a KV pool: how many blocks it has, how many a request takes, for uniform and for mixed layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas import attention

_STATE_BLOCK_STEP = 16


@dataclass(frozen=True, slots=True)
class Pool:
    """A KV pool of one rank, cut into ``blocks`` of ``block_size`` tokens.

    A request of L tokens takes ``full_groups·⌈L/block⌉ + window_groups·(min(window + in flight, L)/block, +1) +
    state_blocks``.
    """

    blocks: int
    block_size: int
    full_groups: int
    window_groups: int = 0
    window: int = 0
    in_flight_tokens: int = 0
    state_blocks: int = 0
    most_requests: float = math.inf
    """Requests whose recurrent states fit, where those have a pool of their own."""

    def blocks_of(self, tokens: float) -> int:
        """Blocks a request of this length takes."""
        taken = self.full_groups * math.ceil(tokens / self.block_size) + self.state_blocks
        if self.window_groups:
            kept = min(self.window - 1 + self.in_flight_tokens, tokens)
            taken += self.window_groups * (math.ceil(kept / self.block_size) + 1)
        return max(taken, 1)

    def requests(self, tokens: float) -> float:
        """Requests of this length that fit at once."""
        return min(self.blocks / self.blocks_of(tokens), max(self.most_requests, 0.0))

    def longest_request(self, *, limit: int) -> int:
        """Longest request that fits, up to ``limit`` [tokens]."""
        if self.most_requests < 1:
            return 0
        if self.blocks_of(limit) <= self.blocks:
            return limit
        low, high = 0, limit
        while high - low > 1:
            middle = (low + high) // 2
            if self.blocks_of(middle) <= self.blocks:
                low = middle
            else:
                high = middle
        return low


def uniform_pool(llm: Llm, *, pool_bytes: float, block_size: int, token_bytes: float) -> Pool:
    """A pool whose pages hold every layer of a token: sliding windows save nothing.

    Parameters
    ----------
    llm : architecture; recurrent layers keep one more block's worth of state
    pool_bytes : the pool of one rank [bytes]
    block_size : tokens of a block
    token_bytes : cache of a token on the rank, all attention layers of its stage [bytes]

    Notes
    -----
    ``blocks = ⌊pool / (block · token bytes)⌋``.

    References
    ----------
    Kwon et al., "PagedAttention", 2023, arXiv:2309.06180, sections 4.1 and 4.2.
    """
    page = block_size * token_bytes
    state = llm.linear.state_bytes if llm.linear else 0
    return Pool(
        blocks=_whole_pages(pool_bytes, page_bytes=page),
        block_size=block_size,
        full_groups=1,
        state_blocks=math.ceil(state / page) if state and page else 0,
    )


def _whole_pages(pool_bytes: float, *, page_bytes: float) -> int:
    """Pages that fit; none in a pool that does not exist or on a stage without layers."""
    return math.floor(pool_bytes / page_bytes) if page_bytes > 0 and pool_bytes > 0 else 0


def grouped_pool(
    llm: Llm,
    *,
    pool_bytes: float,
    block_size: int,
    layer_token_bytes: float,
    state_bytes: float,
    in_flight_tokens: int,
    stage_share: float = 1.0,
) -> Pool:
    """A pool shared by groups of equal layers, as vLLM's hybrid manager cuts it.

    Parameters
    ----------
    llm : architecture
    pool_bytes : the pool of one rank [bytes]
    block_size : tokens of a block of an attention layer
    layer_token_bytes : cache of a token in one layer on the rank [bytes]
    state_bytes : recurrent state of a request, all layers on the rank [bytes]
    in_flight_tokens : tokens of the largest step, which a window must keep beside itself
    stage_share : share of the layers on this pipeline stage

    Notes
    -----
    Layers of one kind form groups of g layers, g the smallest class (the largest when they are within a factor of
    1.5); a page holds g layers. A recurrent layer's page is made as large as an attention page by enlarging the block.

    References
    ----------
    vLLM documentation, "Hybrid KV Cache Manager" (design documents).
    """
    full = attention.full_layers(llm)
    window_layers = llm.sliding.layers if llm.sliding else 0
    states = llm.linear.layers if llm.linear else 0
    classes = [layers for layers in (full, window_layers, states) if layers]
    size = max(classes) if max(classes) < 1.5 * min(classes) else min(classes)
    if states:
        needed = math.ceil(state_bytes / states / layer_token_bytes)
        block_size = max(block_size, _STATE_BLOCK_STEP * math.ceil(needed / _STATE_BLOCK_STEP))
    page = size * stage_share * block_size * layer_token_bytes
    return Pool(
        blocks=_whole_pages(pool_bytes, page_bytes=page),
        block_size=block_size,
        full_groups=math.ceil(full / size) if full else 0,
        window_groups=math.ceil(window_layers / size) if window_layers else 0,
        window=llm.sliding.window if llm.sliding else 0,
        in_flight_tokens=in_flight_tokens,
        state_blocks=2 * math.ceil(states / size) if states else 0,
    )


def two_pools(
    llm: Llm,
    *,
    pool_bytes: float,
    block_size: int,
    layer_token_bytes: float,
    state_bytes: float,
    window_ratio: float,
    state_ratio: float,
) -> Pool:
    """A pool for full layers beside a smaller one for windows, and a share for recurrent states, as SGLang cuts it.

    Parameters
    ----------
    llm : architecture
    pool_bytes : all of it on the rank [bytes]
    block_size : tokens of a block
    layer_token_bytes : cache of a token in one layer on the rank [bytes]
    state_bytes : recurrent state of a request on the rank [bytes]
    window_ratio : tokens of the window pool for a token of the full pool
    state_ratio : r of the states' share r/(1 + r)

    Notes
    -----
    ``full tokens = bytes / (full cell + ratio · window cell)``; requests are also limited by the states that fit.

    References
    ----------
    The engine's memory pool for hybrid layers, as ``engines/sglang.toml`` names it.
    """
    window_layers = llm.sliding.layers if llm.sliding else 0
    share = state_ratio / (1.0 + state_ratio) if llm.linear else 0.0
    cell = (attention.full_layers(llm) + window_ratio * window_layers) * layer_token_bytes
    return Pool(
        blocks=_whole_pages(pool_bytes * (1.0 - share), page_bytes=cell * block_size),
        block_size=block_size,
        full_groups=1,
        most_requests=pool_bytes * share / state_bytes if llm.linear and state_bytes else math.inf,
    )
