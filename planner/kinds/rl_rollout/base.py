"""What every mode and every size of a design shares: the law of lengths, an instance, the services, the demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planner.core.catalog import Catalog
from planner.formulas.answer_lengths import AnswerLengths
from planner.kinds.rl_rollout.demand import Demand, demand_of
from planner.kinds.rl_rollout.lengths import lengths_of
from planner.kinds.rl_rollout.physics import Physics, physics
from planner.kinds.rl_rollout.scoring import Service, service_of
from planner.kinds.rl_rollout.spec import RlRolloutSpec

if TYPE_CHECKING:
    from planner.kinds.rl_rollout.batch import Batch
    from planner.kinds.rl_rollout.turn import Turn

_BATCHES_REMAIN = frozenset({"staleness_bound", "train_exponent"})
"""Fields that leave a batch that is waited for as it is."""


@dataclass(frozen=True, slots=True)
class Base:
    spec: RlRolloutSpec
    law: AnswerLengths
    physics: Physics
    demand: Demand
    service: Service
    """Scoring of one answer."""
    batches: dict[int, Batch] = field(default_factory=dict, compare=False, repr=False)
    """Batches that are waited for, by the instances that write them: modes and charts ask for the same ones."""
    turns: dict[tuple[str, int, int], Turn] = field(default_factory=dict, compare=False, repr=False)
    """Steps by mode, rollout GPUs and training GPUs."""

    @property
    def excess(self) -> float:
        """Groups started beyond those asked for, in modes that wait for the last."""
        return self.spec.oversampling

    @property
    def longest_tokens(self) -> float:
        """Expected longest answer of a step."""
        return self.law.expected_maximum(max(self.demand.completed, 1.0))

    @property
    def tail_floor_s(self) -> float:
        """Time of the longest answer alone: generation of a step takes no less on any number of GPUs."""
        return self.physics.step.fixed_s * self.longest_tokens


def base_of(spec: RlRolloutSpec, *, catalog: Catalog, law: AnswerLengths | None = None) -> Base:
    """Everything that neither a mode nor the number of GPUs changes."""
    lengths = lengths_of(spec, catalog=catalog) if law is None else law
    return Base(spec, lengths, physics(spec, catalog=catalog, law=lengths), demand_of(spec), service_of(spec))


def base_at(base: Base, *, law: AnswerLengths | None = None, changes: Mapping[str, Any] | None = None) -> Base:
    """The same design with another law of lengths, or with fields that touch neither an instance nor the demand."""
    if law is None and all(getattr(base.spec, name) == value for name, value in (changes or {}).items()):
        return base
    spec = base.spec.model_copy(update=dict(changes or {}))
    made = Base(spec, law or base.law, base.physics, base.demand, base.service)
    if law is None and _BATCHES_REMAIN.issuperset(changes or {}):
        return replace(made, batches=base.batches)
    return made
