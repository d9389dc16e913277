"""Waits during an overload, against a queue played out arrival by arrival."""

from __future__ import annotations

import numpy as np
import pytest

from planner.formulas import overload


@pytest.mark.parametrize("utilisation", [1.02, 1.1, 2.0])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_waits_are_those_of_a_queue_that_is_played_out(utilisation: float, share: float) -> None:
    # One server, 1 s a request, evenly spaced arrivals: Lindley's recursion, which has no approximation in it.
    lasting_s, waits, wait = 3600.0, [], 0.0
    for _ in range(int(lasting_s * utilisation)):
        waits.append(wait)
        wait = max(wait + 1.0 - 1.0 / utilisation, 0.0)
    found = overload.wait_quantile_s(share, utilisation=utilisation, lasting_s=lasting_s)
    assert found == pytest.approx(float(np.quantile(waits, share)), rel=0.01)


@pytest.mark.parametrize("utilisation", [0.0, 0.8, 1.0])
def test_nobody_waits_for_an_overload_that_is_none(utilisation: float) -> None:
    assert overload.wait_quantile_s(0.99, utilisation=utilisation, lasting_s=3600.0) == 0.0
