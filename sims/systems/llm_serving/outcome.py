"""What a run has shown: counts, histograms in batches, the time line, and whether it was steady."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.interval import Interval, batch_interval
from sims.engine.run import FULL
from sims.engine.sketch import percentile
from sims.parts.meter import BATCHES
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.state import State
from sims.systems.llm_serving.timeline import Recorder, Sample

GROWTH_LIMIT = 0.02
"""Requests in the system may grow by this share of those that arrive; more is not a steady state."""

Histograms = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts are of the whole run; histograms, shares and rates of the measuring window.

    ``histograms`` maps ttft, tpot, itl and e2e to one histogram a batch.
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
    in_flight: int
    restarted: int
    histograms: dict[str, Histograms]
    batches: np.recarray
    samples: tuple[Sample, ...]
    rates: dict[str, float]
    """Of the window: arrived, finished and output_tokens a second, mean running, and busy shares of the roles."""

    @classmethod
    def of(
        cls, state: State, *, config: Config, recorder: Recorder, ending: str, warmup_s: float, horizon_s: float
    ) -> Outcome:
        """Read a finished run."""
        totals = state.totals[0]
        return cls(
            config=config,
            ending=ending,
            warmup_s=warmup_s,
            horizon_s=horizon_s,
            simulated_s=float(totals.now_s),
            events=int(totals.events),
            arrived=int(totals.arrived),
            finished=int(totals.finished),
            rejected=int(totals.rejected),
            in_flight=int(totals.in_flight),
            restarted=int(totals.restarted),
            histograms={"ttft": state.ttft, "tpot": state.tpot, "itl": state.itl, "e2e": state.e2e},
            batches=state.batches,
            samples=tuple(recorder.samples),
            rates=_rates(recorder, config=config),
        )

    def pooled(self, name: str) -> NDArray[np.int64]:
        """All batches of a histogram together."""
        total: NDArray[np.int64] = self.histograms[name].sum(axis=0)
        return total

    def quantile(self, name: str, *, q: float) -> Interval | None:
        """A quantile with its interval; None when nothing was observed."""
        pooled = percentile(self.pooled(name), q=q)
        if pooled is None:
            return None
        each = [percentile(histogram, q=q) for histogram in self.histograms[name]]
        enough = self.pooled(name).sum() / BATCHES * (1 - q) >= 5
        interval = batch_interval(pooled, batches=[value for value in each if value is not None])
        if enough or interval.unreliable:
            return interval
        return Interval(pooled, interval.low, interval.high, interval.batches, "too few requests beyond the quantile")

    def share(
        self, pick: Callable[[np.recarray], NDArray[np.float64]], *, of: Callable[[np.recarray], NDArray[np.float64]]
    ) -> Interval | None:
        """A ratio of two tallies with its interval."""
        above, below = pick(self.batches), of(self.batches)
        if below.sum() == 0:
            return None
        seen = below > 0
        return batch_interval(float(above.sum() / below.sum()), batches=[float(x) for x in above[seen] / below[seen]])

    @property
    def growth_share(self) -> float:
        """How much of what arrives in the last two thirds of the run stays in the system: near 0 when steady."""
        if len(self.samples) < 9:
            return 0.0
        third = len(self.samples) // 3
        inside = np.array([sample.in_flight for sample in self.samples], float)
        middle, last = inside[third : 2 * third].mean(), inside[2 * third :].mean()
        came = self.samples[-1].arrived - self.samples[third].arrived
        # The two means lie half of the last two thirds apart.
        return float((last - middle) / max(1.0, came / 2))

    @property
    def is_steady(self) -> bool:
        """Whether the system kept up; a few requests more than it started with do not matter."""
        if self.ending == FULL:
            return False
        third = len(self.samples) // 3
        rise = self.samples[-1].in_flight - self.samples[third].in_flight if self.samples else 0
        return self.growth_share <= GROWTH_LIMIT or rise < 20


def _rates(recorder: Recorder, *, config: Config) -> dict[str, float]:
    opened, closed = recorder.opened, recorder.closed
    if opened is None or closed is None or closed.at_s <= opened.at_s:
        return {}
    span_s = closed.at_s - opened.at_s
    return {
        "arrived_per_s": (closed.arrived - opened.arrived) / span_s,
        "finished_per_s": (closed.finished - opened.finished) / span_s,
        "output_tokens_per_s": (closed.output_tokens - opened.output_tokens) / span_s,
        "moved_tokens_per_s": (closed.moved_tokens - opened.moved_tokens) / span_s,
        "prefill_tokens_per_s": (closed.prefill_tokens - opened.prefill_tokens) / span_s,
        "running": (closed.sequence_s - opened.sequence_s) / span_s,
        "prefill_busy": (closed.prefill_busy_s - opened.prefill_busy_s) / span_s / max(1, config.prefill_units),
        "unit_busy": (closed.unit_busy_s - opened.unit_busy_s) / span_s / config.decode_units,
    }
