"""What new weights may do to running answers besides going on: mask what is too old, or let them end first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.rollout_cycle import Cycle, Rollout


def masked_share(law: AnswerLengths, *, cycle: Cycle, shares: NDArray[np.float64], bound: float) -> float:
    """Share of the tokens trained on that are older than the bound: masked, they stay out of the loss.

    Parameters
    ----------
    law : of the lengths
    cycle : the steady cycle
    shares : of the groups at age 0, 1, ... [1]
    bound : eta, versions a token may be old [1]

    Returns
    -------
    [1]

    Notes
    -----
    Of a group of age k > eta the first k - eta versions' tokens are too old: sum_k P(k) E[min(L, (k - eta) X)] / E[L].
    The age of a group is that of its longest answer, so that its others are as long as any.

    References
    ----------
    Kimi Team, "Kimi k1.5: Scaling Reinforcement Learning with LLMs", 2025, arXiv:2501.12599, section 2.6.2 (partial
    rollouts: only what the present policy wrote is trained on).

    >>> from planner.formulas.observed_lengths import ObservedLengths
    >>> law, cycle = ObservedLengths.of([8.0]), Cycle(1.0, 2.0, 0.0, 0.0, waits=True)
    >>> masked_share(law, cycle=cycle, shares=np.array([0.0, 0.5, 0.5]), bound=1)
    0.125
    """
    over = np.maximum(np.arange(len(shares)) - bound, 0.0)
    return float(shares @ law.limited_mean(over * cycle.tokens)) / law.mean_tokens


def draining(rollout: Rollout, *, slots: float) -> Cycle:
    """The cycle when an instance ends its answers on the old weights before it takes new ones.

    Parameters
    ----------
    rollout : of the trainer and an instance
    slots : S, sequences an instance runs at once [1]

    Returns
    -------
    Cycle

    Notes
    -----
    Told of new weights, an instance takes no more answers; its S answers write S E[L^2] / (2 E[L]) tokens more, and the
    last of them ends after D = a E[longest remainder of S] + b (those tokens). It then takes answers until the next
    version, half a step away on average, because a drain ends anywhere between two versions. So n E[L] / T =
    (R T / 2 + S E[L^2] / (2 E[L])) / (T / 2 + D + pause), R the rate of full slots: a quadratic in T. Not below
    training and pause.

    References
    ----------
    W. Fu et al., "AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning", 2025,
    arXiv:2505.24298, section 4.1 (what interruptible generation avoids); D. R. Cox, "Renewal Theory", 1962, section 5.2
    (equilibrium remainder).
    """
    step, law = rollout.step, rollout.law
    left = slots * law.mean_tokens * (1 + squared_variation(law)) / 2
    drain_s = step.fixed_s * law.expected_longest_residual(slots) + step.sequence_s * left + rollout.pause_s
    wanted, rate = rollout.answers * law.mean_tokens, step.tokens_per_s(slots)
    middle = left - wanted / 2
    alone_s = (-middle + (middle**2 + 2 * rate * wanted * drain_s) ** 0.5) / rate
    waits = alone_s > rollout.train_s + rollout.pause_s
    step_s = max(alone_s, rollout.train_s + rollout.pause_s)
    tokens = (step_s - step.sequence_s * wanted) / step.fixed_s
    taken = max(step_s - rollout.train_s - rollout.pause_s, 0.0) / step_s * tokens
    return Cycle(step_s, tokens, taken, 0.0 if waits else rollout.bound, waits=waits, spread=waits)
