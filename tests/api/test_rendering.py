"""Strict JSON: what the parser refuses, what the renderer never sends."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rest_framework.exceptions import ParseError
from rest_framework.response import Response

from planner.api.rendering import MAX_BODY_BYTES, MAX_DEPTH, StrictJsonParser, StrictJsonRenderer, TooLarge, loads


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": NaN}', "NaN"),
        ('{"a": Infinity}', "Infinity"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 9223372036854775808}', "too large"),
        ('{"a": ' + "9" * 6000 + "}", "too large"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": 1', "line 1, column 8"),
        ("{'a': 1}", "not JSON"),
        ("", "not JSON"),
        ('{"a": "\\u0000"}', "cannot be stored"),
        ('{"a": "\\ud800"}', "cannot be stored"),
        ('{"\\u0000": 1}', "cannot be stored"),
        ("[" * 100_000, "nested"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested"),
    ],
)
def test_what_is_no_strict_json_is_refused_with_a_reason(text: str, word: str) -> None:
    with pytest.raises(ParseError, match=word):
        loads(text.encode())


def test_a_name_given_twice_is_found_at_once_among_many() -> None:
    """One pass: comparing each of these names with all others took minutes."""
    names = ",".join(f'"k{place}":1' for place in range(200_000))
    started = time.process_time()
    with pytest.raises(ParseError, match="k199999"):
        loads(f'{{{names},"k199999":1}}'.encode())
    assert time.process_time() - started < 10


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(ParseError, match="UTF-8"):
        loads(b'{"a": "\xff"}')


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": -9223372036854775807}', {"a": -(2**63) + 1}),
        ('{"a": 1.5e300}', {"a": 1.5e300}),
        ('{"a": "\\u00e9\\ud83d\\ude00"}', {"a": "é😀"}),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
        ("null", None),
    ],
)
def test_what_is_strict_json_is_read(text: str, value: Any) -> None:
    found = loads(text.encode())
    assert value is None or found == value


def test_a_body_above_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(TooLarge):
        StrictJsonParser().parse(io.BytesIO(b"[" + b" " * MAX_BODY_BYTES + b"]"))


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), float("-inf")])
def test_a_figure_that_is_no_number_turns_the_reply_into_a_500(figure: float) -> None:
    response = Response({"value": figure})
    sent = StrictJsonRenderer().render(response.data, "application/json", {"response": response})
    assert response.status_code == 500
    assert response["Content-Type"] == "application/problem+json"
    assert b"NaN" not in sent
    assert b"Infinity" not in sent
