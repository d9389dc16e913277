"""What one decides about routing: load, instances and their caches, index, policy and objective."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, choice, quantity
from planner.core.text import gettext_noop as _

LOAD = _("Load")
REUSE = _("What prompts share")
INSTANCES = _("Instances")
INDEX = _("Index of cached prefixes")
ROUTING = _("Routing")

POLICY_LABELS = {
    "random": _("Random"),
    "round_robin": _("Round robin"),
    "least_requests": _("Least requests"),
    "power_of_two": _("Power of two choices"),
    "bounded_hash": _("Bounded-load hash"),
    "prefix_aware": _("Longest prefix"),
    "cost_based": _("Cost: queue + prefill"),
}
Policy = Literal[
    "random", "round_robin", "least_requests", "power_of_two", "bounded_hash", "prefix_aware", "cost_based"
]


class Inputs(Spec):
    """The inputs of routing; those of the gateway itself are added by `inputs_gateway` and `spec`."""

    peak_rps: float = quantity(
        5000.0,
        label=_("Peak rate"),
        group=LOAD,
        unit="req/s",
        ge=0,
        le=1e7,
        help=_("Requests a second at the busiest time; zero is allowed."),
    )
    input_tokens: float = quantity(
        4096.0, label=_("Prompt, mean"), group=LOAD, unit="tokens", ge=1, le=1e7, help=_("Shared parts included.")
    )
    input_sigma: float = quantity(
        0.5,
        label=_("Spread of new tokens"),
        group=LOAD,
        unit="σ of log",
        ge=0,
        le=2,
        help=_("Log-normal lengths of what a turn adds to its prompt."),
    )
    output_tokens: float = quantity(400.0, label=_("Output, mean"), group=LOAD, unit="tokens", ge=0, le=1e7)
    output_sigma: float = quantity(
        0.8,
        label=_("Output spread"),
        group=LOAD,
        unit="σ of log",
        ge=0,
        le=2,
        help=_("Log-normal lengths of answers. They decide how old a broken stream is."),
    )
    ttft_s: float = quantity(
        0.5,
        label=_("TTFT of open streams"),
        group=LOAD,
        unit="s",
        shown="ms",
        ge=0,
        le=600,
        help=_("Measured or expected; with TPOT it says how long a stream stays open."),
    )
    tpot_s: float = quantity(0.03, label=_("TPOT"), group=LOAD, unit="s", shown="ms", ge=0.0001, le=10)
    ttft_p99_slo_s: float = quantity(2.0, label=_("TTFT P99 within"), group=LOAD, unit="s", gt=0, le=600)

    prefix_groups: int = quantity(
        2000,
        label=_("Shared prefixes"),
        group=REUSE,
        unit="prefixes",
        ge=0,
        le=1_000_000,
        help=_("System prompts, tools and documents that many sessions start with."),
    )
    prefix_exponent: float = quantity(
        1.0,
        label=_("Popularity, Zipf exponent"),
        group=REUSE,
        ge=0,
        le=4,
        help=_("0: all prefixes alike; 1: with 2,000 of them the first takes 12 % of the sessions."),
    )
    prefix_tokens: float = quantity(
        2048.0,
        label=_("Length of a shared prefix"),
        group=REUSE,
        unit="tokens",
        ge=0,
        le=1e7,
        help=_("Part of the prompt; 32 blocks of 64 tokens."),
    )
    turns: float = quantity(
        4.0,
        label=_("Turns of a session, mean"),
        group=REUSE,
        unit="turns",
        ge=1,
        le=1000,
        help=_(
            "Geometric. Each turn repeats the prompt and the answer before it and adds an equal share of the prompt "
            "beyond the prefix."
        ),
    )
    gap_s: float = quantity(
        20.0,
        label=_("Gap between turns, mean"),
        group=REUSE,
        unit="s",
        gt=0,
        le=1e6,
        help=_("From one request of a session to its next; 10 s is usual of agents, minutes of people."),
    )
    gap_sigma: float | None = quantity(
        None,
        label=_("Spread of the gap"),
        group=REUSE,
        unit="σ of log",
        ge=0.01,
        le=3,
        empty=_("exponential"),
        help=_("Given, gaps are log-normal: 1 to 1.5 is usual of people."),
    )

    instances: int = quantity(200, label=_("Instances"), group=INSTANCES, unit="instances", ge=1, le=100_000)
    kv_tokens_per_instance: int = quantity(
        2_000_000,
        label=_("KV cache of an instance"),
        group=INSTANCES,
        unit="tokens",
        ge=0,
        le=1_000_000_000_000,
        help=_("Tokens whose KV an instance keeps for reuse, in memory and behind it."),
    )
    prefill_tokens_per_s: float = quantity(
        100_000.0,
        label=_("Prefill of an instance"),
        group=INSTANCES,
        unit="tok/s",
        gt=0,
        le=1e9,
        help=_(
            "Computed tokens a second when it does nothing else. An estimate: eight H100 with an LLM of 8 B "
            "parameters; take the figure of your instance."
        ),
    )
    decode_tokens_per_s: float = quantity(
        40_000.0,
        label=_("Decode of an instance"),
        group=INSTANCES,
        unit="tok/s",
        gt=0,
        le=1e9,
        help=_("Output tokens a second at the TPOT when it does nothing else; an estimate like the prefill."),
    )

    block_tokens: int = quantity(64, label=_("Block"), group=INDEX, unit="tokens", ge=1, le=65_536)
    index_bytes_per_node: float = quantity(
        64.0,
        label=_("Node of the index"),
        group=INDEX,
        unit="bytes",
        shown="B",
        ge=1,
        le=1e6,
        help=_("One node a cached block. 31 B measured of a compact index, 27 KB of one with eager maps (dynamo)."),
    )
    index_place: Literal["service", "in_process", "approximate"] = choice(
        "service",
        label=_("Where it lives"),
        group=INDEX,
        labels={
            "service": _("A service that all gateways ask"),
            "in_process": _("In each gateway, fed by KV events"),
            "approximate": _("In each gateway, from its own decisions"),
        },
    )
    index_hop_s: float = quantity(
        0.0005, label=_("Hop to the service"), group=INDEX, unit="s", shown="ms", ge=0, le=1, advanced=True
    )
    event_lag_s: float = quantity(
        0.05,
        label=_("Lag of KV events"),
        group=INDEX,
        unit="s",
        shown="ms",
        ge=0,
        le=600,
        advanced=True,
        help=_("From a block stored or evicted to the index that knows of it."),
    )
    index_own: Literal["on", "off"] = choice(
        "on",
        label=_("Dispatched prompts count"),
        group=INDEX,
        labels={"on": _("At once"), "off": _("When the event comes")},
        help=_("Whether a prompt that was sent somewhere is taken as cached there before the event says so."),
        advanced=True,
    )
    index_updates_per_s: float = quantity(
        13e6,
        label=_("Block updates an index takes"),
        group=INDEX,
        unit="1/s",
        gt=0,
        le=1e12,
        advanced=True,
        help=_("13 M block operations a second, measured of a concurrent radix index (dynamo)."),
    )

    policy: Policy = choice("cost_based", label=_("Policy"), group=ROUTING, labels=POLICY_LABELS)
    hash_key: Literal["prefix", "session"] = choice(
        "prefix",
        label=_("Hash of"),
        group=ROUTING,
        labels={"prefix": _("Shared prefix"), "session": _("Session")},
        help=_("What the bounded-load hash keeps together."),
    )
    load_bound: float = quantity(
        1.25,
        label=_("Bound of the hash"),
        group=ROUTING,
        unit="× mean",
        ge=1.01,
        le=100,
        help=_("The hash passes on what would give an instance more open requests than this."),
    )
    hot_prefix_cap: float | None = quantity(
        1.25,
        label=_("Hot-prefix cap"),
        group=ROUTING,
        unit="× mean",
        ge=0.1,
        le=1000,
        empty=_("none"),
        help=_("The most load that one prefix may put on one instance; hotter ones are copied. Empty: no cap."),
    )
    view_interval_s: float = quantity(
        0.1,
        label=_("Loads are reported every"),
        group=ROUTING,
        unit="s",
        shown="ms",
        ge=0,
        le=600,
        help=_("How old the picture of queues is that each gateway routes by."),
    )
    own_dispatches: Literal["counted", "not_counted"] = choice(
        "counted",
        label=_("Own dispatches since"),
        group=ROUTING,
        labels={"counted": _("Counted"), "not_counted": _("Not counted")},
        help=_("Whether a gateway adds what it sent itself to the last report."),
        advanced=True,
    )
