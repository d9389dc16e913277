"""Mixture of experts: which layers have them, how many are touched, how unevenly."""

from __future__ import annotations

from planner.core.catalog import Llm
from planner.formulas.elementwise import largest


def expert_layers(llm: Llm) -> int:
    """Layers with routed experts."""
    if llm.moe is None:
        return 0
    if llm.moe.layers:
        return llm.moe.layers
    return max(0, llm.layers - llm.moe.first_dense_layers) // llm.moe.every


def distinct_experts(*, experts: float, top_k: float, tokens: float, correlation: float = 1.0) -> float:
    """Expected number of different experts that ``tokens`` tokens choose in one layer.

    Parameters
    ----------
    experts : routed experts of the layer
    top_k : experts a token chooses
    tokens : tokens of the step
    correlation : 1 for independent choices; below 1 when tokens of a batch agree more than chance

    Returns
    -------
    float [experts]

    Notes
    -----
    ``E · (1 − (1 − k/E)^(1 + ζ(B − 1)))``: each expert is missed by a token with probability ``1 − k/E``. One token
    touches exactly k; the fewest tokens counted is one.

    References
    ----------
    The coupon-collector expectation, e.g. Feller, "An Introduction to Probability Theory", vol. 1, chapter IX.
    """
    draws = 1.0 + correlation * (largest(tokens, 1.0) - 1.0)
    missed: float = (1.0 - top_k / experts) ** draws
    return experts * (1.0 - missed)


def destination_nodes(*, top_k: int, nodes: int) -> float:
    """Nodes a token is sent to when copies for experts on the same node travel once: at most one a chosen expert."""
    return float(min(top_k, nodes))


def redundancy_factor(*, experts: int, redundant_experts: int) -> float:
    """Expert weights stored, as a multiple of one copy of each."""
    return 1.0 + redundant_experts / experts
