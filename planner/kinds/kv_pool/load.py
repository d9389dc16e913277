"""Inputs of the load: turns, what they carry, when they come back, and what else touches the pool."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _

LOAD = _("Load")
REUSE = _("Reuse")
OTHERS = _("Other traffic")


class LoadInputs(Spec):
    """Who asks, and what is asked again."""

    turns_per_s: float = quantity(
        100.0,
        label=_("Turns"),
        group=LOAD,
        unit="req/s",
        ge=0,
        le=1e6,
        help=_("Requests a second at the peak, of all sorts: one turn of a session is one request. Zero is allowed."),
    )
    context_tokens: float = quantity(
        8192.0,
        label=_("Context, mean"),
        group=LOAD,
        unit="tokens",
        ge=1,
        le=1e7,
        help=_("Tokens in the cache of a session after a turn: prompt and answer, averaged over turns."),
    )
    new_tokens: float = quantity(
        1000.0,
        label=_("New tokens a turn"),
        group=LOAD,
        unit="tokens",
        ge=0,
        le=1e7,
        help=_("What a turn adds to its session: the user's message, tool results and the answer."),
    )
    output_tokens: float = quantity(
        250.0,
        label=_("Answer, mean"),
        group=LOAD,
        unit="tokens",
        ge=0,
        le=1e7,
        help=_("The part of the new tokens that is written by the LLM and so is no prefill."),
    )

    source: Literal["sessions", "zipf", "trace"] = choice(
        "sessions",
        label=_("What is asked again"),
        group=REUSE,
        labels={"sessions": _("Sessions with pauses"), "zipf": _("Popular prefixes (Zipf)"), "trace": _("A trace")},
        help=_("The hit rate follows from this and from the capacities; it is no input."),
    )
    continue_probability: float = quantity(
        0.8,
        label=_("Another turn follows"),
        group=REUSE,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.999,
        help=_("After any turn; 80 % make five turns a session on average."),
    )
    gap_law: Literal["exponential", "lognormal", "hyperexponential"] = choice(
        "lognormal",
        label=_("Pauses between turns"),
        group=REUSE,
        labels={
            "exponential": _("Exponential"),
            "lognormal": _("Log-normal"),
            "hyperexponential": _("Bursts and pauses"),
        },
    )
    gap_s: float = quantity(
        300.0,
        label=_("Pause"),
        group=REUSE,
        unit="s",
        ge=1e-3,
        le=1e8,
        help=_(
            "Median of a log-normal law, mean of an exponential one, mean of the short pauses of a mixed one. The "
            "reference speaks of minutes to tens of minutes."
        ),
    )
    gap_sigma: float = quantity(
        1.2,
        label=_("Spread of pauses"),
        group=REUSE,
        unit="σ of log",
        ge=0,
        le=5,
        help=_("Of a log-normal law. 1.2: one pause in a hundred is longer than 16 medians."),
    )
    gap_long_s: float = quantity(
        3600.0,
        label=_("Long pause, mean"),
        group=REUSE,
        unit="s",
        ge=1e-3,
        le=1e8,
        help=_("Of the mixed law."),
        advanced=True,
    )
    gap_long_share: float = quantity(
        0.2,
        label=_("Share of long pauses"),
        group=REUSE,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("Of the mixed law."),
        advanced=True,
    )
    zipf_items: int = quantity(
        100_000,
        label=_("Prefixes"),
        group=REUSE,
        unit="prefixes",
        ge=1,
        le=1_000_000,
        help=_("Documents or prompts that requests begin with, each as long as the mean context."),
        advanced=True,
    )
    zipf_exponent: float = quantity(
        0.9,
        label=_("Zipf exponent"),
        group=REUSE,
        unit="exponent",
        ge=0,
        le=3,
        help=_("0: all alike; 1: the k-th is asked for 1/k as often as the first."),
        advanced=True,
    )
    workload: str | None = catalog_entry(
        None,
        label=_("Trace"),
        group=REUSE,
        table="workloads",
        empty=_("none"),
        help=_("A workload with block hashes. Its lengths and its reuse replace those above; the rate stays yours."),
        advanced=True,
    )

    shared_prefix_tokens: float = quantity(
        0.0,
        label=_("Shared prefix"),
        group=OTHERS,
        unit="tokens",
        ge=0,
        le=1e7,
        help=_("System prompt and tools at the head of every context, kept once for all sessions of a group."),
        advanced=True,
    )
    shared_prefix_groups: int = quantity(
        100,
        label=_("Different shared prefixes"),
        group=OTHERS,
        unit="prefixes",
        ge=1,
        le=100_000,
        help=_("Their popularity falls with the Zipf exponent."),
        advanced=True,
    )
    one_shot_share: float = quantity(
        0.0,
        label=_("One-shot requests"),
        group=OTHERS,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("Requests as long as the mean context that never come back: they fill the cache and hit nothing."),
        advanced=True,
    )
    agent_share: float = quantity(
        0.0,
        label=_("Turns of agents"),
        group=OTHERS,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("Of the turns of sessions: those whose pause is the time of a tool call."),
        advanced=True,
    )
    agent_gap_s: float = quantity(
        10.0,
        label=_("Pause of an agent, mean"),
        group=OTHERS,
        unit="s",
        ge=1e-3,
        le=1e8,
        help=_("Exponential."),
        advanced=True,
    )
    agent_continue_probability: float = quantity(
        0.875,
        label=_("Another turn of an agent follows"),
        group=OTHERS,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.999,
        help=_("87.5 % make eight turns on average."),
        advanced=True,
    )
