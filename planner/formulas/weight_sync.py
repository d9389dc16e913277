"""New weights from training to the instances: broadcast, writes by a shard map, relays, changes only.

Ideal bounds come from links; what systems reach stands in ``calibrations/weight_sync.toml``, fitted on published runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Published:
    """A way to move weights as published runs found it.

    ``low`` and ``high`` bound the time as factors; ``tested`` says that runs were left out to find them.
    """

    fixed_s: float
    tensor_s: float
    bytes_per_s: float
    low: float
    high: float
    tested: bool
    source: str

    def seconds(self, weight_bytes: float, *, tensors: float = 0.0) -> float:
        """Time to move weights.

        Parameters
        ----------
        weight_bytes : of all ranks of an instance together [bytes]
        tensors : that are sent one by one [1]

        Notes
        -----
        t = t_0 + n tau + S / BW. Each rank sees all weights and keeps its own, so that the size of the fleet hardly
        counts: 16 and 256 GPUs differ by 11 %.

        References
        ----------
        Kimi Team, "Kimi K2: Open Agentic Intelligence", 2025, arXiv:2507.20534 (checkpoint engine).
        """
        return self.fixed_s + tensors * self.tensor_s + weight_bytes / self.bytes_per_s


def published(table: Mapping[str, Any]) -> dict[str, Published]:
    """The methods of ``calibrations/weight_sync.toml`` that have a rate of their own."""
    return {
        name: Published(
            fixed_s=float(row["fixed_s"]),
            tensor_s=float(row["tensor_s"]),
            bytes_per_s=float(row["bytes_per_s"]),
            low=float(row["low"]),
            high=float(row["high"]),
            tested=bool(row["tests"]),
            source=str(row["source"]),
        )
        for name, row in table["method"].items()
        if "bytes_per_s" in row
    }


def sharded_s(
    weight_bytes: float,
    *,
    tensor_parallel: int,
    replicas: int,
    train_gpus: int,
    link_bytes_per_s: float,
    fixed_s: float = 0.0,
    efficiency: float = 1.0,
) -> float:
    """Time when every training rank writes the shards it holds straight to the ranks that need them.

    Parameters
    ----------
    weight_bytes : S, of an instance [bytes]
    tensor_parallel : ranks of an instance, which share the weights [1]
    replicas : R, instances [1]
    train_gpus : ranks that send [1]
    link_bytes_per_s : b, of a NIC, one way [bytes/s]
    fixed_s : to plan and to agree [s]
    efficiency : e, of the links [1]

    Returns
    -------
    [s]

    Notes
    -----
    t = t_0 + max(S / (TP b), R S / (G_train b)) / e: a receiver takes its shard, the senders together all copies.

    References
    ----------
    Perplexity AI, "Weight Transfer for RL Post-Training in under 2 seconds", research blog, September 2025.

    >>> round(sharded_s(1.03e12, tensor_parallel=128, replicas=1, train_gpus=256, link_bytes_per_s=50e9), 2)
    0.16
    """
    receiving = weight_bytes / (tensor_parallel * link_bytes_per_s)
    sending = replicas * weight_bytes / (train_gpus * link_bytes_per_s)
    return fixed_s + max(receiving, sending) / efficiency


def relay_s(weight_bytes: float, *, links: int, link_bytes_per_s: float, replicas: int, chunks: float) -> float:
    """Time when instances hand the weights on to each other in chunks.

    Parameters
    ----------
    weight_bytes : S [bytes]
    links : in parallel from one instance to the next [1]
    link_bytes_per_s : b [bytes/s]
    replicas : R, instances in the chain [1]
    chunks : that the weights are cut into [1]

    Returns
    -------
    [s]

    Notes
    -----
    t = S / (links b) (1 + (R - 1) / chunks): the last instance waits for R - 1 chunks to pass through the others. The
    ideal bound, without start-up of a message or copies.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", International
    Journal of High Performance Computing Applications 19(1), 2005, section 5 (pipelined broadcast).

    >>> relay_s(32e9, links=8, link_bytes_per_s=50e9, replicas=1, chunks=1)
    0.08
    """
    return weight_bytes / (links * link_bytes_per_s) * (1 + (max(replicas, 1) - 1) / chunks)


def delta_bytes(parameters: float, *, changed: float, index_bytes: float, value_bytes: float = 2.0) -> float:
    """Bytes when only the changed weights travel, each with its place; never more than all of them.

    Parameters
    ----------
    parameters : P, of the LLM [1]
    changed : rho, share that differs after a step in the format sent [1]
    index_bytes : of a place: 4 absolute, 1 as the distance to the one before [bytes]
    value_bytes : of a weight [bytes]

    Returns
    -------
    [bytes]

    Notes
    -----
    rho P (value + index). At 1 % that is 33 times less than 16-bit weights with 4-byte places, 67 times with 1-byte
    ones; a hundred times counts elements, not bytes.

    References
    ----------
    A. F. Aji, K. Heafield, "Sparse Communication for Distributed Gradient Descent", EMNLP 2017, arXiv:1704.05021,
    section 3 (values with their places).

    >>> round(2 * 32e9 / delta_bytes(32e9, changed=0.01, index_bytes=4), 1)
    33.3
    """
    return min(changed * parameters * (value_bytes + index_bytes), parameters * value_bytes)


def tensors_of(*, layers: int, per_layer: int, experts: int = 0, matrices_per_expert: int = 3, outside: int = 3) -> int:
    """Tensors of a checkpoint with each expert stored apart [1].

    Parameters
    ----------
    layers : [1]
    per_layer : tensors of a layer outside the experts: projections, norms, router [1]
    experts : routed experts of a layer [1]
    matrices_per_expert : [1]
    outside : embedding, head, last norm [1]

    >>> tensors_of(layers=48, per_layer=9, experts=128)  # Qwen3-30B-A3B
    18867
    """
    return layers * (per_layer + experts * matrices_per_expert) + outside
