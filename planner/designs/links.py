"""Tokens of share links: an id and its keyed digest. Nothing secret is stored, a link cannot be guessed."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "planner.designs.share"
DIGEST_CHARACTERS = 32


def token(id: UUID) -> str:
    """The token of a share: 22 characters of id, 32 of digest (128 bits)."""
    name = base64.urlsafe_b64encode(id.bytes).rstrip(b"=").decode()
    return name + _digest(id)


def open_token(text: str) -> UUID | None:
    """The id within a token, or None when it was not made by `token`."""
    try:
        found = UUID(bytes=base64.b64decode(f"{text[:22]}==", altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        return None
    return found if constant_time_compare(text, token(found)) else None


def _digest(id: UUID) -> str:
    return salted_hmac(SALT, id.hex, algorithm="sha256").hexdigest()[:DIGEST_CHARACTERS]
