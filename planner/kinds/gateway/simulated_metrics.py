"""Figures that only a simulation has, and all of them by name."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.metrics import BY_NAME
from planner.kinds.gateway.metrics_failure import FAILURE
from planner.kinds.gateway.metrics_routing import ROUTING, seconds

RUN = _("Run")


def _count(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "requests", "none", RUN, help=help, whole=True)


ONLY_SIMULATED: tuple[MetricDef, ...] = (
    seconds("ttft_p50_s", _("TTFT P50"), group=ROUTING),
    seconds("ttft_p90_s", _("TTFT P90"), group=ROUTING),
    seconds("e2e_p50_s", _("Whole answer P50"), group=ROUTING),
    seconds("e2e_p99_s", _("Whole answer P99"), group=ROUTING),
    MetricDef(
        "work_skew",
        _("Busiest in prefill"),
        "× mean",
        "lower",
        ROUTING,
        help=_("Prefill work of the busiest instance over the mean."),
    ),
    MetricDef("goodput_rps", _("Goodput"), "req/s", "higher", ROUTING, help=_("First tokens inside the objective.")),
    MetricDef("throughput_rps", _("Finished"), "req/s", "higher", ROUTING),
    MetricDef("requests_retried", _("Attempts made again"), "requests", "none", FAILURE, whole=True),
    MetricDef("streams_resumed", _("Streams resumed"), "streams", "none", FAILURE, whole=True),
    _count(
        "requests_arrived",
        _("Requests arrived"),
        help=_("Arrived = finished + turned away + failed + cut + in flight."),
    ),
    _count("requests_finished", _("Requests finished")),
    _count("requests_rejected", _("Requests turned away")),
    _count("requests_in_flight", _("Requests in flight at the end")),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{definition.name: definition for definition in ONLY_SIMULATED}}
QUANTILES = (
    ("ttft", "p50", 0.5),
    ("ttft", "p90", 0.9),
    ("ttft", "p99", 0.99),
    ("e2e", "p50", 0.5),
    ("e2e", "p99", 0.99),
)
