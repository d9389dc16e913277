"""What adapters add to the time of a decode step: launches of small kernels, and reading the adapters' weights.

Two families of kernels. *Grouped*: one pass over each different adapter of the batch, whatever tokens share it.
*Gather*: every token reads its own adapter again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.formulas.gaps import Numbers, plain

BANDWIDTH_USE = 0.8
"""Share of the rated bandwidth that reading weights reaches (assumed)."""
COMPUTE_USE = 0.5
"""Share of the rated FLOP/s that small grouped products reach (assumed); it hardly ever binds in decode."""
GATHER_BYTES_PER_S = 1.1e12
"""At which gathering kernels pass over the adapters of their tokens, on an A10G as on an A100; see `gather_s`."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a kernel of an adapter costs before it reads anything.

    Parameters
    ----------
    name : of the way the engine runs
    kernel_s : [s]
    source : of the figure
    """

    name: str
    kernel_s: float
    source: str


GRAPHS = Launch(
    "graphs",
    2.7e-6,
    "vLLM pull request 25914: 10.5 % of a step of 6.6 ms of Llama-2-7B with no adapter active, 256 kernels",
)
EAGER = Launch(
    "eager",
    30e-6,
    "LoRAX issue 333: 69 tokens/s without, 35 with an adapter, Mistral-7B on an L40S; 448 kernels assumed",
)
EAGER_OLD = Launch(
    "eager, vLLM before 0.8",
    150e-6,
    "vLLM issue 13204: 17.6 tokens/s without, 6.5 with an adapter, Qwen2.5-72B-AWQ, vLLM 0.7.0; 640 kernels assumed",
)
LAUNCHES = (GRAPHS, EAGER, EAGER_OLD)

V0_FACTOR = 1.5
"""Of a whole step in vLLM V0: 11.45 requests/s without, 7.60 with adapters, whether one slot or four (vLLM pull
request 11267); no count of bytes or kernels explains it."""


def grouped_s(
    distinct: Numbers,
    *,
    batch: Numbers,
    kernels: int,
    kernel_s: float,
    slot_bytes: float,
    adapter_parameters: float,
    memory_bytes_per_s: float,
    flops_per_s: float,
    bandwidth_use: float = BANDWIDTH_USE,
    compute_use: float = COMPUTE_USE,
) -> Numbers:
    """Time that adapters add to a step in engines that group tokens by adapter.

    Parameters
    ----------
    distinct : D, different adapters in the batch; at 0 the kernels run all the same [1]
    batch : B, tokens of the step that use an adapter [1]
    kernels : n_k, adapter kernels of a step [1]
    kernel_s : t_k, launch of one [s]
    slot_bytes : of a slot on one GPU; padded kernels read all of it [bytes]
    adapter_parameters : P on one GPU [1]
    memory_bytes_per_s, flops_per_s : of one GPU, rated [bytes/s, FLOP/s]
    bandwidth_use, compute_use : shares of them that the kernels reach [1]

    Returns
    -------
    [s]

    Notes
    -----
    n_k t_k + max(D slot / (BW u), 2 P B / (FLOPs v)). Against a case not used for t_k, SGLang pull request 28953
    (Kimi-K2.5 on 16 GB300, rank 16; 972 kernels as `adapters.kernels` counts them): 2.62 ms a step, measured 1.92 to
    2.84 ms from 16 to 128 sequences, flat in the batch.

    References
    ----------
    L. Chen et al., "Punica: Multi-Tenant LoRA Serving", 2023, arXiv:2310.18547, section 4 (segmented gather products)
    and figure 8 (their roofline); `LAUNCHES` for t_k.

    >>> ms = 1e3 * grouped_s(16.0, batch=256.0, kernels=256, kernel_s=2.7e-6, slot_bytes=83_886_080.0,
    ...     adapter_parameters=41_943_040.0, memory_bytes_per_s=3.35e12, flops_per_s=989e12)
    >>> print(round(ms, 3))
    1.192
    """
    reading = distinct * (slot_bytes / (memory_bytes_per_s * bandwidth_use))
    computing = batch * (2.0 * adapter_parameters / (flops_per_s * compute_use))
    answer: Numbers = kernels * kernel_s + _larger(reading, computing)
    return answer


def _larger(one: Numbers, other: Numbers) -> Numbers:
    """Of single figures without the detour over arrays: a step is worked out many hundred times for a design."""
    if isinstance(one, float) and isinstance(other, float):
        return max(one, other)
    answer: Numbers = plain(np.maximum(one, other))
    return answer


def gather_s(
    batch: Numbers,
    *,
    adapter_bytes: float,
    memory_bytes_per_s: float,
    distinct: Numbers | None = None,
    launch_s: float = 0.0,
    gather_bytes_per_s: float = GATHER_BYTES_PER_S,
    bandwidth_use: float = BANDWIDTH_USE,
) -> Numbers:
    """Time that adapters add to a step in engines whose kernels read an adapter again for each token.

    Parameters
    ----------
    batch : B, tokens of the step that use an adapter [1]
    adapter_bytes : on one GPU, the mean over tokens [bytes]
    memory_bytes_per_s : BW of one GPU, rated [bytes/s]
    distinct : D, different adapters among the tokens; None: few enough for the cache [1]
    launch_s : all launches of the step; the host makes them while the GPU reads [s]
    gather_bytes_per_s : g, at which the kernels pass over bytes, whether from cache or memory [bytes/s]
    bandwidth_use : u, share of the rated bandwidth [1]

    Returns
    -------
    [s], launches included; it depends on how many adapters differ only where memory is slow

    Notes
    -----
    max(launches, B bytes / g, D bytes / (u BW)): repeated reads come from the cache, so the rated bandwidth bounds only
    what differs. g from the one pair of saturated runs without and with one adapter of rank 64 in the paper's results
    (7B on an A10G: 1.11e12 bytes/s). Pairs on A100s, whose runs without adapters had not reached their limit, give
    upper bounds of 1.11, 1.16 and 1.37e12, though their memory is up to 3.4 times as fast; a reading rate in
    proportion to the memory's bandwidth (1.1 to 1.4 reads a token there) would be 0.43 reads on the A10G. No later GPU
    was measured.

    References
    ----------
    Y. Sheng et al., "S-LoRA: Serving Thousands of Concurrent LoRA Adapters", 2023, arXiv:2311.03285, section 5.3
    (gathering kernels for decode) and the results in its repository, benchmarks/paper/synthetic/slora and ablation_mem.

    >>> print(round(1e3 * gather_s(64.0, adapter_bytes=83_886_080.0, memory_bytes_per_s=2.039e12), 2))
    4.88
    """
    tokens = np.asarray(batch, dtype=np.float64)
    different = np.asarray(0.0 if distinct is None else distinct, dtype=np.float64)
    reading = np.maximum(
        tokens * adapter_bytes / gather_bytes_per_s, different * adapter_bytes / (bandwidth_use * memory_bytes_per_s)
    )
    answer: Numbers = plain(np.maximum(reading, launch_s))
    return answer


def base_only_s(*, kernels: int, kernel_s: float, specialised_graphs: bool) -> float:
    """Time that adapters add to a step in which no sequence uses one.

    Parameters
    ----------
    kernels : adapter kernels of a step [1]
    kernel_s : launch of one [s]
    specialised_graphs : the engine keeps graphs without adapter kernels for such steps

    Notes
    -----
    n_k t_k, or nothing with graphs of their own (1.4 % remained in the measurement, on the host).

    References
    ----------
    vLLM pull request 25914, "LoRA cuda graph specialization" (10.5 % before, 1.4 % after).

    >>> round(1e3 * base_only_s(kernels=256, kernel_s=2.7e-6, specialised_graphs=False), 4)
    0.6912
    """
    return 0.0 if specialised_graphs else kernels * kernel_s


def step_factor(added_s: Numbers, *, base_s: Numbers, engine_factor: float = 1.0) -> Numbers:
    """Time of a step with adapters over that without.

    Parameters
    ----------
    added_s : what adapters add [s]
    base_s : the step without them [s]
    engine_factor : of the engine's generation, on the whole step (`V0_FACTOR`) [1]

    Returns
    -------
    phi [1]

    Notes
    -----
    phi = g (1 + added / base).

    References
    ----------
    vLLM pull request 11267 (g; a rule, not a derivation).

    >>> print(step_factor(0.25e-3, base_s=1e-3))
    1.25
    """
    answer: Numbers = engine_factor * (1.0 + added_s / base_s)
    return answer
