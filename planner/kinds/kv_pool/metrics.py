"""The metrics of a pool: names are a contract of the API, units are base units."""

from __future__ import annotations

from planner.core.result import Basis, Direction, Metric, MetricDef
from planner.core.text import gettext_noop as _

TIERS = _("What the tiers hold")
HITS = _("Hits")
FETCH = _("Fetch or recompute")
SERVING = _("Serving")
MONEY = _("Money")
WRITES = _("Writes")
INDEX = _("Blocks and metadata")
CHANGE = _("Upgrade and failure")

_TIERS = ("hbm", "dram", "ssd")
_POOL = _TIERS[1:]


def _each(
    tiers: tuple[str, ...],
    name: str,
    labels: tuple[str, ...],
    unit: str,
    direction: Direction,
    group: str,
    *,
    help: str = "",
    formula: str = "",
) -> tuple[MetricDef, ...]:
    """One metric for each tier; ``{}`` in the name is the tier."""
    return tuple(
        MetricDef(name.format(tier), label, unit, direction, group, help=help, formula=formula)
        for tier, label in zip(tiers, labels, strict=True)
    )


METRICS: tuple[MetricDef, ...] = (
    MetricDef("context_tokens", _("Context, mean"), "tokens", "none", TIERS, help=_("Prompt and answer.")),
    MetricDef("prompt_tokens", _("Prompt, mean"), "tokens", "none", TIERS, help=_("Over all turns, first ones too.")),
    MetricDef(
        "session_kv_bytes",
        _("KV of a session"),
        "bytes",
        "lower",
        TIERS,
        help=_("At the mean context, one copy."),
        formula="context × KV per token",
    ),
    *_each(
        _TIERS,
        "{}_sessions",
        (_("Sessions in HBM"), _("Sessions in DRAM"), _("Sessions in SSD")),
        "sessions",
        "higher",
        TIERS,
        formula="capacity / KV of a session",
    ),
    *_each(
        _TIERS,
        "{}_keep_s",
        (_("Kept down to HBM"), _("Kept down to DRAM"), _("Kept down to SSD")),
        "s",
        "higher",
        TIERS,
        help=_("How long an entry nobody asks for stays in this tier and those above; none when nothing is dropped."),
        formula="Σ occupancy(T) = capacity",
    ),
    MetricDef(
        "hit_share",
        _("Hits"),
        "ratio",
        "higher",
        HITS,
        help=_(
            "Of the tokens that a cache without limit would hold: an output, by what comes back and the capacities."
        ),
    ),
    *_each(
        _TIERS,
        "{}_hit_share",
        (_("Hits in HBM"), _("Hits in DRAM"), _("Hits in SSD")),
        "ratio",
        "none",
        HITS,
        help=_("What this tier adds."),
    ),
    MetricDef("miss_share", _("Reusable, but gone"), "ratio", "lower", HITS),
    MetricDef(
        "reusable_share",
        _("Reusable"),
        "ratio",
        "none",
        HITS,
        help=_("Of the prompt tokens, those that some turn before has computed."),
    ),
    MetricDef(
        "prefix_hit_rate",
        _("Prompt tokens not computed"),
        "ratio",
        "higher",
        HITS,
        help=_("What a serving design calls its prefix hit rate: read from the cache, tails of blocks taken off."),
    ),
    MetricDef("lru_hit_share", _("Hits, least recently used"), "ratio", "higher", HITS),
    MetricDef("ttl_hit_share", _("Hits, after a fixed time"), "ratio", "higher", HITS),
    MetricDef("value_hit_share", _("Hits, by value"), "ratio", "higher", HITS),
    MetricDef(
        "recompute_s",
        _("Computing a context"),
        "s",
        "lower",
        FETCH,
        formula="2 × parameters × tokens / (GPUs × peak × MFU)",
    ),
    *_each(
        _POOL,
        "{}_read_s",
        (_("Reading it from DRAM"), _("Reading it from SSD")),
        "s",
        "lower",
        FETCH,
        help=_("Idle links, without latency."),
        formula="KV of a session / bandwidth of a node",
    ),
    *_each(
        _POOL,
        "{}_fetch_s",
        (_("From DRAM, as loaded"), _("From SSD, as loaded")),
        "s",
        "lower",
        FETCH,
        help=_("With latency and the design's own traffic on the link."),
    ),
    *_each(
        _POOL,
        "{}_speedup",
        (_("DRAM over computing"), _("SSD over computing")),
        "×",
        "higher",
        FETCH,
        help=_("As loaded."),
    ),
    MetricDef(
        "least_bytes_per_s",
        _("Bandwidth that pays"),
        "bytes/s",
        "lower",
        FETCH,
        help=_("B_min: above it reading is quicker than computing, whatever the length (but for latency)."),
        formula="KV per token / compute time of a token",
    ),
    *_each(
        _POOL,
        "{}_bytes_per_s",
        (_("DRAM, bandwidth of a prompt"), _("SSD, bandwidth of a prompt")),
        "bytes/s",
        "higher",
        FETCH,
        help=_("As loaded."),
    ),
    *_each(
        _POOL,
        "{}_break_even_tokens",
        (_("DRAM: reading pays from"), _("SSD: reading pays from")),
        "tokens",
        "lower",
        FETCH,
        help=_("n*; none where computing is quicker at any length."),
    ),
    *_each(_POOL, "{}_link_utilisation", (_("DRAM links in use"), _("SSD links in use")), "ratio", "lower", FETCH),
    MetricDef("network_utilisation", _("Network in use"), "ratio", "lower", FETCH, help=_("Reads from other nodes.")),
    *_each(
        ("mean", "p50", "p90", "p99"),
        "ttft_{}_s",
        (_("TTFT, mean"), _("TTFT P50"), _("TTFT P90"), _("TTFT P99")),
        "s",
        "lower",
        SERVING,
    ),
    *_each(
        ("p50", "p90", "p99"),
        "ttft_{}_without_pool_s",
        (_("TTFT P50, no pool"), _("TTFT P90, no pool"), _("TTFT P99, no pool")),
        "s",
        "lower",
        SERVING,
        help=_("Prefixes in HBM only, on a prefill fleet sized for that."),
    ),
    MetricDef(
        "prefill_gpus_needed",
        _("GPUs busy with prefill"),
        "GPUs",
        "lower",
        SERVING,
        formula="turns/s × GPU time of a turn",
    ),
    MetricDef("prefill_units", _("Prefill units"), "units", "lower", SERVING, whole=True),
    MetricDef("prefill_gpus", _("GPUs for prefill"), "GPUs", "lower", SERVING, whole=True),
    MetricDef("prefill_utilisation", _("Prefill in use"), "ratio", "none", SERVING),
    MetricDef(
        "prefill_gpus_without_pool", _("GPUs for prefill without the pool"), "GPUs", "lower", SERVING, whole=True
    ),
    MetricDef(
        "gpus_saved",
        _("GPUs saved"),
        "GPUs",
        "higher",
        SERVING,
        whole=True,
        help=_("Prefill fleets, each sized for its work with the same headroom."),
    ),
    MetricDef("compute_saved_share", _("Prefill work saved"), "ratio", "higher", SERVING),
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY, help=_("Prefill fleet and tiers; no decode.")),
    MetricDef("cost_usd_per_month", _("Month"), "USD/month", "lower", MONEY, help=_("730 hours.")),
    MetricDef("cost_usd_per_m_input_tokens", _("Cost, input tokens"), "USD/M input tokens", "lower", MONEY),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "USD/M output tokens",
        "lower",
        MONEY,
        help=_("The same bill over the answers: what prefill and pool add to a price by output."),
    ),
    MetricDef("cost_without_pool_usd_per_h", _("Cost without the pool"), "USD/h", "lower", MONEY),
    MetricDef("saving_usd_per_h", _("Saved by the pool"), "USD/h", "higher", MONEY),
    MetricDef("tiers_usd_per_month", _("Tiers"), "USD/month", "lower", MONEY),
    MetricDef(
        "new_usd_per_h", _("Bill: new tokens"), "USD/h", "none", MONEY, help=_("The five parts sum to the bill.")
    ),
    MetricDef("again_usd_per_h", _("Bill: computed again"), "USD/h", "lower", MONEY, help=_("Misses, tails, waits.")),
    MetricDef("idle_usd_per_h", _("Bill: headroom and whole units"), "USD/h", "lower", MONEY),
    MetricDef("dram_usd_per_h", _("Bill: DRAM"), "USD/h", "lower", MONEY),
    MetricDef("ssd_usd_per_h", _("Bill: SSD"), "USD/h", "lower", MONEY),
    *_each(
        _TIERS,
        "{}_tb_gpu_s_per_s",
        (_("GPUs freed by 1 TB more HBM"), _("GPUs freed by 1 TB more DRAM"), _("GPUs freed by 1 TB more SSD")),
        "GPUs/TB",
        "higher",
        MONEY,
        help=_("If nothing lay below this tier."),
        formula="reusable tokens/s × dh/dC × GPU time of a token",
    ),
    *_each(
        _TIERS,
        "{}_tb_usd_per_month",
        (_("Worth of 1 TB more HBM"), _("Worth of 1 TB more DRAM"), _("Worth of 1 TB more SSD")),
        "USD/month/TB",
        "higher",
        MONEY,
        help=_("If nothing lay below this tier."),
    ),
    MetricDef(
        "write_bytes_per_s",
        _("Written into the pool"),
        "bytes/s",
        "lower",
        WRITES,
        help=_("What enters it first: DRAM, or SSD without one."),
    ),
    MetricDef("ssd_write_bytes_per_s", _("Written to SSD"), "bytes/s", "lower", WRITES),
    MetricDef("ssd_write_utilisation", _("Write bandwidth of SSD in use"), "ratio", "lower", WRITES),
    MetricDef("write_network_share", _("Network taken by writes"), "ratio", "lower", WRITES),
    MetricDef(
        "shareable_after_s", _("Readable elsewhere after"), "s", "lower", WRITES, help=_("A turn's KV, at the latest.")
    ),
    MetricDef(
        "loss_window_bytes", _("Lost with a node"), "bytes", "lower", WRITES, help=_("Not yet written anywhere else.")
    ),
    MetricDef(
        "ssd_writes_per_day", _("Drive writes a day"), "writes/d", "lower", WRITES, formula="bytes a day / capacity"
    ),
    MetricDef("ssd_life_years", _("SSD life, rated"), "years", "higher", WRITES),
    MetricDef(
        "ssd_life_optimistic_years",
        _("SSD life, large extents"),
        "years",
        "higher",
        WRITES,
        help=_("Five times the rated: sequential extents on the same drives."),
    ),
    MetricDef("entries", _("Blocks in the pool"), "blocks", "none", INDEX, formula="capacity / (block × KV per token)"),
    MetricDef("metadata_bytes", _("Metadata"), "bytes", "lower", INDEX),
    MetricDef("lookups_per_s", _("Look-ups"), "1/s", "lower", INDEX, formula="turns/s × prompt / block"),
    MetricDef("tail_tokens", _("Lost at the end of a prefix"), "tokens", "lower", INDEX, formula="(grain − 1) / 2"),
    MetricDef("block_bytes", _("KV of a block"), "bytes", "none", INDEX),
    MetricDef(
        "flush_tokens",
        _("Prefill until warm again"),
        "tokens",
        "lower",
        CHANGE,
        help=_("Beyond the usual, after all entries are lost or a new version starts cold."),
        formula="reusable tokens/s × E[G; G ≤ T]",
    ),
    MetricDef(
        "flush_surge",
        _("Prefill just after a flush"),
        "×",
        "lower",
        CHANGE,
        help=_("Over the usual."),
        formula="1 / (1 − u·h)",
    ),
    MetricDef(
        "flush_95_s", _("Warm again after"), "s", "lower", CHANGE, help=_("Until 95 % of the usual hits are back.")
    ),
    MetricDef(
        "safe_weight_step",
        _("Safe step of a canary"),
        "ratio",
        "higher",
        CHANGE,
        help=_("Traffic that may move to a cold version at once without overloading the prefill fleet."),
        formula="(1 / ρ − 1)(1 − u·h) / (u·h)",
    ),
    MetricDef(
        "canary_hit_share", _("Hits during the canary"), "ratio", "higher", CHANGE, help=_("Both versions warm.")
    ),
    MetricDef("node_loss_tokens", _("Prefill after a node is lost"), "tokens", "lower", CHANGE),
    MetricDef("node_loss_hit_share", _("Hits with a node less"), "ratio", "higher", CHANGE),
)

BY_NAME = {definition.name: definition for definition in METRICS}


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis = "assumed",
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name."""
    return Metric(
        BY_NAME[name], None if value is None else float(value), basis=basis, objective=objective, working=working
    )
