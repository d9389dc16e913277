"""Turns as a prefill unit sees them: how long the prompt, how much of it is cached and where.

A turn is a point with a weight. Points come in cells: a sort of turn (the first of a session, a later one, a one-shot)
times where its prefix is found. Within a cell contexts differ as sessions of geometric length make them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.kinds.kv_pool.reuse import TurnClass
from planner.kinds.kv_pool.spec import KvPoolSpec

POINTS = 24
"""Contexts a cell is made of, equally likely."""
_MIDDLES = (np.arange(POINTS) + 0.5) / POINTS


@dataclass(frozen=True, slots=True)
class Sort:
    """Turns of one sort: weight among all, prompts, and the reusable part of each, equally likely [tokens]."""

    weight: float
    prompt_tokens: NDArray[np.float64]
    reusable_tokens: NDArray[np.float64]
    sessions_prefix_tokens: float = 0.0
    """Of the prompt, shared with other sessions: found on its own even where the session's is not."""


def first_context_tokens(spec: KvPoolSpec, *, follow_share: float) -> float:
    """Context after the first turn, so that contexts that grow by the new tokens have the stated mean; at least that.

    Where they would have to start below one turn, histories are taken to be cut to the mean.
    """
    return max(spec.context_tokens - grown_tokens(spec, follow_share=follow_share), least_tokens(spec))


def grown_tokens(spec: KvPoolSpec, *, follow_share: float) -> float:
    """What earlier turns have added to a context, on average [tokens]."""
    return spec.new_tokens * follow_share / (1 - follow_share)


def least_tokens(spec: KvPoolSpec) -> float:
    """The smallest context: one turn and the shared prefix, but no more than the mean."""
    return min(spec.context_tokens, spec.new_tokens + spec.shared_prefix_tokens)


def is_cut(spec: KvPoolSpec, *, follow_share: float) -> bool:
    """Whether histories would outgrow the stated mean context."""
    return spec.context_tokens - grown_tokens(spec, follow_share=follow_share) < least_tokens(spec) * (1 - 1e-12)


def session_sorts(spec: KvPoolSpec, *, classes: Sequence[TurnClass]) -> tuple[Sort, ...]:
    """First and later turns of each class of sessions, and one-shots."""
    found: list[Sort] = []
    prefix = spec.shared_prefix_tokens
    for each in classes:
        first = first_context_tokens(spec, follow_share=each.follow_share)
        prompt = np.full(POINTS, max(first - spec.output_tokens, 1.0))
        found.append(Sort(each.share * (1 - each.follow_share), prompt, np.zeros(POINTS), min(prefix, first)))
        if each.follow_share > 0:
            before = _contexts(spec, first=first, follow_share=each.follow_share)
            asked = max(spec.new_tokens - spec.output_tokens, 1.0)
            found.append(Sort(each.share * each.follow_share, before + asked, before, prefix))
    return (*found, *_one_shots(spec))


def item_sorts(spec: KvPoolSpec) -> tuple[Sort, ...]:
    """Requests behind a popular prefix, and one-shots."""
    prefix = np.full(POINTS, spec.context_tokens)
    asked = max(spec.new_tokens - spec.output_tokens, 1.0)
    return (Sort(1 - spec.one_shot_share, prefix + asked, prefix), *_one_shots(spec))


def _one_shots(spec: KvPoolSpec) -> tuple[Sort, ...]:
    if spec.one_shot_share <= 0:
        return ()
    prompt = np.full(POINTS, max(spec.context_tokens - spec.output_tokens, 1.0))
    return (Sort(spec.one_shot_share, prompt, np.zeros(POINTS)),)


def _contexts(spec: KvPoolSpec, *, first: float, follow_share: float) -> NDArray[np.float64]:
    """Contexts that a later turn finds, equally likely; their mean is that of all turns."""
    if is_cut(spec, follow_share=follow_share):
        return np.full(POINTS, spec.context_tokens)
    turns = np.floor(np.log1p(-_MIDDLES) / math.log(follow_share)) if follow_share > 0 else np.zeros(POINTS)
    mean = follow_share / (1 - follow_share)
    turns = turns * (mean / turns.mean()) if turns.any() else np.full(POINTS, mean)
    return first + spec.new_tokens * turns
