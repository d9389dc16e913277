"""How the running batch of an instance decays while a synchronous step waits for its last answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.formulas.answer_lengths import AnswerLengths
from planner.formulas.decode_step import DecodeStep
from planner.formulas.generation import answer_work_s, expected_steps, full_steps


@dataclass(frozen=True, slots=True)
class Decay:
    """An instance over a synchronous generation: at each point the steps done, the time, the running batch."""

    steps: NDArray[np.float64]
    elapsed_s: NDArray[np.float64]
    running: NDArray[np.float64]

    def utilisation(self, step: DecodeStep, *, tokens_per_s: float, context_tokens: float = 0.0) -> NDArray[np.float64]:
        """Output over the quoted rate at each point [1]."""
        line = step.with_context(context_tokens)
        found: NDArray[np.float64] = self.running / (line.fixed_s + line.sequence_s * self.running) / tokens_per_s
        return found


def decay(
    step: DecodeStep,
    *,
    law: AnswerLengths,
    answers: float,
    slots: float = math.inf,
    prompt_tokens: float = 0.0,
    points: int = 128,
) -> Decay:
    """The expected running batch from the start to the last answer.

    Parameters
    ----------
    step : line of the instance
    law : of the lengths
    answers : n [1]
    slots : S [1]
    prompt_tokens : [tokens]
    points : of the curve [1]

    Notes
    -----
    n <= S: n (1 - F(k)) after k steps. Else S while answers wait, then S (1 - F_e(k - k_0)), F_e the law of the
    remainders. Tokens up to a step are the area under it, and times follow from a and b.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.1; D. R. Cox, "Renewal Theory", 1962,
    section 5.2.
    """
    steps = np.linspace(0.0, expected_steps(law, answers=answers, slots=slots), points)
    work_s = answer_work_s(step, law=law, prompt_tokens=prompt_tokens) / law.mean_tokens
    if answers <= slots:
        running = answers * (1 - law.within(steps))
        written = answers * law.limited_mean(steps)
    else:
        full = full_steps(law, answers=answers, slots=slots)
        emptying = np.maximum(steps - full, 0.0)
        running = slots * (1 - np.minimum(law.limited_mean(emptying) / law.mean_tokens, 1.0))
        written = slots * np.minimum(steps, full) + _residual_written(law, emptying, slots=slots)
    return Decay(steps, step.fixed_s * steps + work_s * written, running)


def _residual_written(law: AnswerLengths, steps: NDArray[np.float64], *, slots: float) -> NDArray[np.float64]:
    """S times the integral of 1 - F_e: x - (x E[min(L, x)] - E[min(L, x)^2] / 2) / E[L]."""
    inside = (steps * law.limited_mean(steps) - law.limited_second(steps) / 2) / law.mean_tokens
    found: NDArray[np.float64] = slots * (steps - inside)
    return found
