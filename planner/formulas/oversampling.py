"""Over-sampling with an early stop: more answers start than a step needs, and the longest are given up."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas.answer_lengths import AnswerLengths


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """What a step looks like when it stops at the answers it needs.

    ``steps`` until the stop, ``kept_mean_tokens`` of the answers kept, ``written_tokens`` of an answer started whether
    kept or not, ``wasted`` the share of all output that is thrown away, ``started`` answers per answer kept.
    """

    steps: float
    kept_mean_tokens: float
    written_tokens: float
    wasted: float
    started: float


def early_stop(law: AnswerLengths, *, excess: float, group: int = 1) -> EarlyStop:
    """Start (1 + f) times what is needed and stop when enough has ended.

    Parameters
    ----------
    law : of the lengths
    excess : f, started beyond what is needed, as a share of it [1]
    group : g, answers of a prompt that count only together; 1 when each counts alone [1]

    Returns
    -------
    EarlyStop

    Notes
    -----
    Everything runs at once. The share q = 1 / (1 + f) of the groups has ended when its longest answer is at the
    quantile u = q^(1/g) of the lengths: t = Q(u). An answer has then written E[min(L, t)], of which q E[L | shortest u]
    is kept. What is kept is shorter than what the policy writes: it biases training to short answers.

    References
    ----------
    H. A. David, H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 10.2 (central order statistics tend to the
    quantile); W. Gao et al., "RollPacker", 2025, arXiv:2509.21009 (speculative over-sampling of rollouts).

    >>> from planner.formulas.answer_lengths import answer_lengths
    >>> round(early_stop(answer_lengths(mean_tokens=8000.0, variation=1.0, cap_tokens=32000.0), excess=0.1).steps)
    17792
    """
    kept = 1 / (1 + excess)
    shortest = kept ** (1 / group)
    steps = float(law.quantile(shortest))
    written, mean = float(law.limited_mean(steps)), law.shortest_mean(shortest)
    return EarlyStop(steps, mean, written, max(1 - kept * mean / written, 0.0), 1 + excess)
