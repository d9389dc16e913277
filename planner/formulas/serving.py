"""One replica under load: a fixed point of batch, step time and queue, by concurrency or by arrival rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from planner.formulas import queueing, roofline, speculation
from planner.formulas.calibration import Coefficients
from planner.formulas.elementwise import close, largest, least

ITERATIONS = 60
TOLERANCE = 1e-6
PREFILL_STEP_TOKENS = 2048.0
"""Tokens of one prefill step where engines chunk: a constant of the form."""


_BOUNDED = (0.5, 0.9, 0.99)
"""Percentiles that a bound holds beside the mean."""
_WAITS = ("base_s", "prefill_s", "first_step_s", "queue_s", "admission_s")
_GAPS = ("decode_s", "interference_s", "pause_s")


class StepTimes(Protocol):
    """A source of step times: the calibrated roofline of a replica, many replicas at once, or measured kernels."""

    @property
    def layers(self) -> float: ...
    @property
    def data_parallel(self) -> float: ...
    @property
    def coefficients(self) -> Coefficients:
        """Constants of scheduler and queue, which step times alone do not give."""
        ...

    def decode_step(self, *, batch: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> roofline.Step:
        """One decode step of ``batch`` sequences of the replica [s]."""
        ...

    def prefill(self, *, new_tokens: float, cached_tokens: float = 0.0) -> roofline.Prefill:
        """One prefill behind a cached prefix [s]."""
        ...


@dataclass(frozen=True, slots=True)
class Load:
    """A request: input tokens to compute, input tokens found in the prefix cache, output tokens; and speculation."""

    new_tokens: float
    output_tokens: float
    cached_tokens: float = 0.0
    draft_tokens: int = 0
    acceptance: float = 0.8

    @property
    def input_tokens(self) -> float:
        return self.new_tokens + self.cached_tokens

    @property
    def mean_context_tokens(self) -> float:
        """Mean length of a request while it decodes."""
        return self.input_tokens + self.output_tokens / 2


@dataclass(frozen=True, slots=True)
class Point:
    """One operating point of a replica. Times in seconds, rates per second of the whole replica.

    ``tpot_s`` is None when a request has a single output token. The latency parts sum: ``ttft_s = base + prefill +
    step + queue + admission`` and ``tpot_s = decode_s + interference_s``.
    """

    concurrency: float
    running: float
    base_s: float
    prefill_s: float
    first_step_s: float
    queue_s: float
    admission_s: float
    decode_s: float
    interference_s: float
    pauses_per_token: float
    pause_s: float
    output_tokens: float
    step: roofline.Step
    queue_chance: float = 1.0
    """Probability of queueing for the prefill; the wait of those who do is taken as exponential."""
    admission_chance: float | None = None
    """Probability of waiting for a place; None: every request waits the same time (closed loop)."""

    @property
    def ttft_s(self) -> float:
        return self.base_s + self.prefill_s + self.first_step_s + self.queue_s + self.admission_s

    @property
    def tpot_s(self) -> float | None:
        return self.decode_s + self.interference_s if self.output_tokens > 1 else None

    @property
    def e2e_s(self) -> float:
        return self.ttft_s + (self.output_tokens - 1) * (self.decode_s + self.interference_s)

    @property
    def request_rate_rps(self) -> float:
        return self.concurrency / self.e2e_s

    @property
    def _is_full(self) -> bool:
        """Whether all places are taken all the time, in a closed loop."""
        return self.admission_s > 0 and self.admission_chance is None

    def leaning(self, *, tpot: float, ttft: float) -> Point:
        """The point with its times multiplied by what measurements say; the batch follows by Little's law."""
        found = replace(
            self,
            base_s=self.base_s * ttft,
            prefill_s=self.prefill_s * ttft,
            first_step_s=self.first_step_s * ttft,
            queue_s=self.queue_s * ttft,
            admission_s=self.admission_s * ttft,
            decode_s=self.decode_s * tpot,
            interference_s=self.interference_s * tpot,
            pause_s=self.pause_s * tpot,
        )
        return found.settled(limit=self.running if self._is_full else math.inf)

    def bounded(self, other: Point) -> Point:
        """This point no slower than the other: TTFT and gaps, their means and their percentiles.

        Where a closed loop waits for places in the other, its gaps are those of a smaller batch: then whole times
        compare. Under arrivals the rate says what runs, and a wait for a place is a part of TTFT like any.
        """
        if other._is_full:
            share = min(other.e2e_s / self.e2e_s, 1.0)
            return self.leaning(tpot=share, ttft=share)
        found = self
        if _exceeds(self._waits(), other._waits()):
            share = min(self.ttft_s / other.ttft_s, 1.0)
            waits = {name: getattr(other, name) * share for name in _WAITS}
            found = replace(found, **waits, queue_chance=other.queue_chance, admission_chance=other.admission_chance)
        if _exceeds(self._gaps(), other._gaps()):
            share = min((self.decode_s + self.interference_s) / (other.decode_s + other.interference_s), 1.0)
            gaps = {name: getattr(other, name) * share for name in _GAPS}
            found = replace(found, **gaps, pauses_per_token=other.pauses_per_token)
        return found if found is self else found.settled(limit=self.running if self._is_full else math.inf)

    def _waits(self) -> tuple[float, ...]:
        return self.ttft_s, *(self.ttft_quantile_s(each) for each in _BOUNDED)

    def _gaps(self) -> tuple[float, ...]:
        quantiles = (self.tpot_quantile_s(each) for each in _BOUNDED)
        return self.decode_s + self.interference_s, *(each for each in quantiles if each is not None)

    def settled(self, *, limit: float) -> Point:
        """The point with the batch that follows from its times by Little's law, at most ``limit``."""
        decoding_s = self.output_tokens * (self.decode_s + self.interference_s)
        running = self.concurrency * decoding_s / (decoding_s + self.ttft_s)
        return replace(self, running=min(running, limit))

    def ttft_quantile_s(self, probability: float) -> float:
        """TTFT with the waits taken as exponential, the rest as constant [s].

        The quantiles of the two waits are added, which errs on the high side.
        """
        constant_s = self.base_s + self.prefill_s + self.first_step_s
        admission_s = _wait_quantile_s(probability, chance=self.admission_chance, mean_s=self.admission_s)
        return constant_s + _wait_quantile_s(probability, chance=self.queue_chance, mean_s=self.queue_s) + admission_s

    def tpot_quantile_s(self, probability: float) -> float | None:
        """Quantile over requests of the mean gap, the prefills that interrupt a request taken as Poisson [s]."""
        if self.output_tokens <= 1:
            return None
        pauses = self.pauses_per_token * self.output_tokens
        seen = queueing.poisson_quantile(probability, mean=pauses)
        return self.decode_s + seen / self.output_tokens * self.pause_s

    def itl_quantile_s(self, probability: float) -> float | None:
        """Quantile over gaps between tokens: a plain step, or one with a prefill in it when those are frequent [s]."""
        if self.output_tokens <= 1:
            return None
        interrupted = 1.0 - math.exp(-self.pauses_per_token)
        return self.decode_s + (self.pause_s if interrupted > 1.0 - probability else 0.0)


