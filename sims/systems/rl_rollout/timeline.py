"""Levels over time, and what everyone did in the steps that are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.parts.rollouts import (
    DECODE,
    DOWN,
    IDLE,
    LENT,
    LEVELS,
    RECOMPUTE,
    SWITCH,
    SYNC,
    T_BACK,
    T_IDLE,
    T_OUT,
    T_SYNC,
    T_TRAIN,
)
from sims.systems.rl_rollout.state import State

SHOWN = {
    DECODE: "generate",
    RECOMPUTE: "recompute",
    SYNC: "sync",
    SWITCH: "switch",
    LENT: "train",
    IDLE: "idle",
    DOWN: "down",
}
TRAINER_SHOWN = {T_TRAIN: "train", T_SYNC: "sync", T_OUT: "switch", T_BACK: "switch", T_IDLE: "wait"}
TRAINER = -1


@dataclass(frozen=True, slots=True)
class Span:
    """From ``from_s`` to ``to_s`` the instance ``index`` (`TRAINER` for the trainer) did ``what``."""

    index: int
    what: str
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """What there was at each moment: answers running, placed and waiting, being scored, in line for it, complete
    groups that wait for a batch, and the version trained so far."""

    at_s: NDArray[np.float64]
    running: NDArray[np.int64]
    waiting: NDArray[np.int64]
    scoring: NDArray[np.int64]
    queued: NDArray[np.int64]
    buffered: NDArray[np.int64]
    version: NDArray[np.int64]


def levels_of(state: State, which: int) -> Levels:
    """The samples of one sampler: 0 the whole run, 1 the steps that are drawn."""
    kept = state.samples[which, : int(state.samplers[which].count)]
    return Levels(at_s=kept["at_s"].copy(), **{name: kept[name].copy() for name in LEVELS})


def spans_of(state: State) -> tuple[Span, ...]:
    """All spans in the steps that are drawn, in order of their start, cut at the window's ends."""
    totals, params = state.totals[0], state.params[0]
    if totals.version < params.drawn_from:
        return ()
    from_s = float(state.rows[params.drawn_from].at_s)
    to_s = min(float(state.samplers[1].to_s), float(totals.now_s))
    spans = [
        (int(one.index), int(one.stage), float(one.from_s), float(one.to_s))
        for one in state.spans[: int(totals.logged)]
    ]
    spans += [
        (i, int(one.shown), float(one.shown_s), to_s) for i, one in enumerate(state.instances) if one.shown_s < to_s
    ]
    spans.append((TRAINER, int(totals.trainer), float(totals.trainer_since_s), to_s))
    named = [
        Span(i, (TRAINER_SHOWN if i == TRAINER else SHOWN)[stage], max(start, from_s), min(end, to_s))
        for i, stage, start, end in spans
    ]
    return tuple(sorted((one for one in named if one.to_s > one.from_s), key=lambda one: (one.index, one.from_s)))
