"""What a run has shown: hits by tier, latencies with and without the pool, what moved, and whether it was steady."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import batches, merge
from sims.engine.interval import Interval
from sims.engine.run import BUDGET, FULL
from sims.engine.sketch import Histogram
from sims.parts.course import Course, Recorder
from sims.parts.node_links import KINDS
from sims.systems.kv_pool.config import TIERS, Config
from sims.systems.kv_pool.state import State
from sims.systems.kv_pool.timeline import Sample, by_tier


@dataclass(frozen=True, slots=True)
class TierOutcome:
    """A tier over the whole run, all nodes together [bytes], and its reads.

    ``full_s``: when it first had to evict for room, None if never. ``declined_bytes`` were found but computed anew.
    Waits are of the measuring window, means of the whole run; None when nothing was read.
    """

    name: str
    capacity_bytes: float
    used_bytes: float
    written_bytes: float
    read_bytes: float
    declined_bytes: float
    evicted_bytes: float
    expired_bytes: float
    full_s: float | None
    reads: int
    mean_wait_s: float | None
    mean_read_s: float | None


@dataclass(frozen=True, slots=True)
class LinkOutcome:
    """All nodes' links of a kind: what the whole run moved, and the busy share of the measuring window on average."""

    name: str
    bytes: float
    transfers: int
    busy: float