def _exceeds(ours: tuple[float, ...], theirs: tuple[float, ...]) -> bool:
    return any(mine > other for mine, other in zip(ours, theirs, strict=True))


def _wait_quantile_s(probability: float, *, chance: float | None, mean_s: float) -> float:
    if chance is None or mean_s <= 0:
        return mean_s
    return queueing.wait_quantile_s(probability, waiting=chance, mean_wait_s=mean_s)


@dataclass(frozen=True, slots=True)
class _Costs:
    """What one batch size costs: decode time a token, and what prefills add."""

    times: StepTimes
    load: Load
    prefill: roofline.Prefill
    verified: float

    @property
    def launches_s(self) -> float:
        return self.times.layers * self.times.coefficients.prefill_layer_s

    def step(self, running: float) -> roofline.Step:
        return self.times.decode_step(
            batch=running,
            context_tokens=self.load.mean_context_tokens,
            tokens_per_sequence=1.0 + self.load.draft_tokens,
        )

    def decode_s(self, step: roofline.Step) -> float:
        """Time a token: a step gives several when drafts are verified, and each draft runs one layer."""
        drafts = self.load.draft_tokens * step.total_s / self.times.layers
        return (step.total_s + drafts) / self.verified

    def pause_s(self, running: float) -> float:
        """How long one prefill holds the decode of the others up."""
        c = self.times.coefficients
        busy = largest(self.prefill.busy_s, self.prefill.floor_s / least(largest(running, 1.0), 4.0))
        return c.interference * busy + c.interference_launch * self.launches_s * self._own_launches

    @property
    def _own_launches(self) -> float:
        """Share of a prefill step's launches that one request pays: short prompts share a step."""
        return least(self.load.new_tokens / PREFILL_STEP_TOKENS, 1.0)

    def queue_unit_s(self) -> float:
        """Wait that one other request's prefill causes."""
        c = self.times.coefficients
        return self.prefill.busy_s + c.interference_launch * self.launches_s / self.times.data_parallel

    def tpot_s(self, running: float) -> float:
        return self.decode_s(self.step(running)) + running / self.load.output_tokens * self.pause_s(running)

    def point(
        self,
        *,
        running: float,
        queue_s: float,
        admission_s: float,
        concurrency: float = 0.0,
        queue_chance: float = 1.0,
        admission_chance: float | None = None,
    ) -> Point:
        step = self.step(running)
        pause_s = self.pause_s(running)
        pauses = running / self.load.output_tokens
        return Point(
            concurrency=concurrency,
            running=running,
            base_s=self.times.coefficients.first_token_s + self.launches_s,
            prefill_s=self.prefill.latency_s,
            first_step_s=step.total_s / 2,
            queue_s=queue_s,
            admission_s=admission_s,
            decode_s=self.decode_s(step),
            interference_s=pauses * pause_s,
            pauses_per_token=pauses,
            pause_s=pause_s,
            output_tokens=self.load.output_tokens,
            step=step,
            queue_chance=queue_chance,
            admission_chance=admission_chance,
        )


