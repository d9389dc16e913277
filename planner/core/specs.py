"""Specs read from JSON, strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

Read = TypeVar("Read", bound=BaseModel)


def read_spec(model: type[Read], given: Mapping[str, Any]) -> Read:
    """The checked spec; raises pydantic's ValidationError.

    Strict as JSON is: a number in quotes is refused, `500.0` passes for a whole number.
    """
    return model.model_validate_json(json.dumps(_whole(given)), strict=True)


def _whole(value: Any) -> Any:
    """Integral floats as integers: JSON knows one kind of number, a strict whole-number field does not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value