@dataclass(frozen=True, slots=True)
class ClassOutcome:
    """Requests of a class in the measuring window; ``reusable`` and ``hits`` in blocks, in any tier."""

    requests: int
    tokens: int
    hit_tokens: int
    reusable: int
    hits: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts are of the whole run; histograms, shares, ``batches`` and ``rates`` of the measuring window.

    Attributes
    ----------
    histograms : ``ttft`` and ``ttft_without`` (the same stream on HBM only), one histogram a batch.
    batches, whole : sums, see `sims.systems.kv_pool.tables.SUMS`.
    by_turn : prompt tokens, hit tokens and requests by turn of a session (the last row: later ones).
    by_class : the same by class of sessions; a trace has one, called requests.
    waits : histogram of the waiting for links of reads from DRAM and SSD.
    """

    config: Config
    ending: str
    warmup_s: float
    horizon_s: float
    simulated_s: float
    events: int
    arrived: int
    finished: int
    rejected: int
    restarted: int
    in_flight: int
    histograms: dict[str, Histogram]
    batches: np.recarray
    whole: np.record
    by_turn: NDArray[np.int64]
    by_class: dict[str, ClassOutcome]
    waits: dict[str, Histogram]
    tiers: tuple[TierOutcome, ...]
    links: tuple[LinkOutcome, ...]
    samples: tuple[Sample, ...]
    rates: dict[str, float]
    """Of the window: requests and tokens a second, node busy share, prefill seconds a second with the pool, with HBM
    only (``without``) and without any cache (``bare``), bytes written a second by tier."""
    replications: int = 1

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "config": merge.same,
        "ending": merge.worst,
        "histograms": merge.stacked,
        "batches": merge.stacked,
        "samples": merge.averaged,
    }

    @classmethod
    def of(
        cls,
        state: State,
        *,
        config: Config,
        classes: Sequence[str],
        recorder: Recorder[Sample],
        ending: str,
        course: Course,
    ) -> Outcome:
        """Read a finished run; ``classes`` are the names of the classes of requests."""
        totals = state.totals[0]
        return cls(
            config=config,
            ending=ending,
            warmup_s=course.warmup_s,
            horizon_s=course.horizon_s,
            simulated_s=float(totals.now_s),
            events=int(totals.events),
            arrived=int(totals.arrived),
            finished=int(totals.finished),
            rejected=int(totals.rejected),
            restarted=int(totals.restarted),
            in_flight=int(totals.in_flight),
            histograms={"ttft": state.ttft, "ttft_without": state.alone},
            batches=state.batches,
            whole=state.whole[0],
            by_turn=state.by_turn,
            by_class={
                name: ClassOutcome(*(int(count) for count in state.by_kind[kind])) for kind, name in enumerate(classes)
            },
            waits={"dram": state.waits[0], "ssd": state.waits[1]},
            tiers=tuple(_tier(state, config=config, tier=tier) for tier in range(len(TIERS))),
            links=_links(state, recorder),
            samples=tuple(recorder.samples),
            rates=_rates(recorder, config=config),
        )

    def pooled(self, name: str) -> Histogram:
        """All batches of a histogram together."""
        return batches.pooled(self.histograms[name])

    def quantile(self, name: str, *, q: float) -> Interval | None:
        """A quantile of ``ttft`` or ``ttft_without`` with its interval [s]; None when nothing was observed."""
        found = batches.quantile(self.histograms[name], q=q, runs=self.replications)
        return None if found is None else found.shifted(self.config.ttft_fixed_s)

    def share(self, above: str, *, of: str) -> Interval | None:
        """A ratio of two sums of the batches with its interval; None when there is nothing below the line."""
        return batches.ratio(self.batches[above], below=self.batches[of], runs=self.replications)

    def mean_s(self, name: str) -> Interval | None:
        """Mean of ``ttft`` or ``ttft_without`` [s]."""
        found = (
            self.share("ttft_sum_s", of="finished") if name == "ttft" else self.share("alone_ttft_sum_s", of="alone_n")
        )
        return None if found is None else found.shifted(self.config.ttft_fixed_s)

    def hit_share(self, tier: str | None = None) -> Interval | None:
        """Share of the reusable blocks that were hit: in ``tier``, or in any; what the formulas call F(T)."""
        names = TIERS if tier is None else (tier,)
        hits = np.sum([self.batches[name] for name in names], axis=0)
        return batches.ratio(hits, below=self.batches["reusable"], runs=self.replications)

    @property
    def token_hit_share(self) -> Interval | None:
        """Share of all prompt tokens that needed no computing."""
        return self.share("hit_tokens", of="tokens")

    @property
    def compute_saved(self) -> Interval | None:
        """Prefill time with all tiers over that with HBM only."""
        return self.share("compute_s", of="alone_compute_s")

    @property
    def is_steady(self) -> bool:
        """Whether prefill kept up; a few requests more than it started with do not matter."""
        inside = np.array([one.in_flight for one in self.samples], float)
        return batches.is_steady(inside, arrived=np.array([one.requests for one in self.samples]), ending=self.ending)

    @property
    def keeps_up_without(self) -> bool:
        """Whether the same fleet could serve the load with HBM only; if not, its latencies grow with the run."""
        return self.rates.get("compute_without", 0.0) < self.config.nodes

    def _bottleneck(self) -> str:
        """What is busiest: prefill, or a kind of link."""
        busiest = max(self.links, key=lambda link: link.busy)
        if busiest.busy < 1.0 or self.rates.get("node_busy", 1.0) > 0.95:
            return "Prefill"
        return f"The links of kind {busiest.name}"

    def remarks(self) -> tuple[str, ...]:
        """What a reader must know before the figures, in plain sentences."""
        said = []
        if self.ending == FULL:
            said.append(
                f"The run ended after {self.simulated_s:,.0f} s: {self.in_flight:,} requests wait and memory for more "
                f"is not meant to be used. {self._bottleneck()} cannot keep up with this load."
            )
        elif self.ending == BUDGET:
            said.append(f"The run was out of time after {self.simulated_s:,.0f} of {self.horizon_s:,.0f} s.")
        if self.ending != FULL and not self.is_steady:
            said.append(
                f"{self._bottleneck()} cannot keep up: {self.in_flight:,} requests wait at the end and their number "
                "grows, so latencies depend on the length of the run."
            )
        if not self.keeps_up_without:
            said.append(
                f"With HBM only, prefill would take {self.rates['compute_without']:.3g} nodes of {self.config.nodes}: "
                "it could not keep up, and its latencies depend on the length of the run."
            )
        said.extend(
            f"{tier.name.upper()} was not full at the end ({tier.used_bytes / tier.capacity_bytes:.0%}): it has "
            "evicted nothing for room so far."
            for tier in self.tiers
            if tier.capacity_bytes > 0 and tier.full_s is None and tier.used_bytes > 0
        )
        said.extend(
            f"The links of kind {link.name} were asked for {link.busy:.0%} of what they can move."
            for link in self.links
            if link.busy >= 1.0
        )
        if self.rejected:
            said.append(f"{self.rejected:,} requests found no node alive.")
        return tuple(said)


def _tier(state: State, *, config: Config, tier: int) -> TierOutcome:
    one, block = state.tiers[tier], config.block_bytes
    firsts = [*(int(first) for first in state.tiers.first), len(state.store.caches)]
    full_s = float(state.store.caches.full_s[firsts[tier] : firsts[tier + 1]].min())
    reads = int(one.reads)
    return TierOutcome(
        name=TIERS[tier],
        capacity_bytes=by_tier(state, "capacity")[tier] * block,
        used_bytes=by_tier(state, "used")[tier] * block,
        written_bytes=by_tier(state, "written")[tier] * block,
        read_bytes=int(one.read) * block,
        declined_bytes=int(one.declined) * block,
        evicted_bytes=by_tier(state, "evicted")[tier] * block,
        expired_bytes=by_tier(state, "expired")[tier] * block,
        full_s=full_s if np.isfinite(full_s) else None,
        reads=reads,
        mean_wait_s=float(one.waited_s) / reads if reads else None,
        mean_read_s=float(one.took_s) / reads if reads else None,
    )


def _links(state: State, recorder: Recorder[Sample]) -> tuple[LinkOutcome, ...]:
    opened, closed = recorder.opened, recorder.closed
    span_s = 0.0 if opened is None or closed is None else closed.at_s - opened.at_s
    found = []
    for kind, name in enumerate(KINDS):
        busy = 0.0
        if opened is not None and closed is not None and span_s > 0:
            busy = (closed.link_busy_s[kind] - opened.link_busy_s[kind]) / span_s / len(state.nodes)
        mine: np.recarray = state.links[kind :: len(KINDS)].view(np.recarray)
        # What is still booked at the end was asked for but not moved.
        backlog_s = float(np.maximum(0.0, mine.free_s - state.totals[0].now_s).mean())
        asked = busy + backlog_s / span_s if span_s > 0 and backlog_s > span_s / 20 else busy
        found.append(LinkOutcome(name, float(mine.bytes.sum()), int(mine.transfers.sum()), asked))
    return tuple(found)


def _rates(recorder: Recorder[Sample], *, config: Config) -> dict[str, float]:
    opened, closed = recorder.opened, recorder.closed
    if opened is None or closed is None or closed.at_s <= opened.at_s:
        return {}
    span_s = closed.at_s - opened.at_s
    written = {
        f"{name}_written_bytes_per_s": (closed.written[tier] - opened.written[tier]) * config.block_bytes / span_s
        for tier, name in enumerate(TIERS)
        if tier > 0
    }
    return written | {
        "requests_per_s": (closed.requests - opened.requests) / span_s,
        "tokens_per_s": (closed.tokens - opened.tokens) / span_s,
        "node_busy": (closed.node_busy_s - opened.node_busy_s) / span_s / config.nodes,
        "compute": (closed.compute_s - opened.compute_s) / span_s,
        "compute_without": (closed.alone_compute_s - opened.alone_compute_s) / span_s,
        "compute_bare": (closed.bare_compute_s - opened.bare_compute_s) / span_s,
    }
