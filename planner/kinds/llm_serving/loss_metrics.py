"""Figures of a simulation in which units were lost, or came and went with load and hour."""

from __future__ import annotations

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving.metrics import FAILURE, FLEET, count

_BEFORE = _("Of the requests that came before the loss.")
_DURING = _("Of the requests that came from the loss until every unit was back and no more waited than before.")
_AFTER = _("Of the requests that came when all was as before again.")


def _seconds(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "s", "lower", FAILURE, help=help)


def _units(name: str, label: str, unit: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, unit, "none", FLEET, help=help)


LOSS_METRICS: tuple[MetricDef, ...] = (
    _seconds("ttft_p99_before_s", _("TTFT P99, before the loss"), help=_BEFORE),
    _seconds("ttft_p99_during_s", _("TTFT P99, during the loss"), help=_DURING),
    _seconds("ttft_p99_after_s", _("TTFT P99, after the loss"), help=_AFTER),
    _seconds("tpot_p99_before_s", _("TPOT P99, before the loss"), help=_BEFORE),
    _seconds("tpot_p99_during_s", _("TPOT P99, during the loss"), help=_DURING),
    _seconds("tpot_p99_after_s", _("TPOT P99, after the loss"), help=_AFTER),
    count("requests_lost", _("Requests lost"), "requests", group=FAILURE, help=_("Failed with their unit.")),
    _seconds("units_back_after_s", _("Units back after"), help=_("The longest time from a loss to the last return.")),
    _seconds(
        "queue_back_after_s",
        _("Queue as before after"),
        help=_("From a loss to the last moment at which more requests waited than before it; the longest."),
    ),
    _seconds("longest_gap_s", _("Longest gap in an answer")),
    MetricDef("kv_fetched_tokens", _("KV fetched from the pool"), "tokens", "none", FAILURE),
    _units("decode_units_up_mean", _("Decode units up, mean"), "units", help=_("That serve, over time.")),
    _units("decode_units_up_least", _("Decode units up, least"), "units"),
    _units(
        "decode_unit_hours_used", _("Decode unit-hours"), "unit·h", help=_("Serving, draining, loading or in repair.")
    ),
    _units("decode_unit_hours_released", _("Decode unit-hours released"), "unit·h", help=_("Free for other work.")),
    _units("prefill_units_up_mean", _("Prefill units up, mean"), "units", help=_("That serve, over time.")),
    _units("prefill_units_up_least", _("Prefill units up, least"), "units"),
    _units(
        "prefill_unit_hours_used", _("Prefill unit-hours"), "unit·h", help=_("Serving, draining, loading or in repair.")
    ),
    _units("prefill_unit_hours_released", _("Prefill unit-hours released"), "unit·h", help=_("Free for other work.")),
)
