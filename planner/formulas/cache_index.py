"""The directory of a pool: entries, look-ups and the grain of its blocks."""

from __future__ import annotations


def index_entries(capacity_bytes: float, *, block_tokens: float, kv_bytes_per_token: float) -> float:
    """Blocks that fit a pool, each with an entry of its directory.

    Notes
    -----
    C / (b kv).

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    section 4.2 (blocks of KV cache).

    >>> index_entries(960e12, block_tokens=256, kv_bytes_per_token=160e3)
    23437500.0
    """
    return capacity_bytes / (block_tokens * kv_bytes_per_token)


def lookups_per_s(requests_per_s: float, *, prompt_tokens: float, block_tokens: float) -> float:
    """Look-ups when every block of a prompt is asked for.

    Notes
    -----
    lambda S / b.

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025 (prefix hashes by block).

    >>> lookups_per_s(100.0, prompt_tokens=8192.0, block_tokens=256.0)
    3200.0
    """
    return requests_per_s * prompt_tokens / block_tokens


def lost_tail_tokens(block_tokens: float) -> float:
    """Tokens of a reusable prefix that are computed again because their block is not full, on average.

    Notes
    -----
    (b - 1) / 2: the length modulo b is even over 0 to b - 1.

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    section 7.2 (choice of the block size).

    >>> lost_tail_tokens(256)
    127.5
    """
    return (block_tokens - 1) / 2
