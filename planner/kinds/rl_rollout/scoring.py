"""The scoring service: how long an answer is with a scorer, how many scorers, how long answers wait."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.formulas import scoring
from planner.formulas.answer_lengths import AnswerLengths
from planner.kinds.rl_rollout.lengths import NO_SPREAD
from planner.kinds.rl_rollout.spec import RlRolloutSpec

NO_TIME_S = 1e-9


@dataclass(frozen=True, slots=True)
class Service:
    """Scoring of one answer, the timeout included."""

    law: AnswerLengths | None
    """None: it takes no time."""

    @property
    def mean_s(self) -> float:
        return self.law.mean_tokens if self.law is not None else 0.0

    @property
    def timeout_share(self) -> float:
        return self.law.share_at_cap if self.law is not None else 0.0

    def longest_s(self, count: float) -> float:
        """Expected longest of so many."""
        return self.law.expected_maximum(count) if self.law is not None and count > 0 else 0.0

    def wait_s(self, rate_per_s: float, *, scorers: int) -> float | None:
        """Mean wait of an answer; None when the scorers do not keep up."""
        if self.law is None:
            return 0.0
        return scoring.scoring_wait_s(rate_per_s, law=self.law, sandboxes=scorers)

    def group_s(self, *, wait_s: float, answers: int) -> float:
        """From the end of the last answer of a group to its last score, at most."""
        return 0.0 if self.law is None else scoring.group_score_s(wait_s=wait_s, law=self.law, group=answers)

    def burst_s(self, answers: float, *, scorers: int) -> float:
        """Until the last score when so many answers come at once."""
        return 0.0 if self.law is None else scoring.burst_s(answers, law=self.law, sandboxes=scorers)


@dataclass(frozen=True, slots=True)
class Pool:
    """Scorers at a rate of answers."""

    rate_per_s: float
    scorers: int
    busy: float
    wait_s: float | None
    """Mean; None when they cannot keep up."""

    @property
    def keeps_up(self) -> bool:
        return self.wait_s is not None


def service_of(spec: RlRolloutSpec) -> Service:
    """Log-normal times, cut at the timeout."""
    if spec.score_s <= NO_TIME_S:
        return Service(None)
    timeout_s = math.inf if spec.score_timeout_s is None else spec.score_timeout_s
    variation = spec.score_cv if spec.score_cv > NO_SPREAD else 0.0
    return Service(scoring.service_law(spec.score_s, variation=variation, timeout_s=timeout_s))


def pool_of(spec: RlRolloutSpec, *, service: Service, rate_per_s: float) -> Pool:
    """The scorers of a design: given, or as few as keep the mean wait within its limit."""
    scorers = spec.scorers or 1
    if spec.scorers is None and service.law is not None:
        found = scoring.sandboxes_for_wait(rate_per_s, law=service.law, wait_s=spec.score_wait_s)
        scorers = max(found, 1)
    busy = min(rate_per_s * service.mean_s, float(scorers))
    return Pool(rate_per_s, scorers, busy, service.wait_s(rate_per_s, scorers=scorers))
