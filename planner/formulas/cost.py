"""Money: the bill, prices per million tokens by a named basis, and parts that sum to the bill exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping

HOURS_PER_MONTH = 730.0
"""8,760 h / 12: the month of cloud price lists."""


NO_TOKENS_PER_S = 1e-12
"""Less than a token in thirty thousand years is none: a price for it would only be a rounding error blown up."""


def usd_per_million_tokens(usd_per_h: float, *, tokens_per_s: float) -> float | None:
    """Price of a million tokens of the stated basis; None when there are no tokens.

    Parameters
    ----------
    usd_per_h : the bill [USD/h]
    tokens_per_s : input, cached input, output or all tokens [1/s]

    Returns
    -------
    [USD per 1e6 tokens]

    Notes
    -----
    bill / (tokens/s * 3600 s/h) * 1e6.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", open-infra-index, day 6, 2025 (cost and throughput of
    one day at 2 USD per GPU-hour).

    >>> round(usd_per_million_tokens(1088.0, tokens_per_s=400_000.0), 4)
    0.7556
    """
    if tokens_per_s <= NO_TOKENS_PER_S:
        return None
    return usd_per_h / (tokens_per_s * 3600) * 1e6


def exact_parts(total: float, *, parts: Mapping[str, float], remainder: str) -> dict[str, float]:
    """The parts of a total, with a named remainder, such that adding them in any order gives the total to the last bit.

    Parameters
    ----------
    total : >= 0, in the unit of the answer
    parts : non-negative parts whose sum is at most the total
    remainder : name of what is left over

    Notes
    -----
    Each part is rounded to a multiple of the total's unit in the last place. Sums of such multiples below the total
    are exact in binary floating point, so the remainder is too.

    References
    ----------
    P. H. Sterbenz, "Floating-Point Computation", 1974, section 4.3 (exact subtraction).

    >>> parts = exact_parts(0.3, parts={"a": 0.1, "b": 0.1}, remainder="rest")
    >>> sum(parts.values()) == 0.3
    True
    """
    grain = math.ulp(total) if total > 0 else 1.0
    exact = {name: min(round(part / grain) * grain, total) for name, part in parts.items()}
    left = total
    for name, part in exact.items():
        exact[name] = min(part, left)
        left -= exact[name]
    return {**exact, remainder: left}
