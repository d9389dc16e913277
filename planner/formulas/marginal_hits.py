"""What one more token of cache brings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.formulas.caching import CachedLoad, total_occupancy_tokens
from planner.formulas.gaps import Numbers, plain

_STEP = 0.02
"""Of a symmetric difference, relative: so that a law of some hundred gaps has one too."""


def marginal_hits_per_s(loads: Sequence[CachedLoad], *, time_s: Numbers) -> Numbers:
    """Tokens hit a second more for each token of capacity more.

    Parameters
    ----------
    loads : of one cache
    time_s : its characteristic time [s]

    Returns
    -------
    [1/s]; 0 where everything is held already

    Notes
    -----
    dH/dC = (dH/dT) / (dC/dT); of sessions R f(T) / (R (1 - F(T)) + D), the rate of return of the oldest entries.

    References
    ----------
    H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems: Modeling, Design and Experimental Results", IEEE JSAC
    20(7), 2002, eq. (2), differentiated.

    >>> from planner.formulas.caching import Sessions
    >>> from planner.formulas.gaps import Exponential
    >>> print(round(marginal_hits_per_s([Sessions(Exponential(10.0), 80.0, 20.0)], time_s=0.001), 4))
    0.08
    """
    middle = np.asarray(time_s, dtype=float)
    finite = np.where(np.isfinite(middle), np.maximum(middle, 1e-9), 1.0)
    low, high = finite * (1 - _STEP), finite * (1 + _STEP)
    hits = sum(
        (load.hit_tokens_per_s(high) - load.hit_tokens_per_s(low) for load in loads), start=np.zeros(middle.shape)
    )
    room = np.asarray(total_occupancy_tokens(loads, time_s=high) - total_occupancy_tokens(loads, time_s=low))
    gained = np.isfinite(middle) & (room > 0)
    answer: Numbers = plain(np.where(gained, hits / np.where(room > 0, room, 1.0), 0.0))
    return answer
