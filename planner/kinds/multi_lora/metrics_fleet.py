"""Metrics of the fleet, its latencies, tenants and money."""

from __future__ import annotations

from planner.core.result import Direction, MetricDef
from planner.core.text import gettext_noop as _

FLEET = _("Fleet")
LATENCY = _("Latency")
TENANTS = _("Tenants")
MONEY = _("Money")


def seconds(name: str, label: str, *, group: str = LATENCY, help: str = "", formula: str = "") -> MetricDef:
    """A time that is better short."""
    return MetricDef(name, label, "s", "lower", group, help=help, formula=formula)


def share(name: str, label: str, *, group: str, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A share of a whole."""
    return MetricDef(name, label, "ratio", direction, group, help=help)


def bill(name: str, label: str, *, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A part of the bill."""
    return MetricDef(f"{name}_usd_per_h", label, "USD/h", direction, MONEY, help=help)


FLEET_METRICS: tuple[MetricDef, ...] = (
    MetricDef("replicas", _("Replicas"), "replicas", "lower", FLEET, help=_("With spare ones."), whole=True),
    MetricDef(
        "replicas_needed",
        _("Replicas needed"),
        "replicas",
        "lower",
        FLEET,
        formula="least M with load × (1 + headroom) / M ≤ what one does in time",
        whole=True,
    ),
    MetricDef("gpus", _("GPUs"), "GPUs", "lower", FLEET, help=_("With cold-start replicas."), whole=True),
    MetricDef(
        "replica_max_rps",
        _("A replica does in time"),
        "req/s",
        "higher",
        FLEET,
        help=_("Within TPOT, KV memory and the running cap, and with slots for two deviations above what runs."),
    ),
    MetricDef("max_rps", _("The fleet does in time"), "req/s", "higher", FLEET),
    MetricDef(
        "full_rps",
        _("The fleet does late"),
        "req/s",
        "higher",
        FLEET,
        help=_("With all places taken: above what it does in time, tokens are late or requests wait for slots."),
    ),
    MetricDef("served_rps", _("Served"), "req/s", "higher", FLEET, help=_("Of the load, in time or late.")),
    share("utilisation", _("Load over what it does in time"), group=FLEET, help=_("Of the busiest replica.")),
    share("utilisation_one_lost", _("The same, one replica lost"), group=FLEET),
    share("cold_utilisation", _("Cold-start replicas in use"), group=FLEET),
    MetricDef("load_imbalance", _("Busiest replica"), "× mean", "lower", FLEET),
    MetricDef("running", _("Running requests of a replica"), "requests", "none", FLEET),
    MetricDef("places", _("Running requests that fit"), "requests", "higher", FLEET, help=_("KV memory or the cap.")),
    share("prefill_share", _("Time in prefill"), group=FLEET, direction="none"),
)

LATENCY_METRICS: tuple[MetricDef, ...] = (
    seconds("tpot_s", _("TPOT"), formula="step + running × prefill / answer"),
    seconds("ttft_mean_s", _("TTFT, mean")),
    seconds("ttft_p50_s", _("TTFT P50")),
    seconds("ttft_p99_s", _("TTFT P99")),
    seconds("ttft_hot_s", _("TTFT, adapter on the GPU"), help=_("Mean; queue, prefill and first step.")),
    seconds("ttft_warm_s", _("TTFT, adapter in host memory"), help=_("The same, a slot and the copy.")),
    seconds("ttft_cold_s", _("TTFT, adapter in the store"), help=_("The same and the download.")),
    seconds("queue_s", _("Wait for prefill and a place, mean")),
    seconds("prefill_s", _("Prefill, mean")),
    seconds("slot_wait_s", _("Wait for a slot, mean"), help=_("Over all requests: until another adapter drains.")),
    seconds("slot_wait_p99_s", _("Wait for a slot, P99")),
    seconds("swap_s", _("Swap-in with its overhead"), formula="copies × overhead + bytes / bandwidth"),
    MetricDef("swap_copies", _("Copies of a swap"), "copies", "lower", LATENCY, whole=True),
    seconds("cold_load_s", _("Download and reading"), formula="first byte + bytes / (connections × rate) + reading"),
    MetricDef("swaps_per_s", _("Swaps of a replica"), "1/s", "lower", LATENCY),
    MetricDef("cold_loads_per_h", _("Cold loads of the fleet"), "1/h", "lower", LATENCY),
    share("link_utilisation", _("Host link in use"), group=LATENCY),
)

TENANT_METRICS: tuple[MetricDef, ...] = (
    share("largest_tenant_share", _("Largest tenant"), group=TENANTS, direction="none", help=_("Of the requests.")),
    MetricDef(
        "fairness_bound_tokens",
        _("Two busy tenants differ at most by"),
        "tokens",
        "lower",
        TENANTS,
        help=_("Of weighted service, at any time."),
        formula="2 × max(w_p × longest prompt, w_q × tokens of a batch)",
    ),
    MetricDef(
        "guaranteed_rps",
        _("A tenant gets at least"),
        "req/s",
        "higher",
        TENANTS,
        help=_("When all tenants always have requests waiting."),
        formula="what it does in time × weight / Σ weights",
    ),
    MetricDef("guaranteed_premium_rps", _("A premium tenant gets at least"), "req/s", "higher", TENANTS),
    share("noisy_utilisation", _("In use with a noisy tenant"), group=TENANTS, help=_("What all ask, over capacity.")),
    share(
        "noisy_others_served",
        _("The others are served"),
        group=TENANTS,
        direction="higher",
        help=_("Share of their requests that gets through while the noisy tenant sends."),
    ),
    MetricDef("noisy_slots", _("Slots a noisy tenant holds"), "slots", "lower", TENANTS, help=_("Of each replica.")),
    MetricDef(
        "noisy_slot_pressure",
        _("Running adapters over slots, with a noisy tenant"),
        "ratio",
        "lower",
        TENANTS,
    ),
    share("refused_share", _("Refused by rate limits"), group=TENANTS),
    share("hottest_share", _("Most popular adapter"), group=TENANTS, direction="none", help=_("Of the requests.")),
    MetricDef(
        "dedicated_saves_replicas",
        _("Merged into its own replicas, it saves"),
        "replicas",
        "higher",
        TENANTS,
        help=_("Of the most popular adapter; below zero it costs."),
    ),
)

MONEY_METRICS: tuple[MetricDef, ...] = (
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY),
    MetricDef("cost_usd_per_month", _("Month"), "USD/month", "lower", MONEY, help=_("730 hours.")),
    MetricDef("cost_usd_per_m_output_tokens", _("Cost, output tokens"), "USD/M output tokens", "lower", MONEY),
    MetricDef("cost_usd_per_m_tokens", _("Cost, all tokens"), "USD/M tokens", "lower", MONEY),
    bill("base", _("Bill: the base"), direction="none", help=_("GPU time without adapters. The parts sum.")),
    bill("adapter_steps", _("Bill: longer steps"), help=_("What adapters add to steps.")),
    bill("slot_rent", _("Bill: slots"), help=_("GPU time by the share of memory that slots take.")),
    bill("loads", _("Bill: loads"), help=_("GPU time that waits for copies.")),
    bill("idle", _("Bill: bought, not used")),
    bill("spare", _("Bill: spare and cold-start replicas")),
)
