"""Names, units and directions of the figures of failure, canary and overload."""

from __future__ import annotations

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.metrics_routing import seconds, share

FAILURE = _("Failure")
CANARY = _("Canary")
OVERLOAD = _("Overload")

FAILURE_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "requests_lost_before_ejection",
        _("Requests sent before probes eject"),
        "requests",
        "lower",
        FAILURE,
        help=_("To one dead instance, at most."),
        formula="rate / instances × probe interval × failures",
    ),
    MetricDef(
        "requests_lost_before_ejection_mean", _("The same, mean"), "requests", "lower", FAILURE, help=_("Over phases.")
    ),
    MetricDef(
        "requests_lost_passive",
        _("Requests sent before errors tell"),
        "requests",
        "lower",
        FAILURE,
        help=_("Passive detection, until the last gateway knows."),
    ),
    seconds("detection_active_mean_s", _("Probes notice after, mean"), group=FAILURE),
    seconds("detection_active_max_s", _("Probes notice after, at most"), group=FAILURE),
    seconds("detection_passive_mean_s", _("Errors tell after, mean gateway"), group=FAILURE),
    seconds("detection_passive_last_s", _("Errors tell after, last gateway"), group=FAILURE),
    MetricDef(
        "requests_lost",
        _("Requests sent to the dead, this design"),
        "requests",
        "lower",
        FAILURE,
        help=_("All instances lost together, until the last gateway knows."),
    ),
    MetricDef("requests_failed", _("Of them failed for good"), "requests", "lower", FAILURE, help=_("After retries.")),
    MetricDef("streams_cut", _("Streams cut"), "streams", "lower", FAILURE, formula="rate / instances × output × TPOT"),
    MetricDef(
        "cut_age_tokens",
        _("A cut stream had written"),
        "tokens",
        "none",
        FAILURE,
        help=_("Long answers are met more often: mean × (1 + CV²) / 2."),
    ),
    seconds("resume_delay_s", _("Resumed by the gateway after"), group=FAILURE),
    seconds("restart_delay_s", _("Started again by the client, caught up after"), group=FAILURE),
    seconds(
        "cut_delay_s",
        _("A cut stream is late by"),
        group=FAILURE,
        help=_("By what this design does with a stream that breaks."),
    ),
    MetricDef(
        "cut_tokens_again",
        _("Answer tokens written twice"),
        "tokens",
        "lower",
        FAILURE,
        help=_("Of all streams that one failure cuts."),
    ),
    MetricDef("retry_amplification", _("Attempts a request when all fail"), "×", "lower", FAILURE),
    MetricDef("false_ejections_per_day", _("Live instances ejected"), "1/d", "lower", FAILURE),
    MetricDef("most_ejected", _("Ejected at once, at most"), "instances", "none", FAILURE, whole=True),
    share(
        "half_open_closes",
        _("A half-open breaker closes"),
        group=FAILURE,
        help=_("Of the trials of a healthy instance; one error keeps it open."),
    ),
    seconds("recovered_idle_s", _("A recovered instance waits"), group=FAILURE, help=_("For its trial, on average.")),
    MetricDef(
        "cold_surge_tokens",
        _("Computed again after a loss"),
        "tokens",
        "lower",
        FAILURE,
        help=_("Until caches are warm."),
    ),
    share(
        "utilisation_after_loss",
        _("Instances busy after the loss"),
        group=FAILURE,
        direction="lower",
        help=_("With the lost part of the cache cold."),
    ),
    MetricDef("streams_cut_per_day", _("Streams cut a day"), "1/d", "lower", FAILURE, help=_("At the failure rate.")),
)

CANARY_METRICS: tuple[MetricDef, ...] = (
    MetricDef("canary_samples", _("Requests to see the errors"), "requests", "lower", CANARY),
    seconds("canary_s", _("Time to see the errors"), group=CANARY, formula="samples / (weight × rate)"),
    MetricDef("canary_latency_samples", _("Requests to see the slow-down"), "requests", "lower", CANARY),
    seconds("canary_latency_s", _("Time to see the slow-down"), group=CANARY),
    seconds("canary_warm_s", _("Cache of the new version warm after"), group=CANARY),
    seconds("canary_hold_s", _("Hold this weight for"), group=CANARY, help=_("Warm first, then the longer test.")),
    seconds(
        "rollout_s", _("Roll-out by 1, 5, 25, 50 %"), group=CANARY, help=_("Each step warmed and tested for errors.")
    ),
    share("canary_kept_hits", _("Histories still found"), group=CANARY, help=_("Of those found with one version.")),
    share("canary_safe_step", _("Largest safe step"), group=CANARY, help=_("To cold caches at once, at the peak.")),
)

OVERLOAD_METRICS: tuple[MetricDef, ...] = (
    MetricDef("queue_limit", _("Queue limit in use"), "requests", "none", OVERLOAD, whole=True),
    MetricDef("queue_limit_best", _("Best queue limit"), "requests", "none", OVERLOAD, whole=True),
    MetricDef(
        "goodput_rps_overload",
        _("Goodput at the overload"),
        "req/s",
        "higher",
        OVERLOAD,
        help=_("First tokens inside the objective."),
    ),
    MetricDef("goodput_rps_overload_unlimited", _("The same without a limit"), "req/s", "none", OVERLOAD),
    share("turned_away", _("Turned away at the overload"), group=OVERLOAD, direction="lower"),
    share("urgent_shed", _("Of urgent requests"), group=OVERLOAD, direction="lower", help=_("If others go first.")),
    share("other_shed", _("Of the others"), group=OVERLOAD, direction="lower"),
)
