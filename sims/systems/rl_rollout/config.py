"""What the system is told: instances, batches of answers, how training and generation take turns, scoring."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sims.parts.placing.dispatch import CODES

SYNCHRONOUS, ONE_STEP_OFF, ASYNCHRONOUS, COLOCATED = "synchronous", "one_step_off", "asynchronous", "colocated"
MODES = (SYNCHRONOUS, ONE_STEP_OFF, ASYNCHRONOUS, COLOCATED)
"""How generation and training take turns.

``synchronous``: generate a batch, train on it, take the new weights, generate the next.
``one_step_off``: the next batch is generated while this one is trained on; both wait for each other.
``asynchronous``: generation never waits for training, but for the staleness bound.
``colocated``: synchronous on the same GPUs, which change sides and lose ``switch_s`` at each change.
"""
NO_BOUND, DISCARD, CARRY = "none", "discard", "carry"
ENFORCEMENTS = (NO_BOUND, DISCARD, CARRY)
"""What happens to answers older than the staleness bound, which the gate on starts alone does not prevent.

``none``: they are trained on.
``discard``: when a batch is made, groups with an older answer are thrown away.
``carry``: partial rollouts. An answer goes on under new weights as ever, and is trained on, but its tokens older than
the bound are masked: they stay out of the loss. An answer with no other tokens is thrown away. With over-sampling, what
is unfinished when a batch is full goes on in the next.
"""
KEEP, RECOMPUTE, DRAIN = "keep", "recompute", "drain"
SWAPS = (KEEP, RECOMPUTE, DRAIN)
"""What new weights do to running answers: go on with the KV there is; compute all KV anew; or the instance takes no
more answers and keeps its old weights until it is empty."""
EACH, GROUP, BATCH = "each", "group", "batch"
WHENS = (EACH, GROUP, BATCH)
FAIL, DROP = "fail", "drop"
TIMEOUTS = (FAIL, DROP)
PLACINGS: tuple[str, ...] = tuple(CODES)
"""Which instance gets an answer: ``least_loaded`` (an answer waits for the first free slot), ``round_robin``,
``grouped`` (all answers of a problem on one instance)."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """A pool of ``servers`` sandboxes (or reward model slots), first come first served.

    Service times are log-normal, cut at ``timeout_s``: what takes longer has used that time and is scored as wrong
    (``fail``) or left out of its group (``drop``).
    """

    servers: int | None = None
    """None: as many as are asked for."""
    mean_s: float = 0.0
    """Mean service before the cut [s]; 0: no time at all."""
    cv: float = 0.0
    """Standard deviation over mean, before the cut."""
    timeout_s: float = math.inf
    on_timeout: str = FAIL
    when: str = EACH
    """``each`` answer as it ends, a ``group`` when all its answers have ended, or the ``batch`` when all have."""

    def __post_init__(self) -> None:
        if self.servers is not None and self.servers < 1:
            raise ValueError(f"scoring.servers must be at least 1, is {self.servers}")
        for name in ("mean_s", "cv"):
            _finite(self, name, at_least=0.0, prefix="scoring.")
        if not self.timeout_s > 0:
            raise ValueError(f"scoring.timeout_s must be above 0, is {self.timeout_s}")
        _one_of(self, "on_timeout", TIMEOUTS, prefix="scoring.")
        _one_of(self, "when", WHENS, prefix="scoring.")


@dataclass(frozen=True, slots=True)
class Config:
    """Equal instances that generate batches of ``problems`` × ``answers`` for a trainer.

    A decode step of an instance lasts ``step_s`` + ``step_s_per_sequence`` × running answers + ``step_s_per_kv_token``
    × KV tokens they read. Prompts, and KV to compute anew, are computed before the next step at
    ``prefill_tokens_per_s``.
    """

    problems: int
    """Problems of a training batch."""
    answers: int
    """Answers of each problem: a group, trained on together."""
    instances: int
    slots: int
    """Answers that an instance runs at once, at most."""
    step_s: float
    train_s: float
    """Time of a training step [s]."""
    step_s_per_sequence: float = 0.0
    step_s_per_kv_token: float = 0.0
    kv_tokens: float = math.inf
    """KV tokens that an instance holds; when they run out the answer started last is put back, to be recomputed."""
    prefill_tokens_per_s: float = math.inf
    shared_prompts: bool = True
    """Whether answers of a problem that run on one instance share its prompt, computed and held once."""
    mode: str = SYNCHRONOUS
    staleness: int = 1
    """η of ``asynchronous``: answers start while those started are fewer than (version + η + 1) batches. For other
    modes, how old the tokens of carried answers may be."""
    enforcement: str = NO_BOUND
    swap: str = KEEP
    pause_s: float = 0.0
    """How long an instance stands still to take new weights; the trainer takes part as long [s]."""
    transfer_s: float = 0.0
    """Between the end of a training step and the moment its weights can be taken, in the background [s]."""
    switch_s: float = 0.0
    """One change of sides of co-located GPUs [s]."""
    oversample: float = 0.0
    """Start (1 + this) × ``problems`` and stop when ``problems`` are complete; not for ``asynchronous``."""
    filtering: bool = False
    """Whether groups with all answers right, or all wrong, are dropped and replaced."""
    placing: str = "least_loaded"
    resume_lost: bool = True
    """Whether answers of a failed instance go on elsewhere from the tokens they had; else they start anew."""
    scoring: Scoring = field(default_factory=Scoring)
    gpus_per_instance: int = 1
    trainer_gpus: int = 0
    """For samples per GPU-hour; ``colocated`` GPUs count once."""

    def __post_init__(self) -> None:
        for name in ("problems", "answers", "instances", "slots", "gpus_per_instance"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        for name in ("step_s", "step_s_per_sequence", "step_s_per_kv_token", "train_s", "pause_s", "transfer_s"):
            _finite(self, name, at_least=0.0)
        for name in ("switch_s", "oversample", "staleness", "trainer_gpus"):
            _finite(self, name, at_least=0.0)
        if self.step_s + self.step_s_per_sequence <= 0:
            raise ValueError("a step must take time: step_s and step_s_per_sequence are both 0")
        for name in ("kv_tokens", "prefill_tokens_per_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, is {getattr(self, name)}")
        _one_of(self, "mode", MODES)
        _one_of(self, "enforcement", ENFORCEMENTS)
        _one_of(self, "swap", SWAPS)
        _one_of(self, "placing", PLACINGS)
        self._check_mode()

    def _check_mode(self) -> None:
        if self.filtering and self.answers < 2:
            raise ValueError("filtering needs at least 2 answers a problem: one alone is always all right or all wrong")
        if self.mode == ASYNCHRONOUS and self.oversample > 0:
            raise ValueError("oversample has no meaning when asynchronous: nothing waits for the last answers")
        if self.mode == ASYNCHRONOUS and self.scoring.when == BATCH:
            raise ValueError("scoring.when cannot be batch when asynchronous: generation never ends")
        if self.oversample > 0 and self.scoring.when == BATCH:
            raise ValueError("oversample needs answers scored as they end: scoring.when cannot be batch")

    @property
    def batch(self) -> int:
        """Answers of a batch."""
        return self.problems * self.answers

    @property
    def bound(self) -> int:
        """The oldest that an answer is meant to be at consumption [versions]."""
        least = 1 if self.mode == ONE_STEP_OFF else 0
        if self.mode == ASYNCHRONOUS or self.enforcement == CARRY:
            return max(least, int(self.staleness))
        return least

    @property
    def gpus(self) -> int:
        """All GPUs."""
        rollout = self.instances * self.gpus_per_instance
        return max(rollout, self.trainer_gpus) if self.mode == COLOCATED else rollout + self.trainer_gpus


def _finite(owner: object, name: str, *, at_least: float, prefix: str = "") -> None:
    value = getattr(owner, name)
    if not (math.isfinite(value) and value >= at_least):
        raise ValueError(f"{prefix}{name} must be finite and at least {at_least:g}, is {value}")


def _one_of(owner: object, name: str, values: tuple[str, ...], *, prefix: str = "") -> None:
    value = getattr(owner, name)
    if value not in values:
        raise ValueError(f"{prefix}{name} must be one of {', '.join(values)}, is {value}")
