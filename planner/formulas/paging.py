"""Pages of a KV pool: how many blocks it has, how many a request takes, for uniform and for mixed layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas.stages import Mix

_CLOSE = 1.5
"""Classes of layers within this factor share one group size, the larger: less padding than the smaller would need."""


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
    window_block_size: int = 0
    """Tokens of a block of a window layer, where it differs: pages of all layers have the same bytes."""
    in_flight_tokens: int = 0
    chunked: bool = False
    """Windows are chunks that start anew: no token before the chunk is kept, and no block beside."""
    state_blocks: int = 0
    most_requests: float = math.inf
    """Requests whose recurrent states fit, where those have a pool of their own."""

    @property
    def groups(self) -> int:
        """Block tables of a request: the blocks of all its groups come from one pool."""
        return max(self.full_groups + self.window_groups + (1 if self.state_blocks else 0), 1)

    def blocks_of(self, tokens: float) -> int:
        """Blocks a request of this length takes."""
        taken = self.full_groups * math.ceil(tokens / self.block_size) + self.state_blocks
        if self.window_groups:
            kept = min(self.window + self.in_flight_tokens - (0 if self.chunked else 1), tokens)
            blocks = math.ceil(kept / (self.window_block_size or self.block_size))
            taken += self.window_groups * (blocks + (0 if self.chunked else 1))
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

    def tokens_by_blocks(self) -> int:
        """The size that older engines print: blocks a group gets when all take the same, times their tokens."""
        return self.blocks // self.groups * self.block_size

    def tokens_by_requests(self, *, longest: int) -> int:
        """The size that newer engines print: requests of the longest length at once, times that length."""
        return int(self.requests(longest) * longest)


def uniform_pool(*, pool_bytes: float, block_size: int, token_bytes: float, state_bytes: float = 0.0) -> Pool:
    """A pool whose pages hold every layer of a token: sliding windows save nothing.

    Parameters
    ----------
    pool_bytes : the pool of one rank [bytes]
    block_size : tokens of a block
    token_bytes : cache of a token on the rank, all attention layers of its stage [bytes]
    state_bytes : recurrent state of a request on the rank, kept in whole blocks [bytes]

    Notes
    -----
    ``blocks = ⌊pool / (block · token bytes)⌋``.

    References
    ----------
    Kwon et al., "PagedAttention", 2023, arXiv:2309.06180, sections 4.1 and 4.2.
    """
    page = block_size * token_bytes
    return Pool(
        blocks=_whole_pages(pool_bytes, page_bytes=page),
        block_size=block_size,
        full_groups=1,
        state_blocks=math.ceil(state_bytes / page) if state_bytes and page else 0,
    )


def _whole_pages(pool_bytes: float, *, page_bytes: float) -> int:
    """Pages that fit; none in a pool that does not exist or on a stage without layers."""
    return math.floor(pool_bytes / page_bytes) if page_bytes > 0 and pool_bytes > 0 else 0


@dataclass(frozen=True, slots=True)
class Groups:
    """How many block tables each class of layers of an LLM gets: ``size`` layers each."""

    size: int
    full: int
    window: int
    state: int


def layer_groups(*, full: int, window: int, state: int) -> Groups:
    """Groups of layers of one class each, as vLLM's hybrid manager forms them.

    Parameters
    ----------
    full, window, state : layers of each class in the whole LLM

    Notes
    -----
    Groups have g layers: the smallest class, or the largest while it is below 1.5 times the smallest. A class of n
    layers takes ``⌈n/g⌉`` groups, short ones are padded.

    References
    ----------
    vLLM documentation, "Hybrid KV Cache Manager" (design documents), and its source, where the factor stands.
    """
    classes = [layers for layers in (full, window, state) if layers]
    size = max(classes) if max(classes) < _CLOSE * min(classes) else min(classes)
    return Groups(size, *(math.ceil(layers / size) for layers in (full, window, state)))


def stretched_block(
    *, block_size: int, layer_token_bytes: float, state_layer_bytes: float, step: int, context_parallel: int = 1
) -> int:
    """Block of attention layers whose page is at least as large as the state of a recurrent layer [tokens].

    Parameters
    ----------
    block_size : the engine's own block [tokens]
    layer_token_bytes : cache of a token in an attention layer on the rank [bytes]
    state_layer_bytes : state of a request in a recurrent layer on the rank [bytes]
    step : the block is a multiple of so many tokens
    context_parallel : ranks that share the tokens of a block

    Notes
    -----
    ``step · ⌈state / (step · token bytes)⌉``: with an FP8 cache 2,096 tokens for Qwen3.6-35B.

    References
    ----------
    vLLM source, configuration of hybrid models; a start-up log of vLLM 0.24 prints the figure above.
    """
    needed = step * math.ceil(state_layer_bytes / layer_token_bytes / step) if layer_token_bytes else 0
    return max(block_size, needed * context_parallel)


def grouped_pool(
    llm: Llm,
    *,
    mix: Mix,
    groups: Groups,
    pool_bytes: float,
    block_size: int,
    layer_token_bytes: float,
    window_token_bytes: float,
    in_flight_tokens: int,
    state_blocks: int,
) -> Pool:
    """A pool shared by groups of equal layers, as vLLM's hybrid manager cuts it.

    Parameters
    ----------
    llm : architecture
    mix : layers of this pipeline stage
    groups : of the whole LLM (`layer_groups`)
    pool_bytes : the pool of one rank [bytes]
    block_size : tokens of a block of a full layer (`stretched_block` where there are states)
    layer_token_bytes : cache of a token in a full layer on the rank [bytes]
    window_token_bytes : the same in a window layer [bytes]
    in_flight_tokens : tokens of the largest step, which a window must keep beside itself
    state_blocks : blocks of a request in a group of recurrent layers

    Notes
    -----
    ``blocks = ⌊pool / (g · page)⌋`` with the layers g that a group has on this stage. The layer with the smaller page
    takes a block longer by a whole ratio. A window group holds ``⌈min(window − 1 + in flight, L)/block⌉ + 1`` blocks,
    one of chunks ``⌈min(chunk + in flight, L)/block⌉``.

    References
    ----------
    vLLM documentation, "Hybrid KV Cache Manager" (design documents).
    """
    page, block, window_block = _pages(block_size, full=layer_token_bytes, window=window_token_bytes, mix=mix)
    held = (
        math.ceil(count / made) if made else 0
        for count, made in ((mix.full, groups.full), (mix.window, groups.window), (mix.state, groups.state))
    )
    return Pool(
        blocks=_whole_pages(pool_bytes, page_bytes=max(held) * page),
        block_size=block,
        full_groups=groups.full,
        window_groups=groups.window,
        window=llm.sliding.window if llm.sliding else 0,
        window_block_size=window_block,
        in_flight_tokens=in_flight_tokens,
        chunked=bool(llm.sliding and llm.sliding.chunked),
        state_blocks=state_blocks * groups.state,
    )


def _pages(block_size: int, *, full: float, window: float, mix: Mix) -> tuple[float, int, int]:
    """Bytes of a page of one layer, and tokens of a block of a full and of a window layer."""
    if not mix.window or not mix.full or full == window:
        return block_size * (full if mix.full or not mix.window else window), block_size, block_size
    ratio = max(full, window) / min(full, window)
    longer = int(block_size * ratio)
    page = block_size * max(full, window)
    return (page, block_size, longer) if full > window else (page, longer, block_size)


def two_pools(
    *,
    mix: Mix,
    pool_bytes: float,
    block_size: int,
    layer_token_bytes: float,
    window_token_bytes: float,
    state_bytes: float,
    window_ratio: float,
    state_ratio: float,
) -> Pool:
    """A pool for full layers beside a smaller one for windows, and a share for recurrent states, as SGLang cuts it.

    Parameters
    ----------
    mix : layers of the stage
    pool_bytes : all of it on the rank [bytes]
    block_size : tokens of a block
    layer_token_bytes : cache of a token in a full layer on the rank [bytes]
    window_token_bytes : the same in a window layer [bytes]
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
    share = state_ratio / (1.0 + state_ratio) if mix.state else 0.0
    cell = mix.full * layer_token_bytes + window_ratio * mix.window * window_token_bytes
    return Pool(
        blocks=_whole_pages(pool_bytes * (1.0 - share), page_bytes=cell * block_size),
        block_size=block_size,
        full_groups=1,
        most_requests=pool_bytes * share / state_bytes if mix.state and state_bytes else math.inf,
    )


def pool_bytes_of(tokens: int, *, pool: Callable[[float], Pool], count: Callable[[Pool], int]) -> float:
    """The smallest pool in which an engine counts so many tokens: the way back from a printed line [bytes].

    Parameters
    ----------
    tokens : what the engine printed
    pool : a pool of so many bytes
    count : the tokens it prints of a pool

    Notes
    -----
    Bisection on ``count(pool(bytes)) ≥ tokens``, which grows with the bytes.

    References
    ----------
    Press et al., "Numerical Recipes", 3rd ed., 2007, section 9.1.
    """
    high = 2.0**30
    while count(pool(high)) < tokens:
        if high > 2.0**50:
            raise ValueError(f"no pool holds {tokens:,} tokens")
        high *= 2.0
    low = 0.0
    while high - low > 0.5:
        middle = (low + high) / 2.0
        if count(pool(middle)) < tokens:
            low = middle
        else:
            high = middle
    return math.ceil(high)
