"""Electric power of a fleet at the wall."""

from __future__ import annotations


def wall_power_w(*, gpus: float, gpu_w: float, nodes: float, host_w_per_node: float, pue: float) -> float:
    """Power drawn from the grid with every GPU at its limit.

    Parameters
    ----------
    gpus : [1]
    gpu_w : board power limit (TDP) [W]
    nodes : [1]
    host_w_per_node : processors, memory, network cards and fans of one node [W]
    pue : power usage effectiveness of the site [1]

    Returns
    -------
    [W]

    Notes
    -----
    P = PUE (gpus TDP + nodes host). An upper bound: decode draws less than the limit.

    References
    ----------
    The Green Grid, "PUE: A Comprehensive Examination of the Metric", white paper 49, 2012, eq. (1).

    >>> wall_power_w(gpus=8, gpu_w=700.0, nodes=1, host_w_per_node=4600.0, pue=1.25)
    12750.0
    """
    return pue * (gpus * gpu_w + nodes * host_w_per_node)
