"""A few lines of exact LRU, and streams for it: what the cache formulas are held against."""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass


class Lru:
    """Least recently used out first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held: OrderedDict[Hashable, None] = OrderedDict()

    def touch(self, item: Hashable) -> bool:
        found = item in self.held
        self.held[item] = None
        self.held.move_to_end(item)
        if len(self.held) > self.capacity:
            self.held.popitem(last=False)
        return found


def hits(stream: Iterable[Hashable], capacity: int) -> int:
    cache = Lru(capacity)
    return sum(cache.touch(item) for item in stream)


@dataclass(frozen=True)
class Turn:
    """A request: at which time, of which session, the how-manieth turn, blocks reused and asked for in all."""

    time_s: float
    session: int
    turn: int
    reusable: int
    blocks: int


def sessions(
    *,
    starts_per_s: float,
    until_s: float,
    goes_on: Callable[[random.Random, int], bool],
    gap_s: Callable[[random.Random], float],
    blocks: Callable[[int], int],
    seed: int,
) -> Iterator[Turn]:
    """Turns in order of time; ``goes_on``: whether another follows turn k; ``blocks``: how long its context is."""
    draw = random.Random(seed)
    waiting: list[tuple[float, int, int]] = []
    now, session = draw.expovariate(starts_per_s), 0
    while now < until_s or waiting:
        if waiting and waiting[0][0] < now:
            time_s, name, turn = heapq.heappop(waiting)
        else:
            time_s, name, turn = now, session, 0
            now, session = now + draw.expovariate(starts_per_s), session + 1
        if time_s > until_s:
            return
        yield Turn(time_s, name, turn, blocks(turn - 1) if turn else 0, blocks(turn))
        if goes_on(draw, turn):
            heapq.heappush(waiting, (time_s + gap_s(draw), name, turn + 1))


def touch_context(cache: Lru, turn: Turn) -> int:
    """Blocks of the context found, deepest touched first so that a prefix outlives what hangs on it."""
    found = [cache.touch((turn.session, block)) for block in reversed(range(turn.blocks))]
    return sum(found)
