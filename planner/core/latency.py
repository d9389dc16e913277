"""Measured kernels as a second source of step times: what an estimator asks for, and the answer when there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

PACKAGE = "aiconfigurator-core"
"""The package whose tables are read when it is installed (Apache-2.0; extra ``measured``)."""


class KernelsUnavailable(LookupError):
    """Measured kernels cannot answer. ``reason`` is a sentence for the user.

    ``installed`` tells a missing package from tables that do not hold what was asked for.
    """

    def __init__(self, reason: str, *, installed: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.installed = reason, installed


@dataclass(frozen=True, slots=True)
class Ranks:
    """How a replica is cut: attention ranks and copies, stages, expert and context ranks."""

    tensor_parallel: int = 1
    data_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    context_parallel: int = 1


@dataclass(frozen=True, slots=True)
class KernelPass:
    """One forward pass of a rank through all layers: parts sum to ``total_s``.

    ``measured_share`` is the part of the time read from tables of measurements; the rest (norms, activations, the
    embedding) comes from the package's own formulas.
    """

    gemm_s: float
    attention_s: float
    communication_s: float
    other_s: float
    measured_share: float = 1.0

    @property
    def total_s(self) -> float:
        return self.gemm_s + self.attention_s + self.communication_s + self.other_s


class KernelTimes(Protocol):
    """Times of forward passes of one rank group, summed from measured kernels. Calls raise `KernelsUnavailable`."""

    @property
    def tables(self) -> str:
        """Which measurements: package, engine with version, system, number formats."""
        ...

    def decode(self, *, sequences: int, context_tokens: int) -> KernelPass:
        """One token for each of so many sequences of one attention copy, each so long already."""
        ...

    def prefill(self, *, new_tokens: int, cached_tokens: int) -> KernelPass:
        """One prompt of one attention copy behind what the cache holds."""
        ...
