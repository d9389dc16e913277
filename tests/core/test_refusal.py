"""Refusals that name a field."""

from __future__ import annotations

import pytest

from planner.core.refusal import placed, sentence

FIELDS = {"tenants", "max_rank"}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("tenants: there are too many", ("tenants", "There are too many.")),
        ("max_rank: vLLM takes 8: no more", ("max_rank", "vLLM takes 8: no more.")),
        ("rank: of another design", ("", "rank: of another design")),
        ("tenants", ("", "tenants")),
        ("", ("", "")),
    ],
)
def test_a_message_is_taken_apart_only_where_it_names_a_field(message: str, found: tuple[str, str]) -> None:
    assert placed(message, fields=FIELDS) == found


@pytest.mark.parametrize(("said", "told"), [("no.", "No."), ("5 is odd", "5 is odd."), ("", ".")])
def test_a_sentence_has_a_capital_and_one_full_stop(said: str, told: str) -> None:
    assert sentence(said) == told
