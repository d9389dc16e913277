"""The diagram: problems, rollout instances, scorers and the trainer, with weights, answers and rewards between them."""

from __future__ import annotations

from planner.core.diagram import Box, Diagram, Flow
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.inputs_services import SYNC_LABELS
from planner.kinds.rl_rollout.spec import RlRolloutSpec

SCORER_TITLES = {"rules": "Rules", "sandbox": "Sandboxes", "reward_model": "Reward model"}


def architecture(spec: RlRolloutSpec, result: Result) -> Diagram:
    """The design drawn with its own counts and rates."""
    shares_gpus = spec.mode == "colocated"
    boxes = (_problems(spec), _rollout(spec, result), _scoring(spec, result), _trainer(spec, result, shares_gpus))
    weights = show(result.value("weight_bytes"), "bytes")
    pause = show(result.value("switch_s" if shares_gpus else "weight_sync_expected_s"), "s")
    how = "roles switch" if shares_gpus else SYNC_LABELS[spec.sync_method].lower()
    flows = (
        Flow("problems", "rollout", f"{counted(spec.problems, 'problem')} a step"),
        Flow("rollout", "scoring", _answers(result)),
        Flow("scoring", "trainer", f"{show(result.value('returned_bytes_per_step'), 'bytes')} a step"),
        Flow("trainer", "rollout", f"{weights}, {how}, {pause}"),
    )
    gpus = counted(result.value("rollout_gpus") or 0.0, "rollout GPU")
    return Diagram(
        title=f"RL rollout, {MODE_LABELS[spec.mode].lower()}",
        boxes=boxes,
        flows=flows,
        summary=f"{gpus} and {counted(spec.training_gpus, 'training GPU')}; a step takes "
        f"{show(result.value('step_s'), 's')}.",
    )


def _problems(spec: RlRolloutSpec) -> Box:
    lines = (
        counted(spec.answers_per_problem, "answer") + " each",
        f"{spec.output_tokens:,g} tokens on average",
        f"at most {spec.max_output_tokens:,g}",
    )
    return Box("problems", "Problems", lines, form="source")


def _rollout(spec: RlRolloutSpec, result: Result) -> Box:
    lines = [f"{counted(result.value('rollout_gpus') or 0.0, 'GPU')}, {spec.instance_gpus:,} each"]
    if result.value("running_per_instance") is not None:
        lines.append(f"{show(result.value('running_per_instance'), 'answers')} run in each")
    if result.value("utilisation") is not None:
        lines.append(f"{percent(result.value('utilisation') or 0.0)} used")
    return Box("rollout", counted(result.value("rollout_instances") or 0.0, "instance"), tuple(lines), rank=1)


def _scoring(spec: RlRolloutSpec, result: Result) -> Box:
    scorers = result.value("scorers_used")
    lines = [] if scorers is None else [counted(scorers, "scorer")]
    lines.append(f"{show(result.value('score_service_s'), 's')} an answer")
    return Box("scoring", SCORER_TITLES[spec.scorer], tuple(lines), rank=2, lane=1)


def _trainer(spec: RlRolloutSpec, result: Result, shares_gpus: bool) -> Box:
    lines = [
        "the same GPUs, in turns" if shares_gpus else counted(spec.training_gpus, "GPU"),
        f"{show(result.value('step_training_s') or spec.training_s, 's')} a step",
    ]
    if spec.mode == "asynchronous":
        lines.append(f"up to {spec.staleness_bound} versions old")
    return Box("trainer", "Trainer", tuple(lines), rank=3)


def _answers(result: Result) -> str:
    rate = result.value("answers_per_s")
    return "answers, as they end" if rate is None else f"{show(rate, '1/s')} answers"