def _costs(times: StepTimes, load: Load) -> _Costs:
    return _Costs(
        times=times,
        load=load,
        prefill=times.prefill(new_tokens=load.new_tokens, cached_tokens=load.cached_tokens),
        verified=speculation.tokens_per_step(draft_tokens=load.draft_tokens, acceptance=load.acceptance),
    )


def closed_loop(times: StepTimes, *, load: Load, concurrency: float, capacity: float) -> Point:
    """Steady state with a constant number of requests in the system.

    Parameters
    ----------
    times : step times of the replica; or of many, then all numbers are arrays of one shape
    load : one request
    concurrency : requests waiting or running, each replaced as it ends [1]
    capacity : requests that may run at once: what the KV pool holds, or the engine's own limit [1]

    Notes
    -----
    Fixed point in the running batch B: ``TPOT = T(B) + B/o · (φ·P + ψ·launches)``, ``TTFT = constants + prefill + T/2 +
    κ·(C − 1)·P``, ``B = min(C · o·TPOT/(o·TPOT + TTFT), capacity)``. When all places are taken a request waits
    ``(C/capacity − 1)·o·TPOT`` before its first token, or TTFT if that is longer, so that Little's law holds; nor does
    the replica take more requests than it can prefill, ``TTFT + (o − 1)·TPOT ≥ C·P``. φ, ψ, κ
    are fitted; κ stands for the burst and clumping of a closed loop.

    References
    ----------
    Denning, Buzen, "The Operational Analysis of Queueing Network Models", 1978, doi:10.1145/356733.356735 (the response
    time of a closed system); φ, ψ, κ from ``calibrations/roofline.toml``.
    """
    costs = _costs(times, load)
    queue_s = times.coefficients.queue * largest(concurrency - 1.0, 0.0) * costs.queue_unit_s()
    fixed_s = times.coefficients.first_token_s + costs.launches_s + costs.prefill.latency_s + queue_s

    def next_batch(running: float) -> float:
        decode_s = load.output_tokens * costs.tpot_s(running)
        waiting_s = fixed_s + costs.step(running).total_s / 2
        return least(concurrency * decode_s / (decode_s + waiting_s), capacity)

    running = _fixed_point(next_batch, start=least(0.93 * concurrency, capacity))
    decode_s = load.output_tokens * costs.tpot_s(running)
    waited_s = fixed_s + costs.step(running).total_s / 2
    prefills_s = concurrency * costs.prefill.busy_s - waited_s - (load.output_tokens - 1.0) * costs.tpot_s(running)
    admission_s = largest(largest((concurrency / capacity - 1.0) * decode_s - waited_s, prefills_s), 0.0)
    return costs.point(concurrency=concurrency, running=running, queue_s=queue_s, admission_s=admission_s)


