"""What new weights may do to running answers besides going on: be cut at a bound and carried on, or end first."""

from __future__ import annotations

from planner.formulas.answer_lengths import AnswerLengths, squared_variation
from planner.formulas.rollout_cycle import Cycle, Rollout


def cut_share(law: AnswerLengths, *, cycle: Cycle, bound: float) -> float:
    """Share of the answers that still run when more than ``bound`` versions have passed since they began.

    Parameters
    ----------
    law : of the lengths
    cycle : the steady cycle
    bound : eta, versions an answer may be old [1]

    Returns
    -------
    [1]

    Notes
    -----
    P(L > (eta + 1) X). Cut there and carried on, what they have is prefix: they are as old as their cut, and their
    group ends when it would have.

    References
    ----------
    Kimi Team, "Kimi k1.5: Scaling Reinforcement Learning with LLMs", 2025, arXiv:2501.12599, section 2.6.2 (partial
    rollouts).

    >>> from planner.formulas.observed_lengths import ObservedLengths
    >>> cut_share(ObservedLengths.of([1.0, 2.0, 3.0, 9.0]), cycle=Cycle(1.0, 2.0, 0.0, 0.0, waits=True), bound=1)
    0.25
    """
    return float(1 - law.within((bound + 1) * cycle.tokens))


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
