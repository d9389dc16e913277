"""The whole state of a run: structured arrays and tables, nothing in Python objects."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sims.engine.clock import NEVER, clock_arrays
from sims.engine.lists import END
from sims.engine.sketch import BINS
from sims.parts import rollouts
from sims.parts.answers import DRAFT
from sims.parts.decaying_batch import FIRST_INSTANCE
from sims.parts.groups import AGES, BUCKETS
from sims.parts.placing.dispatch import CODES
from sims.parts.records import pool_of, queues, records
from sims.systems.rl_rollout.config import (
    ASYNCHRONOUS,
    BATCH,
    CARRY,
    DISCARD,
    DRAIN,
    DROP,
    GROUP,
    MODES,
    RECOMPUTE,
    Config,
)

WITHOUT_END = 1 << 60
MOST_ANSWERS = 1 << 23
"""Answers open at once; more would take more than 1 GiB."""
MOST_CELLS = 1 << 28
"""Open groups × instances."""
MOST_PLACES = 1 << 26
"""Slots of all instances."""
SAMPLES = 1024
SPANS = 1 << 16

PARAMS = np.dtype(
    [
        (one.name, "f8" if one.type == "float" else "i8")
        for one in fields(Config)
        if one.type in ("int", "bool", "float")
    ]
    + [(name, "f8") for name in ("score_mean_s", "timeout_s")]
    + [
        (name, "i8")
        for name in ("kv_limit", "servers", "mode_code", "placing_code", "asynchronous", "bound", "at_once", "longest")
    ]
    + [(name, "i8") for name in ("drains", "recomputes", "discards", "carries", "drops", "score_group", "score_batch")]
    + [(name, "i8") for name in ("steps", "measured_from", "drawn_from", "drawn_to")]
)


class State(NamedTuple):
    """``lines`` wait for their instance; ``buffer``: complete groups, answers in line for scoring, those held back
    for their batch, those that lost their instance. ``due`` and ``who`` hold the batch of each instance by last step;
    ``held`` [group, instance] counts answers whose prompt is there; ``made`` are tokens of an answer by
    version, the latest only [answer, place, (tokens, version)].

    ``spent`` is time by instance and stage, in its last row the trainer's; ``fates`` are answers and tokens; ``ages``
    has the groups in its last row; ``kept`` are all of these at the end of each training step."""

    times: NDArray[np.float64]
    tree: NDArray[np.int64]
    params: np.recarray
    totals: np.recarray
    arrivals: np.recarray
    groups: np.recarray
    answers: np.recarray
    instances: np.recarray
    lines: np.recarray
    buffer: np.recarray
    due: NDArray[np.int64]
    who: NDArray[np.int64]
    held: NDArray[np.int32]
    made: NDArray[np.int64]
    score_at: NDArray[np.float64]
    score_who: NDArray[np.int64]
    spent: NDArray[np.float64]
    fates: NDArray[np.int64]
    ages: NDArray[np.int64]
    sketches: NDArray[np.int64]
    rows: np.recarray
    kept: NDArray[np.float64]
    samplers: np.recarray
    samples: np.recarray
    spans: np.recarray


def at_once(config: Config) -> int:
    """Groups started for a batch that is waited for."""
    return math.ceil(config.problems * (1 + config.oversample) - 1e-9)


def most_groups(config: Config) -> int:
    """Groups open at once, at most."""
    if config.mode == ASYNCHRONOUS:
        return (config.staleness + 1) * config.problems
    return at_once(config) + config.problems


def _params(config: Config, *, longest: int, steps: int, measured_from: int, drawn: tuple[int, int]) -> np.recarray:
    params, scoring = records(PARAMS, count=1), config.scoring
    for name in PARAMS.names or ():
        if hasattr(config, name):
            params[0][name] = getattr(config, name)
    one = params[0]
    one.score_mean_s, one.timeout_s = scoring.mean_s, scoring.timeout_s
    one.servers = WITHOUT_END if scoring.servers is None else scoring.servers
    one.kv_limit = WITHOUT_END if math.isinf(config.kv_tokens) else int(config.kv_tokens)
    one.mode_code, one.placing_code = MODES.index(config.mode), CODES[config.placing]
    one.asynchronous = config.mode == ASYNCHRONOUS
    one.bound, one.at_once, one.longest = config.bound, at_once(config), longest
    one.drains, one.recomputes = config.swap == DRAIN, config.swap == RECOMPUTE
    one.discards, one.carries = config.enforcement == DISCARD, config.enforcement == CARRY
    one.drops = scoring.on_timeout == DROP
    one.score_group, one.score_batch = scoring.when == GROUP, scoring.when == BATCH
    one.steps, one.measured_from = steps, measured_from
    one.drawn_from, one.drawn_to = drawn
    return params


def _samplers(config: Config, *, longest: int, drawn_from: int) -> np.recarray:
    made = records(rollouts.SAMPLER, count=2)
    made.to_s = NEVER
    made.every_s = max(1e-6, (config.train_s + longest * (config.step_s + config.step_s_per_sequence)) / SAMPLES)
    made[1].next_s = 0.0 if drawn_from == 0 else NEVER
    return made


def make_state(
    config: Config, *, longest: int, chunk: int, steps: int, measured_from: int, drawn: tuple[int, int]
) -> State:
    """An empty system that will train ``steps`` times on answers of at most ``longest`` tokens."""
    groups, count = most_groups(config) + 1, config.instances
    answers = groups * config.answers
    if answers > MOST_ANSWERS or groups * count > MOST_CELLS:
        raise ValueError(f"{answers} answers open at once on {count} instances are more than memory is meant for")
    slots = min(config.slots, answers)
    if count * slots > MOST_PLACES:
        raise ValueError(f"{slots} slots on {count} instances are more than memory is meant for")
    versions = (answers, config.bound + 1, 2) if config.enforcement == CARRY else (1, 1, 2)
    times, tree = clock_arrays(FIRST_INSTANCE + count)
    totals = records(rollouts.TOTALS, count=1)
    totals[0].more, totals[0].open_group, totals[0].alive = 1, END, count
    instances = records(rollouts.INSTANCE, count=count)
    instances.alive = 1
    return State(
        times=times,
        tree=tree,
        params=_params(config, longest=longest, steps=steps, measured_from=measured_from, drawn=drawn),
        totals=totals,
        arrivals=records(DRAFT, count=chunk),
        groups=pool_of(rollouts.GROUP, slots=groups),
        answers=records(rollouts.ANSWER, count=answers),
        instances=instances,
        lines=queues(count),
        buffer=queues(4),
        due=np.zeros((count, slots), np.int64),
        who=np.zeros((count, slots), np.int64),
        held=np.zeros((groups, count), np.int32),
        made=np.full(versions, END),
        score_at=np.zeros((1, answers)),
        score_who=np.zeros((1, answers), np.int64),
        spent=np.zeros((count + 1, rollouts.STAGES)),
        fates=np.zeros((2, rollouts.FATES), np.int64),
        ages=np.zeros((BUCKETS + 1, AGES), np.int64),
        sketches=np.zeros((2, BINS), np.int64),
        rows=records(rollouts.ROW, count=steps + 1),
        kept=np.zeros((steps + 1, rollouts.STAGES + rollouts.T_STAGES + 2 * rollouts.FATES)),
        samplers=_samplers(config, longest=longest, drawn_from=drawn[0]),
        samples=records(rollouts.SAMPLE, count=2 * SAMPLES).reshape(2, SAMPLES).view(np.recarray),
        spans=records(rollouts.SPAN, count=SPANS),
    )
