"""Errors of hand-made rows: every figure below is arithmetic."""

from __future__ import annotations

import pytest

from planner.core.validation import SEEN, UNSEEN, VERDICT, Row, percentile, share_within, slices, summary
from planner.core.validation_targets import QUANTITIES, Target, checks, checks_of, quantity_of


def row(predicted: float | None, measured: float | None, **more) -> Row:
    return Row("q", more.pop("id", "a"), "someone", predicted=predicted, measured=measured, **more)


def test_an_error_is_how_far_off_whatever_the_side() -> None:
    assert row(90, 100).error == pytest.approx(10)
    assert row(125, 100).error == pytest.approx(25)
    assert row(100, 100).error == 0
    assert row(0, 0).error == 0
    assert row(3, 0).error == 100


def test_what_is_not_compared_has_no_error() -> None:
    assert row(None, 5, status="not expressible", reason="why").error is None
    assert row(5, 5, status="set aside", reason="why").error is None
    assert row(5, 5, low=1, high=9, status="set aside", reason="why").is_covered is None


def test_a_verdict_is_right_wrong_or_open() -> None:
    assert row(1, 1, unit=VERDICT).error == 0
    assert row(0, 1, unit=VERDICT).error == 100
    assert row(1, 0, unit=VERDICT).error == 100
    left_open = row(0.5, 0, unit=VERDICT, low=0, high=1)
    assert left_open.is_open
    assert left_open.error == 0


def test_an_interval_holds_its_ends() -> None:
    assert row(5, 4, low=4, high=6).is_covered is True
    assert row(5, 6.1, low=4, high=6).is_covered is False
    assert row(5, 5).is_covered is None


def test_a_summary_of_five_errors() -> None:
    """Errors 1, 2, 3, 4, 10: the middle is 3; P90 stands six tenths of the way from 4 to 10."""
    rows = [row(100 + error, 100, low=97, high=103) for error in (1, 2, 3, 4, 10)]
    rows += [row(None, 1, status="set aside", reason="x"), row(None, 1, status="not expressible", reason="y")]
    found = summary(rows)
    assert (found.n, found.set_aside, found.not_expressible) == (5, 1, 1)
    assert found.median == pytest.approx(3)
    assert found.p90 == pytest.approx(4 + 0.6 * 6)
    assert found.largest == pytest.approx(10)
    assert found.coverage == 100
    assert found.answered == pytest.approx(100 * 5 / 6)


def test_coverage_counts_only_rows_with_an_interval() -> None:
    rows = [row(5, 5, low=4, high=6), row(5, 9, low=4, high=6), row(5, 5)]
    assert summary(rows).coverage == 50


def test_nothing_has_no_figures() -> None:
    found = summary([])
    assert (found.n, found.median, found.p90, found.coverage, found.answered) == (0, None, None, None, None)
    assert share_within([], 5) is None


@pytest.mark.parametrize(("rank", "expected"), [(0, 1), (25, 2), (50, 3), (90, 4.6), (100, 5)])
def test_percentiles_are_linear_between_ranks(rank: float, expected: float) -> None:
    assert percentile([1, 2, 3, 4, 5], rank) == pytest.approx(expected)


def test_slices_name_what_they_hold() -> None:
    rows = [
        row(1, 1, id="a", gpu="h100-sxm", engine="vllm", family="Llama", group=UNSEEN),
        row(1, 1, id="b", gpu="h100-sxm", engine="sglang", group=SEEN),
        row(1, 1, id="c"),
    ]
    found = {name: [each.id for each in part] for name, part in slices(rows)}
    assert found == {
        "all": ["a", "b", "c"],
        "group:seen": ["b"],
        "group:unseen": ["a"],
        "gpu:h100-sxm": ["a", "b"],
        "engine:sglang": ["b"],
        "engine:vllm": ["a"],
        "family:Llama": ["a"],
    }


def test_a_target_is_held_against_its_own_group() -> None:
    rows = [row(110, 100, group=UNSEEN, low=100, high=120), row(101, 100, group=SEEN, low=90, high=110)]
    target = Target(UNSEEN, median=11, p90=9, coverage=(75, 85), answered=True)
    found = {check.measure: (check.found, check.met) for check in checks(target, rows)}
    assert found["median"] == (pytest.approx(10), True)
    assert found["p90"] == (pytest.approx(10), False)
    assert found["coverage"] == (100, False)
    assert found["answered"] == (100, True)
    assert checks(Target(SEEN, within=((50, 0.5),)), rows)[0].met is False
    assert checks(Target("elsewhere", median=1), rows) == []


def test_a_limit_on_all_rows_holds_for_each_group() -> None:
    rows = [row(110, 100, group="prefill")]
    assert [check.met for check in checks_of("system_throughput", "prefill", rows)] == [True]
    assert [check.met for check in checks_of("tpot", "prefill", rows)] == []


def test_an_unanswered_row_misses_the_target() -> None:
    rows = [row(1, 1), row(None, 1, status="not expressible", reason="why")]
    assert [check.met for check in checks(Target(answered=True), rows)] == [False]


def test_one_wrong_verdict_misses_the_target() -> None:
    right, wrong = row(1, 1, unit=VERDICT), row(0, 1, unit=VERDICT)
    assert [check.met for check in checks(Target(right=True), [right])] == [True]
    assert [check.met for check in checks(Target(right=True), [right, wrong])] == [False]


def test_a_quantity_without_words_goes_by_its_name() -> None:
    assert quantity_of("new_thing").label == "New thing"
    assert len({quantity.name for quantity in QUANTITIES}) == len(QUANTITIES)
