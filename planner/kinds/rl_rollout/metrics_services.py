"""Figures of weight sync, scoring, returned data and money."""

from __future__ import annotations

from planner.core.result import Direction, MetricDef
from planner.core.text import gettext_noop as _

SYNC = _("Weight sync")
SCORING = _("Scoring")
RETURNED = _("Returned data")
MONEY = _("Money")


def _bill(name: str, label: str, *, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A part of the bill."""
    return MetricDef(f"{name}_usd_per_h", label, "USD/h", direction, MONEY, help=help)


SERVICE_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "weight_sync_expected_s",
        _("Weight sync, expected"),
        "s",
        "lower",
        SYNC,
        help=_("With a fixed pause, a time each tensor, and the share of the links that is reached."),
    ),
    MetricDef("weight_bytes", _("Weights"), "bytes", "none", SYNC),
    MetricDef("sync_bytes", _("Bytes of a sync"), "bytes", "lower", SYNC, help=_("To one instance.")),
    MetricDef("sync_tensors_counted", _("Tensors"), "tensors", "none", SYNC),
    MetricDef("kv_recompute_s", _("Computing all running KV again"), "s", "lower", SYNC),
    MetricDef("switch_s", _("Switching roles, co-located"), "s", "lower", SYNC, help=_("Out and in, with resharding.")),
    MetricDef("answers_per_s", _("Answers to score"), "1/s", "none", SCORING),
    MetricDef("score_service_s", _("Scoring, with the timeout"), "s", "lower", SCORING),
    MetricDef("score_timeout_share", _("Answers that time out"), "ratio", "lower", SCORING),
    MetricDef("scorers_busy", _("Scorers busy"), "scorers", "lower", SCORING),
    MetricDef("scorers_used", _("Scorers"), "scorers", "lower", SCORING, whole=True),
    MetricDef("score_wait_mean_s", _("Wait for a scorer"), "s", "lower", SCORING, help=_("Mean.")),
    MetricDef(
        "score_drain_s",
        _("Scoring all answers at once"),
        "s",
        "lower",
        SCORING,
        help=_("What the same scorers would take if a step sent all its answers together."),
    ),
    MetricDef(
        "score_staleness",
        _("Staleness from scoring"),
        "versions",
        "lower",
        SCORING,
        help=_("Until the slowest score of a group is there."),
    ),
    MetricDef("returned_bytes_per_token", _("Returned for a token"), "B/token", "lower", RETURNED),
    MetricDef("routing_bytes_per_token", _("Of it, routing"), "B/token", "lower", RETURNED),
    MetricDef("returned_bytes_per_step", _("Returned for a step"), "bytes", "lower", RETURNED),
    MetricDef("stored_bytes", _("Storage of the steps kept"), "bytes", "lower", RETURNED),
)
MONEY_METRICS: tuple[MetricDef, ...] = (
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY, help=_("Rollout, training and scoring.")),
    MetricDef("cost_usd_per_step", _("Cost of a step"), "USD", "lower", MONEY),
    MetricDef("cost_usd_per_1000_steps", _("Cost of 1,000 steps"), "USD", "lower", MONEY),
    MetricDef(
        "cost_usd_per_useful_sample", _("Cost of a useful sample"), "USD/sample", "lower", MONEY, help=_("Trained on.")
    ),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "USD/M output tokens",
        "lower",
        MONEY,
        help=_("The whole bill over the tokens trained on."),
    ),
    _bill("rollout_used", _("Bill: rollout, used"), direction="none", help=_("The parts sum to the bill.")),
    _bill("rollout_idle", _("Bill: rollout, idle")),
    _bill("training_used", _("Bill: training, used"), direction="none"),
    _bill("training_idle", _("Bill: training, idle")),
    _bill("scoring", _("Bill: scoring"), direction="none"),
)
