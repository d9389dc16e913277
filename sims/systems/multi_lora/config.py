"""What the system is told: the fleet, its steps, the three places adapters live in, routing, scheduling, tenants."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sims.parts.adapter_routing.dispatch import CODES

POLICIES: tuple[str, ...] = tuple(CODES)
"""Names of the routing policies."""
SWAPS: dict[str, int] = {"beside": 0, "stalls": 1, "pipelined": 2}
SCHEDULERS: dict[str, int] = {"fifo": 0, "fair": 1}
PREFILLS: dict[str, int] = {"chunked": 0, "first": 1}
PRELOADS = ("none", "host", "slots")
HOMED = ("consistent_hash", "affinity", "load_aware")
"""Policies that give each adapter replicas of its own."""


@dataclass(frozen=True, slots=True)
class Config:
    """``replicas`` of one base LLM that serve ``adapters`` through ``slots`` each.

    Notes
    -----
    A decode step with B sequences, K tokens of KV, D distinct adapters and A sequences that use one lasts
    ``step_s`` + B·``step_s_per_sequence`` + K·``step_s_per_kv_token``
    + ``lora_step_s`` + max(D·``lora_s_per_adapter``, A·``lora_s_per_sequence``).
    Grouped kernels read each distinct adapter once: ``lora_s_per_adapter`` is the slot's bytes over the bandwidth,
    ``lora_s_per_sequence`` the arithmetic. Gathering kernels read an adapter for every sequence: the second alone.
    What adapters add to prompt tokens belongs into ``prefill_s_per_token``.
    """

    replicas: int
    adapters: int
    slots: int
    """Adapters that a replica's GPU memory holds at once."""
    host_adapters: int
    """Adapters that a replica's host memory holds, those in slots included."""
    step_s: float
    step_s_per_sequence: float
    step_s_per_kv_token: float
    prefill_s_per_token: float
    kv_capacity_tokens: int
    """Tokens of KV that a replica has room for; a request pledges its whole length."""
    adapter_tokens: int = 0
    """KV tokens whose place an adapter takes while its requests run, where adapters lie in the pages of the KV cache:
    then nothing keeps an adapter once its last request has ended, and ``slots`` only says how many could ever fit.
    0: slots have memory of their own."""
    max_running: int = 1_000_000_000
    prefill: str = "chunked"
    """``chunked``: prompts ride on decode steps; ``first``: a step computes prompts alone, and decoding waits."""
    prefill_step_s: float = 0.0
    prefill_budget_tokens: int = 1_000_000_000
    """Prompt and output tokens of a step, at most."""
    lora_step_s: float = 0.0
    """What the LoRA kernels' launches add to a step that uses any adapter [s]."""
    lora_s_per_adapter: float = 0.0
    lora_s_per_sequence: float = 0.0
    lora_always: bool = False
    """Whether steps without any adapter pay ``lora_step_s`` as well (no specialised graphs)."""
    adapter_bytes: float = 0.0
    """What a copy or a download moves; see `simulate` for sizes by adapter."""
    swap_bytes_per_s: float = math.inf
    swap_fixed_s: float = 0.0
    """Of a copy from host memory into a slot, whatever its size: tensors × overhead of each [s]."""
    swap: str = "beside"
    """``beside``: a copy goes on beside the steps, and who asked for it waits; ``stalls``: the next step waits for it,
    and so do all; ``pipelined``: who asked is computed layer by layer behind the copy."""
    swap_layer_s: float = 0.0
    """Between the end of a pipelined copy and that of the prompt's last layer [s]."""
    store_first_byte_s: float = 0.0
    store_bytes_per_s: float = math.inf
    """Of one download."""
    store_downloads: int = 8
    """Downloads of a replica at once; more wait in line."""
    pinned: tuple[int, ...] = ()
    """Adapters that always keep a slot wherever they may be routed to."""
    preload: str = "none"
    """What the popular adapters are in when the run starts: ``none``, ``host`` memory, or host and ``slots``."""
    policy: str = "load_aware"
    """One of `POLICIES`."""
    copies: int = 1
    """Replicas of each adapter under ``affinity``, at the least under ``load_aware``."""
    copies_per_load: float = 4.0
    """``load_aware`` gives an adapter this × its share of the traffic × the replicas, rounded up."""
    load_bound: float = math.inf
    """``load_aware`` leaves an adapter's replicas when all of them have more than this × the mean requests."""
    replace_every_s: float = 0.0
    """How often ``load_aware`` places adapters anew, by the traffic since the last time [s]; 0: never."""
    cold_replicas: int = 0
    """The last so many replicas only serve requests whose adapter is not in the memory of the replica chosen."""
    cold_hold_all: bool = False
    """Whether cold replicas have every adapter in host memory from the start, whatever the others have room for."""
    warm_up: bool = True
    """Whether the replica chosen downloads the adapter of a request that went to a cold one."""
    scheduler: str = "fifo"
    """Who is next: ``fifo`` the request that came first; ``fair`` one of the tenant served least."""
    input_weight: float = 1.0
    output_weight: float = 2.0
    """A token's worth in fair scheduling and in the bill."""
    hold_limited: bool = False
    """Whether requests beyond their tenant's limit wait at the gateway; else they are turned away."""
    gateway_s: float = 0.0
    """What passes before a request reaches the router; part of its latencies [s]."""
    ttft_slo_s: float = math.inf
    tpot_slo_s: float = math.inf
    most_steps: int = 1_000_000_000
    """The longest macro-step; 1 walks step by step, for tests."""

    def __post_init__(self) -> None:
        counts = ("replicas", "adapters", "slots", "max_running", "prefill_budget_tokens", "kv_capacity_tokens")
        for name in (*counts, "store_downloads", "copies", "most_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        if self.host_adapters < self.slots:
            raise ValueError(f"host_adapters must be at least slots ({self.slots}), is {self.host_adapters}")
        if not 0 <= self.cold_replicas < self.replicas:
            raise ValueError(f"cold_replicas must leave a replica of {self.replicas}, is {self.cold_replicas}")
        if len(set(self.pinned)) >= self.slots and self.slots < self.adapters:
            raise ValueError(f"pinned must leave a slot of {self.slots}, are {len(set(self.pinned))}")
        if any(not 0 <= one < self.adapters for one in self.pinned):
            raise ValueError(f"pinned must be adapters from 0 to {self.adapters - 1}")
        if self.adapter_tokens < 0 or (self.adapter_tokens > 0 and (self.pinned or self.preload == "slots")):
            raise ValueError("adapter_tokens must be at least 0; without slots nothing is pinned or preloaded")
        self._check_times()
        self._check_choices()

    def _check_times(self) -> None:
        steps = ("step_s", "step_s_per_sequence", "step_s_per_kv_token", "prefill_step_s", "prefill_s_per_token")
        lora = ("lora_step_s", "lora_s_per_adapter", "lora_s_per_sequence", "adapter_bytes")
        moves = ("swap_fixed_s", "swap_layer_s", "store_first_byte_s", "replace_every_s", "gateway_s")
        for name in (*steps, *lora, *moves):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and at least 0, is {value}")
        for name in ("swap_bytes_per_s", "store_bytes_per_s", "input_weight", "output_weight", "copies_per_load"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, is {getattr(self, name)}")
        if self.step_s + self.step_s_per_sequence <= 0 or self.prefill_step_s + self.prefill_s_per_token <= 0:
            raise ValueError("a step must take time: step_s and prefill_step_s with their slopes are all 0")
        if not self.load_bound >= 1:
            raise ValueError(f"load_bound must be at least 1, is {self.load_bound}")

    def _check_choices(self) -> None:
        choices = {
            "policy": POLICIES,
            "swap": SWAPS,
            "scheduler": SCHEDULERS,
            "prefill": PREFILLS,
            "preload": PRELOADS,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, is {getattr(self, name)}")


@dataclass(frozen=True, slots=True, eq=False)
class Tenants:
    """Whose adapters they are. Requests for the bare base belong to one tenant more, the last."""

    of_adapter: NDArray[np.int64]
    """The tenant of each adapter, numbered from 0."""
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Shares in fair scheduling by tenant; empty: all alike."""
    limits_tokens_per_s: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Prompt and output tokens a second by tenant, on average; empty: no limits."""
    bursts_tokens: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Tokens that may come at once by tenant; empty: ten seconds of the limit."""
    slots: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Slots of a replica that a tenant's running adapters may hold at once, by tenant; empty: no quota."""

    def __post_init__(self) -> None:
        for name in ("weights", "bursts_tokens", "slots"):
            if np.any(getattr(self, name) <= 0):
                raise ValueError(f"{name} of tenants must be above 0")

    @classmethod
    def evenly(cls, adapters: int, *, tenants: int) -> Tenants:
        """Adapter k belongs to tenant k mod ``tenants``, so that each has popular and rare ones."""
        return cls(np.arange(adapters) % max(1, tenants))

    @property
    def count(self) -> int:
        """Tenants with adapters, and the one that asks for the bare base."""
        return int(self.of_adapter.max(initial=-1)) + 2

    def by_tenant(self, name: str, *, otherwise: float) -> NDArray[np.float64]:
        """A column, filled up for those that it does not name."""
        given = np.asarray(getattr(self, name), np.float64)[: self.count]
        return np.concatenate([given, np.full(self.count - len(given), otherwise)])
