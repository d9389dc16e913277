"""Requests for a gateway: conversations that grow behind shared prefixes, one-shots, or a trace replayed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import loop
from sims.engine.streams import CHUNK, stream
from sims.parts.calls import CALL_ARRIVAL
from sims.parts.lengths import lognormal_tokens, zipf_shares
from sims.parts.moments import poisson_moments
from sims.parts.paths import stem_table
from sims.parts.records import records

Chunk = NDArray[np.void]
SEAT = np.dtype([("group", "i8"), ("tokens", "i8"), ("over", "i8")])
LOT = np.dtype([(name, "i8") for name in ("pick", "over", "group", "first", "message", "answer")])


class Source(Protocol):
    """Where requests come from, in order of arrival."""

    @property
    def horizon_s(self) -> float:
        """When the last request comes, or is expected to [s]."""

    @property
    def finite(self) -> bool:
        """Whether the run goes on until the last request is done."""

    @property
    def sessions(self) -> int:
        """Places for sessions that are alive at a time."""

    def stems(self, seed: int, *, block_tokens: int) -> np.recarray:
        """The prefixes that prompts share."""

    def chunks(self, seed: int, *, block_tokens: int) -> Iterator[Chunk]:
        """Arrival records, at most `CHUNK` at a time."""


@loop
def talk(chunk, seats, drawn, traffic):  # type: ignore[no-untyped-def]
    """Fill arrivals: the drawn session takes its next turn, or a new one takes its place."""
    terms = traffic[0]
    for index in range(len(chunk)):
        arrival, lot = chunk[index], drawn[index]
        group = lot.group
        prefix = terms.group_tokens if group >= 0 else 0
        arrival.fresh = 0
        arrival.output = lot.answer
        if lot.pick < 0:
            arrival.session = -1
            arrival.stem = group
            arrival.tokens = min(terms.most_tokens, prefix + lot.first)
        else:
            seat = seats[lot.pick]
            if seat.over == 1 or seat.tokens + lot.message + lot.answer > terms.most_tokens:
                arrival.fresh = 1
                seat.group = group
                seat.tokens = prefix
            arrival.session = lot.pick
            arrival.stem = seat.group
            arrival.tokens = seat.tokens + (lot.first if arrival.fresh == 1 else lot.message)
            arrival.tokens = min(terms.most_tokens, arrival.tokens)
            seat.tokens = arrival.tokens + int(terms.answers_back * lot.answer)
            seat.over = lot.over
        arrival.blocks = arrival.tokens // terms.block_tokens
        arrival.kept = (arrival.tokens + int(terms.answers_back * arrival.output)) // terms.block_tokens


TRAFFIC = np.dtype([("group_tokens", "i8"), ("most_tokens", "i8"), ("block_tokens", "i8"), ("answers_back", "f8")])


@dataclass(frozen=True, slots=True)
class Conversations:
    """Poisson arrivals of turns of conversations and of one-shots, behind prefixes whose popularity is Zipf's.

    Each request is a one-shot with ``one_shot_share``, else the next turn of one of ``live_sessions`` conversations,
    each as likely: the gap between the turns of a session is exponential with mean ``live_sessions`` over the rate
    of turns. A turn is the last with probability 1/``turns``; then a new conversation takes the place. A prompt is
    the shared prefix, all messages and answers so far, and a new message; with its answer it stays in the cache.
    Lengths are log-normal with the given mean and σ; a conversation that would pass ``most_tokens`` starts anew.
    """

    rate_per_s: float
    duration_s: float | None = None
    requests: int | None = None
    groups: int = 2000
    """Shared prefixes (system prompts, documents); 0: none."""
    zipf_exponent: float = 1.0
    group_tokens: int = 2048
    grouped_share: float = 1.0
    """Share of conversations and one-shots that start with a shared prefix."""
    one_shot_share: float = 0.0
    live_sessions: int = 60_000
    turns: float = 6.0
    """Mean turns of a conversation."""
    first_tokens: float = 600.0
    """Mean tokens of a conversation's first message, or of a one-shot beyond its prefix."""
    message_tokens: float = 200.0
    """Mean tokens of each later message."""
    output_tokens: float = 300.0
    """Mean tokens of an answer."""
    answers_back: float = 1.0
    """Share of an answer that the next prompt repeats, and that is cached for it; thoughts of an LLM are often not."""
    input_sigma: float = 0.5
    output_sigma: float = 0.5
    most_tokens: int = 32_768
    important_share: float = 1.0
    """Share of requests with high priority."""

    @property
    def _by_count_s(self) -> float:
        return self.requests / self.rate_per_s if self.requests is not None and self.rate_per_s > 0 else math.inf

    @property
    def finite(self) -> bool:
        return self._by_count_s < (math.inf if self.duration_s is None else self.duration_s)

    @property
    def horizon_s(self) -> float:
        return min(self._by_count_s, math.inf if self.duration_s is None else self.duration_s)

    @property
    def sessions(self) -> int:
        return self.live_sessions

    @property
    def gap_s(self) -> float:
        """Mean gap between two turns of a session [s]; infinite when none comes."""
        turns_per_s = self.rate_per_s * (1.0 - self.one_shot_share)
        return self.live_sessions / turns_per_s if turns_per_s > 0 else math.inf

    def stems(self, seed: int, *, block_tokens: int) -> np.recarray:
        shared = self.prefix_blocks(block_tokens)
        count = self.groups if shared > 0 else 0
        blocks = np.full(count, shared)
        keys = stream(seed, name="prefix keys").random(count)
        return stem_table(parent=np.full(count, -1), depth=np.zeros(count, np.int64), end=blocks, keys=keys)

    def prefix_blocks(self, block_tokens: int) -> int:
        """Whole blocks of a shared prefix; a prompt is never shorter than that."""
        return min(self.group_tokens, self.most_tokens) // block_tokens

    def popularity(self) -> NDArray[np.float64]:
        """Share of each prefix among those that start with one."""
        return zipf_shares(self.groups, exponent=self.zipf_exponent)

    def chunks(self, seed: int, *, block_tokens: int) -> Iterator[Chunk]:
        terms = records(TRAFFIC, count=1)
        usable = self.groups > 0 and self.prefix_blocks(block_tokens) > 0
        prefix = self.prefix_blocks(block_tokens) * block_tokens if usable else 0
        terms[0].group_tokens, terms[0].most_tokens, terms[0].block_tokens = prefix, self.most_tokens, block_tokens
        terms[0].answers_back = self.answers_back
        draw = _Draws(self, seed=seed, grouped=usable)
        seats = draw.seats(prefix)
        for at_s in poisson_moments(
            seed, rate_per_s=self.rate_per_s, duration_s=self.duration_s, requests=self.requests
        ):
            yield draw.chunk(at_s, seats=seats, terms=terms)


