"""What a run has shown: counts, histograms in batches, the time line, and whether it was steady."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import batches, merge
from sims.engine.interval import Interval
from sims.engine.sketch import Histogram
from sims.parts.course import Course, Recorder
from sims.parts.meter import BATCHES, PHASES
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.pools import Note, Usage
from sims.systems.llm_serving.state import State
from sims.systems.llm_serving.timeline import Sample
from sims.systems.llm_serving.watch import Disturbance


@dataclass(frozen=True, slots=True)
class Told:
    """What the control plane has to tell of a run."""

    disturbances: tuple[Disturbance, ...]
    notes: tuple[Note, ...]
    usage: dict[str, Usage]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts are of the whole run; histograms, shares and rates of the measuring window.

    ``histograms`` maps ttft, tpot, itl and e2e to one histogram a batch, ``phases`` to one before, during and after
    an event.
    Of several replications put together the batches stand one after the other, counts are sums, and times, rates and
    samples means.
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
    lost: int
    in_flight: int
    restarted: int
    preempted: int
    """Requests that gave up their KV for others, and the tokens of it that were computed again."""
    preempted_tokens: int
    fetched_tokens: int
    histograms: dict[str, Histogram]
    phases: dict[str, Histogram]
    batches: np.recarray
    samples: tuple[Sample, ...]
    drained: tuple[Sample, ...]
    """Samples after the last arrival, of a finite workload."""
    disturbances: tuple[Disturbance, ...]
    notes: tuple[Note, ...]
    usage: dict[str, Usage]
    """By role, from the start to the horizon."""
    rates: dict[str, float]
    """Of the window: arrived, finished and output_tokens a second, mean running, busy shares of the roles; of decode
    units rank_imbalance, the work of the slowest rank over that of the mean, and rank_wait, the share of their busy
    time that it costs."""
    replications: int = 1

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "config": merge.same,
        "ending": merge.worst,
        "histograms": merge.stacked,
        "batches": merge.stacked,
        "samples": merge.averaged,
        "drained": merge.averaged,
        "disturbances": merge.joined,
        "notes": merge.first,
    }

    @classmethod
    def of(
        cls, state: State, *, config: Config, recorder: Recorder[Sample], ending: str, course: Course, told: Told
    ) -> Outcome:
        """Read a finished run."""
        totals = state.totals[0]
        by_phase = {name: getattr(state, name).reshape(PHASES, BATCHES, -1) for name in ("ttft", "tpot", "itl", "e2e")}
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
            lost=int(totals.lost),
            in_flight=int(totals.in_flight),
            restarted=int(totals.restarted),
            preempted=int(totals.preempted),
            preempted_tokens=int(totals.preempted_tokens),
            fetched_tokens=int(totals.fetched_tokens),
            histograms={name: rows.sum(axis=0) for name, rows in by_phase.items()},
            phases={name: rows.sum(axis=1) for name, rows in by_phase.items()},
            batches=state.batches,
            samples=tuple(recorder.samples),
            drained=tuple(recorder.drained),
            disturbances=told.disturbances,
            notes=told.notes,
            usage=told.usage,
            rates=_rates(recorder, config=config),
        )

    def pooled(self, name: str) -> Histogram:
        """All batches of a histogram together."""
        return batches.pooled(self.histograms[name])

    def quantile(self, name: str, *, q: float) -> Interval | None:
        """A quantile with its interval; None when nothing was observed."""
        return batches.quantile(self.histograms[name], q=q, runs=self.replications)

    def share(
        self, pick: Callable[[np.recarray], NDArray[np.float64]], *, of: Callable[[np.recarray], NDArray[np.float64]]
    ) -> Interval | None:
        """A ratio of two tallies with its interval."""
        return batches.ratio(pick(self.batches), below=of(self.batches), runs=self.replications)

    @property
    def measured_s(self) -> float:
        """The time of what was measured: from the warm-up to the last event."""
        return max(self.simulated_s - self.warmup_s, 0.0)

    @property
    def whole_line(self) -> tuple[Sample, ...]:
        """The time line to the end of the run."""
        return self.samples + self.drained

    def mean(self, name: str) -> float:
        """Mean over the measured time of what a sample counts, each sample standing for the time before it."""
        line = [one for one in self.whole_line if one.at_s > self.warmup_s]
        spans = np.diff([self.warmup_s, *(one.at_s for one in line)])
        return float(spans @ [getattr(one, name) for one in line] / spans.sum()) if line else 0.0

    @property
    def arrived_rps(self) -> float:
        """Mean rate of arrivals until the last is expected [1/s]."""
        return self.arrived / self.replications / self.horizon_s

    def _line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.array([one.in_flight for one in self.samples], float), np.array([one.arrived for one in self.samples])

    @property
    def growth_share(self) -> float:
        """How much of what arrives in the last two thirds of the run stays in the system: near 0 when steady."""
        inside, arrived = self._line()
        return batches.growth_share(inside, arrived=arrived)

    @property
    def is_steady(self) -> bool:
        """Whether the system kept up; a few requests more than it started with do not matter.

        After a loss it did if its queue has come back to what it was.
        """
        if self.disturbances and self.disturbances[-1].over_s is not None:
            return True
        inside, arrived = self._line()
        return batches.is_steady(inside, arrived=arrived, ending=self.ending)


def _rates(recorder: Recorder[Sample], *, config: Config) -> dict[str, float]:
    opened, closed = recorder.opened, recorder.closed
    if opened is None or closed is None or closed.at_s <= opened.at_s:
        return {}
    span_s = closed.at_s - opened.at_s
    found = {
        "arrived_per_s": (closed.arrived - opened.arrived) / span_s,
        "finished_per_s": (closed.finished - opened.finished) / span_s,
        "output_tokens_per_s": (closed.output_tokens - opened.output_tokens) / span_s,
        "moved_tokens_per_s": (closed.moved_tokens - opened.moved_tokens) / span_s,
        "prefill_tokens_per_s": (closed.prefill_tokens - opened.prefill_tokens) / span_s,
        "running": (closed.sequence_s - opened.sequence_s) / span_s,
        "prefill_busy": (closed.prefill_busy_s - opened.prefill_busy_s) / span_s / max(1, config.prefill_units),
        "unit_busy": (closed.unit_busy_s - opened.unit_busy_s) / span_s / config.decode_units,
    }
    if (asked := closed.prompt_tokens - opened.prompt_tokens) > 0:
        found["prefix_hit_share"] = (closed.hit_tokens - opened.hit_tokens) / asked
    even_s, lag_s = closed.even_s - opened.even_s, closed.lag_s - opened.lag_s
    if even_s > 0 and not config.aggregated:
        found["rank_imbalance"] = 1 + lag_s / even_s
        found["rank_wait"] = lag_s / (closed.unit_busy_s - opened.unit_busy_s)
    return found
