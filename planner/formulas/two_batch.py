"""Two micro-batches that take turns: one computes while the tokens of the other travel. DeepSeek's published schedules.

Each stage is timed for one micro-batch and one layer; a pair of stages that run side by side lasts as long as the
longer one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stages:
    """Seconds of each stage of one micro-batch in one layer of experts."""

    projections_s: float
    """Attention before the core: down- and up-projections of query and cache."""
    core_s: float
    """Core attention, output projection and router."""
    shared_s: float
    """Shared experts."""
    experts_s: float
    """Routed experts."""
    dispatch_s: float
    combine_s: float

    @property
    def computing_s(self) -> float:
        return self.projections_s + self.core_s + self.shared_s + self.experts_s

    @property
    def travelling_s(self) -> float:
        return self.dispatch_s + self.combine_s


def serial_layer_s(stages: Stages) -> float:
    """One layer of one batch, nothing hidden [s].

    Notes
    -----
    Sum of all stages.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 3.4 (the order of the stages).

    Examples
    --------
    >>> serial_layer_s(Stages(1, 2, 0.5, 2, 1, 4))
    10.5
    """
    return stages.computing_s + stages.travelling_s


def prefill_layer_s(stages: Stages) -> float:
    """One layer of two micro-batches of a prefill [s].

    Notes
    -----
    Attention of one beside the combine of the other (with the shared experts of that one), attention beside dispatch,
    experts beside dispatch, experts and shared experts beside combine:
    ``max(A + S, K) + max(A, D) + max(M, D) + max(M + S, K)``.

    References
    ----------
    DeepSeek-AI, profile-data, 2025, https://github.com/deepseek-ai/profile-data, figure of the prefill schedule.

    Examples
    --------
    >>> prefill_layer_s(Stages(1, 2, 0.5, 2, 1, 4))
    13.0
    """
    attention_s = stages.projections_s + stages.core_s
    return (
        max(attention_s + stages.shared_s, stages.combine_s)
        + max(attention_s, stages.dispatch_s)
        + max(stages.experts_s, stages.dispatch_s)
        + max(stages.experts_s + stages.shared_s, stages.combine_s)
    )


def decode_layer_s(stages: Stages) -> float:
    """One layer of two micro-batches of a decode step [s].

    Notes
    -----
    Attention is cut in two, so that five stages fit: shared experts of one micro-batch and projections of the other
    beside a dispatch, core attention beside a combine, routed experts beside nothing; then the two change places:
    ``2 · (max(S + A₀, D) + M + max(A₁, K))``.

    References
    ----------
    DeepSeek-AI, profile-data, 2025, https://github.com/deepseek-ai/profile-data, figure of the decode schedule;
    "DeepSeek-V3/R1 Inference System Overview", open-infra-index, day 6, 2025 (the five stages).

    Examples
    --------
    >>> decode_layer_s(Stages(1, 2, 0.5, 2, 1, 4))
    15.0
    """
    beside_dispatch_s = max(stages.shared_s + stages.projections_s, stages.dispatch_s)
    return 2 * (beside_dispatch_s + stages.experts_s + max(stages.core_s, stages.combine_s))
