"""What a check over several inputs says, ``field: what is wrong``, taken apart for whoever shows it."""

from __future__ import annotations

from collections.abc import Container


def placed(message: str, *, fields: Container[str]) -> tuple[str, str]:
    """The field that a refusal names, "" where it names none of them, and its sentence.

    >>> placed("tenants: there are more tenants than adapters", fields={"tenants"})
    ('tenants', 'There are more tenants than adapters.')
    >>> placed("max_rank: vLLM takes 8 or 16, not 9", fields={"max_rank"})
    ('max_rank', 'vLLM takes 8 or 16, not 9.')
    >>> placed("rate and batch: give one of them", fields={"rate", "batch"})
    ('', 'rate and batch: give one of them')
    """
    name, colon, said = message.partition(": ")
    if not colon or name not in fields:
        return "", message
    return name, sentence(said)


def sentence(said: str) -> str:
    """With a capital, unless it starts with a name or a number, and a full stop."""
    first, space, rest = said.partition(" ")
    opened = first.capitalize() if first.islower() else first
    return f"{opened}{space}{rest}".rstrip(".") + "."
