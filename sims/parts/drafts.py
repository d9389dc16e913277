"""How many steps an answer takes when drafts of its next tokens are accepted by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def steps_drawn(
    generator: np.random.Generator, *, tokens: NDArray[np.int64], tokens_per_step: float
) -> NDArray[np.int64]:
    """Steps in which sequences get ``tokens`` tokens each, when one gives ``tokens_per_step`` > 1 on average.

    Notes
    -----
    A step gives one token and the accepted ones of ⌈``tokens_per_step`` − 1⌉ drafts, each accepted independently with
    the same chance; the last step may give more than were asked for. Drawn in rounds of as many steps as are needed
    even if every draft is accepted.
    """
    drafts = math.ceil(tokens_per_step - 1)
    chance = (tokens_per_step - 1) / drafts
    left = np.maximum(tokens, 0)
    steps = np.zeros_like(left)
    while left.any():
        more = -(-left // (1 + drafts))
        steps += more
        left = np.maximum(0, left - more - generator.binomial(more * drafts, chance))
    return steps
