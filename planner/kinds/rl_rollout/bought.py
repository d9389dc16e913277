"""What a design buys, in the words that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.catalog import Catalog
from planner.core.fleet import GPUS_PER_NODE, Failures, Fleet, Item, Pool, TokenBasis, purposes_of
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.formulas import sizing
from planner.kinds.rl_rollout.bill import PARTS
from planner.kinds.rl_rollout.plan import Plan, plan_of
from planner.kinds.rl_rollout.spec import RlRolloutSpec

IDLE = frozenset({"rollout_idle", "training_idle"})


def fleet(spec: RlRolloutSpec, result: Result, catalog: Catalog) -> Fleet:
    """Rollout instances, the training job and its scorers; co-located the job generates too."""
    made = plan_of(spec, catalog=catalog)
    priced = result.value("cost_usd_per_h") is not None
    rollout = _rollout(made, priced=priced)
    scorers = made.turn.pool.scorers
    return Fleet(
        pools=(*((rollout,) if rollout.units else ()), _training(spec, priced=priced)),
        items=(Item("scoring", _("Scorers"), "host", scorers, "scorers", scorers * spec.scorer_usd_per_h),),
        purposes=purposes_of(result, names=PARTS, idle=IDLE),
        tokens_per_s=_tokens(made),
        failures=Failures(spec.instance_failures_per_h, spec.restart_s / 3600),
    )


def _tokens(made: Plan) -> Mapping[TokenBasis, float]:
    if not made.runs:
        return {"output": 0.0, "input": 0.0, "cached_input": 0.0, "total": 0.0}
    outputs = made.bill.tokens / made.bill.step_s
    inputs = made.useful * made.spec.prompt_tokens / made.bill.step_s
    return {"output": outputs, "input": inputs, "cached_input": 0.0, "total": inputs + outputs}


def _rollout(made: Plan, *, priced: bool) -> Pool:
    """Instances that only generate; where no number keeps up, none is the need."""
    spec = made.spec
    gpus = spec.instance_gpus
    units = (made.turn.all_gpus - spec.training_gpus) // gpus
    layout = {"unit_gpus": gpus, "gpus_per_node": GPUS_PER_NODE}
    return Pool(
        name="rollout",
        label=_("Rollout"),
        noun="rollout instance",
        units=units,
        needed_units=None if made.needed_gpus is None else made.needed_gpus / gpus,
        unit_gpus=gpus,
        gpu=spec.gpu,
        unit_usd_per_h=gpus * spec.gpu_price_usd_per_h if priced else None,
        nodes_per_unit=sizing.nodes_failing_with_a_unit(**layout),
        units_per_node=sizing.units_on_a_node(**layout),
        price_field="gpu_price_usd_per_h",
        spare_field="rollout_gpus",
        spare_value=units * gpus,
        spare_step=gpus,
        size_field="instance_gpus",
        follows_demand=False,
        borrows=True,
    )


def _training(spec: RlRolloutSpec, *, priced: bool) -> Pool:
    """One unit: a lost GPU stops the step of all."""
    price = spec.training_gpu_price_usd_per_h
    price = spec.gpu_price_usd_per_h if price is None else price
    return Pool(
        name="training",
        label=_("Training"),
        noun="training job",
        units=1,
        needed_units=1.0,
        unit_gpus=spec.training_gpus,
        gpu=spec.gpu,
        unit_usd_per_h=spec.training_gpus * price if priced else None,
        price_field="training_gpu_price_usd_per_h",
        nodes_per_unit=sizing.nodes_failing_with_a_unit(unit_gpus=spec.training_gpus, gpus_per_node=GPUS_PER_NODE),
        follows_demand=False,
    )
