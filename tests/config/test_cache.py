"""The cache speaks JSON, never pickle."""

from __future__ import annotations

import pickle

import pytest
from django.core.cache import cache

from planner.config.cache import JsonSerializer


@pytest.mark.parametrize("value", [7, "text", 1.5, [1.0, 2.0], {"a": None}, True])
def test_a_value_comes_back(value: object) -> None:
    cache.set("kept", value, 10)
    assert cache.get("kept") == value


def test_whole_numbers_can_be_counted_with() -> None:
    cache.set("count", 1, 10)
    assert cache.incr("count") == 2


def test_a_pickle_is_not_opened() -> None:
    with pytest.raises(ValueError, match=r"utf-8|Expecting"):
        JsonSerializer().loads(pickle.dumps({"a": 1}))
