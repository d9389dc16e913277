"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import Basis, Direction, Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.metrics_failure import CANARY_METRICS, FAILURE_METRICS, OVERLOAD_METRICS
from planner.kinds.gateway.metrics_routing import INDEX_METRICS, ROUTING_METRICS, share

REPLICAS = _("Replicas")
MONEY = _("Money")


def _bill(name: str, label: str, *, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A part of the bill."""
    return MetricDef(f"{name}_usd_per_h", label, "USD/h", direction, MONEY, help=help)


REPLICA_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "gateway_replicas",
        _("Gateway replicas"),
        "replicas",
        "lower",
        REPLICAS,
        formula="⌈largest need⌉ + spare",
        whole=True,
    ),
    MetricDef("replicas_needed", _("Replicas needed"), "replicas", "lower", REPLICAS),
    MetricDef(
        "max_rps_within_headroom",
        _("Good to"),
        "req/s",
        "higher",
        REPLICAS,
        help=_("Request rate at which the next replica is due."),
    ),
    MetricDef("streams", _("Open streams"), "streams", "none", REPLICAS, formula="rate × (TTFT + output × TPOT)"),
    MetricDef(
        "events_per_s", _("Events of streams"), "1/s", "none", REPLICAS, formula="rate × output / tokens an event"
    ),
    MetricDef("cores_used", _("Cores used"), "cores", "lower", REPLICAS),
    MetricDef(
        "decisions_per_s_per_core", _("Routing decisions of a core"), "1/s", "none", REPLICAS, formula="1 / time of one"
    ),
    share("busiest_utilisation", _("Fullest resource"), group=REPLICAS, direction="lower"),
    share("cores_utilisation", _("Cores"), group=REPLICAS, direction="lower"),
    share("memory_utilisation", _("Memory"), group=REPLICAS, direction="lower"),
    share("files_utilisation", _("Open files"), group=REPLICAS, direction="lower"),
    share("network_utilisation", _("Network out"), group=REPLICAS, direction="lower"),
    share(
        "survivor_utilisation",
        _("Fullest resource, one replica lost"),
        group=REPLICAS,
        direction="lower",
        help=_("Of each replica left, while the clients of the lost one come back."),
    ),
    MetricDef("reconnect_cores", _("Cores of the reconnect storm"), "cores", "lower", REPLICAS),
)

MONEY_METRICS: tuple[MetricDef, ...] = (
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

METRICS: tuple[MetricDef, ...] = (
    *REPLICA_METRICS,
    *INDEX_METRICS,
    *ROUTING_METRICS,
    *FAILURE_METRICS,
    *CANARY_METRICS,
    *OVERLOAD_METRICS,
    *MONEY_METRICS,
)
ASSUMED = frozenset(
    {
        *(name for name in (each.name for each in ROUTING_METRICS) if name != "reusable_share"),
        *("index_events_per_s", "index_events_per_s_per_instance", "index_stale_share", "duplicate_prefills"),
        *("cores_utilisation", "memory_utilisation", "replicas_needed", "gateway_replicas", "max_rps_within_headroom"),
        *("busiest_utilisation", "survivor_utilisation", "resume_delay_s", "restart_delay_s", "cut_delay_s"),
        *("cold_surge_tokens", "utilisation_after_loss", "canary_warm_s", "canary_hold_s", "rollout_s"),
        *("canary_safe_step", "queue_limit", "queue_limit_best", "goodput_rps_overload"),
        *("goodput_rps_overload_unlimited", "turned_away"),
    }
)
"""They rest on the rates of an instance, the laws of reuse or the costs of work, which are assumed until measured."""
BY_NAME = {definition.name: definition for definition in METRICS}


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis | None = None,
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name; what rests on assumed rates and laws says so."""
    known: Basis = basis or ("assumed" if name in ASSUMED else "exact")
    return Metric(BY_NAME[name], value, basis=known, objective=objective, working=working)
