"""The index of a cache-aware router: which instance holds which block of a prefix; how often it is asked and told."""

from __future__ import annotations

import math

BYTES_PER_NODE = 64.0
"""A node of the index: hash, parent, the instances that hold it. Compact ones take 31 B a membership; a radix tree with
a map built for every node took 27 KB before it was mended (github.com/ai-dynamo/dynamo, pull requests 11372, 11432)."""


def blocks_per_request(prompt_tokens: float, *, block_tokens: float) -> int:
    """Blocks of a prompt that are hashed; the tail that fills no block is not.

    Parameters
    ----------
    prompt_tokens : [tokens]
    block_tokens : [tokens]

    Returns
    -------
    [1]

    Notes
    -----
    floor(prompt / block).

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    section 4.4 (sharing by block).

    >>> blocks_per_request(4096, block_tokens=64)
    64
    """
    return math.floor(prompt_tokens / block_tokens)


def lookups_probing_per_s(request_rps: float, *, blocks: float, instances: float) -> float:
    """Look-ups when the table of every instance is asked for every block.

    Parameters
    ----------
    request_rps : [1/s]
    blocks : of one request [1]
    instances : [1]

    Returns
    -------
    [1/s]

    >>> lookups_probing_per_s(5000, blocks=64, instances=200)
    64000000
    """
    return request_rps * blocks * instances


def lookups_tree_per_s(request_rps: float, *, blocks: float) -> float:
    """Look-ups when one prefix tree holds the instances at each node: one walk a request.

    Parameters
    ----------
    request_rps : [1/s]
    blocks : of one request [1]

    Returns
    -------
    [1/s]

    >>> lookups_tree_per_s(5000, blocks=64)
    320000
    """
    return request_rps * blocks


def index_nodes(instances: float, *, cached_tokens: float, block_tokens: float) -> float:
    """Nodes of the index when every block is on one instance only: the most there can be.

    Parameters
    ----------
    instances : [1]
    cached_tokens : KV cache of one instance [tokens]
    block_tokens : [tokens]

    Returns
    -------
    [1]

    >>> index_nodes(200, cached_tokens=2_000_000, block_tokens=64)
    6250000.0
    """
    return instances * cached_tokens / block_tokens


def index_bytes(nodes: float, *, bytes_per_node: float = BYTES_PER_NODE) -> float:
    """Memory of the index in each router that holds it.

    Parameters
    ----------
    nodes : [1]
    bytes_per_node : [bytes]

    Returns
    -------
    [bytes]

    >>> index_bytes(6_250_000)
    400000000.0
    """
    return nodes * bytes_per_node


def events_per_s(
    request_rps: float, *, hit_share: float, prompt_tokens: float, output_tokens: float, block_tokens: float
) -> float:
    """Events a cache sends to each router: every block stored is one, and later evicted is another.

    Parameters
    ----------
    request_rps : of one instance, or of the fleet [1/s]
    hit_share : prompt tokens found in the cache [1]
    prompt_tokens, output_tokens : of one request [tokens]
    block_tokens : [tokens]

    Returns
    -------
    [1/s]

    Notes
    -----
    2 lambda ((1 - h) prompt + output) / block, in a steady state: what comes in goes out. An upper bound where engines
    put several blocks in one event.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961 (in a steady state
    as many leave as arrive).

    >>> events_per_s(25, hit_share=0.5, prompt_tokens=4096, output_tokens=400, block_tokens=64)
    1912.5
    """
    return 2 * request_rps * ((1 - hit_share) * prompt_tokens + output_tokens) / block_tokens


def stale_share(lag_s: float, *, retention_s: float) -> float:
    """Share of the hits a router expects that have been evicted since its view was made.

    Parameters
    ----------
    lag_s : age of the view [s]
    retention_s : how long a cache keeps what is not asked for, its characteristic time; may be endless [s]

    Returns
    -------
    [1], one when the view is older than the cache keeps anything

    Notes
    -----
    lag / T: in an LRU cache the remaining life of an entry is spread evenly over T when its age is.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web caching systems", IEEE Journal on Selected Areas in Communications
    20(7), 2002, section III (characteristic time), doi:10.1109/JSAC.2002.801752.

    >>> stale_share(0.5, retention_s=100.0)
    0.005
    """
    if lag_s <= 0:
        return 0.0
    return min(1.0, lag_s / retention_s) if retention_s > 0 else 1.0


def delivered_share(held: float, *, captured: float, lag_s: float = 0.0, retention_s: float = math.inf) -> float:
    """Hits that a request gets in the end.

    Parameters
    ----------
    held : share of prompt tokens that some instance of the fleet holds [1]
    captured : share of these that the rule of routing reaches [1]
    lag_s : age of the router's view [s]
    retention_s : characteristic time of the caches [s]

    Returns
    -------
    [1]

    Notes
    -----
    held * captured * (1 - lag / T).

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web caching systems", IEEE Journal on Selected Areas in Communications
    20(7), 2002, section III (characteristic time), doi:10.1109/JSAC.2002.801752.

    >>> delivered_share(0.8, captured=0.5, lag_s=1.0, retention_s=4.0)
    0.30000000000000004
    """
    return held * captured * (1 - stale_share(lag_s, retention_s=retention_s))


def duplicate_prefills(group_rps: float, *, lag_s: float, instances: float = math.inf) -> float:
    """Times a new hot prefix is computed again because the routers do not know yet that an instance has it.

    Parameters
    ----------
    group_rps : requests with this prefix [1/s]
    lag_s : from the first request to the router's view [s]
    instances : they are spread over [1]

    Returns
    -------
    expected number beyond the first [1]; none when the router inserts what it dispatches at once

    Notes
    -----
    lambda * lag requests follow before the view is renewed. Spread over N instances at random they reach
    (N - 1) (1 - exp(-lambda lag / N)) others, which is lambda lag while that is far below N.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, chapter IX (places
    reached by random draws).

    >>> duplicate_prefills(100.0, lag_s=0.5)
    50.0
    """
    expected = max(group_rps * lag_s, 0.0)
    if math.isinf(instances):
        return expected
    return -(instances - 1) * math.expm1(-expected / instances)
