"""Figures that only a simulation has, and all of them by name."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.metrics import BY_NAME
from planner.kinds.multi_lora.metrics_fleet import LATENCY, TENANTS, seconds, share

RUN = _("Run")


def _count(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "requests", "none", RUN, help=help, whole=True)


ONLY_SIMULATED: tuple[MetricDef, ...] = (
    seconds("ttft_p90_s", _("TTFT P90")),
    seconds("tpot_p99_s", _("TPOT P99")),
    seconds("itl_p99_s", _("Gap between tokens, P99")),
    seconds("e2e_p99_s", _("Whole answer P99")),
    seconds("ttft_hot_p99_s", _("TTFT P99, adapter on the GPU")),
    seconds("ttft_warm_p99_s", _("TTFT P99, adapter in host memory")),
    seconds("ttft_cold_p99_s", _("TTFT P99, adapter in the store")),
    MetricDef("goodput_rps", _("Goodput"), "req/s", "higher", LATENCY, help=_("Both objectives met.")),
    MetricDef("throughput_rps", _("Finished"), "req/s", "higher", LATENCY),
    share("busy_share", _("Replicas in steps"), group=LATENCY, direction="none"),
    MetricDef(
        "fairness_gap_tokens",
        _("Two busy tenants grew apart by"),
        "tokens",
        "lower",
        TENANTS,
        help=_("Of weighted service, over the tenants that always had requests waiting."),
    ),
    _count(
        "requests_arrived", _("Requests arrived"), help=_("Arrived = finished + turned away + limited + in flight.")
    ),
    _count("requests_finished", _("Requests finished")),
    _count("requests_rejected", _("Requests turned away"), help=_("Longer than a replica's KV cache.")),
    _count("requests_limited", _("Requests over their tenant's limit")),
    _count("requests_in_flight", _("Requests in flight at the end")),
    _count("requests_restarted", _("Requests started again")),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{definition.name: definition for definition in ONLY_SIMULATED}}
QUANTILES = (
    ("ttft_p50_s", "ttft", 0.5),
    ("ttft_p90_s", "ttft", 0.9),
    ("ttft_p99_s", "ttft", 0.99),
    ("tpot_p99_s", "tpot", 0.99),
    ("itl_p99_s", "itl", 0.99),
    ("e2e_p99_s", "e2e", 0.99),
    ("slot_wait_p99_s", "slot_wait", 0.99),
    ("ttft_hot_p99_s", "ttft_hot", 0.99),
    ("ttft_warm_p99_s", "ttft_warm", 0.99),
    ("ttft_cold_p99_s", "ttft_cold", 0.99),
)
MEANS = (("ttft_hot_s", "ttft_hot"), ("ttft_warm_s", "ttft_warm"), ("ttft_cold_s", "ttft_cold"))