class _Draws:
    """The random streams of `Conversations`, one a subject."""

    def __init__(self, source: Conversations, *, seed: int, grouped: bool) -> None:
        self._source, self._grouped = source, grouped
        names = ("routing luck", "sessions", "prefixes", "first messages", "messages", "answers", "ends", "priorities")
        self._streams = {name: stream(seed, name=name) for name in names}
        self._ages = stream(seed, name="ages at the start")
        self._cdf = np.cumsum(source.popularity()) if grouped else np.zeros(0)

    def _groups(self, generator: np.random.Generator, count: int) -> NDArray[np.int64]:
        uniform = generator.random((2, count))
        if not self._grouped:
            return np.full(count, -1, np.int64)
        drawn = np.minimum(np.searchsorted(self._cdf, uniform[0]), self._source.groups - 1)
        return np.where(uniform[1] < self._source.grouped_share, drawn, -1).astype(np.int64)

    def _tokens(self, name: str, mean: float, sigma: float, most: int) -> NDArray[np.int64]:
        return lognormal_tokens(self._streams[name], count=CHUNK, mean_tokens=mean, sigma=sigma, most_tokens=most)

    def seats(self, prefix: int) -> np.recarray:
        """Sessions as they are in the midst of things: each has had some turns already."""
        source = self._source
        seats = records(SEAT, count=max(1, source.live_sessions))
        seats.group = self._groups(self._ages, len(seats))
        goes_on = 1.0 - 1.0 / max(1.0, source.turns)
        turns = self._ages.geometric(1.0 - goes_on, len(seats)) if goes_on > 0 else np.ones(len(seats), np.int64)
        back = source.answers_back * source.output_tokens
        later = np.maximum(0, turns - 2) * (source.message_tokens + back)
        grown: NDArray[np.float64] = source.first_tokens + back + later
        seats.tokens = np.where(seats.group >= 0, prefix, 0) + grown.astype(np.int64)
        seats.over = ((turns == 1) | (seats.tokens >= source.most_tokens)).astype(np.int64)
        return seats

    def chunk(self, at_s: NDArray[np.float64], *, seats: np.recarray, terms: np.recarray) -> Chunk:
        """Draw what `talk` needs, as many numbers of each stream whatever the parameters, and let it talk."""
        source, draws, count = self._source, self._streams, len(at_s)
        chunk = records(CALL_ARRIVAL, count=count)
        chunk.at_s = at_s
        chunk.luck = draws["routing luck"].random(CHUNK)[:count]
        chunk.priority = (draws["priorities"].random(CHUNK)[:count] < source.important_share).astype(np.int64)
        who = draws["sessions"].random((2, CHUNK))
        pick = np.where(who[0] < source.one_shot_share, -1, (who[1] * source.live_sessions).astype(np.int64))
        if source.live_sessions <= 0:
            pick = np.full(CHUNK, -1, np.int64)
        over = draws["ends"].random(CHUNK) < 1.0 / max(1.0, source.turns)
        most = source.most_tokens
        lots = records(LOT, count=CHUNK)
        lots.pick, lots.over = pick, over
        lots.group = self._groups(draws["prefixes"], CHUNK)
        lots.first = self._tokens("first messages", source.first_tokens, source.input_sigma, most)
        lots.message = self._tokens("messages", source.message_tokens, source.input_sigma, most)
        lots.answer = self._tokens("answers", source.output_tokens, source.output_sigma, most)
        talk(chunk, seats, lots, terms)
        return chunk
