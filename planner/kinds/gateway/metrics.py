"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import Basis, Direction, Metric, MetricDef
from planner.core.text import gettext_noop as _

INDEX = _("Index")
REPLICAS = _("Replicas")
FAILURE = _("Failure")
MONEY = _("Money")


def count(
    name: str, label: str, unit: str, *, group: str, direction: Direction = "lower", help: str = "", formula: str = ""
) -> MetricDef:
    """A metric that is a whole number of things."""
    return MetricDef(name, label, unit, direction, group, help=help, formula=formula, whole=True)


def _bill(name: str, label: str, *, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A part of the bill."""
    return MetricDef(f"{name}_usd_per_h", label, "USD/h", direction, MONEY, help=help)


METRICS: tuple[MetricDef, ...] = (
    count(
        "blocks_per_request",
        _("Blocks of a prompt"),
        "blocks",
        group=INDEX,
        direction="none",
        formula="⌊input / block⌋",
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
        help=_("A block stored and a block evicted for each block that misses; each copy of the index hears them all."),
        formula="2 × rate × ((1 − hit) × input + output) / block",
    ),
    count("gateway_replicas", _("Gateway replicas"), "replicas", group=REPLICAS, formula="⌈largest need⌉ + spare"),
    MetricDef("replicas_needed", _("Replicas needed"), "replicas", "lower", REPLICAS),
    MetricDef("streams", _("Open streams"), "streams", "none", REPLICAS, formula="rate × (TTFT + output × TPOT)"),
    MetricDef(
        "events_per_s", _("Events of streams"), "1/s", "none", REPLICAS, formula="rate × output / tokens an event"
    ),
    MetricDef("cores_used", _("Cores used"), "cores", "lower", REPLICAS),
    MetricDef("busiest_utilisation", _("Fullest resource"), "ratio", "lower", REPLICAS),
    MetricDef(
        "survivor_utilisation",
        _("Fullest resource, one replica lost"),
        "ratio",
        "lower",
        REPLICAS,
        help=_("Of each replica left, while the clients of the lost one come back."),
    ),
    MetricDef(
        "requests_lost_before_ejection",
        _("Requests lost before ejection"),
        "requests",
        "lower",
        FAILURE,
        help=_("Sent to a dead instance until probes eject it, at most."),
        formula="rate / instances × probe interval × failures",
    ),
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY),
    MetricDef("cost_usd_per_month", _("Month"), "USD/month", "lower", MONEY, help=_("730 hours.")),
    MetricDef("cost_usd_per_m_requests", _("Cost, requests"), "USD/M requests", "lower", MONEY),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "USD/M output tokens",
        "lower",
        MONEY,
        help=_("The bill of this design over the output tokens of the peak."),
    ),
    _bill("replicas_used", _("Bill: replicas, used"), direction="none", help=_("The parts sum to the bill.")),
    _bill("replicas_headroom", _("Bill: replicas, headroom")),
    _bill("replicas_spare", _("Bill: spare replicas")),
    _bill("instances", _("Bill: instances"), direction="none"),
    _bill("egress", _("Bill: traffic out"), direction="none"),
)

BY_NAME = {definition.name: definition for definition in METRICS}


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis = "exact",
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name."""
    return Metric(BY_NAME[name], value, basis=basis, objective=objective, working=working)
