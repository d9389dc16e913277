"""What comes back: the loads that share the cache, and how much of them is hit when entries stay for a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planner.formulas import caching, eviction, marginal_hits
from planner.formulas.caching import CachedLoad, OneShots, Sessions
from planner.formulas.gaps import Exponential, GapLaw, LogNormal, Mixture, hyperexponential
from planner.formulas.popularity import IndependentItems, SharedPrefixes, zipf
from planner.kinds.kv_pool.spec import KvPoolSpec

_AGES_S = np.concatenate(([0.0], np.geomspace(1e-4, 1e12, 800)))


class Reuse(Protocol):
    """Reuse as the tiers see it; times and capacities may be numbers or arrays."""

    @property
    def reusable_tokens_per_s(self) -> float:
        """Tokens of prompts that a cache without limit would hold [1/s]."""

    def keep_s(self, capacity_tokens: Any) -> Any:
        """How long an untouched entry stays under LRU; infinite where everything fits [s]."""

    def hit_share(self, keep_s: Any) -> Any:
        """Of the reusable tokens, when entries stay for a time."""

    def hit_share_by_value(self, capacity_tokens: Any) -> Any:
        """Of the reusable tokens, when what is worth least gives way."""

    def parts(self, hit_share: Any) -> tuple[Any, Any]:
        """Of such hits, how often a session's history is found, and how often a prefix that sessions share."""

    def marginal_hits_per_s(self, keep_s: float) -> float:
        """Tokens hit a second more for each token of capacity more [1/s]."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Sessions, one-shots, shared prefixes or independent items with one characteristic time."""

    loads: tuple[CachedLoad, ...]

    @property
    def reusable_tokens_per_s(self) -> float:
        return math.fsum(load.reusable_tokens_per_s for load in self.loads)

    def keep_s(self, capacity_tokens: Any) -> Any:
        return caching.characteristic_time_s(self.loads, capacity_tokens=capacity_tokens)

    def hit_share(self, keep_s: Any) -> Any:
        return caching.hit_share(self.loads, time_s=keep_s)

    def parts(self, hit_share: Any) -> tuple[Any, Any]:
        """By the age at which all loads together are hit as much."""
        shared = [load for load in self.loads if isinstance(load, SharedPrefixes)]
        if not shared:
            return hit_share, hit_share
        own = [load for load in self.loads if not isinstance(load, SharedPrefixes)]
        together = np.asarray(caching.hit_share(self.loads, time_s=_AGES_S), dtype=float)
        ages = np.interp(hit_share, together, _AGES_S)
        return caching.hit_share(own, time_s=ages), caching.hit_share(shared, time_s=ages)

    def hit_share_by_value(self, capacity_tokens: Any) -> Any:
        """One sort of entry is ranked by age, so that it is as under LRU."""
        if len(self.loads) == 1:
            return self.hit_share(self.keep_s(capacity_tokens))
        return eviction.value_ranked(self.loads).hit_share(capacity_tokens)

    def marginal_hits_per_s(self, keep_s: float) -> float:
        return float(marginal_hits.marginal_hits_per_s(self.loads, time_s=keep_s))


@dataclass(frozen=True, slots=True)
class TurnClass:
    """Turns of one sort: their share of all, how their sessions go on and how long they pause."""

    share: float
    follow_share: float
    gaps: GapLaw


def gap_law(spec: KvPoolSpec) -> GapLaw:
    """The law of the pauses of people."""
    if spec.gap_law == "exponential":
        return Exponential(spec.gap_s)
    if spec.gap_law == "lognormal":
        return LogNormal(spec.gap_s, spec.gap_sigma)
    return hyperexponential((1 - spec.gap_long_share, spec.gap_long_share), means_s=(spec.gap_s, spec.gap_long_s))


def turn_classes(spec: KvPoolSpec) -> tuple[TurnClass, ...]:
    """People and agents, with their shares of all turns; one-shots are what is left."""
    of_sessions = 1 - spec.one_shot_share
    people = TurnClass(of_sessions * (1 - spec.agent_share), spec.continue_probability, gap_law(spec))
    agents = TurnClass(of_sessions * spec.agent_share, spec.agent_continue_probability, Exponential(spec.agent_gap_s))
    return tuple(each for each in (people, agents) if each.share > 0)


def followed_gaps(classes: Sequence[TurnClass]) -> GapLaw | None:
    """The pauses of all sessions together, each as often as it happens; None where no turn follows another."""
    weights = [each.share * each.follow_share for each in classes]
    total = math.fsum(weights)
    if total <= 0:
        return None
    if len(classes) == 1:
        return classes[0].gaps
    return Mixture(tuple(weight / total for weight in weights), tuple(each.gaps for each in classes))


def session_streams(spec: KvPoolSpec) -> Streams:
    """Sessions of people and agents, their shared prefixes, and one-shots."""
    classes, rate = turn_classes(spec), spec.turns_per_s
    own_tokens = spec.context_tokens - spec.shared_prefix_tokens
    loads: list[CachedLoad] = [
        Sessions.geometric(
            each.gaps, turns_per_s=rate * each.share, follow_share=each.follow_share, context_tokens=own_tokens
        )
        for each in classes
    ]
    gaps = followed_gaps(classes)
    starts_per_s = rate * math.fsum(each.share * (1 - each.follow_share) for each in classes)
    if spec.shared_prefix_tokens > 0 and starts_per_s > 0:
        turns_per_s = rate * math.fsum(each.share for each in classes)
        loads.append(
            SharedPrefixes(
                zipf(spec.shared_prefix_groups, exponent=spec.zipf_exponent),
                spec.shared_prefix_tokens,
                sessions_per_s=starts_per_s,
                mean_turns=turns_per_s / starts_per_s,
                gaps=gaps or Exponential(1.0),
            )
        )
    if spec.one_shot_share > 0:
        loads.append(OneShots(rate * spec.one_shot_share * spec.context_tokens))
    return Streams(tuple(loads))


def item_streams(spec: KvPoolSpec) -> Streams:
    """Popular prefixes asked for independently; what a request adds to them never comes back."""
    asked_per_s = spec.turns_per_s * (1 - spec.one_shot_share)
    once = asked_per_s * spec.new_tokens + spec.turns_per_s * spec.one_shot_share * spec.context_tokens
    items = IndependentItems(
        zipf(spec.zipf_items, exponent=spec.zipf_exponent), requests_per_s=asked_per_s, item_tokens=spec.context_tokens
    )
    return Streams((items, OneShots(once)))
