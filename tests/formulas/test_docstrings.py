"""Every formula says what it computes; one that states an equation or a rule says where it is from."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from planner import formulas


def public() -> Iterator[Any]:
    for module in pkgutil.iter_modules(formulas.__path__):
        found = importlib.import_module(f"{formulas.__name__}.{module.name}")
        for name, function in vars(found).items():
            if (
                callable(function)
                and not name.startswith("_")
                and getattr(function, "__module__", "") == found.__name__
            ):
                yield pytest.param(function, id=f"{module.name}.{name}")


@pytest.mark.parametrize("function", list(public()))
def test_it_says_what_it_is_and_where_its_equation_is_from(function: Callable[..., Any]) -> None:
    words = inspect.getdoc(function) or ""
    assert words.splitlines()[0].strip()
    if "Notes\n-----" in words:
        assert "References\n----------" in words
