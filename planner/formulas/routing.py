"""Where a token goes: nodes its experts lie on, and the share of them reached over the network."""

from __future__ import annotations

from math import comb

from planner.core.catalog import Moe


def nodes_reached(moe: Moe, *, nodes: float) -> float:
    """Expected number of nodes that hold an expert of a token.

    Parameters
    ----------
    moe : routing; with groups a token chooses some of them first and experts only there
    nodes : nodes the experts are spread over, whole groups together

    Returns
    -------
    float [nodes]

    Notes
    -----
    With G groups, g of them chosen, and r = G/n groups on a node: ``n · (1 − C(G − r, g)/C(G, g))``; on more nodes
    than groups at least g, and up to the chosen experts: a group then lies on ``n/G`` nodes. Without groups
    ``n · (1 − (1 − 1/n)^k)``.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 2.1.2 (node-limited routing).

    Examples
    --------
    DeepSeek-V3, 8 groups of which 4, on 4 nodes: 4 · (1 − 15/70).

    >>> round(nodes_reached(Moe(experts=256, top_k=8, expert_width=2048, groups=8, groups_chosen=4), nodes=4), 3)
    3.143
    """
    if nodes <= 1:
        return 1.0
    if not moe.groups or not moe.groups_chosen:
        return places_reached(nodes, draws=moe.top_k)
    if nodes > moe.groups:
        per_group = nodes / moe.groups
        return moe.groups_chosen * places_reached(per_group, draws=moe.top_k / moe.groups_chosen)
    on_a_node = round(moe.groups / nodes)
    missed = comb(moe.groups - on_a_node, moe.groups_chosen) / comb(moe.groups, moe.groups_chosen)
    return nodes * (1.0 - missed)


def places_reached(places: float, *, draws: float) -> float:
    """Expected number of different places that independent even choices reach.

    Notes
    -----
    ``n · (1 − (1 − 1/n)^k)``.

    References
    ----------
    Feller, "An Introduction to Probability Theory", vol. 1, chapter IX (the coupon collector).

    Examples
    --------
    >>> places_reached(2.0, draws=2)
    1.5
    """
    missed: float = (1.0 - 1.0 / places) ** draws
    return places * (1.0 - missed)


def share_elsewhere(*, places: float) -> float:
    """Share of an evenly spread traffic that leaves its own place, a node or a GPU.

    Notes
    -----
    ``1 − 1/n``.

    References
    ----------
    Thakur, Rabenseifner, Gropp, doi:10.1177/1094342005051521, section 4.3 (all-to-all: each part goes to one place).

    Examples
    --------
    >>> share_elsewhere(places=4)
    0.75
    """
    return 1.0 - 1.0 / max(places, 1.0)
