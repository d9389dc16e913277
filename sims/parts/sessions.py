"""Sessions of several turns whose history grows, drawn ahead of the system that serves them.

All times and lengths come from the seed alone, never from what the system does: designs and policies are compared on
exactly the same requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.gaps import Exponential, GapLaw, mean_s
from sims.parts.lengths import lognormal_tokens, zipf_shares

NO_GROUP = -1
MOST_SESSIONS = 8192
FEWEST_SESSIONS = 64
"""Sessions drawn at a time: about a chunk of turns."""

TURN = np.dtype(
    [
        ("at_s", "f8"),
        ("ticket", "i8"),
        ("turn", "i8"),
        ("last", "i8"),
        ("kind", "i8"),
        ("group", "i8"),
        ("tokens", "i8"),
        ("kept_tokens", "i8"),
        ("path_from", "i8"),
        ("path_to", "i8"),
        ("session_u", "f8"),
        ("home_u", "f8"),
        ("request_u", "f8"),
        ("place_u", "f8"),
    ]
)
"""A request: ``tokens`` of prompt, of which the context after its answer keeps ``kept_tokens``; ``ticket`` names its
session among those alive; the ``_u`` are uniform draws of the session or the request for choices of the system."""

Turns = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class SessionClass:
    """Sessions of one sort.

    A prompt is the shared prefix, ``first_tokens``, all earlier messages and answers, and the new message. Lengths are
    log-normal with spread ``sigma`` around their means. Another turn follows with ``follow`` unless ``turns`` fixes
    their number. ``shared``: prompts begin with a prefix of the source's groups. ``kept``: admitted below HBM.
    """

    name: str
    gaps: GapLaw = field(default_factory=lambda: Exponential(300.0))
    share: float = 1.0
    follow: float = 0.8
    turns: int | None = None
    first_tokens: float = 0.0
    user_tokens: float = 750.0
    answer_tokens: float = 250.0
    sigma: float = 0.0
    shared: bool = False
    kept: bool = True
    ttl_s: float = math.inf

    def __post_init__(self) -> None:
        if not 0.0 <= self.follow < 1.0:
            raise ValueError(f"follow must be at least 0 and below 1, is {self.follow}")
        if self.turns is not None and self.turns < 1:
            raise ValueError(f"turns must be at least 1, is {self.turns}")

    @property
    def mean_turns(self) -> float:
        """Turns a session has on average."""
        return float(self.turns) if self.turns is not None else 1.0 / (1.0 - self.follow)

    @property
    def follow_share(self) -> float:
        """Share of turns that another one follows."""
        return 1.0 - 1.0 / self.mean_turns


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes that sessions share: ``groups`` of them, the k-th as popular as 1/k^``exponent``, ``tokens`` long."""

    groups: int
    tokens: int
    exponent: float = 1.0

    def popularity(self) -> NDArray[np.float64]:
        """Share of each group."""
        return zipf_shares(self.groups, exponent=self.exponent)


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions of several classes that begin as a Poisson process at ``sessions_per_s`` for ``duration_s``.

    Attributes
    ----------
    lead_s : sessions that began this long before the run are in their midst when it begins, so that the load is at
        rest from the first moment; five mean lives do. The caches are empty all the same.
    most_tokens : the longest context; sessions go on with it when they reach it.
    """

    sessions_per_s: float
    duration_s: float
    classes: tuple[SessionClass, ...]
    prefixes: Prefixes | None = None
    most_tokens: int = 1_000_000
    lead_s: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sessions_per_s) and self.sessions_per_s >= 0 and self.lead_s >= 0):
            raise ValueError("sessions_per_s and lead_s must be finite and at least 0")
        if not self.classes or sum(one.share for one in self.classes) <= 0:
            raise ValueError("classes: at least one needs a share above 0")
        if any(one.shared for one in self.classes) and self.prefixes is None:
            raise ValueError("prefixes: classes that share prefixes need them")

    @property
    def horizon_s(self) -> float:
        """The run's length; nothing comes later."""
        return self.duration_s

    @property
    def mean_turns(self) -> float:
        """Turns a session has on average, over all classes."""
        return sum(one.share * one.mean_turns for one in self.classes) / sum(one.share for one in self.classes)

    @property
    def mean_life_s(self) -> float:
        """Mean time from a session's first turn to its last, weighted by sessions; what ``lead_s`` is measured in."""
        lives = [
            one.share * (one.mean_turns - 1) * mean_s(one.gaps) if one.mean_turns > 1 else 0.0 for one in self.classes
        ]
        return sum(lives) / sum(one.share for one in self.classes)

    @property
    def new_tokens_per_s(self) -> float:
        """Tokens that caches have not seen before, without shared prefixes [1/s]."""
        each = [
            one.share * (one.first_tokens + one.mean_turns * (one.user_tokens + one.answer_tokens))
            for one in self.classes
        ]
        return self.sessions_per_s * sum(each) / sum(one.share for one in self.classes)

    def chunks(self, seed: int) -> Iterator[Turns]:
        """Turns in order of time, at most `CHUNK` at once."""
        draws = _Draws(self, seed)
        waiting = np.empty(0, TURN)
        while self.sessions_per_s > 0 and draws.now_s < self.duration_s:
            made = draws.more()
            inside = (made["at_s"] >= 0.0) & (made["at_s"] <= self.duration_s)
            waiting = np.concatenate([waiting, made[inside]])
            # Sessions still to be drawn begin after the last one that was.
            ready = waiting["at_s"] <= draws.now_s
            yield from _in_order(waiting[ready])
            waiting = waiting[~ready]
        yield from _in_order(waiting)


