"""A second implementation of adapter slots for tests: requests, a queue of adapters, nothing else."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np
from numpy.typing import NDArray


def waits(
    shares: NDArray[np.float64], *, running: float, slots: int, until: float, cv: float | None = None, seed: int = 0
) -> NDArray[np.float64]:
    """Waits of the requests of the middle of a run, in units of the mean length; cv None: exponential lengths."""
    rng = np.random.default_rng(seed)
    count = int(running * until)
    comes = np.cumsum(rng.exponential(1 / running, count)).tolist()
    asks = rng.choice(len(shares), count, p=shares).tolist()
    lasts = lengths(rng, count, cv).tolist()
    active = [0] * len(shares)
    parked: dict[int, list[int]] = {}
    queue: deque[int] = deque()
    ends: list[tuple[float, int]] = []
    free, found = slots, np.zeros(count)

    def start(adapter: int, now: float) -> None:
        for request in parked.pop(adapter):
            found[request] = now - comes[request]
            active[adapter] += 1
            heapq.heappush(ends, (now + lasts[request], adapter))

    for request, (now, adapter) in enumerate(zip(comes, asks, strict=True)):
        while ends and ends[0][0] <= now:
            ended, done = heapq.heappop(ends)
            active[done] -= 1
            if not active[done]:
                free += 1
                if queue:
                    free -= 1
                    start(queue.popleft(), ended)
        if active[adapter]:
            active[adapter] += 1
            heapq.heappush(ends, (now + lasts[request], adapter))
        elif adapter in parked:
            parked[adapter].append(request)
        else:
            parked[adapter] = [request]
            if free:
                free -= 1
                start(adapter, now)
            else:
                queue.append(adapter)
    return found[int(0.3 * count) : int(0.9 * count)]


def lengths(rng: np.random.Generator, count: int, cv: float | None) -> NDArray[np.float64]:
    if cv is None:
        return rng.exponential(1.0, count)
    if cv == 0:
        return np.ones(count)
    sigma = np.sqrt(np.log1p(cv * cv))
    return rng.lognormal(-sigma * sigma / 2, sigma, count)