def _fixed_point(step: Callable[[float], float], *, start: float) -> float:
    value = start
    for _ in range(ITERATIONS):
        following = step(value)
        if close(value, following, tolerance=TOLERANCE):
            return following
        value = following
    return value


def max_rate_rps(times: StepTimes, *, load: Load, capacity: float) -> float:
    """The request rate that no arrival rate may reach: all places or the prefill taken all the time [1/s]."""
    costs, places = _costs(times, load), _whole_places(capacity)
    return min(places / (load.output_tokens * costs.tpot_s(places)), 1.0 / costs.queue_unit_s())


def _whole_places(capacity: float) -> float:
    """Places that can be taken: part of a request's room lets none run."""
    return float(max(int(capacity), 1))


def open_loop(times: StepTimes, *, load: Load, rate_rps: float, capacity: float) -> Point | None:
    """Steady state under Poisson arrivals; None when they come faster than the replica can serve.

    Parameters
    ----------
    times, load, capacity : as in `closed_loop`
    rate_rps : arrivals [1/s]

    Notes
    -----
    Little's law gives the batch, ``B = λ·o·TPOT(B)``. Prefills queue as M/D/1 with the share of the replica each takes;
    a place in the batch is waited for as in M/M/c with the capacity as servers.

    References
    ----------
    Little, "A Proof for the Queuing Formula L = λW", 1961, doi:10.1287/opre.9.3.383; Kleinrock, "Queueing Systems",
    vol. 1, 1975, equations (3.40) and (5.63).
    """
    costs = _costs(times, load)
    offered = rate_rps * load.output_tokens
    places = _whole_places(capacity)
    full_s = load.output_tokens * costs.tpot_s(places)
    unit_s = costs.queue_unit_s()
    queue_s = queueing.mean_wait_s(rate_rps * unit_s, servers=1, service_s=unit_s, service_scv=0.0)
    admission_s = queueing.mean_wait_s(rate_rps * full_s, servers=int(places), service_s=full_s)
    if queue_s is None or admission_s is None:
        return None
    point = costs.point(
        running=_lowest_batch(costs, offered=offered, capacity=places),
        queue_s=queue_s,
        admission_s=admission_s,
        queue_chance=rate_rps * unit_s,
        admission_chance=queueing.erlang_c(rate_rps * full_s, servers=int(places)),
    )
    return replace(point, concurrency=rate_rps * point.e2e_s)


def _lowest_batch(costs: _Costs, *, offered: float, capacity: float) -> float:
    """The batch B with ``B = offered · TPOT(B)``: the right side is above at zero and below at capacity.

    TPOT grows with the batch, so B lies between what its least and its largest value give. Regula falsi in the Illinois
    form: an end that stays twice counts half, so that both ends move.
    """

    def over(running: float) -> float:
        return offered * costs.tpot_s(running) - running

    low, high = offered * costs.tpot_s(0.0), min(offered * costs.tpot_s(capacity), capacity)
    low_over, high_over, moved = over(low), over(high), 0
    if low_over <= 0.0 or high_over >= 0.0:
        return low if low_over <= 0.0 else high
    for _ in range(ITERATIONS):
        middle = (low * high_over - high * low_over) / (high_over - low_over)
        middle_over = over(middle)
        if abs(middle_over) <= TOLERANCE * middle:
            return middle
        if middle_over > 0.0:
            low, low_over, high_over, moved = middle, middle_over, high_over / (2 if moved > 0 else 1), 1
        else:
            high, high_over, low_over, moved = middle, middle_over, low_over / (2 if moved < 0 else 1), -1
    return high
