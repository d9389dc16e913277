"""Dynamic filtering: groups whose answers are all right or all wrong teach nothing and are replaced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betaln


def share_alike(*, group: int, right: float, wrong: float) -> float:
    """Share of the groups whose answers are all right or all wrong, for pass rates by a Beta law.

    Parameters
    ----------
    group : n, answers of a prompt [1]
    right, wrong : parameters of the Beta law of pass rates, > 0; the mean is right / (right + wrong) [1]

    Returns
    -------
    z [1]

    Notes
    -----
    z = E[p^n + (1 - p)^n] = B(a + n, b) / B(a, b) + B(a, b + n) / B(a, b).

    References
    ----------
    N. L. Johnson, A. W. Kemp, S. Kotz, "Univariate Discrete Distributions", 3rd ed., 2005, section 6.2.2
    (beta-binomial law); Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2 (dynamic sampling).

    >>> round(share_alike(group=16, right=1.0, wrong=1.0), 6)
    0.117647
    """
    whole = betaln(right, wrong)
    all_right, all_wrong = betaln(right + group, wrong), betaln(right, wrong + group)
    return float(np.exp(all_right - whole) + np.exp(all_wrong - whole))


def share_alike_of_rates(rates: Sequence[float], *, group: int) -> float:
    """Share of the groups whose answers are all right or all wrong, for measured pass rates of the prompts.

    Parameters
    ----------
    rates : p of each prompt, equally likely [1]
    group : n, answers of a prompt [1]

    Returns
    -------
    z [1]

    Notes
    -----
    z = mean of p^n + (1 - p)^n.

    References
    ----------
    Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2.

    >>> share_alike_of_rates([0.0, 0.5], group=2)
    0.75
    """
    passed = np.asarray(rates, dtype=np.float64)
    return float(np.mean(passed**group + (1 - passed) ** group))


def beta_of_mean(mean: float, *, concentration: float) -> tuple[float, float]:
    """Parameters of the Beta law with a mean pass rate and a + b, small when prompts are easy or hopeless [1].

    >>> beta_of_mean(0.25, concentration=2.0)
    (0.5, 1.5)
    """
    return mean * concentration, (1 - mean) * concentration


def work_of_filtering(share: float) -> float | None:
    """Groups generated per group used; None when every group is dropped [1].

    Parameters
    ----------
    share : z, of the groups that are dropped [1]

    Notes
    -----
    1 / (1 - z): dropped groups are replaced, and so are the replacements.

    References
    ----------
    Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2 (over-sample and filter until the batch is full).

    >>> round(work_of_filtering(2 / 17), 4)
    1.1333
    """
    return 1 / (1 - share) if share < 1 - 1e-12 else None
