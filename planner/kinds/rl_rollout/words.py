"""How the sentences of this kind say shares, counts and modes."""

from __future__ import annotations

IN_WORDS = {
    "synchronous": "synchronous",
    "one_step_off": "one step off",
    "asynchronous": "fully asynchronous",
    "colocated": "co-located",
}
