"""The metrics of a pool: names are a contract of the API, units are base units."""

from __future__ import annotations

from planner.core.result import Basis, Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.metrics_serving import SERVED, TIER_NAMES, each

TIERS = _("What the tiers hold")
HITS = _("Hits")
FETCH = _("Fetch or recompute")
WRITES = _("Writes")
INDEX = _("Blocks and metadata")
CHANGE = _("Upgrade and failure")

_TIERS = TIER_NAMES
_POOL = _TIERS[1:]


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
    *each(
        _TIERS,
        "{}_sessions",
        (_("Sessions in HBM"), _("Sessions in DRAM"), _("Sessions in SSD")),
        "sessions",
        "higher",
        TIERS,
        formula="capacity / KV of a session",
    ),
    *each(
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
    *each(
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
    *each(
        _POOL,
        "{}_read_s",
        (_("Reading it from DRAM"), _("Reading it from SSD")),
        "s",
        "lower",
        FETCH,
        help=_("Idle links, without latency."),
        formula="KV of a session / bandwidth of a node",
    ),
    *each(
        _POOL,
        "{}_fetch_s",
        (_("From DRAM, as loaded"), _("From SSD, as loaded")),
        "s",
        "lower",
        FETCH,
        help=_("With latency and the design's own traffic on the link."),
    ),
    *each(
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
    *each(
        _POOL,
        "{}_bytes_per_s",
        (_("DRAM, bandwidth of a prompt"), _("SSD, bandwidth of a prompt")),
        "bytes/s",
        "higher",
        FETCH,
        help=_("As loaded."),
    ),
    *each(
        _POOL,
        "{}_break_even_tokens",
        (_("DRAM: reading pays from"), _("SSD: reading pays from")),
        "tokens",
        "lower",
        FETCH,
        help=_("n*; none where computing is quicker at any length."),
    ),
    *each(_POOL, "{}_link_utilisation", (_("DRAM links in use"), _("SSD links in use")), "ratio", "lower", FETCH),
    MetricDef("network_utilisation", _("Network in use"), "ratio", "lower", FETCH, help=_("Reads from other nodes.")),
    *SERVED,
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
