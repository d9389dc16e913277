"""Clients in a closed loop: each sends its next request a pause after its last answer ended.

The pause is the same for all, so that their turns come in the order in which answers end: a ring of moments holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import NEVER
from sims.engine.kernel import handler
from sims.engine.streams import CHUNK, stream
from sims.parts.arrivals import Chunk, Lengths, Table, filled, packed, sampled
from sims.parts.paths import Prefixes, no_prefixes
from sims.parts.records import records

CLIENTS = np.dtype([("count", "i8"), ("pause_s", "f8"), ("head", "i8"), ("due", "i8")])
"""``count`` 0: no closed loop. ``due`` clients have their turns from ``head`` of the ring on."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """``clients`` that send ``requests`` in all, or go on for ``duration_s``; lengths drawn, or those of a ``sample``.

    Requests of a sample are sent in its order, and again from its first after its last.
    ``about_s`` is how long the requests are expected to take: it cuts the run into batches and samples.
    """

    clients: int
    lengths: Lengths
    about_s: float
    requests: int | None = None
    duration_s: float | None = None
    think_s: float = 0.0
    sample: Table | None = None

    def __post_init__(self) -> None:
        if self.clients < 1 or self.think_s < 0 or (self.requests is None and self.duration_s is None):
            raise ValueError("a closed loop has clients, a pause of at least 0, and requests or a duration")

    @property
    def finite(self) -> bool:
        return self.duration_s is None

    @property
    def horizon_s(self) -> float:
        return self.about_s if self.duration_s is None else self.duration_s

    @property
    def prefixes(self) -> Prefixes:
        return no_prefixes()

    def chunks(self, seed: int) -> Iterator[Chunk]:
        if self.sample is not None:
            return self._in_order(self.sample, seed=seed)
        return filled(self._moments(), seed=seed, lengths=self.lengths, sample=None)

    def _in_order(self, sample: Table, *, seed: int) -> Iterator[Chunk]:
        hits, sent = stream(seed, name="prefix hits"), 0
        for at_s in self._moments():
            rows = np.arange(sent, sent + len(at_s)) % len(sample.at_s)
            yield packed(at_s, *sampled(sample, rows, self.lengths, hits))
            sent += len(at_s)

    def _moments(self) -> Iterator[NDArray[np.float64]]:
        left = self.requests
        while left is None or left > 0:
            count = CHUNK if left is None else min(left, CHUNK)
            # When a request comes, its client knows.
            yield np.zeros(count)
            left = None if left is None else left - count


def ring_of(count: int, *, pause_s: float, first_s: float) -> tuple[np.recarray, NDArray[np.float64]]:
    """The clients and their ring: all have their first turn at ``first_s``."""
    clients = records(CLIENTS, count=1)
    clients[0].count, clients[0].pause_s, clients[0].due = count, pause_s, count
    return clients, np.full(max(1, count), first_s)


@handler
def moment_of(clients, ring, at_s):  # type: ignore[no-untyped-def]
    """When the next request comes: as its stream says, or at the next client's turn."""
    if clients.count == 0:
        return at_s
    return ring[clients.head] if clients.due > 0 else NEVER


@handler
def take_turn(clients):  # type: ignore[no-untyped-def]
    """A client sends its request."""
    if clients.count > 0:
        clients.head = (clients.head + 1) % clients.count
        clients.due -= 1


@handler
def give_turn(clients, ring, now_s):  # type: ignore[no-untyped-def]
    """A client has its answer, or was refused one: it pauses."""
    ring[(clients.head + clients.due) % clients.count] = now_s + clients.pause_s
    clients.due += 1
