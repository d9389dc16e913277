"""More arrivals than can be served, for a while: no steady state exists, but how long one waits by then does."""

from __future__ import annotations

PEAK_S = 3600.0
"""How long an overload is taken to last where nobody says: the busiest hour."""


def wait_quantile_s(probability: float, *, utilisation: float, lasting_s: float) -> float:
    """Wait of those who arrive during an overload that began with an empty queue.

    Parameters
    ----------
    probability : share of the arrivals that wait no longer [1]
    utilisation : arrivals over what can be served [1]; up to one nobody waits for the overload
    lasting_s : how long the overload lasts [s]

    Returns
    -------
    [s]

    Notes
    -----
    W(p) = p (rho - 1) T. Fluid limit: after a time t the queue holds (lambda - mu) t, which takes (rho - 1) t to serve;
    arrivals are spread evenly over T. What chance adds, about the square root of the queue, is left out.

    References
    ----------
    G. F. Newell, "Applications of Queueing Theory", 2nd ed., 1982, chapter 2 (deterministic fluid approximation),
    doi:10.1007/978-94-009-5970-5.

    >>> wait_quantile_s(0.5, utilisation=1.1, lasting_s=3600.0)
    180.0
    """
    return round(probability * max(utilisation - 1.0, 0.0) * lasting_s, 9)
