"""What the system is told: the fleet, the routers and their policy, limits, health checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sims.parts.balancing.dispatch import CODES

POLICIES: tuple[str, ...] = tuple(CODES)
"""Names of the policies."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a gateway finds out that an instance is gone, and how it takes it back.

    Active probes are made centrally and their verdict holds for all routers. A probe to an instance that refuses
    fails at once, one to an instance that hangs after ``probe_timeout_s``. Failed requests feed breakers
    (passive detection): only those that fail before their first token count, not streams that break.
    """

    probe_interval_s: float = 1.0
    """Between two probes of one instance [s]; 0: no probes."""
    probe_failures: int = 3
    """Failed probes in a row that eject."""
    probe_successes: int = 1
    """Good probes in a row that take an instance back."""
    probe_timeout_s: float = 1.0
    probe_phase: float | None = None
    """When in its interval instance 0 is probed (0 … 1), counted from time 0; None: drawn."""
    probe_false_rate: float = 0.0
    """Share of the probes of a healthy instance that fail by chance."""
    probe_busy_s: float = math.inf
    """A probe of an instance whose queued prefill work is longer than this fails: busy is taken for dead [s]."""
    passive_failures: int = 0
    """Failed requests in a row that open an instance's breaker; 0: no passive detection."""
    shared_verdicts: bool = True
    """Whether routers share their breakers, or each counts for itself."""
    open_s: float = 30.0
    """How long a breaker stays open the first time [s]."""
    open_growth: float = 2.0
    """Factor on that for each further opening in a row, up to ``most_open_s``."""
    most_open_s: float = 300.0
    half_open_trials: int = 1
    """Requests that may try an instance when its time is up; 0: it stays out for ever."""
    most_ejected_share: float = 0.1
    """Cap on the share of instances that breakers and probes may have out; one always may."""

    def __post_init__(self) -> None:
        for name in ("probe_failures", "probe_successes", "open_growth"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        for name in ("probe_interval_s", "probe_timeout_s", "probe_busy_s", "passive_failures", "open_s"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, is {getattr(self, name)}")
        for name in ("probe_false_rate", "most_ejected_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, is {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Config:
    """A fleet of equal instances behind a gateway of ``routers`` replicas.

    A prompt takes ``prefill_fixed_s`` + ``prefill_s_per_token`` × its tokens that are not cached, one after the
    other; then each further token takes ``token_s`` + ``token_s_per_running`` × the requests running when decoding
    starts. An instance runs at most ``slots`` requests (in prefill or decoding).
    """

    instances: int
    prefill_s_per_token: float
    token_s: float
    """Time per output token [s]."""
    slots: int
    cache_blocks: int
    """Blocks of KV that each instance keeps for prefixes."""
    block_tokens: int = 64
    prefill_fixed_s: float = 0.0
    token_s_per_running: float = 0.0
    gateway_s: float = 0.0
    """What passes in the gateway and on the way; part of all latencies, not simulated as a queue [s]."""
    policy: str = "cost_based"
    """One of `POLICIES`."""
    choices: int = 2
    """Instances that ``power_of_two`` draws."""
    load_bound: float | None = None
    """An affinity policy passes over instances with more than this × the mean requests; None: 1.25 for
    ``consistent_hash``, no bound for ``prefix_aware`` and ``cost_based``."""
    hot_prefix_cap: float = 0.0
    """The most that one instance may take of one shared prefix, in units of the fleet's mean request rate per
    instance (1.25: a prefix with 5 % of the traffic of 200 instances spreads over at least 8); 0: no cap."""
    hash_by_session: bool = False
    """Whether ``consistent_hash`` uses the session as its key rather than the shared prefix."""
    hash_points: int = 100
    """Points of each instance on the hash ring."""
    routers: int = 1
    routers_in_turn: bool = False
    """Whether the balancer in front of the routers takes them in turn; else by chance."""
    view_period_s: float = 0.0
    """How often each router learns the loads (staggered) [s]; 0: it always knows them."""
    count_own: bool = True
    """Whether a router adds what it sent itself to an old view."""
    index_period_s: float = 0.0
    """How often the index learns what the caches hold [s]; 0: at once."""
    index_own: bool = False
    """Whether a sent prompt counts as cached where it went until the next refresh of the index."""
    ttft_slo_s: float = math.inf
    """A request whose first token comes within this is good [s]."""
    queue_limit: int = 1_000_000_000
    """An instance with so many requests waiting or in prefill refuses more: the gateway turns them away."""
    low_priority_limit: int = 1_000_000_000
    """The same for requests of low priority."""
    priority_queues: bool = False
    """Whether important requests overtake the others in an instance's queue."""
    drop_expired: bool = False
    """Whether a request that has waited longer than ``ttft_slo_s`` is turned away when its turn comes."""
    admit_within_s: float = math.inf
    """Turn a request away at once when queue and prefill at the chosen instance would take longer than this [s]."""
    retries: int = 0
    """Attempts after the first for a request that failed before its first token."""
    retry_budget: float = 0.2
    """Retries may be at most this share of the requests that arrive (a burst of 100 is allowed)."""
    resume: bool = False
    """Whether the gateway resumes a broken stream elsewhere from prompt and tokens so far; else the client gets an
    error."""
    most_resumes: int = 3
    """Attempts in all after which a broken stream is given up."""
    timeout_s: float = 30.0
    """How long the gateway waits for an instance that gives no answer [s]."""
    canary_factor: float = 1.0
    """Factor on all times of instances that run version B."""
    canary_by_session: bool = True
    """Whether a session keeps its version; else each request draws one."""
    eased_until_s: float = 0.0
    """Until then prefill takes ``easing`` of its time: a fleet sized for warm caches, switched on with empty ones at
    full load, would begin with a queue that it may never work off [s of simulated time]."""
    easing: float = 1.0
    health: Health = field(default_factory=Health)

    def __post_init__(self) -> None:
        for name in ("instances", "slots", "cache_blocks", "block_tokens", "choices", "hash_points", "routers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, is {getattr(self, name)}")
        for name in ("prefill_s_per_token", "prefill_fixed_s", "token_s", "token_s_per_running", "gateway_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite time of at least 0, is {value}")
        if self.prefill_s_per_token + self.prefill_fixed_s <= 0:
            raise ValueError("prefill must take time: prefill_s_per_token and prefill_fixed_s are both 0")
        for name in (
            "view_period_s",
            "index_period_s",
            "hot_prefix_cap",
            "retry_budget",
            "retries",
            "queue_limit",
            "eased_until_s",
            "easing",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, is {getattr(self, name)}")
        if self.policy not in CODES:
            raise ValueError(f"policy must be one of {', '.join(CODES)}, is {self.policy}")
        if self.load_bound is not None and not self.load_bound >= 1:
            raise ValueError(f"load_bound must be at least 1, is {self.load_bound}")
        for name in ("canary_factor", "timeout_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, is {getattr(self, name)}")

    @property
    def bound(self) -> float:
        """The bound on load that holds for the policy."""
        if self.load_bound is not None:
            return self.load_bound
        return 1.25 if self.policy == "consistent_hash" else math.inf
