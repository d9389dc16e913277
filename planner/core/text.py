"""Marks a string for translation below Django: the message catalog finds it, the edge translates it."""

from __future__ import annotations


def gettext_noop(message: str) -> str:
    """Return ``message`` unchanged; `makemessages` collects it."""
    return message
