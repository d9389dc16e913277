"""What becomes of the requests of a lost unit: failed, or gone on with from KV that is computed or fetched again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sims.parts.records import records

ON_LOSS = {"resume": 0, "fail": 1}
POOL_HOLDS = {"nothing": 0, "prompts": 1, "answers": 2}
NOTHING, PROMPTS, ANSWERS = 0, 1, 2
RECOVERY = np.dtype(
    [
        ("fails", "i8"),
        ("pool_holds", "i8"),
        ("pool_block_tokens", "i8"),
        ("pool_s_per_token", "f8"),
        ("pool_fixed_s", "f8"),
        ("pool_free_s", "f8"),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """``on_loss``: requests of a lost unit ``resume`` elsewhere, or ``fail``.

    A pool beside the units may hold the KV of whole ``prompts``, or of ``answers`` too as they are written, in full
    blocks; a resumed request then fetches it instead of computing it. One link serves all fetches in turn: a token
    takes ``pool_s_per_token`` of it, a fetch arrives ``pool_fixed_s`` after its last byte was sent.
    """

    on_loss: str = "resume"
    pool_holds: str = "nothing"
    pool_block_tokens: int = 64
    pool_s_per_token: float = 0.0
    pool_fixed_s: float = 0.0

    def __post_init__(self) -> None:
        for name, known in (("on_loss", ON_LOSS), ("pool_holds", POOL_HOLDS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, is {getattr(self, name)}")
        if self.pool_block_tokens < 1:
            raise ValueError(f"pool_block_tokens must be at least 1, is {self.pool_block_tokens}")
        for name in ("pool_s_per_token", "pool_fixed_s"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be a finite time of at least 0, is {getattr(self, name)}")


def recovery_record(recovery: Recovery) -> np.recarray:
    """The same as the data plane reads it, with the link idle."""
    made = records(RECOVERY, count=1)
    made.fails = ON_LOSS[recovery.on_loss]
    made.pool_holds = POOL_HOLDS[recovery.pool_holds]
    made.pool_block_tokens = recovery.pool_block_tokens
    made.pool_s_per_token = recovery.pool_s_per_token
    made.pool_fixed_s = recovery.pool_fixed_s
    return made
