"""A compiled run against the plain one: the same counts, the same sums, the same distributions up to a bin's edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from sims.engine.kernel import from_python
from sims.engine.sketch import BINS, record
from sims.systems.llm_serving import Outcome
from tests.sims.oracle.asks import Ask, Sums

record = from_python(record)


def of_outcome(found: Outcome) -> Sums:
    """The sums of a run that measured from its start."""
    rows = found.batches
    return Sums(
        arrived=found.arrived,
        finished=found.finished,
        refused=found.rejected,
        ttft_n=int(rows.ttft_n.sum()),
        ttft_sum_s=float(rows.ttft_sum_s.sum()),
        e2e_sum_s=float(rows.e2e_sum_s.sum()),
        tpot_n=int(rows.tpot_n.sum()),
        tpot_sum_s=float(rows.tpot_sum_s.sum()),
        restarted=found.restarted,
    )


def same(found: Outcome, asks: Sequence[Ask], *, gateway_s: float, rel: float = 1e-9) -> None:
    """Closed forms and sums differ from steps one by one by rounding only."""
    seen, expected = of_outcome(found), Sums.of(asks, gateway_s=gateway_s)
    for name in Sums.__dataclass_fields__:
        assert getattr(seen, name) == pytest.approx(getattr(expected, name), rel=rel, abs=1e-9), name
    for name, values_s in latencies(asks, gateway_s=gateway_s).items():
        assert_close(found.pooled(name), histogram(values_s), name=name)


def latencies(asks: Sequence[Ask], *, gateway_s: float) -> dict[str, list[float]]:
    """Every latency that a run keeps in a histogram."""
    done = [ask for ask in asks if ask.is_done]
    return {
        "ttft": [ask.tokens_s[0] - ask.sent_s + gateway_s for ask in asks if ask.tokens_s],
        "e2e": [ask.finish_s - ask.sent_s + gateway_s for ask in done],
        "tpot": [(ask.finish_s - ask.tokens_s[0]) / (ask.output - 1) for ask in done if ask.output > 1],
        "itl": [gap for ask in asks for gap in np.diff(ask.tokens_s)],
    }


def histogram(values_s: Iterable[float]) -> NDArray[np.int64]:
    """Counts by bin."""
    bins = np.zeros(BINS, np.int64)
    for value in values_s:
        record(bins, value, 1)
    return bins


def assert_close(seen: NDArray[np.int64], expected: NDArray[np.int64], *, name: str) -> None:
    """Nothing lies more than one bin away from where it belongs."""
    assert seen.sum() == expected.sum(), name
    below, above = np.cumsum(seen), np.cumsum(expected)
    assert np.all(below[:-1] <= above[1:]), f"{name}: too small"
    assert np.all(above[:-1] <= below[1:]), f"{name}: too large"
