"""What may be written into a name, a description or a tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

LONGEST_NAME = 160
LONGEST_DESCRIPTION = 20_000
LONGEST_TAG = 40
MOST_TAGS = 20


class InvalidField(ValueError):
    """A value of a form or request that cannot be saved; ``field`` is its path (`items/0/design`)."""

    def __init__(self, *, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


def text(value: str, *, field: str, longest: int) -> str:
    """Trimmed text the database can hold."""
    if not isinstance(value, str):
        raise InvalidField(field=field, message=_("Give text."))
    storable(value, field=field)
    trimmed = value.strip()
    if len(trimmed) > longest:
        raise InvalidField(field=field, message=_("At most %(longest)d characters.") % {"longest": longest})
    return trimmed


def name(value: str) -> str:
    """A name: one line, not empty."""
    line = " ".join(text(value, field="name", longest=LONGEST_NAME).split())
    if not line:
        raise InvalidField(field="name", message=_("Give the design a name."))
    return line


def copy_name(value: str) -> str:
    """The name of a copy, cut where it would be too long."""
    mark = _("copy")
    return f"{value[: LONGEST_NAME - len(mark) - 3]} ({mark})"


def tags(values: Iterable[str]) -> list[str]:
    """Trimmed, lower case, each once, in the order given."""
    given = [] if isinstance(values, str) else list(values)
    if isinstance(values, str) or not all(isinstance(value, str) for value in given):
        raise InvalidField(field="tags", message=_("Give a list of words."))
    words = [" ".join(text(value, field="tags", longest=LONGEST_TAG).lower().split()) for value in given]
    unique = list(dict.fromkeys(word for word in words if word))
    if len(unique) > MOST_TAGS:
        raise InvalidField(field="tags", message=_("At most %(most)d tags.") % {"most": MOST_TAGS})
    return unique


def storable(value: Any, *, field: str) -> Any:
    """The value as it is; refuses the characters PostgreSQL cannot store."""
    for found in _strings(value):
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in found):
            raise InvalidField(field=field, message=_("Contains a character that cannot be stored."))
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
