"""Names, units and directions of the figures of routing and of the index."""

from __future__ import annotations

from planner.core.result import Direction, MetricDef
from planner.core.text import gettext_noop as _

ROUTING = _("Routing")
INDEX = _("Index")


def share(name: str, label: str, *, group: str, direction: Direction = "higher", help: str = "") -> MetricDef:
    """A metric that is a share."""
    return MetricDef(name, label, "ratio", direction, group, help=help)


def seconds(name: str, label: str, *, group: str, help: str = "", formula: str = "") -> MetricDef:
    """A metric that is a time; less is better."""
    return MetricDef(name, label, "s", "lower", group, help=help, formula=formula)


_OF_PROMPT = _("Of all prompt tokens.")

ROUTING_METRICS: tuple[MetricDef, ...] = (
    share("hit_share", _("Prompt tokens hit"), group=ROUTING, help=_("Delivered by the policy of this design.")),
    share("hit_share_held", _("Held by the fleet"), group=ROUTING, help=_("If every request found the best cache.")),
    share("hit_share_captured", _("Captured by routing"), group=ROUTING, help=_("Before what was evicted meanwhile.")),
    share("hit_share_random", _("Hit with random routing"), group=ROUTING, help=_OF_PROMPT),
    share("prefix_hit_share", _("Shared prefixes found"), group=ROUTING, help=_("Of the tokens of shared prefixes.")),
    share("history_hit_share", _("Histories found"), group=ROUTING, help=_("Of what a session sent before.")),
    share("reusable_share", _("Reusable"), group=ROUTING, direction="none", help=_("Prompt tokens sent before.")),
    MetricDef(
        "retention_s",
        _("Caches keep an entry for"),
        "s",
        "higher",
        ROUTING,
        help=_("After its last touch; none where everything fits."),
    ),
    share("instance_utilisation", _("Instances busy"), group=ROUTING, direction="lower"),
    share("prefill_utilisation", _("Of it prefill"), group=ROUTING, direction="none"),
    seconds("prefill_wait_s", _("Wait for prefill, mean"), group=ROUTING),
    seconds("ttft_mean_s", _("TTFT, mean"), group=ROUTING, help=_("Gateway, wait and prefill.")),
    seconds("ttft_p99_s", _("TTFT P99"), group=ROUTING),
    MetricDef(
        "load_skew",
        _("Fullest instance"),
        "× mean",
        "lower",
        ROUTING,
        help=_("Mean load of the fullest instance over the mean of all."),
    ),
    MetricDef(
        "max_rps", _("Instances saturate at"), "req/s", "higher", ROUTING, help=_("With the policy of this design.")
    ),
    MetricDef("relative_capacity", _("Capacity over random's"), "×", "higher", ROUTING),
    MetricDef(
        "affinity_gain",
        _("Most that affinity can gain"),
        "×",
        "none",
        ROUTING,
        formula="1 / (1 − φ (h_a − h_r) u / (1 − u h_r))",
        help=_("Below 1.03 all policies tie."),
    ),
    MetricDef(
        "instances_needed",
        _("Instances the peak saturates"),
        "instances",
        "lower",
        ROUTING,
        help=_("With the policy of this design, without headroom."),
    ),
    MetricDef("instances_needed_random", _("The same with random routing"), "instances", "none", ROUTING),
)

INDEX_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "blocks_per_request",
        _("Blocks of a prompt"),
        "blocks",
        "none",
        INDEX,
        formula="⌊input / block⌋",
        whole=True,
    ),
    MetricDef(
        "lookups_per_s_per_instance_probing",
        _("Look-ups, asking each instance"),
        "1/s",
        "lower",
        INDEX,
        help=_("If every instance were asked for every block of a prompt."),
        formula="rate × blocks × instances",
    ),
    MetricDef(
        "lookups_per_s_prefix_tree",
        _("Look-ups, one prefix tree"),
        "1/s",
        "lower",
        INDEX,
        help=_("One walk a request, whatever the number of instances."),
        formula="rate × blocks",
    ),
    MetricDef("index_nodes", _("Nodes of the index"), "nodes", "lower", INDEX, formula="instances × KV tokens / block"),
    MetricDef("index_bytes", _("Size of the index"), "bytes", "lower", INDEX, formula="nodes × bytes a node"),
    MetricDef(
        "index_events_per_s",
        _("KV events of the fleet"),
        "1/s",
        "lower",
        INDEX,
        help=_("A block stored and a block evicted for each that misses; every copy of the index hears them all."),
        formula="2 × rate × ((1 − hit) × input + output) / block",
    ),
    MetricDef("index_events_per_s_per_instance", _("KV events of an instance"), "1/s", "none", INDEX),
    share("index_intake", _("Updates of an index"), group=INDEX, direction="lower", help=_("Of what it can take.")),
    share(
        "index_stale_share",
        _("Hits lost to the lag"),
        group=INDEX,
        direction="lower",
        help=_("Evicted after the index last heard."),
    ),
    MetricDef(
        "duplicate_prefills",
        _("A new hot prefix, computed too often"),
        "times",
        "lower",
        INDEX,
        help=_("By those who ask for the hottest prefix before the index knows it."),
        formula="rate of the prefix × lag",
    ),
)
