"""Where requests come from: sessions drawn ahead, or a trace of block ids; and the owners that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import CHUNK, stream
from sims.parts.chains import Paths, segments_of
from sims.parts.interning import checked_ids
from sims.parts.sessions import NO_GROUP, TURN, SessionClass, Sessions, Turns
from sims.parts.trace_plan import INSTANT_S

COMMON_SHARE = 0.01
"""A segment that more of the requests begin with names no session: affinity looks further down the path."""


class Source(Protocol):
    """Requests in order, and what they touch."""

    @property
    def horizon_s(self) -> float:
        """The run's length, or when the last request comes."""

    @property
    def finite(self) -> bool:
        """Whether the run goes on until the last request is finished."""

    @property
    def fixed_owners(self) -> int:
        """Owners that exist from the start: groups of sessions, or segments of a trace."""

    @property
    def longest_path(self) -> int:
        """Most owners that a request touches."""

    def chunks(self, seed: int) -> Iterator[Turns]:
        """Requests in order of time."""

    def kinds(self) -> tuple[SessionClass | None, ...]:
        """Classes of owners; None for shared prefixes and segments, the last."""

    def group_blocks(self, block_tokens: int) -> int:
        """Blocks of a shared prefix."""

    def routes(self) -> NDArray[np.int64]:
        """Segments of all requests of a trace in one row."""

    def lengths(self) -> NDArray[np.int64]:
        """Blocks of each segment of a trace."""


@dataclass(frozen=True, slots=True)
class SessionSource:
    """`Sessions` as the system reads them."""

    sessions: Sessions

    @property
    def horizon_s(self) -> float:
        return self.sessions.horizon_s

    @property
    def finite(self) -> bool:
        return False

    @property
    def fixed_owners(self) -> int:
        return 0 if self.sessions.prefixes is None else self.sessions.prefixes.groups

    @property
    def longest_path(self) -> int:
        return 2

    def chunks(self, seed: int) -> Iterator[Turns]:
        return self.sessions.chunks(seed)

    def kinds(self) -> tuple[SessionClass | None, ...]:
        return (*self.sessions.classes, None)

    def group_blocks(self, block_tokens: int) -> int:
        return 0 if self.sessions.prefixes is None else self.sessions.prefixes.tokens // block_tokens

    def routes(self) -> NDArray[np.int64]:
        return np.zeros(1, np.int64)

    def lengths(self) -> NDArray[np.int64]:
        return np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A trace with block ids: request r comes at ``at_s[r]`` with ``ids[offsets[r]:offsets[r + 1]]`` and ``tokens[r]``.

    ``rate_scale`` plays it faster. The config's ``block_tokens`` must be the trace's. The last block of a prompt may
    be filled only in part. ``single`` keeps every block apart instead of runs of them: slower, for tests.
    """

    at_s: NDArray[np.float64]
    tokens: NDArray[np.int64]
    ids: NDArray[Any] | Sequence[int]
    offsets: NDArray[np.int64]
    rate_scale: float = 1.0
    single: bool = False
    _made: list[Paths] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.at_s) + 1 or len(self.tokens) != len(self.at_s):
            raise ValueError("at_s, tokens and offsets must tell of the same requests (offsets one more)")
        if not self.rate_scale > 0:
            raise ValueError(f"rate_scale must be above 0, is {self.rate_scale}")

    @property
    def _paths(self) -> Paths:
        """Built once, when first asked for."""
        if not self._made:
            ids, _ = checked_ids(self.ids)
            paths = segments_of(ids, offsets=np.asarray(self.offsets, np.int64), single=self.single)
            request = np.repeat(np.arange(len(self.at_s)), np.diff(paths.offsets))
            if len(np.unique(np.stack([request, paths.segments]), axis=1).T) < len(request):
                raise ValueError("ids: a request names a block twice; hashes must be chained over the prefix")
            self._made.append(paths)
        return self._made[0]

    @property
    def horizon_s(self) -> float:
        if not len(self.at_s):
            return 0.0
        return float(self.at_s[-1] - self.at_s[0]) / self.rate_scale or INSTANT_S

    @property
    def finite(self) -> bool:
        return True

    @property
    def fixed_owners(self) -> int:
        return len(self._paths.blocks)

    @property
    def longest_path(self) -> int:
        return int(np.diff(self._paths.offsets).max(initial=1))

    def kinds(self) -> tuple[SessionClass | None, ...]:
        return (None,)

    def group_blocks(self, block_tokens: int) -> int:
        del block_tokens
        return 0

    def routes(self) -> NDArray[np.int64]:
        return np.append(self._paths.segments, 0)

    def lengths(self) -> NDArray[np.int64]:
        return np.append(self._paths.blocks, 0)

    def _homes(self, seed: int) -> NDArray[np.float64]:
        """A draw for each request, the same for all that share their first uncommon segment."""
        paths, count = self._paths, len(self.at_s)
        starts = paths.offsets[:-1]
        common = np.bincount(paths.segments, minlength=self.fixed_owners + 1)[paths.segments] > COMMON_SHARE * count
        uncommon = np.append(np.flatnonzero(~common), len(paths.segments))
        chosen = np.minimum(uncommon[np.searchsorted(uncommon, starts)], np.maximum(paths.offsets[1:] - 1, starts))
        draws = stream(seed, name="session homes").random(self.fixed_owners + 1)
        segments = np.append(paths.segments, self.fixed_owners)
        homes: NDArray[np.float64] = draws[segments[np.minimum(chosen, len(paths.segments))]]
        return homes

    def chunks(self, seed: int) -> Iterator[Turns]:
        count, paths, homes = len(self.at_s), self._paths, self._homes(seed)
        draws = stream(seed, name="session requests").random((2, count))
        for begin in range(0, count, CHUNK):
            rows = slice(begin, min(begin + CHUNK, count))
            made = np.zeros(rows.stop - rows.start, TURN)
            made["at_s"] = (self.at_s[rows] - self.at_s[0]) / self.rate_scale
            made["tokens"] = made["kept_tokens"] = self.tokens[rows]
            made["ticket"], made["group"], made["last"] = -1, NO_GROUP, 0
            made["path_from"], made["path_to"] = paths.offsets[:-1][rows], paths.offsets[1:][rows]
            made["session_u"] = made["home_u"] = homes[rows]
            made["request_u"], made["place_u"] = draws[:, rows]
            yield made


def source_of(given: Sessions | TraceSource) -> Source:
    """What the system reads."""
    return SessionSource(given) if isinstance(given, Sessions) else given
