"""What a stream of requests lets any cache reuse: simple laws, and the reuse times of a trace."""

from __future__ import annotations

from planner.formulas.gaps import Numbers


def share_of_equal_turns(turns_before: Numbers) -> Numbers:
    """Share of a turn's prompt that earlier turns of the same length have left in a cache without limit.

    Parameters
    ----------
    turns_before : k [1]

    Notes
    -----
    k / (k + 1).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025, section 2 (multi-turn reuse).

    >>> share_of_equal_turns(3.0)
    0.75
    """
    return turns_before / (turns_before + 1.0)


def share_of_equal_sessions(turns: Numbers) -> Numbers:
    """Share of all prompt tokens of a session of m equal turns that a cache without limit hits.

    Parameters
    ----------
    turns : m [1]

    Notes
    -----
    Turn j asks for j lengths and finds j - 1: (m - 1) / (m + 1).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025, section 2 (multi-turn reuse).

    >>> share_of_equal_sessions(4.0)
    0.6
    """
    return (turns - 1.0) / (turns + 1.0)


def cyclic_scan_share(items: float, *, capacity: float) -> float:
    """Hits of LRU on items asked for in a circle: none until all fit.

    Notes
    -----
    Every reuse time is the number of items n; T = C, so F(T) = 1 if C >= n, else 0.

    References
    ----------
    P. J. Denning, "The working set model for program behavior", Communications of the ACM 11(5), 1968 (reuse within
    the window).

    >>> cyclic_scan_share(1000, capacity=999), cyclic_scan_share(1000, capacity=1000)
    (0.0, 1.0)
    """
    return 1.0 if capacity >= items else 0.0
