"""Bringing an adapter to the GPU: from host memory, and from an object store when nobody here has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

PINNED_BYTES_PER_S = 25e9
"""Copies from pinned host memory over PCIe."""
PAGEABLE_BYTES_PER_S = 6e9
"""The same from pageable memory (assumed); pinning took 40 % off transfers in vLLM pull request 31317."""
TENSOR_S = 20e-6
"""A copy of one tensor from pinned memory (assumed)."""
SLOW_TENSOR_S = 450e-6
"""The same in an engine that prepares each tensor on the way: about 200 ms for an adapter of an 8B before, and 17 ms
after vLLM pull request 31250 made one slab of it."""
PARSE_S, ZERO_COPY_PARSE_S = 0.5, 0.05
"""Reading a file into tensors, copied and mapped: a 70B of rank 128 (SGLang pull request 20875); 0.5 to 1 s layer by
layer (LoRAX issue 433)."""
FIRST_BYTE_S = 0.15
"""Amazon S3 states 100 to 200 ms; inside a region a ninetieth percentile of 20 ms has been measured."""
CONNECTION_BYTES_PER_S = 87.5e6
"""Amazon S3 states 85 to 90 MB/s a connection."""
GETS_PER_S = 5500.0
"""Requests a second and prefix that Amazon S3 states."""


@dataclass(frozen=True, slots=True)
class Swap:
    """A copy from host memory to a slot.

    Parameters
    ----------
    copies_s : for each tensor [s]
    bytes_s : for their bytes [s]
    """

    copies_s: float
    bytes_s: float

    @property
    def total_s(self) -> float:
        return self.copies_s + self.bytes_s


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Parts of the time to first token of the first request of an adapter; they add to ``total_s``.

    Parameters
    ----------
    queue_s : until a slot is free [s]
    first_byte_s : of the object store [s]
    download_s : the bytes [s]
    parse_s : file to tensors [s]
    swap_s : into the slot, as far as prefill does not hide it [s]
    prefill_s : with its own queue [s]
    """

    queue_s: float
    first_byte_s: float
    download_s: float
    parse_s: float
    swap_s: float
    prefill_s: float

    @property
    def total_s(self) -> float:
        return math.fsum((self.queue_s, self.first_byte_s, self.download_s, self.parse_s, self.swap_s, self.prefill_s))


def swap(adapter_bytes: float, *, tensors: int, tensor_s: float, bytes_per_s: float) -> Swap:
    """Time to copy an adapter from host memory.

    Parameters
    ----------
    adapter_bytes : of the file, not of the slot [bytes]
    tensors : copies: two a matrix, one for a contiguous slab [1]
    tensor_s : overhead of each [s]
    bytes_per_s : of the link [bytes/s]

    Notes
    -----
    n tau + bytes / BW.

    References
    ----------
    R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel Computing 20(3), 1994,
    eq. (1) (start-up and asymptotic rate).

    >>> found = swap(83_886_080.0, tensors=448, tensor_s=TENSOR_S, bytes_per_s=PINNED_BYTES_PER_S)
    >>> round(found.bytes_s, 8), round(found.total_s, 4)
    (0.00335544, 0.0123)
    """
    return Swap(tensors * tensor_s, adapter_bytes / bytes_per_s)


def exposed_swap_s(swap_s: float, *, prefill_s: float, layers: int, pipelined: bool) -> float:
    """What a swap adds to the time to first token.

    Parameters
    ----------
    swap_s : whole copy [s]
    prefill_s : of the request, without the copy [s]
    layers : of the LLM [1]
    pipelined : layers are computed while later ones are copied

    Returns
    -------
    [s]

    Notes
    -----
    Whole unless pipelined; then max(swap, prefill) + swap / layers in all, so max(swap - prefill, 0) + swap / layers
    is added: the first layer's copy hides behind nothing.

    References
    ----------
    vLLM pull request 31941 (28 % off the time to first token by copying layer by layer); Y. Sheng et al., "S-LoRA:
    Serving Thousands of Concurrent LoRA Adapters", 2023, arXiv:2311.03285, section 5.2 (prefetching and overlap).

    >>> round(exposed_swap_s(0.032, prefill_s=0.1, layers=32, pipelined=True), 6)
    0.001
    """
    if not pipelined:
        return swap_s
    return max(swap_s - prefill_s, 0.0) + swap_s / max(layers, 1)


