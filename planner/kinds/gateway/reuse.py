"""What prompts share, and what the caches of the fleet hit of it under each way of placing requests.

A prompt is a shared prefix, the history of its session and new tokens; all but the new tokens can be reused. Turns of a
session are geometric and each adds the same, so the mean history follows from the mean prompt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from planner.formulas import hashing
from planner.formulas.caching import (
    CachedLoad,
    OneShots,
    Sessions,
    characteristic_time_s,
    hit_share,
)
from planner.formulas.gaps import Exponential, GapLaw, LogNormal
from planner.formulas.placement import scattered_sessions
from planner.formulas.popularity import Popularity, SharedPrefixes, zipf
from planner.kinds.gateway.ring import passed_on
from planner.kinds.gateway.spec import GatewaySpec

Placement = Literal["pooled", "copied", "hashed", "by_session", "spread"]
"""All of a prefix in one place; hot prefixes in several; several and their sessions torn between them; sessions kept
together, prefixes everywhere; all anywhere."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """What of the prompts can be reused, and how much comes of it."""

    rps: float
    instances: int
    cache_tokens: float
    prompt_tokens: float
    output_tokens: float
    prefix_tokens: float
    groups: int
    exponent: float
    turns: float
    gap_s: float
    gap_sigma: float | None
    block_tokens: int
    input_sigma: float

    @property
    def follow_share(self) -> float:
        """Turns that another one follows."""
        return 1 - 1 / self.turns

    @property
    def private_tokens(self) -> float:
        """Mean of a prompt beside the shared prefix, history and new tokens."""
        return self.prompt_tokens - self.prefix_tokens

    @property
    def growth_tokens(self) -> float:
        """What each turn adds to the prompt, the answer before it included."""
        return self.private_tokens / self.turns

    @property
    def returned_tokens(self) -> float:
        """Of an answer, what the next prompt repeats: all of it if the growth has room for it."""
        return min(self.output_tokens, self.growth_tokens) if self.turns > 1 else 0.0

    @property
    def context_tokens(self) -> float:
        """Mean of what a turn leaves for the next one beside the prefix: its prompt and its answer."""
        return self.private_tokens + self.returned_tokens

    @property
    def found_tokens(self) -> float:
        """Of a history in the cache, what a turn is spared: the last block of a context is seldom full."""
        return max(self.context_tokens - (self.block_tokens - 1) / 2, 0.0)

    @property
    def passing_tokens(self) -> float:
        """Of an answer, what stays in the cache until it ages out, and is never asked for."""
        return self.output_tokens - self.returned_tokens

    @property
    def reusable_share(self) -> float:
        """Share of the prompt tokens that were sent before."""
        return (self.prefix_tokens + self.follow_share * self.context_tokens) / self.prompt_tokens

    def share(self, *, prefix: float, history: float) -> float:
        """Share of all prompt tokens that is hit, from those of the prefixes and of the histories."""
        tokens = prefix * self.prefix_tokens + history * self.follow_share * self.found_tokens
        return tokens / self.prompt_tokens

    @property
    def popularity(self) -> Popularity:
        return zipf(max(self.groups, 1), exponent=self.exponent)

    @property
    def gaps(self) -> GapLaw:
        return self.gaps_of_mean(self.gap_s)

    def gaps_of_mean(self, mean_s: float) -> GapLaw:
        """The law of the gaps with another mean."""
        return Exponential(mean_s) if self.gap_sigma is None else LogNormal.of_mean(mean_s, sigma=self.gap_sigma)


@dataclass(frozen=True, slots=True)
class Hits:
    """What caches find: shares of the prefix tokens, of the history, and of all prompt tokens."""

    prefix: float
    history: float
    share: float
    retention_s: float
    """How long an untouched entry stays; infinite where everything fits."""


def reuse_of(spec: GatewaySpec) -> Reuse:
    """The reuse of a spec; without groups the whole prompt belongs to its session."""
    return Reuse(
        rps=spec.peak_rps,
        instances=spec.instances,
        cache_tokens=float(spec.kv_tokens_per_instance),
        prompt_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        # Only full blocks of a prefix are shared.
        prefix_tokens=spec.prefix_tokens // spec.block_tokens * spec.block_tokens if spec.prefix_groups else 0.0,
        groups=spec.prefix_groups,
        exponent=spec.prefix_exponent,
        turns=spec.turns,
        gap_s=spec.gap_s,
        gap_sigma=spec.gap_sigma,
        block_tokens=spec.block_tokens,
        input_sigma=spec.input_sigma,
    )


@lru_cache(maxsize=256)
def hits(reuse: Reuse, *, placement: Placement, cap: float = math.inf) -> Hits:
    """Hits of a placement; ``cap`` is the most one prefix may load an instance, in means."""
    if reuse.rps <= 0:
        return Hits(0.0, 0.0, 0.0, math.inf)
    if placement == "spread":
        return _spread(reuse)
    if placement == "by_session":
        return _by_session(reuse)
    return _pooled(reuse, cap=cap, torn=placement == "hashed")


def _found(reuse: Reuse, *, prefix: float, history: float, retention_s: float) -> Hits:
    return Hits(prefix, history, reuse.share(prefix=prefix, history=history), retention_s)


def _copied(popularity: Popularity, *, instances: int, cap: float) -> Popularity:
    """Each copy of a hot prefix as an item of its own with its part of the requests."""
    if math.isinf(cap):
        return popularity
    copies = hashing.copies(popularity.shares, instances=instances, cap=cap)
    return Popularity(popularity.shares / copies, popularity.items * copies)


def _private(reuse: Reuse, *, rps: float) -> Sessions:
    return Sessions.geometric(
        reuse.gaps, turns_per_s=rps, follow_share=reuse.follow_share, context_tokens=reuse.context_tokens
    )


def _prefixes(reuse: Reuse, *, rps: float, popularity: Popularity) -> SharedPrefixes:
    return SharedPrefixes(
        popularity, reuse.prefix_tokens, sessions_per_s=rps / reuse.turns, mean_turns=reuse.turns, gaps=reuse.gaps
    )


def _pooled(reuse: Reuse, *, cap: float, torn: bool) -> Hits:
    """N caches act as one N times as large; under a hash sessions of copied prefixes wander between the copies."""
    popularity, capacity = reuse.popularity, reuse.cache_tokens * reuse.instances
    prefixes = _prefixes(reuse, rps=reuse.rps, popularity=_copied(popularity, instances=reuse.instances, cap=cap))
    others: list[CachedLoad] = [prefixes, OneShots(reuse.rps * reuse.passing_tokens)]
    wandering, places = (0.0, 1.0) if not torn or not reuse.groups else _wandering(reuse, cap=cap)
    settled = _private(reuse, rps=reuse.rps * (1 - wandering))
    restless = _private(reuse, rps=reuse.rps * wandering)
    if wandering > 0 and reuse.follow_share > 0:
        restless = scattered_sessions(restless, nodes=places, capacity_tokens=capacity, others=[settled, *others])
    retention_s = float(characteristic_time_s([settled, restless, *others], capacity_tokens=capacity))
    return _found(
        reuse,
        prefix=_share_of([prefixes], retention_s),
        history=float((1 - wandering) * settled.gaps.cdf(retention_s) + wandering * restless.gaps.cdf(retention_s)),
        retention_s=retention_s,
    )


def _wandering(reuse: Reuse, *, cap: float) -> tuple[float, float]:
    """Share of the sessions whose instance is over its bound, and on how many places their turns fall."""
    wandering, together = passed_on(reuse.groups, reuse.exponent, instances=reuse.instances, bound=cap)
    return (wandering, wandering / together) if wandering > 0 else (0.0, 1.0)


def _by_session(reuse: Reuse) -> Hits:
    """Each instance has its part of the sessions, and copies of all the prefixes they start with."""
    rps = reuse.rps / reuse.instances
    own, prefixes = _private(reuse, rps=rps), _prefixes(reuse, rps=rps, popularity=reuse.popularity)
    loads: list[CachedLoad] = [own, prefixes, OneShots(rps * reuse.passing_tokens)]
    retention_s = characteristic_time_s(loads, capacity_tokens=reuse.cache_tokens)
    return _found(
        reuse,
        prefix=_share_of([prefixes], retention_s),
        history=float(reuse.gaps.cdf(retention_s)),
        retention_s=float(retention_s),
    )


def _spread(reuse: Reuse) -> Hits:
    """Each turn falls anywhere: prefixes are hit where they are popular, histories by luck."""
    popularity, instances = reuse.popularity, reuse.instances
    everywhere = Popularity(popularity.shares / instances, popularity.items * instances)
    prefixes = _visits(reuse, popularity=everywhere)
    capacity = reuse.cache_tokens * instances
    others: list[CachedLoad] = [OneShots(reuse.rps * reuse.passing_tokens)]
    if reuse.prefix_tokens > 0:
        others.append(prefixes)
    own = _private(reuse, rps=reuse.rps)
    if reuse.follow_share > 0:
        own = scattered_sessions(own, nodes=float(instances), capacity_tokens=capacity, others=others)
    retention_s = float(characteristic_time_s([own, *others], capacity_tokens=capacity))
    return _found(
        reuse,
        prefix=_share_of([prefixes], retention_s),
        history=float(own.gaps.cdf(retention_s)),
        retention_s=retention_s,
    )


def _visits(reuse: Reuse, *, popularity: Popularity) -> SharedPrefixes:
    """Touches of a prefix on one instance: the turns of a session that fall there, as a shorter session of its own.

    Of geometric turns each is followed, on this instance, with q' = (q/N) / (1 − q (1 − 1/N)), after
    1 / (1 − q (1 − 1/N)) gaps on average. With one instance these are the sessions themselves; with many, single
    requests.
    """
    one = 1 / reuse.instances
    elsewhere = 1 - reuse.follow_share * (1 - one)
    again = reuse.follow_share * one / elsewhere
    turns = 1 / (1 - again)
    return SharedPrefixes(
        popularity,
        reuse.prefix_tokens,
        sessions_per_s=reuse.rps / turns,
        mean_turns=turns,
        gaps=reuse.gaps_of_mean(reuse.gap_s / elsewhere),
    )


def _share_of(loads: Sequence[CachedLoad], retention_s: float) -> float:
    return float(hit_share(loads, time_s=retention_s))
