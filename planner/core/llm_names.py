"""What the published name of a checkpoint says beside the LLM: who published it, and its number format.

``nvidia/DeepSeek-R1-0528-NVFP4-v2`` is ``DeepSeek-R1-0528`` in NVFP4, requantised and published by another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FORMATS = (
    ("nvfp4", "nvfp4"),
    ("mxfp4", "mxfp4"),
    ("w4a16", "int4"),
    ("w8a8", "int8"),
    ("fp4", "fp4"),
    ("fp8", "fp8"),
    ("bnb-4bit", "nf4"),
    ("int4", "int4"),
    ("4bit", "int4"),
    ("int8", "int8"),
    ("8bit", "int8"),
    ("awq", "int4"),
    ("gptq", "int4"),
)
"""Word in a name and the format it means; the first that is found counts."""
_WORDS = "|".join(word for word, _format in _FORMATS)
_SUFFIX = re.compile(
    rf"(?:[-_.]quanti[sz]ed)?[-_.](?:{_WORDS})(?:[-_.](?:{_WORDS}|kv|dynamic|block|static|v\d))*$", re.IGNORECASE
)


def number_format(name: str) -> str | None:
    """The number format that a name ends in, None when it says none."""
    found = _SUFFIX.search(name)
    if found is None:
        return None
    words = found.group().lower()
    return next((number for word, number in _FORMATS if word in words), None)


def plain_names(name: str) -> Iterator[str]:
    """The name without its publisher, without its number format, and without both: those that differ from it."""
    short = _SUFFIX.sub("", name) if number_format(name) else name
    for candidate in (name.rpartition("/")[2], short, short.rpartition("/")[2]):
        if candidate and candidate != name:
            yield candidate
