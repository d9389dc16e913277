"""How a rate is measured on a machine whose speed wanders: beside SimPy's bare timeouts, again and again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import simpy

PROCESSES = 200
EVENTS = 100_000
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Benchmark:
    """``work`` does it once and returns how many items it did; ``must`` and ``aim`` are ratios to SimPy, or limits."""

    name: str
    work: Callable[[], float]
    unit: str
    must: float
    aim: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the rounds: the ratio to SimPy, and the rate itself a CPU-second."""

    ratio: float
    rate_per_cpu_s: float
    simpy_per_cpu_s: float


def simpy_rate() -> float:
    """Timeouts a CPU-second of processes that do nothing else."""

    def ticking(env: simpy.Environment) -> Iterator[simpy.Event]:
        while True:
            yield env.timeout(1.0)

    env = simpy.Environment()
    for _ in range(PROCESSES):
        env.process(ticking(env))
    begun_s = time.process_time()
    env.run(until=EVENTS / PROCESSES)
    return EVENTS / (time.process_time() - begun_s)


def rate(work: Callable[[], float]) -> float:
    """Items a CPU-second."""
    begun_s = time.process_time()
    done = work()
    return done / (time.process_time() - begun_s)


def interleaved(work: Callable[[], float], *, rounds: int = ROUNDS) -> Measured:
    """Alternate with SimPy, which is measured before and after each turn; medians of the rounds."""
    ratios, rates, bares = [], [], []
    before = simpy_rate()
    for _ in range(rounds):
        done = rate(work)
        after = simpy_rate()
        bare = (before + after) / 2
        ratios.append(done / bare)
        rates.append(done)
        bares.append(bare)
        before = after
    return Measured(statistics.median(ratios), statistics.median(rates), statistics.median(bares))
