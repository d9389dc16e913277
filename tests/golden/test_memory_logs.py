"""Memory against every start-up log of the table: the targets of the specification, and what left-out issues say."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import pytest

from planner.core.validation import Row
from tests.validation import memory
from tests.validation.memory_left_out import left_out

LOGS = {log["id"] for log in memory.logs()}


def errors(source: Callable[[], Iterator[Row]]) -> list[float]:
    return [abs(row.predicted / row.measured - 1) * 100 for row in source() if row.status == "compared"]  # type: ignore[operator]


@pytest.mark.parametrize("source", [memory.weights, memory.pool_rules, memory.configured, memory.from_log, memory.fit])
def test_every_log_is_listed_compared_or_with_a_reason(source: Callable[[], Iterator[Row]]) -> None:
    rows = list(source())
    assert {row.id.partition("-")[0] for row in rows} == LOGS
    assert all(row.status == "compared" or row.reason for row in rows)


def test_weights_of_a_rank() -> None:
    found = errors(memory.weights)
    assert statistics.median(found) <= 0.5
    assert max(found) <= 3


def test_tokens_blocks_and_concurrency_follow_from_the_pool() -> None:
    assert max(errors(memory.pool_rules)) <= 0.5


def test_tokens_from_the_configuration_alone() -> None:
    found = errors(memory.configured)
    assert statistics.median(found) <= 6
    assert sum(error <= 10 for error in found) >= 0.8 * len(found)


def test_four_of_five_logged_pools_lie_in_the_range_shown() -> None:
    rows = [row for row in memory.configured() if row.status == "compared"]
    inside = [row for row in rows if row.low is not None and row.low <= row.measured <= row.high]  # type: ignore[operator]
    assert 0.75 <= len(inside) / len(rows) <= 0.9


def test_tokens_given_one_line_of_the_log() -> None:
    found = errors(memory.from_log)
    assert statistics.median(found) <= 0.5
    assert sum(error <= 3 for error in found) >= 0.9 * len(found)


def test_verdicts_are_right_or_left_open() -> None:
    for row in memory.fit():
        if row.status == "compared":
            assert row.predicted in (row.measured, 0.5), row.id


def test_buffers_hold_on_issues_left_out() -> None:
    found = [abs(error) for _row, error, _others in left_out()]
    assert statistics.median(found) <= 6
    assert sum(error <= 10 for error in found) >= 0.8 * len(found)
