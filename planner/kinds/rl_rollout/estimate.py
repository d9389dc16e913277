"""The answer of a design: one sentence, figures, findings and series."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Answer, LazyFindings, LazySeries, Result
from planner.core.wording import counted, percent
from planner.kinds.rl_rollout.figures import metrics
from planner.kinds.rl_rollout.findings import findings
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.physics import ENGINE
from planner.kinds.rl_rollout.plan import Plan, plan_of
from planner.kinds.rl_rollout.series import all_series
from planner.kinds.rl_rollout.spec import RlRolloutSpec

FACTS = (
    "step_s",
    "training_slowdown",
    "utilisation",
    "staleness_mean",
    "cost_usd_per_useful_sample",
    "rollout_gpus_async",
    "weight_sync_expected_s",
)

SOURCES = {
    "asynchrony_and_staleness": "W. Fu et al., AReaL, 2025, arXiv:2505.24298; verl documentation, one-step-off and "
    "fully asynchronous policy trainers, 2025",
    "filtering_and_over_sampling": "Q. Yu et al., DAPO, 2025, arXiv:2503.14476",
    "weight_sync": "MoonshotAI checkpoint-engine README; verl and slime documentation; Perplexity AI, weight transfer "
    "for RL post-training, 2025",
    "scorers_sandboxes_prices": "assumptions where the input says so",
}
"""Where the figures come from that a design takes without being told."""


def estimate(spec: RlRolloutSpec, catalog: Catalog) -> Result:
    """Size rollout beside training, compare the modes, and say what binds and what is stale."""
    return answer(plan_of(spec, catalog=catalog), catalog=catalog)


def answer(made: Plan, *, catalog: Catalog) -> Result:
    """A worked design as the surfaces take it."""
    spec = made.spec
    return Result(
        metrics=metrics(made),
        answer=Answer(
            metric="rollout_gpus",
            sentence=_sentence(made),
            note=f"{MODE_LABELS[spec.mode].lower()}, beside {counted(spec.training_gpus, 'training GPU')}",
            facts=FACTS,
        ),
        findings=LazyFindings(lambda: findings(made)),
        series=LazySeries(lambda: all_series(made, catalog=catalog)),
        provenance=_provenance(made, catalog=catalog),
    )


def _provenance(made: Plan, *, catalog: Catalog) -> dict[str, object]:
    spec = made.spec
    rates = {"rate": "stated in the inputs"}
    if spec.rate_source == "roofline":
        rates = {"rate": f"roofline fitted on published measurements of {ENGINE}, calibrations/roofline.toml"}
    return {
        "catalog_digest": catalog.digest,
        "catalog_as_of": catalog.as_of,
        "spec_version": spec.version,
        **rates,
        **SOURCES,
    }


def _sentence(made: Plan) -> str:
    spec, turn = made.spec, made.turn
    if made.base.demand.trained <= 0:
        return "**No load**: there is nothing to generate."
    if not made.fits:
        return "**Nothing is generated**: an instance does not hold the weights and an answer."
    gpus = f"**{counted(turn.rollout_gpus, 'GPU')}**"
    if spec.mode == "colocated":
        return (
            f"{gpus} generate and train in turns: a step takes {show(turn.step_s, 's')}, and they write "
            f"{percent(turn.utilisation)} of what they could."
        )
    verb = "generates" if turn.rollout_gpus == 1 else "generate"
    waits = turn.step_s - turn.parts["training"]
    slowed = made.slowdown > spec.allowed_slowdown
    end = f"and training **waits {show(waits, 's')}** of it" if slowed else "and training hardly waits"
    return (
        f"{gpus} {verb} {show(made.base.demand.tokens, 'tokens')} a step; a step takes {show(turn.step_s, 's')}, "
        f"{end}. Rollout is {percent(turn.utilisation)} used."
    )
