"""What a run has shown: counts, percentiles with intervals, hit rates, skew, goodput, verdicts."""

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
from sims.parts.course import Course
from sims.parts.health import BREAKER_CLOSED, BREAKER_HALF, BREAKER_OPEN, PROBE_IN, PROBE_OUT
from sims.parts.meter import BATCHES
from sims.parts.tally import BY_PRIORITY, BY_VERSION, GAPS
from sims.systems.gateway.config import Config
from sims.systems.gateway.state import State
from sims.systems.gateway.timeline import COUNTS, Timeline

WHAT = {
    PROBE_OUT: "probe_out",
    PROBE_IN: "probe_in",
    BREAKER_OPEN: "breaker_open",
    BREAKER_HALF: "breaker_half_open",
    BREAKER_CLOSED: "breaker_closed",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """An instance goes out or comes back, by a probe (all routers) or by the breakers of ``row``."""

    at_s: float
    row: int
    instance: int
    what: str
    up: bool
    """Whether the instance was in truth up: an ejection of one that is, is a false one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts are of the whole run; percentiles and shares of the measuring window.

    arrived = finished + rejected + lost + cut + in_flight. ``rejected``: turned away at once (queue limits, no open
    instance, expired); ``lost``: failed before the first token and not, or vainly, retried; ``cut``: streams that
    ended in an error.
    """

    config: Config
    ending: str
    warmup_s: float
    horizon_s: float
    simulated_s: float
    events: int
    counts: dict[str, int]
    histograms: dict[str, Histogram]
    """``ttft`` and ``e2e``, one histogram a batch; ``gaps`` (pauses of resumed streams), ``ttft_by_version``
    (A, B) and ``ttft_by_priority`` (low, high)."""
    batches: np.recarray
    timeline: Timeline
    verdicts: tuple[Verdict, ...]
    cached_blocks: NDArray[np.int64]
    """Blocks in each instance's cache at the end."""
    log: NDArray[np.void]
    """The first look-ups, when asked for."""
    replications: int = 1

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "config": merge.same,
        "ending": merge.worst,
        "histograms": merge.stacked_only("ttft", "e2e"),
        "batches": merge.stacked,
        "verdicts": merge.joined,
        "cached_blocks": merge.averaged,
        "log": merge.first,
    }

    @classmethod
    def of(cls, state: State, *, config: Config, timeline: Timeline, ending: str, course: Course) -> Outcome:
        """Read a finished run."""
        totals = state.totals[0]
        names = [name for name in (*COUNTS, "entries", "finished_output_tokens") if name != "ttft_sum_s"]
        known = state.verdicts[: int(min(totals.verdicts, len(state.verdicts)))]
        return cls(
            config=config,
            ending=ending,
            warmup_s=course.warmup_s,
            horizon_s=course.horizon_s,
            simulated_s=float(totals.now_s),
            events=int(totals.events),
            counts={name: int(totals[name]) for name in names},
            histograms={
                "ttft": state.sketches[:BATCHES],
                "e2e": state.sketches[BATCHES:BY_VERSION],
                "gaps": state.sketches[GAPS:],
                "ttft_by_version": state.sketches[BY_VERSION:BY_PRIORITY],
                "ttft_by_priority": state.sketches[BY_PRIORITY:GAPS],
            },
            batches=state.batches,
            timeline=timeline,
            verdicts=tuple(
                Verdict(float(one.at_s), int(one.row), int(one.instance), WHAT[int(one.what)], bool(one.up))
                for one in known
            ),
            cached_blocks=state.caches.used.copy(),
            log=state.log[: int(totals.logged)],
        )

    def pooled(self, name: str) -> Histogram:
        """All batches of a histogram together."""
        return batches.pooled(self.histograms[name])

    def quantile(self, name: str, *, q: float) -> Interval | None:
        """A quantile of ``ttft`` or ``e2e`` [s] with its interval; None when nothing was observed."""
        return batches.quantile(self.histograms[name], q=q, runs=self.replications)

    def share(self, above: str, *, of: str) -> Interval | None:
        """A ratio of two tallies of the window with its interval; None when the lower one is 0."""
        return batches.ratio(self.batches[above], below=self.batches[of], runs=self.replications)

    @property
    def mean_ttft_s(self) -> Interval | None:
        """Mean TTFT [s]."""
        return self.share("ttft_sum_s", of="ttft_n")

    @property
    def hit_rate(self) -> Interval | None:
        """Share of prompt tokens found in the cache of the instance that computed the prompt."""
        return self.share("hit_tokens", of="prompt_tokens")

    @property
    def held(self) -> Interval | None:
        """Share of prompt tokens that some one instance held when the request was sent (every 16th request)."""
        return self.share("held_tokens", of="asked_tokens")

    @property
    def captured(self) -> Interval | None:
        """Share of prompt tokens that the chosen instance held when the request was sent (every 16th request)."""
        return self.share("captured_tokens", of="asked_tokens")

    @property
    def window_s(self) -> float:
        """Length of the measuring window, as far as the run came; of all replications together [s]."""
        end_s = self.horizon_s if self.ending == COMPLETE else min(self.horizon_s, self.simulated_s)
        return max(1e-12, end_s - self.warmup_s) * self.replications

    @property
    def goodput_per_s(self) -> float:
        """First tokens within ``ttft_slo_s`` a second of the window [1/s]."""
        return float(self.batches.good.sum() / self.window_s)

    @property
    def throughput_per_s(self) -> float:
        """Requests finished a second of the window [1/s]."""
        return float(self.batches.finished.sum() / self.window_s)

    @property
    def work_by_instance(self) -> NDArray[np.float64]:
        """Prefill time of each instance in the window [s]."""
        return self._since_warm_up(self.timeline.busy_s)

    @property
    def requests_by_instance(self) -> NDArray[np.float64]:
        """Requests that each instance finished in the window."""
        return self._since_warm_up(self.timeline.served)

    def _since_warm_up(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """What sums of each instance [moment, instance] have grown by since the last sample before the window."""
        before = int(np.searchsorted(self.timeline.at_s, self.warmup_s, side="right"))
        grown = np.zeros(self.config.instances)
        if len(rows) > before:
            grown += rows[-1]
            grown -= rows[before - 1] if before else 0.0
        return grown * self.replications

    @property
    def max_over_mean(self) -> float | None:
        """Prefill work of the busiest instance over the mean: 1 is even; None without work."""
        work = self.work_by_instance
        return float(work.max() / work.mean()) if work.sum() > 0 else None

    @property
    def growth_share(self) -> float:
        """How much of what arrives in the last two thirds of the run is left waiting: near 0 when steady.

        Streams under way do not count: long answers are still filling a system that keeps up, and slots bound them.
        """
        return batches.growth_share(self._waiting, arrived=self.timeline.counts["arrived"])

    @property
    def is_steady(self) -> bool:
        """Whether the system kept up."""
        return batches.is_steady(self._waiting, arrived=self.timeline.counts["arrived"], ending=self.ending)

    @property
    def _waiting(self) -> NDArray[np.float64]:
        """Requests that wait for prefill, at the moments of the time line."""
        waiting: NDArray[np.float64] = self.timeline.queued.sum(axis=1).astype(np.float64)
        return waiting
