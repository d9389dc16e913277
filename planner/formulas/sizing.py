"""Demand over the capacity of one unit: from tokens a second to GPUs, units and nodes."""

from __future__ import annotations

import math

_SLACK = 1e-9
"""Relative slack of `whole`: far above rounding errors of a product of inputs, far below any real demand."""


def whole(quotient: float) -> int:
    """The next whole number, forgiving rounding errors: 5.000000000000001 units are five.

    >>> whole(0.1 * 3 * 10), whole(3.001)
    (3, 4)
    """
    nearest = round(quotient)
    if abs(quotient - nearest) <= _SLACK * max(1.0, abs(quotient)):
        return nearest
    return math.ceil(quotient)


def gpus_needed(tokens_per_s: float, *, tokens_per_s_per_gpu: float) -> float:
    """GPUs whose rate equals the demand, not rounded.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", open-infra-index, day 6, 2025: 73.7k input tokens/s
    (cache hits included) and 14.8k output tokens/s a node of eight H800.

    >>> gpus_needed(750_000.0, tokens_per_s_per_gpu=4000.0)
    187.5
    """
    return tokens_per_s / tokens_per_s_per_gpu


def units_needed(gpus: float, *, unit_gpus: int, headroom: float) -> int:
    """Whole units that cover a need with headroom.

    Parameters
    ----------
    gpus : need [1]
    unit_gpus : GPUs bought and started together [1]
    headroom : share added to the need [1]

    Returns
    -------
    [1]

    >>> units_needed(187.5, unit_gpus=32, headroom=0.2)
    8
    """
    return whole(gpus * (1 + headroom) / unit_gpus)


def nodes_of_units(units: int, *, unit_gpus: int, gpus_per_node: int) -> int:
    """Nodes that hold the units: a large unit takes whole nodes, small units share one.

    >>> nodes_of_units(2, unit_gpus=144, gpus_per_node=8), nodes_of_units(5, unit_gpus=4, gpus_per_node=8)
    (36, 3)
    """
    if unit_gpus >= gpus_per_node:
        return units * math.ceil(unit_gpus / gpus_per_node)
    return math.ceil(units / (gpus_per_node // unit_gpus))


def nodes_failing_with_a_unit(*, unit_gpus: int, gpus_per_node: int) -> int:
    """Nodes of which each can stop the unit.

    >>> nodes_failing_with_a_unit(unit_gpus=144, gpus_per_node=8)
    18
    """
    return max(1, math.ceil(unit_gpus / gpus_per_node))


def units_on_a_node(*, unit_gpus: int, gpus_per_node: int) -> int:
    """Units that share a node, and are lost with it; 1 for a unit that takes a node or more.

    >>> units_on_a_node(unit_gpus=144, gpus_per_node=8), units_on_a_node(unit_gpus=2, gpus_per_node=8)
    (1, 4)
    """
    return max(1, gpus_per_node // unit_gpus)