def download_s(
    adapter_bytes: float,
    *,
    connections: int = 1,
    first_byte_s: float = FIRST_BYTE_S,
    connection_bytes_per_s: float = CONNECTION_BYTES_PER_S,
    nic_bytes_per_s: float = math.inf,
) -> float:
    """Time to fetch an adapter from an object store.

    Parameters
    ----------
    adapter_bytes : [bytes]
    connections : c, ranges of the file fetched at once [1]
    first_byte_s : until data come [s]
    connection_bytes_per_s : of one connection [bytes/s]
    nic_bytes_per_s : of the host, for all connections [bytes/s]

    Returns
    -------
    [s]

    Notes
    -----
    first byte + bytes / min(c b, NIC).

    References
    ----------
    Amazon Web Services, "Best practices design patterns: optimizing Amazon S3 performance", sections "Request
    parallelization" and "Timeouts and retries for latency-sensitive applications".

    >>> round(download_s(83_886_080.0), 3), round(download_s(83_886_080.0, connections=8), 3)
    (1.109, 0.27)
    """
    return first_byte_s + adapter_bytes / min(max(connections, 1) * connection_bytes_per_s, nic_bytes_per_s)


def cold_start(
    adapter_bytes: float,
    *,
    swap_s: float,
    prefill_s: float,
    queue_s: float = 0.0,
    connections: int = 1,
    first_byte_s: float = FIRST_BYTE_S,
    connection_bytes_per_s: float = CONNECTION_BYTES_PER_S,
    nic_bytes_per_s: float = math.inf,
    parse_s: float = PARSE_S,
) -> ColdStart:
    """Time to first token of a request whose adapter is in the object store only, by part.

    Parameters
    ----------
    adapter_bytes : [bytes]
    swap_s : that prefill does not hide [s]
    prefill_s : with its own queue [s]
    queue_s : until a slot is free [s]
    connections, first_byte_s, connection_bytes_per_s, nic_bytes_per_s : as in `download_s`
    parse_s : file to tensors [s]

    Notes
    -----
    The sum of the parts, one after the other.

    References
    ----------
    Amazon Web Services, as in `download_s`; SGLang pull request 20875 and LoRAX issue 433 (parsing).

    >>> round(cold_start(83_886_080.0, swap_s=0.0123, prefill_s=0.05, connections=8).total_s, 3)
    0.832
    """
    fetched = download_s(
        adapter_bytes,
        connections=connections,
        first_byte_s=first_byte_s,
        connection_bytes_per_s=connection_bytes_per_s,
        nic_bytes_per_s=nic_bytes_per_s,
    )
    return ColdStart(queue_s, first_byte_s, fetched - first_byte_s, parse_s, swap_s, prefill_s)


def gets_per_s(cold_starts_per_s: float, *, adapter_bytes: float, part_bytes: float = math.inf) -> float:
    """Requests to the object store, one for each part of a file, to hold against `GETS_PER_S`.

    Parameters
    ----------
    cold_starts_per_s : adapters fetched, by all hosts [1/s]
    adapter_bytes : [bytes]
    part_bytes : of a ranged request; infinite: whole files [bytes]

    Notes
    -----
    rate x ceil(bytes / part).

    References
    ----------
    Amazon Web Services, "Best practices design patterns: optimizing Amazon S3 performance", introduction (5,500 reads
    a second and prefix).

    >>> gets_per_s(10.0, adapter_bytes=83_886_080.0, part_bytes=8 * 2**20)
    100.0
    """
    return cold_starts_per_s * max(1, math.ceil(adapter_bytes / part_bytes))


def swap_link_share(swaps_per_s: float, *, adapter_bytes: float, bytes_per_s: float) -> float:
    """Share of a host link that swaps take; above one they queue.

    Parameters
    ----------
    swaps_per_s : into the slots of one GPU [1/s]
    adapter_bytes : of each [bytes]
    bytes_per_s : of the link [bytes/s]

    >>> round(swap_link_share(30.0, adapter_bytes=83_886_080.0, bytes_per_s=25e9), 4)
    0.1007
    """
    return swaps_per_s * adapter_bytes / bytes_per_s
