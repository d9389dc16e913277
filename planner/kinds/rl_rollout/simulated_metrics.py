"""Figures that only a simulation has, and all of them by name."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.result import MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout.metrics import BY_NAME, DESIGN, STALENESS

RUN = _("Run")


def _count(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "answers", "none", RUN, help=help, whole=True)


ONLY_SIMULATED: tuple[MetricDef, ...] = (
    MetricDef("step_longest_s", _("Longest step"), "s", "lower", DESIGN),
    MetricDef(
        "token_staleness_mean",
        _("Staleness of tokens, mean"),
        "versions",
        "lower",
        STALENESS,
        help=_("From the writing of a token, by whatever weights, to its training."),
    ),
    MetricDef("preemptions_per_answer", _("Preemptions an answer"), "1", "lower", STALENESS),
    MetricDef("steps_measured", _("Steps measured"), "steps", "none", RUN, whole=True),
    MetricDef("simulated_s", _("Simulated time"), "s", "none", RUN),
    _count(
        "requests_in_flight_before",
        _("Answers in flight when measuring begins"),
        help=_("With those asked for since, the sum of those trained on, thrown away and in flight at the end."),
    ),
    _count("requests_arrived", _("Answers asked for"), help=_("In the measured steps.")),
    _count("requests_finished", _("Answers trained on")),
    _count("requests_rejected", _("Answers thrown away"), help=_("Too old, filtered, given up, or timed out.")),
    _count("requests_in_flight", _("Answers in flight at the end")),
)
DEFINITIONS: Mapping[str, MetricDef] = {**BY_NAME, **{definition.name: definition for definition in ONLY_SIMULATED}}
UNKNOWN = ("step_s", "utilisation", "staleness_mean", "useful_samples_per_gpu_h")
"""Of a run in which nothing is generated."""
