"""What a simulated engine scheduler tells in sentences: what keeps requests waiting, and what preemption cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import percent

NOTABLE = 0.01
"""Share of tokens computed twice from which that is a warning."""
FULL = 0.9
"""A pool this full has no room for another prompt; of the places, the share at which the limit counts as reached."""


class Moment(Protocol):
    """What engines hold at a moment of a run."""

    @property
    def at_s(self) -> float: ...
    @property
    def waiting(self) -> int: ...
    @property
    def running(self) -> int: ...
    @property
    def queued(self) -> int:
        """Prompts that engines compute."""

    @property
    def kv_tokens(self) -> int: ...
    @property
    def free_blocks(self) -> int: ...
    @property
    def prefill_tokens(self) -> int: ...


class Ran(Protocol):
    """A finished run of engines."""

    @property
    def whole_line(self) -> Sequence[Moment]: ...
    @property
    def preempted(self) -> int: ...
    @property
    def preempted_tokens(self) -> int: ...
    @property
    def replications(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Of all engines together: requests that run at once, KV in blocks and tokens; without blocks tokens count."""

    kv_tokens: int
    running: int | None = None
    blocks: int | None = None

    def is_full(self, moment: Moment) -> bool:
        """Whether the KV pool has no room for another prompt."""
        if self.blocks is None:
            return moment.kv_tokens >= FULL * self.kv_tokens
        return moment.free_blocks <= (1.0 - FULL) * self.blocks

    def is_taken(self, moment: Moment) -> bool:
        """Whether all places are taken."""
        return self.running is not None and inside(moment) >= FULL * self.running


def inside(moment: Moment) -> int:
    """Requests that are filling or decoding."""
    return moment.running + moment.queued


def binds(
    limits: Limits, *, outcome: Ran, metric: str, change: dict[str, int | float] | None = None
) -> Iterator[Finding]:
    """What keeps waiting requests waiting: places or room, and which comes first.

    ``change`` is what lets more requests run at once, where the design can say so.
    """
    held = [each for each in outcome.whole_line if each.waiting > 0]
    by_places = [each for each in held if limits.is_taken(each)]
    by_room = [each for each in held if limits.is_full(each)]
    first = min((each[0].at_s for each in (by_places, by_room) if each), default=None)
    if first is None:
        return
    if by_places and by_places[0].at_s == first:
        what = f"The limit of {show(limits.running, 'requests')} running binds before the KV pool does."
        suggestion = "Let more requests run at once, and simulate again."
        yield _binding(
            outcome, by_places, code="running_cap_binds", what=what, metric=metric, then=(suggestion, change)
        )
        return
    what = f"The KV pool of {show(limits.kv_tokens, 'tokens')} binds"
    what += "." if limits.running is None else f" before the limit of {show(limits.running, 'requests')} running does."
    yield _binding(outcome, by_room, code="kv_pool_binds", what=what, metric=metric)


def _binding(
    outcome: Ran,
    moments: Sequence[Moment],
    *,
    code: str,
    what: str,
    metric: str,
    then: tuple[str | None, dict[str, int | float] | None] = (None, None),
) -> Finding:
    running = sum(inside(each) for each in moments) / len(moments)
    share = len(moments) / len(outcome.whole_line)
    run = "runs" if round(running, 2) == 1 else "run"
    text = (
        f"{what} From {show(moments[0].at_s, 's')} on and for {percent(share)} of the run requests wait for it "
        f"while {show(running, 'requests')} {run}; at most {max(each.waiting for each in moments):,} wait."
    )
    suggestion, change = then
    return Finding(code, "warning", text, metric, suggestion, change)


def recomputed_share(outcome: Ran) -> float:
    """Of the prompt tokens that were computed, those of requests that had given up their cache."""
    computed = outcome.whole_line[-1].prefill_tokens * outcome.replications if outcome.whole_line else 0
    return outcome.preempted_tokens / computed if computed else 0.0


def preempted(outcome: Ran, *, metric: str) -> Iterator[Finding]:
    """Requests that had to give up their cache, and what that cost."""
    if not outcome.preempted:
        return
    share = recomputed_share(outcome)
    often = "once" if outcome.preempted == 1 else f"{outcome.preempted:,} times"
    text = (
        f"A running request gave up its cache {often} because the pool was full, and computed prompt and answer so "
        f"far again later: {outcome.preempted_tokens:,} tokens, {percent(share)} of what was computed in prompts."
    )
    yield Finding("preempted", "warning" if share >= NOTABLE else "info", text, metric)
