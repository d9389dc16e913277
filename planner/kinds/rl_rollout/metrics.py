"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import Basis, Direction, Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout.metrics_services import MONEY_METRICS, SERVICE_METRICS

RULE = _("Rule of thumb")
DESIGN = _("Rollout and step")
ROLES = _("Roles")
LENGTHS = _("Lengths and memory")
STALENESS = _("Staleness and waste")
MODES = _("Modes and split")


def _share(name: str, label: str, group: str, *, direction: Direction = "none", help: str = "") -> MetricDef:
    return MetricDef(name, label, "ratio", direction, group, help=help)


RULE_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "tokens_per_step", _("Output tokens a step"), "tokens", "none", RULE, formula="problems × answers × mean answer"
    ),
    MetricDef(
        "rollout_gpus_sync_needed",
        _("GPUs by the rule, synchronous"),
        "GPUs",
        "lower",
        RULE,
        formula="tokens / (rate × stated utilisation × train step)",
    ),
    MetricDef(
        "rollout_gpus_async_needed",
        _("GPUs by the rule, asynchronous"),
        "GPUs",
        "lower",
        RULE,
        formula="tokens / (rate × stated utilisation × train step)",
    ),
    MetricDef(
        "rollout_gpus_sync",
        _("To buy by the rule, synchronous"),
        "GPUs",
        "lower",
        RULE,
        formula="GPUs by the rule, the next whole one",
        whole=True,
    ),
    MetricDef(
        "rollout_gpus_async",
        _("To buy by the rule, asynchronous"),
        "GPUs",
        "lower",
        RULE,
        formula="GPUs by the rule, the next whole one",
        whole=True,
    ),
    MetricDef(
        "weight_sync_s",
        _("Weight sync, ideal"),
        "s",
        "lower",
        RULE,
        help=_("A bound: bytes over links, nothing else."),
        formula="weights / (links × bandwidth)",
    ),
)
DESIGN_METRICS: tuple[MetricDef, ...] = (
    MetricDef("rollout_gpus", _("Rollout GPUs"), "GPUs", "lower", DESIGN, whole=True),
    MetricDef("rollout_instances", _("Instances"), "instances", "lower", DESIGN, whole=True),
    MetricDef(
        "rollout_gpus_needed",
        _("GPUs that keep up"),
        "GPUs",
        "lower",
        DESIGN,
        help=_("For which generation, in this mode, takes no longer than training; none where no number does."),
    ),
    MetricDef("step_s", _("Step"), "s", "lower", DESIGN, help=_("From one version of the weights to the next.")),
    MetricDef("step_training_s", _("Step: training"), "s", "none", DESIGN, help=_("The parts sum to the step.")),
    MetricDef(
        "step_generation_s",
        _("Step: waiting for generation"),
        "s",
        "lower",
        DESIGN,
        help=_("What of generation is not hidden behind training."),
    ),
    MetricDef("step_scoring_s", _("Step: waiting for scores"), "s", "lower", DESIGN),
    MetricDef("step_weight_sync_s", _("Step: weight sync"), "s", "lower", DESIGN),
    MetricDef("step_switch_s", _("Step: switching roles"), "s", "lower", DESIGN),
    MetricDef(
        "training_slowdown",
        _("Training slowed by"),
        "ratio",
        "lower",
        DESIGN,
        help=_("Step over the time training alone takes, less one."),
    ),
    MetricDef("generation_s", _("Generation of a step"), "s", "lower", DESIGN),
    MetricDef(
        "instance_failures_per_day",
        _("Instances that fail a day"),
        "1/d",
        "lower",
        DESIGN,
        formula="instances × failures of an instance",
    ),
    MetricDef(
        "rate_lost_to_failures",
        _("Rate lost to failures"),
        "ratio",
        "lower",
        DESIGN,
        help=_("While instances that failed are down, on average."),
    ),
    MetricDef(
        "useful_samples_per_gpu_h",
        _("Useful samples a GPU-hour"),
        "samples/GPU-h",
        "higher",
        DESIGN,
        help=_("Answers trained on, over all GPUs."),
    ),
)
ROLE_METRICS: tuple[MetricDef, ...] = (
    _share(
        "utilisation",
        _("Utilisation of rollout"),
        ROLES,
        direction="higher",
        help=_("Tokens of the step over what all rollout GPUs would write in it at the full rate."),
    ),
    _share(
        "generation_utilisation",
        _("Utilisation while generating"),
        ROLES,
        direction="higher",
        help=_("The same over generation alone."),
    ),
    _share("rollout_idle", _("Rollout idle"), ROLES, direction="lower"),
    _share("trainer_idle", _("Training idle"), ROLES, direction="lower"),
    _share("scorer_idle", _("Scoring idle"), ROLES, direction="lower"),
    MetricDef(
        "running_per_instance", _("Answers running an instance"), "answers", "none", ROLES, help=_("While generating.")
    ),
)
LENGTH_METRICS: tuple[MetricDef, ...] = (
    MetricDef("longest_tokens", _("Longest answer of a step"), "tokens", "lower", LENGTHS, help=_("Expected.")),
    MetricDef("longest_of_group_tokens", _("Longest of a group"), "tokens", "lower", LENGTHS, help=_("Expected.")),
    _share("share_at_cap", _("Answers cut off by the cap"), LENGTHS, direction="lower"),
    MetricDef("realised_cv", _("Spread after the cap"), "× mean", "none", LENGTHS),
    MetricDef(
        "tail_floor_s",
        _("Least time of a synchronous generation"),
        "s",
        "lower",
        LENGTHS,
        help=_("The longest answer alone, on any number of GPUs."),
        formula="fixed time of a decode step × longest answer",
    ),
    MetricDef(
        "memory_answers",
        _("Answers that memory holds"),
        "answers/instance",
        "higher",
        LENGTHS,
        formula="KV memory / (KV of a token × mean context)",
    ),
    MetricDef(
        "memory_rate_tokens_per_s",
        _("Rate that memory allows"),
        "tok/s/GPU",
        "higher",
        LENGTHS,
        help=_("Reading weights and all cached tokens each step, nothing else."),
    ),
    MetricDef(
        "rollout_gpus_by_memory",
        _("GPUs at that rate, asynchronous"),
        "GPUs",
        "lower",
        LENGTHS,
        help=_("The rule of thumb with the rate that memory allows."),
    ),
)
STALENESS_METRICS: tuple[MetricDef, ...] = (
    MetricDef("staleness_mean", _("Staleness, mean"), "versions", "lower", STALENESS),
    _share("staleness_beyond", _("Answers older than the bound"), STALENESS, direction="lower"),
    MetricDef(
        "staleness_at_cap",
        _("Versions that pass during the longest answer"),
        "versions",
        "lower",
        STALENESS,
        help=_("What grouping by length or a shorter cap would lower."),
    ),
    MetricDef(
        "policies_per_answer",
        _("Versions that write an answer"),
        "versions",
        "lower",
        STALENESS,
        help=_("What the importance weights of an answer must correct for, besides its age."),
    ),
    MetricDef(
        "staleness_bound_needed",
        _("Staleness bound at which training never waits"),
        "versions",
        "lower",
        STALENESS,
        help=_("On these GPUs; none where generation is too slow for any."),
    ),
    _share("discarded_share", _("Groups discarded for age"), STALENESS, direction="lower"),
    _share("filtered_share", _("Groups that teach nothing"), STALENESS, direction="lower"),
    _share("wasted_tokens", _("Tokens generated for nothing"), STALENESS, direction="lower"),
    _share(
        "kv_recompute_share",
        _("Rollout spent on computing KV again"),
        STALENESS,
        direction="lower",
        help=_("After each weight sync, over the step."),
    ),
)
MODE_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "async_gain",
        _("Asynchronous over synchronous"),
        "×",
        "higher",
        MODES,
        help=_("Steps an hour on the same GPUs in the same roles."),
    ),
    MetricDef(
        "async_gain_apart",
        _("Asynchronous over the best synchronous"),
        "×",
        "higher",
        MODES,
        help=_("Steps an hour on as many GPUs, each mode with the split that is best for it, co-located included."),
    ),
    MetricDef("best_training_gpus", _("Best split: training"), "GPUs", "none", MODES, whole=True),
    MetricDef("best_rollout_gpus", _("Best split: rollout"), "GPUs", "none", MODES, whole=True),
    MetricDef(
        "best_step_s", _("Step at the best split"), "s", "lower", MODES, help=_("Of the GPUs of both roles together.")
    ),
)
METRICS: tuple[MetricDef, ...] = (
    *RULE_METRICS,
    *DESIGN_METRICS,
    *ROLE_METRICS,
    *LENGTH_METRICS,
    *STALENESS_METRICS,
    *MODE_METRICS,
    *SERVICE_METRICS,
    *MONEY_METRICS,
)
EXACT = frozenset(
    {
        *(each.name for each in RULE_METRICS),
        *("returned_bytes_per_token", "returned_bytes_per_step", "stored_bytes", "weight_bytes"),
    }
)
"""Arithmetic of the inputs; all else rests on assumed rates, lengths and times until they are measured."""
SMALLEST = {"ratio": 1e-6, "s": 1e-9, "versions": 1e-6}
"""Shares, times and ages below that mean nothing: what is left over from arithmetic, and tails of laws."""
BY_NAME = {definition.name: definition for definition in METRICS}


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis | None = None,
    low: float | None = None,
    high: float | None = None,
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name."""
    definition = BY_NAME[name]
    least = SMALLEST.get(definition.unit)
    if least is not None:
        value, low, high = (0.0 if one is not None and abs(one) < least else one for one in (value, low, high))
    known: Basis = basis or ("exact" if name in EXACT else "assumed")
    return Metric(definition, value, low=low, high=high, basis=known, objective=objective, working=working)
