"""An outcome as bytes and back: arrays as they are, everything else as JSON; nothing that could run code.

What is read back is built from the fields and annotations of the class that the reader names.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Array = NDArray[Any]
TREE = "tree"


def pack(outcomes: Mapping[str, Any]) -> bytes:
    """The outcomes of one run, by name."""
    arrays: list[Array] = []
    tree = [[name, _plain(outcome, arrays)] for name, outcome in outcomes.items()]
    packed = io.BytesIO()
    named: dict[str, Any] = {str(place): array for place, array in enumerate(arrays)}
    named[TREE] = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    np.savez_compressed(packed, **named)
    return packed.getvalue()


def unpack(packed: bytes, *, of: type[T]) -> dict[str, T]:
    """The outcomes again, of the class ``of``; raises ValueError for bytes that hold none."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
        tree = json.loads(bytes(stored[TREE]))
        arrays = [stored[str(place)] for place in range(len(stored.files) - 1)]
    return {name: _built(written, of, arrays) for name, written in tree}


def _plain(value: Any, arrays: list[Array]) -> Any:
    if is_dataclass(value):
        return [_plain(getattr(value, each.name), arrays) for each in fields(value)]
    if isinstance(value, np.ndarray | np.void):
        arrays.append(np.asarray(value).view(np.ndarray))
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return [[name, _plain(each, arrays)] for name, each in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _built(written: Any, hint: Any, arrays: list[Array]) -> Any:
    if isinstance(written, dict):
        return _array(arrays[written["array"]], hint)
    if is_dataclass(hint):
        return _record(written, hint, arrays)
    if isinstance(written, list):
        return _several(written, hint, arrays)
    return written


def _array(array: Array, hint: Any) -> Any:
    if array.dtype.names is None:
        return array
    records = np.atleast_1d(array).view(np.recarray)
    return records[0] if hint is np.record else records


def _record(written: list[Any], hint: Any, arrays: list[Array]) -> Any:
    made = object.__new__(hint)
    hints = _hints(hint)
    for each, value in zip(fields(hint), written, strict=True):
        object.__setattr__(made, each.name, _built(value, hints[each.name], arrays))
    return made


def _several(written: list[Any], hint: Any, arrays: list[Array]) -> Any:
    members = get_args(hint)
    if get_origin(hint) is dict:
        return {name: _built(value, members[1], arrays) for name, value in written}
    open_ended = len(members) == 2 and members[1] is Ellipsis
    hints = [members[0]] * len(written) if open_ended else members
    return tuple(_built(value, one, arrays) for value, one in zip(written, hints, strict=True))


@cache
def _hints(of: type) -> dict[str, Any]:
    return get_type_hints(of)
