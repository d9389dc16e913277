"""Figures of a simulation: those of the estimate by the same names, and what only a run knows."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance.metrics import BY_NAME, CACHE, LATENCY, THROUGHPUT

RUN = _("Run")


def _latency(name: str, label: str, help: str = "") -> MetricDef:
    return MetricDef(name, label, "s", "lower", LATENCY, help=help)


def _count(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "requests", "none", RUN, help=help, whole=True)


ONLY_SIMULATED: tuple[MetricDef, ...] = (
    _latency("itl_p50_s", _("ITL P50"), _("Gap between two tokens of an answer.")),
    _latency("itl_p90_s", _("ITL P90")),
    _latency("e2e_p50_s", _("End to end P50")),
    _latency("e2e_p90_s", _("End to end P90")),
    _latency("e2e_p99_s", _("End to end P99")),
    MetricDef("waiting_requests", _("Requests waiting"), "requests", "lower", THROUGHPUT, _("Mean over time.")),
    MetricDef("goodput_share", _("Inside both objectives"), "ratio", "higher", THROUGHPUT),
    MetricDef("kv_used_share", _("KV pool in use"), "ratio", "none", CACHE, _("Mean over time.")),
    MetricDef("preemptions", _("Preemptions"), "1", "lower", CACHE, _("The pool was full; computed again later.")),
    MetricDef(
        "recomputed_share", _("Computed again"), "ratio", "lower", CACHE, _("Of all tokens of prompts computed.")
    ),
    _count("requests_arrived", _("Requests arrived"), help=_("Arrived = finished + refused + in flight.")),
    _count("requests_finished", _("Requests finished")),
    _count("requests_rejected", _("Requests refused"), help=_("Longer than the KV pool or the longest request.")),
    _count("requests_in_flight", _("Requests in flight at the end")),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN, _("To the last token of a trace or a benchmark.")),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{definition.name: definition for definition in ONLY_SIMULATED}}
QUANTILES = tuple(
    (f"{name}_p{round(100 * q)}_s", name, q) for name in ("ttft", "tpot", "itl", "e2e") for q in (0.5, 0.9, 0.99)
)
MEANS = (
    ("ttft_mean_s", "ttft_sum_s", "ttft_n"),
    ("tpot_mean_s", "tpot_sum_s", "tpot_n"),
    ("e2e_mean_s", "e2e_sum_s", "finished"),
)
