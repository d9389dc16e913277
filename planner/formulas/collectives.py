"""Time that GPUs of a replica spend talking: all-reduce of tensor parallelism, all-to-all of expert parallelism."""

from __future__ import annotations

from planner.core.catalog import Gpu
from planner.formulas.elementwise import least


def scope_bytes_per_s(gpu: Gpu, *, ranks: int, gpus_per_node: int) -> float:
    """Rated one-direction bandwidth of a GPU inside a group of this size [bytes/s].

    The scale-up links while the group fits their domain, PCIe while it fits the node, the NIC beyond. Raises
    `MissingFigure` when the catalog lacks the link's figure.
    """
    if ranks <= scaleup_gpus(gpu, gpus_per_node=gpus_per_node):
        return gpu.figure("scaleup_bytes_per_s")
    if ranks <= gpus_per_node and gpu.has("pcie_bytes_per_s"):
        return gpu.figure("pcie_bytes_per_s")
    return gpu.figure("nic_bytes_per_s")


def scaleup_gpus(gpu: Gpu, *, gpus_per_node: int) -> int:
    """GPUs that reach each other over scale-up links; a node when only the links' bandwidth is known, else one."""
    if gpu.has("scaleup_gpus"):
        return int(gpu.figure("scaleup_gpus"))
    return gpus_per_node if gpu.has("scaleup_bytes_per_s") else 1


def all_reduce_bytes(*, payload_bytes: float, ranks: int) -> float:
    """Bytes each rank sends in a ring all-reduce of a payload.

    Notes
    -----
    ``2 · (p − 1)/p · payload``.

    References
    ----------
    Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005,
    doi:10.1177/1094342005051521, section 4.5.

    Examples
    --------
    >>> all_reduce_bytes(payload_bytes=8.0, ranks=4)
    12.0
    """
    return 2.0 * (ranks - 1) / ranks * payload_bytes


def all_to_all_bytes_per_token(
    *, hidden: int, copies: float, dispatch_bytes: float = 1.0, combine_bytes: float = 2.0
) -> float:
    """Bytes one token sends and receives in one layer with experts elsewhere.

    Parameters
    ----------
    hidden : width of the residual stream
    copies : copies a token is sent in: the chosen experts (low-latency kernels) or the nodes they lie on
    dispatch_bytes, combine_bytes : width of a number on its way there (FP8) and back (BF16) [bytes]

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, sections 3.2.2 and 3.4 (FP8 dispatch, BF16 combine,
    tokens limited to four nodes).

    Examples
    --------
    >>> all_to_all_bytes_per_token(hidden=7168, copies=8)
    172032.0
    """
    return hidden * copies * (dispatch_bytes + combine_bytes)


def overlapped_s(*, compute_s: float, communication_s: float, overlap: float) -> float:
    """Time of compute and communication when a share of the shorter one is hidden.

    Notes
    -----
    ``compute + communication − overlap · min(compute, communication)``: 0 is serial, 1 is ``max(compute,
    communication)``, what two micro-batches reach at best.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 3.4 (two micro-batches hide the all-to-all).

    Examples
    --------
    >>> overlapped_s(compute_s=3.0, communication_s=2.0, overlap=1.0)
    3.0
    """
    return compute_s + communication_s - overlap * least(compute_s, communication_s)
