"""What the system is told: counts, step-time coefficients and limits, all as numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from sims.parts.ranks import MOST_RANKS
from sims.parts.routing.dispatch import CODES
from sims.parts.step_times import check_table
from sims.systems.llm_serving.recovery import Recovery

KV_ADMISSIONS = ("reserve", "retract")
USUAL_TOKENS = 1000
"""Of KV in a sequence, where only the ratio of two units' times matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTraits:
    """What a unit is like: a decode unit takes the times of decode, a prefill unit those of prefill, a replica both.

    Notes
    -----
    A step of n tokens with B sequences that decode and K tokens of KV lasts ``step_s`` + ``step_table``(n) +
    B·``step_s_per_sequence`` + K·``step_s_per_kv_token``. Prompts of p tokens add ``prefill_step_s`` +
    p·``prefill_s_per_token`` + ``prefill_s_per_token_pair``·Σ chunk·(context before the chunk + chunk/2).
    ``step_table`` are points (tokens, seconds), linear between; beyond the last the last slope goes on.
    Times of decode are those of the whole unit with its work spread evenly; budget and times of prefill are those of
    a rank. A decode unit has ``decode_ranks`` ranks in lockstep that share its KV and its sequences: one of n takes n
    times the slopes for what it holds, and the step lasts as long as the slowest.

    The rest is of replicas. In their ``step_table`` a prompt token counts as ``prompt_token_weight`` of those that
    decode, and for ``pooled_share`` of all tokens the mean over the ranks counts instead of a rank's own. Each of
    their ``prefill_ranks`` ranks is an engine with its own queue and its share of the KV, in blocks of
    ``block_tokens``; at most ``max_running`` requests run in it (filling or decoding), and a step computes at most
    ``prefill_budget_tokens`` tokens of prompts and answers; slopes of decode are n times the unit's here too. With
    ``reserve_full_prompt`` a prompt is let in only if all of it would fit; its blocks are taken chunk by chunk in any
    case. Who lacks a block pushes out the last admitted, which computes prompt and answer so far again.
    """

    step_s: float
    step_s_per_sequence: float
    step_s_per_kv_token: float
    prefill_s_per_token: float
    prefill_budget_tokens: int
    kv_capacity_tokens: int
    prefill_step_s: float = 0.0
    prefill_s_per_token_pair: float = 0.0
    step_table: tuple[tuple[int, float], ...] = ()
    prompt_token_weight: float = 1.0
    pooled_share: float = 0.0
    prefill_ranks: int = 1
    decode_ranks: int = 1
    max_running: int = 1_000_000_000
    block_tokens: int = 16
    reserve_full_prompt: bool = True

    @property
    def engine_blocks(self) -> int:
        """KV blocks of each engine of a replica."""
        return self.kv_capacity_tokens // self.prefill_ranks // self.block_tokens

    def check(self) -> None:
        """Raise ValueError naming what is impossible."""
        counts = ("prefill_budget_tokens", "prefill_ranks", "decode_ranks", "kv_capacity_tokens", "max_running")
        for name in (*counts, "block_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        for name in ("prefill_ranks", "decode_ranks"):
            if getattr(self, name) > MOST_RANKS:
                raise ValueError(f"{name} must be at most {MOST_RANKS}, is {getattr(self, name)}")
        check_times(
            self,
            "step_s",
            "step_s_per_sequence",
            "step_s_per_kv_token",
            "prefill_step_s",
            "prefill_s_per_token",
            "prefill_s_per_token_pair",
        )
        check_table(self.step_table)
        if not (0 <= self.prompt_token_weight < math.inf and 0 <= self.pooled_share <= 1):
            raise ValueError("prompt_token_weight must be at least 0, and pooled_share between 0 and 1")
        if self.step_table and self.step_table[0][1] > 0:
            return
        if self.step_s + self.step_s_per_sequence <= 0 or self.prefill_step_s + self.prefill_s_per_token <= 0:
            raise ValueError("a step must take time: step_s and prefill_step_s with their slopes are all 0")


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else 1.0


def check_times(owner: object, *names: str) -> None:
    """Raise ValueError unless these are finite times."""
    for name in names:
        value = getattr(owner, name)
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite time of at least 0, is {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitClass(UnitTraits):
    """``count`` units that are alike, in a fleet of several sorts."""

    count: int

    def weight(self, usual: UnitClass, *, decodes: bool) -> float:
        """What a router counts a token of load for, against 1 in ``usual``: by the time it takes, or the KV it fills.

        The larger of the two, so that a unit is neither the slowest nor the first to be full.
        """
        weighs = _ratio(self._token_s(decodes), usual._token_s(decodes))
        return max(weighs, usual.kv_capacity_tokens / self.kv_capacity_tokens) if decodes else weighs

    def _token_s(self, decodes: bool) -> float:
        """What one more token in a step adds to it: of a prompt, or of KV with its share in a sequence."""
        if not decodes:
            return (self.prefill_step_s / self.prefill_budget_tokens + self.prefill_s_per_token) / self.prefill_ranks
        table_s = (self.step_table[-1][1] - self.step_table[0][1]) / self.step_table[-1][0] if self.step_table else 0.0
        return (self.step_s_per_sequence + table_s) / USUAL_TOKENS + self.step_s_per_kv_token

    def check(self) -> None:
        """Raise ValueError naming what is impossible."""
        UnitTraits.check(self)
        if self.count < 1:
            raise ValueError(f"count must be at least 1, is {self.count}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(UnitTraits):
    """A fleet that serves one LLM.

    Its own traits are those of all units, unless ``decode_classes`` (of replicas too) or ``prefill_classes`` describe
    several sorts; then the counts are theirs. ``decode_units`` are the replicas when ``aggregated``. A unit has
    ``prefill_ranks`` ranks in lockstep; a prompt is computed by one of them.
    """

    decode_units: int = 0
    aggregated: bool = False
    prefill_units: int = 0
    decode_classes: tuple[UnitClass, ...] = ()
    prefill_classes: tuple[UnitClass, ...] = ()
    egress_s_per_token: float = 0.0
    ingress_s_per_token: float = 0.0
    """Of the network of one rank: that of prefill, and that of decode."""
    hand_over_s: float = 0.0
    overlap_share: float = 0.0
    """Of a transfer: what goes layer by layer while the last step of its prompt is computed, as far as that lasts."""
    gateway_s: float = 0.0
    """What passes before a request reaches the router; part of its latencies."""
    router: str = "least_loaded"
    ttft_slo_s: float = math.inf
    tpot_slo_s: float = math.inf
    recovery: Recovery = field(default_factory=Recovery)
    prefix_cache_tokens: int = 0
    """Of each prefill unit: room for the KV of prompts that it has computed, found again by their blocks. Of each
    engine of a replica: at most so much of the KV that no request holds."""
    kv_admission: str = "reserve"
    """Of decode units: ``reserve`` room for prompt and full answer, or admit by tokens in use and ``retract`` the last
    admitted when a rank is full; with ``kv_headroom_tokens`` left for each sequence at admission."""
    kv_headroom_tokens: int = 1
    tokens_per_step: float = 1.0
    """What a decode step gives a sequence on average: its token and the accepted drafts. The steps of each answer are
    drawn (see `sims.parts.drafts`); between its first and last token its KV grows at the mean rate."""
    most_steps: int = 1_000_000_000
    """The longest macro-step; 1 walks step by step, for tests."""

    def __post_init__(self) -> None:
        for role in ("decode", "prefill"):
            if classes := getattr(self, f"{role}_classes"):
                object.__setattr__(self, f"{role}_units", sum(one.count for one in classes))
        if self.decode_units < 1:
            raise ValueError(f"decode_units must be at least 1, is {self.decode_units}")
        if not self.aggregated and self.prefill_units < 1:
            raise ValueError(f"prefill_units must be at least 1, is {self.prefill_units}")
        for one in (self, *self.decode_classes, *self.prefill_classes):
            one.check()
        if not 1 <= self.tokens_per_step < math.inf:
            raise ValueError(f"tokens_per_step must be at least 1, is {self.tokens_per_step}")
        check_times(self, "egress_s_per_token", "ingress_s_per_token", "hand_over_s", "gateway_s")
        self._check_kv()
        if self.router not in CODES:
            raise ValueError(f"router must be one of {', '.join(CODES)}, is {self.router}")

    def _check_kv(self) -> None:
        if not 0 <= self.overlap_share <= 1:
            raise ValueError(f"overlap_share must be from 0 to 1, is {self.overlap_share}")
        if self.most_tokens < 1:
            raise ValueError("kv_capacity_tokens must be at least one for each of the decode_ranks")
        if self.kv_admission not in KV_ADMISSIONS:
            raise ValueError(f"kv_admission must be one of {', '.join(KV_ADMISSIONS)}, is {self.kv_admission}")
        if self.prefix_cache_tokens < 0:
            raise ValueError(f"prefix_cache_tokens must be at least 0, is {self.prefix_cache_tokens}")
        if self.kv_headroom_tokens < 1:
            raise ValueError(f"kv_headroom_tokens must be at least 1, is {self.kv_headroom_tokens}")

    @property
    def decoders(self) -> tuple[UnitClass, ...]:
        """The decode units (or replicas) by class."""
        return self.decode_classes or (self._class(self.decode_units),)

    @property
    def prefillers(self) -> tuple[UnitClass, ...]:
        """The prefill units by class; none when aggregated."""
        if self.aggregated:
            return ()
        return self.prefill_classes or (self._class(self.prefill_units),)

    @property
    def most_tokens(self) -> int:
        """The longest request, prompt and answer, that every unit can hold: it lies on one rank."""
        if self.aggregated:
            return min(one.engine_blocks * one.block_tokens for one in self.decoders)
        return min(one.kv_capacity_tokens // one.decode_ranks for one in self.decoders)

    @property
    def kv_tokens(self) -> int:
        """KV tokens that all decode units hold together."""
        return sum(one.count * one.kv_capacity_tokens for one in self.decoders)

    def _class(self, count: int) -> UnitClass:
        traits = {one.name: getattr(self, one.name) for one in fields(UnitTraits)}
        return UnitClass(count=count, **traits)
