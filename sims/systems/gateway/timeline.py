"""Samples over time: sums up to a moment, whose differences give rates, and the load of every instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import merge
from sims.systems.gateway.plane import GatewayPlane

COUNTS = (
    "arrived",
    "finished",
    "rejected",
    "lost",
    "cut",
    "refused",
    "timed_out",
    "retried",
    "resumed",
    "expired",
    "unroutable",
    "first_tokens",
    "good",
    "prompt_tokens",
    "hit_tokens",
    "computed_tokens",
    "resumed_tokens",
    "broken_streams",
    "broken_tokens",
    "prompt_tokens_b",
    "hit_tokens_b",
    "in_flight",
    "ttft_sum_s",
)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows are moments; ``counts`` are sums since the start (``in_flight`` is what there is)."""

    at_s: NDArray[np.float64]
    counts: dict[str, NDArray[np.float64]]
    loads: NDArray[np.int64]
    """Requests at each instance [moment, instance]."""
    busy_s: NDArray[np.float64]
    """Prefill time of each instance up to the moment [moment, instance]."""
    served: NDArray[np.int64]
    """Requests that each instance has finished up to the moment [moment, instance]."""
    queued: NDArray[np.int64]
    """Requests waiting at each instance [moment, instance]."""
    out: NDArray[np.int64]
    """Instances that the first row of routers sends nothing to, either version [moment]."""

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "at_s": merge.averaged,
        "counts": merge.averaged,
        "queued": merge.averaged,
        "out": merge.averaged,
        # The busiest instance is another one each time: means over replications would hide it.
        "loads": merge.first,
        "busy_s": merge.first,
        "served": merge.first,
    }

    def per_s(self, name: str) -> NDArray[np.float64]:
        """Rate of a count between a sample and the one before [1/s]."""
        values, at_s = np.concatenate([[0.0], self.counts[name]]), np.concatenate([[0.0], self.at_s])
        rates: NDArray[np.float64] = np.diff(values) / np.maximum(np.diff(at_s), 1e-12)
        return rates

    def hit_rate(self) -> NDArray[np.float64]:
        """Token hit rate between samples; NaN where no prompt was computed."""
        hits, prompts = (np.diff(self.counts[name], prepend=0.0) for name in ("hit_tokens", "prompt_tokens"))
        rates: NDArray[np.float64] = np.divide(hits, prompts, out=np.full(len(hits), np.nan), where=prompts > 0)
        return rates

    def mean_ttft_s(self) -> NDArray[np.float64]:
        """Mean TTFT of the first tokens between samples [s]; NaN where there was none."""
        sums, counts = (np.diff(self.counts[name], prepend=0.0) for name in ("ttft_sum_s", "first_tokens"))
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return means

    def busy_share(self) -> NDArray[np.float64]:
        """Share of the time between samples that each instance spent in prefill [moment, instance].

        A prompt counts in full when it starts, so a share may pass 1 for a moment.
        """
        spans = np.maximum(np.diff(self.at_s, prepend=0.0), 1e-12)
        shares: NDArray[np.float64] = np.diff(self.busy_s, axis=0, prepend=0.0) / spans[:, None]
        return shares


@dataclass(slots=True)
class Recorder:
    """Keeps what there is at each moment it is asked to."""

    plane: GatewayPlane
    at_s: list[float] = field(default_factory=list)
    counts: list[list[float]] = field(default_factory=list)
    tables: list[tuple[NDArray[np.int64], ...]] = field(default_factory=list)
    busy_s: list[NDArray[np.float64]] = field(default_factory=list)
    out: list[int] = field(default_factory=list)

    def sample(self, at_s: float) -> None:
        """Keep what there is now."""
        state = self.plane.state
        totals = state.totals[0]
        self.at_s.append(float(at_s))
        self.counts.append([float(totals[name]) for name in COUNTS])
        queued = state.queues.queued.reshape(-1, 2).sum(axis=1)
        self.tables.append((state.loads[0].copy(), state.instances.served.copy(), queued))
        self.busy_s.append(state.instances.busy_s.copy())
        rows = len(state.breakers)
        self.out.append(int(((state.closed[0] == 1) & (state.closed[rows] == 1)).sum()))

    def timeline(self, instances: int) -> Timeline:
        """All samples."""
        count = len(self.at_s)
        columns = np.array(self.counts).reshape(count, len(COUNTS))
        loads, served, queued = (
            np.array([row[which] for row in self.tables], np.int64).reshape(count, instances) for which in range(3)
        )
        return Timeline(
            at_s=np.array(self.at_s),
            counts={name: columns[:, index] for index, name in enumerate(COUNTS)},
            loads=loads,
            busy_s=np.array(self.busy_s).reshape(count, instances),
            served=served,
            queued=queued,
            out=np.array(self.out, np.int64),
        )
