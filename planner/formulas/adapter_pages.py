"""Adapters in the pages of the KV cache: as many requests run as fit beside the adapters that they use."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.optimize import brentq

from planner.formulas.distinct import mean_distinct
from planner.formulas.popularity import Popularity

_CLOSE = 1e-9


class SharedPages(NamedTuple):
    """A pool that is full, or as full as the cap on running requests lets it be.

    Parameters
    ----------
    batch : requests that run [1]
    adapters : different ones among them, which is all that is in the pool [1]
    """

    batch: float
    adapters: float


def shared_pages(
    popularity: Popularity,
    *,
    pool_bytes: float,
    request_bytes: float,
    adapter_bytes: float,
    adapted: float = 1.0,
    most: float = math.inf,
) -> SharedPages:
    """Requests that run at once where adapters and KV cache have one pool of pages and nothing has a place of its own.

    Parameters
    ----------
    popularity : of the adapters among requests that name one
    pool_bytes : M, of one GPU [bytes]
    request_bytes : r, KV cache and state of a running request there, on average [bytes]
    adapter_bytes : s, of an adapter there, at its own size [bytes]
    adapted : share of the requests that name an adapter [1]
    most : requests that may run at once [1]

    Notes
    -----
    B with B r + A0(B adapted) s = M, A0 the different adapters among running requests: an adapter comes with its first
    request and leaves with its last. Both terms grow with B, so there is one root.

    References
    ----------
    Y. Sheng et al., "S-LoRA: Serving Thousands of Concurrent LoRA Adapters", 2023, arXiv:2311.03285, section 5.1
    (unified paging), and its source, which frees the pages of adapters that no running request uses.

    >>> from planner.formulas.popularity import zipf
    >>> full = shared_pages(zipf(4, exponent=0.0), pool_bytes=100.0, request_bytes=1.0, adapter_bytes=10.0)
    >>> round(full.batch, 6), round(full.adapters, 6)
    (60.000012, 3.999999)
    """

    def left(batch: float) -> float:
        used = batch * request_bytes + mean_distinct(popularity, running=batch * adapted) * adapter_bytes
        return pool_bytes - used

    if pool_bytes <= 0:
        return SharedPages(0.0, 0.0)
    alone = pool_bytes / request_bytes if request_bytes > 0 else math.inf
    highest = min(alone, most)
    if math.isinf(highest) or left(highest) >= 0:
        return SharedPages(highest, mean_distinct(popularity, running=highest * adapted))
    batch = float(brentq(left, 0.0, highest, xtol=_CLOSE, rtol=_CLOSE))
    return SharedPages(batch, mean_distinct(popularity, running=batch * adapted))
