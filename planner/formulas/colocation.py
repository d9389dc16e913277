"""Training and generation in turn on the same GPUs: memory that is handed over, and the time that takes."""

from __future__ import annotations

OPTIMISER_BYTES = 12.0
"""Of a parameter with Adam in mixed precision: a 32-bit copy, momentum and variance."""


def optimiser_bytes_per_gpu(parameters: float, *, gpus: int, bytes_per_parameter: float = OPTIMISER_BYTES) -> float:
    """State of the optimiser on a GPU when it is sharded over all [bytes].

    Parameters
    ----------
    parameters : of the LLM [1]
    gpus : it is sharded over [1]
    bytes_per_parameter : [bytes]

    Notes
    -----
    K P / G with K = 12.

    References
    ----------
    S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020,
    arXiv:1910.02054, section 3.1 and figure 1.

    >>> optimiser_bytes_per_gpu(32e9, gpus=64)
    6000000000.0
    """
    return parameters * bytes_per_parameter / gpus


def switch_s(offloaded_bytes: float, *, host_link_bytes_per_s: float, reshard_s: float = 0.0) -> float:
    """Time of a step that goes into handing GPUs over and back [s].

    Parameters
    ----------
    offloaded_bytes : that leave a GPU for host memory and return [bytes]
    host_link_bytes_per_s : of a GPU to its host, one way [bytes/s]
    reshard_s : to lay weights out for the other role [s]

    Notes
    -----
    2 bytes / PCIe + reshard. What the link allows at best: handing the weights of a 30B MoE to the engines on the same
    GPUs took slime 60 s at first and 7 s after it was improved.

    References
    ----------
    G. Sheng et al., "HybridFlow", 2024, arXiv:2409.19256, section 5 (resharding between training and generation);
    B. He, Z. Zhu et al., "Efficient RL Training: Optimizing Weight Sync in slime", 2025.

    >>> switch_s(6e9, host_link_bytes_per_s=25e9)
    0.48
    """
    return 2 * offloaded_bytes / host_link_bytes_per_s + reshard_s
