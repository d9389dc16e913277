"""Attempts that retries add: of one client, of layers on top of each other, and within a budget."""

from __future__ import annotations

BUDGET = 0.2
"""Retries over requests in a window, the default of Finagle and of Envoy's retry budgets."""


def attempts(failure: float, *, retries: int) -> float:
    """Mean attempts of a request that is tried again up to ``retries`` times.

    Parameters
    ----------
    failure : share of the attempts that fail [1]
    retries : at most [1]

    Returns
    -------
    [1]

    Notes
    -----
    sum over j from 0 to r of p^j.

    References
    ----------
    W. Feller, "An Introduction to Probability Theory and Its Applications", vol. 1, 3rd ed., 1968, section VI.8
    (waiting times in Bernoulli trials, cut after r + 1).

    >>> attempts(0.5, retries=3)
    1.875
    """
    return float(sum(failure**tried for tried in range(max(retries, 0) + 1)))


def attempts_of_layers(retries: int, *, layers: int) -> int:
    """Attempts at the bottom for one request at the top when all fail and every layer retries.

    Parameters
    ----------
    retries : of each layer [1]
    layers : [1]

    Returns
    -------
    [1]

    Notes
    -----
    (r + 1)^L.

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 22 (64 attempts of three layers with three retries).

    >>> attempts_of_layers(3, layers=3)
    64
    """
    return int((retries + 1) ** layers)


def attempts_within_budget(failure: float, *, retries: int, budget: float = BUDGET) -> float:
    """Mean attempts of a request when retries may be at most a share of the requests.

    Parameters
    ----------
    failure : share of the attempts that fail [1]
    retries : of one request, at most [1]
    budget : retries over requests; none is allowed at 0 [1]

    Returns
    -------
    [1]

    Notes
    -----
    min(sum of p^j, 1 + beta).

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 21 (per-client retry budget).

    >>> attempts_within_budget(1.0, retries=3)
    1.2
    """
    return min(attempts(failure, retries=retries), 1 + max(budget, 0.0))


def failed_after_retries(failure: float, *, retries: int, budget: float = float("inf")) -> float:
    """Share of the requests that fail for good.

    Parameters
    ----------
    failure : share of the attempts that fail, independently [1]
    retries : of one request, at most [1]
    budget : retries over requests [1]

    Returns
    -------
    [1]

    Notes
    -----
    Each attempt succeeds with 1 - p, so 1 - (1 - p) E[attempts]; without a budget that is p^(r + 1).

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 21 (per-client retry budget).

    >>> failed_after_retries(0.5, retries=3)
    0.0625
    """
    return 1 - (1 - failure) * attempts_within_budget(failure, retries=retries, budget=budget)
