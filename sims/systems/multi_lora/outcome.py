"""What a run has shown: waits by where the adapter was, batches, swaps, and what each tenant has had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import batches, merge
from sims.engine.interval import Interval
from sims.engine.run import COMPLETE
from sims.engine.sketch import Histogram
from sims.parts.adapter_meter import E2E, SLOT_WAIT, TPOT
from sims.parts.adapters import BARE, COLD, HEATS, HELD, HOT, PARKED, WAITING, WARM
from sims.parts.course import Course
from sims.parts.course import Recorder as Window
from sims.parts.lora_steps import ITL
from sims.parts.meter import BATCHES
from sims.systems.multi_lora.config import Config
from sims.systems.multi_lora.state import State
from sims.systems.multi_lora.timeline import COUNTS, TENANT_SEEN, Sample, Timeline

FOUND = {"hot": HOT, "warm": WARM, "cold": COLD, "bare": BARE}
PARTS = ("held", "download", "slot", "copy", "queue", "prefill")
"""Where the time to the first token goes, in order."""
FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts are of the whole run; percentiles, shares, means and bills of the measuring window.

    arrived = finished + rejected + limited + in_flight. ``rejected``: larger than a replica's KV; ``limited``: turned
    away by the tenant's limit.
    """

    config: Config
    ending: str
    warmup_s: float
    horizon_s: float
    simulated_s: float
    events: int
    counts: dict[str, int]
    histograms: dict[str, Histogram]
    """One histogram a batch: ``ttft`` and its parts ``ttft_hot``, ``ttft_warm``, ``ttft_cold``, ``ttft_bare`` (by
    where the adapter was when the request came to its replica), ``tpot``, ``itl``, ``e2e``, ``slot_wait``."""
    batches: np.recarray
    timeline: Timeline
    tenants: np.recarray
    """What each tenant has had in the window, with the fields of `TENANT_SEEN`; the last asks for the bare base."""
    replicas: np.recarray
    """What each replica has done in the window; only the fields that are sums or integrals over time."""
    span_s: float
    """Length of the window as far as the run came, of all replications together [s]."""
    distinct_s: NDArray[np.float64]
    """Busy time of each replica by distinct adapters in its batch [replica, adapters] in the window [s]."""
    oldest_waiting_s: float
    """How long the request has waited at the end that has waited longest for its first token; 0 when none does [s]."""
    log: np.recarray
    """The first finished requests, when asked for."""
    replications: int = 1

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "config": merge.same,
        "ending": merge.worst,
        "histograms": merge.stacked,
        "batches": merge.stacked,
        "span_s": merge.total,
        "oldest_waiting_s": merge.highest,
        "log": merge.first,
    }

    @classmethod
    def of(
        cls,
        state: State,
        *,
        config: Config,
        timeline: Timeline,
        window: Window[Sample],
        final: Sample,
        ending: str,
        course: Course,
    ) -> Outcome:
        """Read a finished run; a window that did not close ends with the ``final`` sample."""
        totals = state.totals[0]
        names = [name for name in (*COUNTS, "finished_output_tokens") if not name.endswith("_s")]
        closed = window.closed or final
        begun = window.opened or closed
        return cls(
            config=config,
            ending=ending,
            warmup_s=course.warmup_s,
            horizon_s=course.horizon_s,
            simulated_s=float(totals.now_s),
            events=int(totals.events),
            counts={name: int(final.counts.get(name, totals[name])) for name in names},
            histograms=_histograms(state.sketches),
            batches=state.batches,
            timeline=timeline,
            tenants=_grown(closed.tenants, since=begun.tenants),
            replicas=_grown(closed.replicas, since=begun.replicas),
            span_s=max(0.0, closed.at_s - begun.at_s),
            distinct_s=state.distinct_s,
            oldest_waiting_s=_oldest_s(state, at_s=final.at_s),
            log=state.log[: int(totals.logged)].view(np.recarray),
        )

    def pooled(self, name: str) -> Histogram:
        """All batches of a histogram together."""
        return batches.pooled(self.histograms[name])

    def quantile(self, name: str, *, q: float) -> Interval | None:
        """A quantile [s] with its interval; None when nothing was observed."""
        return batches.quantile(self.histograms[name], q=q, runs=self.replications)

    def share(self, above: str, *, of: str) -> Interval | None:
        """A ratio of two tallies of the window with its interval; None when the lower one is 0."""
        return batches.ratio(self.batches[above], below=self.batches[of], runs=self.replications)

    def found(self) -> dict[str, float]:
        """Shares of the first tokens with an adapter by where it was: ``hot``, ``warm``, ``cold``; {} without any."""
        counts = {name: float(self.batches[name].sum()) for name in ("hot", "warm", "cold")}
        total = sum(counts.values())
        return {name: count / total for name, count in counts.items()} if total else {}

    def waits_s(self) -> dict[str, float]:
        """Mean of each part of the time to the first token [s]; they add up to the mean TTFT. {} without any."""
        firsts = float(self.batches.ttft_n.sum())
        return {part: float(self.batches[f"{part}_sum_s"].sum()) / firsts for part in PARTS} if firsts else {}

    def mean(self, integral: str) -> float:
        """Mean over the window and the replicas of an integral: ``running`` sequences, ``distinct`` adapters,
        ``kv`` or ``reserved`` tokens, ``busy`` share."""
        name = "sequence_s" if integral == "running" else f"{integral}_s"
        return float(self.replicas[name].sum() / max(1e-12, self.span_s * self.config.replicas))

    @property
    def busy_share(self) -> NDArray[np.float64]:
        """Share of the window that each replica spent in steps."""
        shares: NDArray[np.float64] = self.replicas.busy_s / max(1e-12, self.span_s)
        return shares

    @property
    def distinct_busy(self) -> float | None:
        """Distinct adapters in a batch while there is one, over time; None when nothing ran."""
        busy_s = float(self.replicas.busy_s.sum())
        return float(self.replicas.distinct_s.sum()) / busy_s if busy_s > 0 else None

    def per_s(self, name: str) -> float:
        """Rate of a tally of the window, or of a sum by tenant [1/s]."""
        source = self.batches if name in (self.batches.dtype.names or ()) else self.tenants
        return float(source[name].sum()) / max(1e-12, self.span_s)

    @property
    def gpu_s(self) -> dict[str, float]:
        """GPU time of all replicas in the window: ``base``, ``lora`` and ``stall`` of tenants, ``idle`` [s]."""
        parts = {name: float(self.tenants[f"{name}_s"].sum()) for name in ("base", "lora", "stall")}
        return {**parts, "idle": self.span_s * self.config.replicas - float(self.replicas.busy_s.sum())}

    @property
    def empty_slot_s(self) -> float:
        """Slot-seconds of the window that no adapter held."""
        return self.span_s * self.config.replicas * self.config.slots - float(self.tenants.slot_s.sum())

    def fairness_gap(self, weights: NDArray[np.float64] | None = None) -> float | None:
        """The most by which two tenants' service grew apart while both always had requests waiting.

        In weighted tokens for each unit of the tenant's weight; tenants that have requests waiting at all samples of
        the window are compared over any two samples. None when there are not two of them.
        """
        line = self.timeline
        rows = (line.at_s > self.warmup_s) & (line.at_s <= self.horizon_s)
        if rows.sum() < FEWEST_SAMPLES or line.waiting.shape[1] == 0:
            return None
        always = np.flatnonzero((line.waiting[rows] > 0).all(axis=0))
        if len(always) < 2:
            return None
        shares = np.ones(line.waiting.shape[1]) if weights is None else weights
        service = line.service[rows][:, always] / shares[always]
        apart = service[:, :, None] - service[:, None, :]
        return float((apart.max(axis=0) - apart.min(axis=0)).max())

    @property
    def growth_share(self) -> float:
        """How much of what arrives in the last two thirds of the run stays in the system: near 0 when steady."""
        return batches.growth_share(self.timeline.counts["in_flight"], arrived=self.timeline.counts["arrived"])

    @property
    def is_steady(self) -> bool:
        """Whether the system kept up."""
        counts = self.timeline.counts
        return batches.is_steady(counts["in_flight"], arrived=counts["arrived"], ending=self.ending)

    @property
    def is_complete(self) -> bool:
        """Whether the run came to its end."""
        return self.ending == COMPLETE


def _oldest_s(state: State, *, at_s: float) -> float:
    waits = state.requests[np.isin(state.requests.stage, (HELD, PARKED, WAITING)) & (state.requests.generated == 0)]
    return float(at_s - waits.arrival_s.min()) if len(waits) else 0.0


def _histograms(sketches: NDArray[np.int64]) -> dict[str, Histogram]:
    by_found = {f"ttft_{name}": sketches[row * BATCHES : (row + 1) * BATCHES] for name, row in FOUND.items()}
    rows = {"tpot": TPOT, "itl": ITL, "e2e": E2E, "slot_wait": SLOT_WAIT}
    return {
        "ttft": sketches[: HEATS * BATCHES].reshape(HEATS, BATCHES, -1).sum(axis=0),
        **by_found,
        **{name: sketches[row : row + BATCHES] for name, row in rows.items()},
    }


def _grown(rows: NDArray[Any], *, since: NDArray[Any]) -> np.recarray:
    grown = rows.copy()
    for name in rows.dtype.names or ():
        grown[name] = rows[name] - since[name]
    return grown.view(np.recarray)


__all__ = ["FOUND", "PARTS", "TENANT_SEEN", "Outcome"]
