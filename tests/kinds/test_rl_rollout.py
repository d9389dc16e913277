"""The reference of a rollout: every figure quoted from its specification, and what goes beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog import files
from planner.core.result import Finding, Result
from planner.kinds import get

KIND = get("rl_rollout")
CATALOG = files.load()


def answer(**given: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(given), CATALOG)


def found(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


@pytest.fixture(scope="module")
def reference() -> Result:
    return answer()


class TestReference:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tokens_per_step", 16_384_000),
            ("rollout_gpus_sync", 73),
            ("rollout_gpus_async", 25),
            ("weight_sync_s", 0.08),
            ("weight_bytes", 32e9),
        ],
    )
    def test_a_quoted_figure_comes_out_exactly(self, reference: Result, name: str, value: float) -> None:
        assert reference.value(name) == value

    @pytest.mark.parametrize(
        ("name", "value"), [("rollout_gpus_sync_needed", 72.8178), ("rollout_gpus_async_needed", 24.2726)]
    )
    def test_the_fractions_of_gpus_have_the_digits_quoted(self, reference: Result, name: str, value: float) -> None:
        assert round(reference.value(name) or 0.0, 4) == value

    def test_the_rounding_of_the_notes_is_told(self, reference: Result) -> None:
        message = found(reference, "rule_rounds_up").message
        assert "24.3" in message
        assert "25 GPUs" in message

    def test_asynchrony_cuts_the_rule_to_a_third(self, reference: Result) -> None:
        assert "a third" in found(reference, "rule_async_third").message
