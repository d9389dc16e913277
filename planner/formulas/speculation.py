"""Speculative decoding: tokens a verification step yields."""

from __future__ import annotations


def tokens_per_step(*, draft_tokens: int, acceptance: float) -> float:
    """Expected tokens of one verification, the corrected one included.

    Parameters
    ----------
    draft_tokens : tokens proposed a step
    acceptance : probability that a proposed token is accepted, given that the ones before it were

    Returns
    -------
    float [tokens]

    Notes
    -----
    ``(1 − α^(γ+1)) / (1 − α)``; without drafts one.

    References
    ----------
    Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding", 2023, arXiv:2211.17192,
    equation (1).

    Examples
    --------
    >>> tokens_per_step(draft_tokens=2, acceptance=0.5)
    1.75
    """
    if acceptance >= 1.0:
        return draft_tokens + 1.0
    return (1.0 - acceptance ** (draft_tokens + 1)) / (1.0 - acceptance)
