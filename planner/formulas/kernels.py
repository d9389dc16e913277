"""Step times of a replica from measured kernels: the same questions as the roofline, another source of answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.core.latency import KernelPass, KernelTimes
from planner.formulas.calibration import Coefficients
from planner.formulas.roofline import Layout, Prefill, Step


@dataclass(frozen=True, slots=True)
class KernelReplica:
    """A replica whose passes are sums of measured kernels. ``coefficients`` give scheduler and queue only."""

    times: KernelTimes
    layout: Layout
    layer_count: int
    coefficients: Coefficients

    @property
    def layers(self) -> float:
        return float(self.layer_count)

    @property
    def data_parallel(self) -> float:
        return float(self.layout.data_parallel)

    def decode_step(self, *, batch: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> Step:
        """One decode step of ``batch`` sequences of the whole replica.

        Parameters
        ----------
        batch : sequences running [1]
        context_tokens : mean length of a sequence so far [tokens]
        tokens_per_sequence : tokens verified a sequence and step; each is priced as a sequence of its own

        Returns
        -------
        Step [s], through all pipeline stages. Raises `KernelsUnavailable` when the tables hold no answer.

        Notes
        -----
        ``GEMM + attention + communication + element-wise`` of one attention copy at ``B/(stages · copies)`` sequences,
        between whole numbers of sequences on the line through both. What one sequence costs counts as read, what the
        further ones add to the GEMMs as arithmetic. Launch gaps between kernels are in no table.

        References
        ----------
        Tables and interpolation: aiconfigurator-core 0.12 (Apache-2.0), its ``EngineHandle.run_static_per_op``.
        """
        context = round(context_tokens)

        def at(sequences: int) -> KernelPass:
            return self.times.decode(sequences=sequences, context_tokens=context)

        copies = self.layout.pipeline_parallel * self.layout.data_parallel
        made = between(at, batch * tokens_per_sequence / copies)
        alone_s = at(1).gemm_s
        return Step(
            weights_and_gemm_s=made.gemm_s,
            kv_s=made.attention_s,
            communication_s=made.communication_s,
            overhead_s=made.other_s,
            read_s=alone_s + made.attention_s,
            gemm_s=made.gemm_s - alone_s,
        )

    def prefill(self, *, new_tokens: float, cached_tokens: float = 0.0) -> Prefill:
        """One prefill of ``new_tokens`` behind ``cached_tokens``.

        Returns
        -------
        Prefill [s], as the roofline gives it: on its copy, as a share of the replica, and one read of the weights,
        which is what the GEMMs of a single decoded token take.

        Notes
        -----
        One pass over the whole prompt on one attention copy, through all pipeline stages; copies and stages work on
        other prompts meanwhile.

        References
        ----------
        Tables and interpolation: aiconfigurator-core 0.12 (Apache-2.0), its ``EngineHandle.run_static_per_op``.
        """
        made = self.times.prefill(new_tokens=max(round(new_tokens), 1), cached_tokens=round(cached_tokens))
        floor_s = self.times.decode(sequences=1, context_tokens=1).gemm_s
        return Prefill(
            latency_s=max(made.total_s, floor_s),
            busy_s=made.total_s / (self.layout.data_parallel * self.layout.pipeline_parallel),
            floor_s=floor_s,
        )


def between(at: Callable[[int], KernelPass], sequences: float) -> KernelPass:
    """A pass between whole numbers of sequences, on the line through both; below one it is that of one.

    Parameters
    ----------
    at : the pass of a whole number of sequences
    sequences : how many there are on average [1]

    Notes
    -----
    ``T(B) = (1 − w) · T(⌊B⌋) + w · T(⌈B⌉)`` with ``w = B − ⌊B⌋``.

    References
    ----------
    Linear interpolation, as any table of measurements is read between its rows.
    """
    lower = max(math.floor(sequences), 1)
    share = max(sequences - lower, 0.0)
    below = at(lower)
    if share == 0.0:
        return below
    above = at(lower + 1)

    def mixed(low: float, high: float) -> float:
        return (1.0 - share) * low + share * high

    return KernelPass(
        gemm_s=mixed(below.gemm_s, above.gemm_s),
        attention_s=mixed(below.attention_s, above.attention_s),
        communication_s=mixed(below.communication_s, above.communication_s),
        other_s=mixed(below.other_s, above.other_s),
        measured_share=mixed(below.measured_share, above.measured_share),
    )