def _in_order(turns: Turns) -> Iterator[Turns]:
    turns = turns[np.argsort(turns["at_s"], kind="stable")]
    for begin in range(0, len(turns), CHUNK):
        yield turns[begin : begin + CHUNK]


class _Draws:
    """The random streams of a source, and the tickets of sessions that are alive."""

    def __init__(self, source: Sessions, seed: int) -> None:
        names = ("starts", "classes", "turns", "gaps", "tokens", "groups", "homes", "requests")
        self._streams = {name: stream(seed, name=f"session {name}") for name in names}
        self._source = source
        shares = np.array([one.share for one in source.classes])
        self._classes = np.cumsum(shares / shares.sum())
        self._groups = None if source.prefixes is None else np.cumsum(source.prefixes.popularity())
        self._ends_s = np.empty(0)
        self._tickets = np.empty(0, np.int64)
        self._free = np.empty(0, np.int64)
        self._issued = 0
        self._count = max(FEWEST_SESSIONS, min(MOST_SESSIONS, int(CHUNK / source.mean_turns)))
        self.now_s = -source.lead_s

    def more(self) -> Turns:
        """All turns of the next sessions, session by session."""
        streams, source, count = self._streams, self._source, self._count
        starts_s = self.now_s + np.cumsum(streams["starts"].exponential(1.0 / source.sessions_per_s, count))
        self.now_s = float(starts_s[-1])
        kinds = np.minimum(np.searchsorted(self._classes, streams["classes"].random(count)), len(source.classes) - 1)
        counts = self._turns(kinds)
        firsts = np.cumsum(counts) - counts
        rows = np.repeat(np.arange(count), counts)
        made = np.zeros(len(rows), TURN)
        made["turn"] = np.arange(len(rows)) - firsts[rows]
        made["last"] = made["turn"] == counts[rows] - 1
        made["kind"] = kinds[rows]
        made["at_s"] = starts_s[rows] + self._since_start(made, firsts[rows])
        made["ticket"] = self._ticketed(starts_s, made["at_s"][firsts + counts - 1])[rows]
        made["group"] = self._grouped(kinds)[rows]
        made["session_u"], made["home_u"] = streams["homes"].random((2, count))[:, rows]
        made["request_u"], made["place_u"] = streams["requests"].random((2, len(rows)))
        self._lengths(made, firsts[rows])
        return made

    def _turns(self, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
        counts = np.ones(len(kinds), np.int64)
        for kind, one in enumerate(self._source.classes):
            mine = kinds == kind
            count = int(mine.sum())
            drawn = self._streams["turns"].geometric(1.0 - one.follow, count)
            counts[mine] = drawn if one.turns is None else one.turns
        return counts

    def _since_start(self, made: Turns, first: NDArray[np.int64]) -> NDArray[np.float64]:
        gaps = np.zeros(len(made))
        for kind, one in enumerate(self._source.classes):
            mine = (made["kind"] == kind) & (made["turn"] > 0)
            gaps[mine] = one.gaps.draw(self._streams["gaps"], count=int(mine.sum()))
        sums = np.cumsum(gaps)
        since: NDArray[np.float64] = sums - sums[first]
        return since

    def _ticketed(self, starts_s: NDArray[np.float64], ends_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Numbers for the new sessions: those of sessions that were over before the first of these began, then new."""
        over = self._ends_s < starts_s[0]
        self._free = np.concatenate([self._free, self._tickets[over]])
        reused, self._free = self._free[: self._count], self._free[self._count :]
        new = self._count - len(reused)
        tickets = np.concatenate([reused, np.arange(self._issued, self._issued + new)])
        self._issued += new
        self._ends_s = np.concatenate([self._ends_s[~over], ends_s])
        self._tickets = np.concatenate([self._tickets[~over], tickets])
        return tickets

    def _grouped(self, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
        groups = np.full(len(kinds), NO_GROUP, np.int64)
        if self._groups is not None:
            drawn = np.minimum(
                np.searchsorted(self._groups, self._streams["groups"].random(len(kinds))), len(self._groups) - 1
            )
            shared = np.array([one.shared for one in self._source.classes])[kinds]
            groups[shared] = drawn[shared]
        return groups

    def _lengths(self, made: Turns, first: NDArray[np.int64]) -> None:
        most, source = self._source.most_tokens, self._source
        user, answer = np.zeros(len(made), np.int64), np.zeros(len(made), np.int64)
        for kind, one in enumerate(source.classes):
            mine = made["kind"] == kind
            count = int(mine.sum())
            user[mine] = self._drawn(one.user_tokens, one.sigma, count)
            answer[mine] = self._drawn(one.answer_tokens, one.sigma, count)
            heads = mine & (made["turn"] == 0)
            user[heads] += self._drawn(one.first_tokens, one.sigma, int(heads.sum()))
        if source.prefixes is not None:
            user[(made["turn"] == 0) & (made["group"] >= 0)] += source.prefixes.tokens
        asked, said = np.cumsum(user), np.cumsum(answer)
        prompt = asked - (asked - user)[first] + (said - answer) - (said - answer)[first]
        made["tokens"] = np.minimum(prompt, most)
        made["kept_tokens"] = np.minimum(prompt + answer, most)

    def _drawn(self, mean: float, sigma: float, count: int) -> NDArray[np.int64]:
        most = self._source.most_tokens
        return lognormal_tokens(self._streams["tokens"], count=count, mean_tokens=mean, sigma=sigma, most_tokens=most)
