"""The ranks of a decode unit: each holds the KV of its own sequences, all step together, the slowest sets the pace.

A rank with B sequences and K tokens of KV works a·B + c·K in a step, so each of its steps is longer by c·B than the
one before: a line over steps. A macro-step follows the line of the slowest rank until another's crosses it. With a
and c of one rank of n being n times those of the unit, a balanced unit takes as long as if it were one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.parts.decode import clock_ahead, clock_at, steps_done

BITS = 12
MOST_RANKS = 1 << BITS
MOST_WEIGHT = 1 << 30

RANK = np.dtype(
    [
        ("reserved", "i8"),
        ("kv_capacity", "i8"),
        ("max_running", "i8"),
        ("head", "i8"),
        ("tail", "i8"),
        ("queued", "i8"),
        ("ingress_free_s", "f8"),
        ("newest", "i8"),
        ("admitted", "i8"),
    ]
)
"""What is looked up of one rank; its queue holds sequences whose KV has come and does not fit. ``newest`` is the one
that was admitted last, where that matters."""


class Ranks(NamedTuple):
    """By unit and rank. Sequences, tokens of KV, and the work of both with what is under way lie apart: these are
    scanned."""

    cells: np.recarray
    running: NDArray[np.int64]
    kv: NDArray[np.int64]
    work: NDArray[np.int64]


class RankedClass(Protocol):
    """Units that are alike."""

    @property
    def count(self) -> int: ...
    @property
    def decode_ranks(self) -> int: ...


def set_decode_ranks(units: np.recarray, *, classes: Sequence[RankedClass]) -> None:
    """Give the decode units of all classes, in order, their ranks."""
    units.ranks = np.repeat([one.decode_ranks for one in classes], [one.count for one in classes])
    units.first_rank = np.cumsum(units.ranks) - units.ranks


def empty_ranks(units: np.recarray) -> Ranks:
    """The ranks of each unit, which share its KV and its sequences evenly; what work weighs on them is set."""
    shape = (len(units), int(units.ranks.max()))
    cells = np.zeros(shape, RANK).view(np.recarray)
    cells["head"] = cells["tail"] = cells["newest"] = END
    cells["kv_capacity"] = (units.kv_capacity_tokens // units.ranks)[:, np.newaxis]
    cells["max_running"] = np.maximum(1, units.max_running // units.ranks)[:, np.newaxis]
    for unit in units:
        unit.sequence_weight, unit.token_weight = weights(unit.step_s_per_sequence, unit.step_s_per_kv_token)
    return Ranks(cells, np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64))


def weights(per_sequence_s: float, per_token_s: float) -> tuple[int, int]:
    """What a sequence and a token of KV weigh when work is compared: whole numbers in the ratio of their times."""
    if per_token_s <= 0:
        return 1, 0
    return min(MOST_WEIGHT, round(per_sequence_s / per_token_s)), 1


@handler
def add_work(state, u, r, tokens, sign):  # type: ignore[no-untyped-def]
    """A sequence of ``tokens`` is on its way to a rank; ``sign`` −1: it has left."""
    unit = state.units[u]
    state.rank_work[u, r] += sign * (unit.sequence_weight + unit.token_weight * tokens)


@handler
def idlest_rank(state, u, now_s):  # type: ignore[no-untyped-def]
    """The rank with the least to do in a step, what is under way to it included; the first among equals."""
    unit = state.units[u]
    grown = unit.token_weight * (clock_at(unit, unit.step + steps_done(unit, now_s)) - unit.clock)
    # Work and index in one number: the least of them is found many at a time.
    best = (state.rank_work[u, 0] + grown * state.rank_running[u, 0]) << BITS
    if grown == 0:
        for r in range(1, unit.ranks):
            best = min(best, (state.rank_work[u, r] << BITS) | r)
    else:
        for r in range(1, unit.ranks):
            best = min(best, ((state.rank_work[u, r] + grown * state.rank_running[u, r]) << BITS) | r)
    return best & (MOST_RANKS - 1)


@handler
def grow_ranks(state, u, steps):  # type: ignore[no-untyped-def]
    """Each sequence has what the steps give it."""
    unit = state.units[u]
    tokens = clock_at(unit, unit.step + steps) - unit.clock
    for r in range(unit.ranks):
        state.rank_kv[u, r] += state.rank_running[u, r] * tokens
        state.rank_work[u, r] += state.rank_running[u, r] * tokens * unit.token_weight


@handler
def find_slowest(state, u):  # type: ignore[no-untyped-def]
    """Set which rank is the slowest in the next step, of equals the one that grows faster; how long it works."""
    unit = state.units[u]
    token_s = unit.step_s_per_kv_token * unit.ranks
    sequence_s = unit.step_s_per_sequence * unit.ranks + token_s * clock_ahead(unit)
    found, most_s = 0, -1.0
    for r in range(unit.ranks):
        works_s = sequence_s * state.rank_running[u, r] + token_s * state.rank_kv[u, r]
        if works_s > most_s or (works_s == most_s and state.rank_running[u, r] > state.rank_running[u, found]):
            found, most_s = r, works_s
    unit.slowest = found
    return most_s


@handler
def steps_in_lead(state, u, steps):  # type: ignore[no-untyped-def]
    """Of the next ``steps``, those in which the slowest rank stays so: others catch up that have more sequences."""
    unit = state.units[u]
    token_s = unit.step_s_per_kv_token * unit.ranks
    sequence_s = unit.step_s_per_sequence * unit.ranks + token_s * clock_ahead(unit)
    many, kv = state.rank_running[u, unit.slowest], state.rank_kv[u, unit.slowest]
    for r in range(unit.ranks):
        gains_s = token_s * unit.tokens_per_step * (state.rank_running[u, r] - many)
        if gains_s > 0.0:
            behind_s = sequence_s * (many - state.rank_running[u, r]) + token_s * (kv - state.rank_kv[u, r])
            if behind_s < gains_s * (steps - 1):
                steps = int(max(0.0, behind_s) / gains_s) + 1
    return steps


@handler
def clear_ranks(state, u):  # type: ignore[no-untyped-def]
    """Forget what the ranks of a unit hold; the caller has taken care of the requests."""
    unit = state.units[u]
    unit.blocked = 0
    for r in range(unit.ranks):
        rank = state.ranks[u, r]
        rank.reserved = 0
        rank.head = END
        rank.tail = END
        rank.queued = 0
        rank.newest = END
        rank.admitted = 0
        state.rank_running[u, r] = 0
        state.rank_kv[u, r] = 0
        state.rank_work[u, r] = 0
