"""How long a step lasts, by what is in it.

step + table(tokens in the step) + B·per-sequence + K·per-KV-token, with B sequences that decode and K tokens of KV
which they read. Prompts add prefill-step + n·per-token + per-pair · Σ chunk · (context before it + chunk/2). What a
unit does not have is 0, and a unit without a table has none. With B fixed all but K is constant, so the closed form
of macro-steps holds with a table too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sims.engine.kernel import handler

STEP_TIMES = [
    ("step_s", "f8"),
    ("step_s_per_sequence", "f8"),
    ("step_s_per_kv_token", "f8"),
    ("prefill_step_s", "f8"),
    ("prefill_s_per_token", "f8"),
    ("prefill_s_per_token_pair", "f8"),
    ("table", "i8"),
]
"""Fields of a unit's record; ``table`` is a row of the tables, −1 for none."""

NO_TABLE = -1
Points = Sequence[tuple[int, float]]


def check_table(points: Points) -> None:
    """Raise ValueError unless ``points`` are (tokens, seconds) with growing tokens from 1 on and times from 0 on."""
    tokens = [point[0] for point in points]
    if len(tokens) == 1 or (tokens and tokens[0] < 1) or any(b <= a for a, b in pairwise(tokens)):
        raise ValueError("step_table must have at least two points with growing numbers of tokens from 1 on")
    if not all(math.isfinite(seconds) and seconds >= 0 for _, seconds in points):
        raise ValueError("step_table must have finite times of at least 0")


def step_tables(tables: Sequence[Points]) -> NDArray[np.float64]:
    """All tables as rows of [tokens, seconds] points; a short one goes on along its last slope."""
    width = max([2, *(len(points) for points in tables)])
    made = np.zeros((max(1, len(tables)), 2, width))
    for row, points in zip(made, tables, strict=False):
        if not points:
            continue
        grid = [(float(tokens), float(seconds)) for tokens, seconds in points]
        while len(grid) < width:
            (a, before_s), (b, last_s) = grid[-2:]
            grid.append((2 * b, last_s + (last_s - before_s) / (b - a) * b))
        row[:] = np.array(grid).T
    return made


@handler
def table_s(tables, row, tokens):  # type: ignore[no-untyped-def]
    """Seconds by tokens: linear between points, along the last slope beyond them, the first point's below it."""
    low, high = 0, tables.shape[2] - 1
    if tokens <= tables[row, 0, 0]:
        return tables[row, 1, 0]
    for _ in range(64):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        if tables[row, 0, middle] <= tokens:
            low = middle
        else:
            high = middle
    share = (tokens - tables[row, 0, low]) / (tables[row, 0, high] - tables[row, 0, low])
    return tables[row, 1, low] + share * (tables[row, 1, high] - tables[row, 1, low])


@handler
def step_time_s(unit, tables, tokens, running, kv):  # type: ignore[no-untyped-def]
    """A step of ``tokens`` in which ``running`` sequences decode that read ``kv`` tokens of KV."""
    lasts_s = unit.step_s + unit.step_s_per_sequence * running + unit.step_s_per_kv_token * kv
    if unit.table >= 0:
        lasts_s += table_s(tables, unit.table, tokens)
    return lasts_s


@handler
def prompt_time_s(unit, tokens, pairs):  # type: ignore[no-untyped-def]
    """What ``tokens`` of prompts with so many pairs of tokens in their attention add to a step."""
    if tokens == 0:
        return 0.0
    return unit.prefill_step_s + unit.prefill_s_per_token * tokens + unit.prefill_s_per_token_pair * pairs
