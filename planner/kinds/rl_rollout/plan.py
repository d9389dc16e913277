"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from planner.core.catalog import Catalog
from planner.formulas.answer_lengths import AnswerLengths
from planner.formulas.rollout_cycle import asynchronous
from planner.kinds.rl_rollout.balance import Balance, balance_of
from planner.kinds.rl_rollout.base import Base, base_at, base_of
from planner.kinds.rl_rollout.bill import Bill, bill_of
from planner.kinds.rl_rollout.comparison import (
    Comparison,
    Split,
    Verdict,
    best_split,
    verdict_of,
)
from planner.kinds.rl_rollout.inputs_fleet import Mode
from planner.kinds.rl_rollout.modes import turn_of
from planner.kinds.rl_rollout.overlapped import rollout_work_s, settled
from planner.kinds.rl_rollout.returned import Returned, returned_of
from planner.kinds.rl_rollout.sizing import fleet_gpus, keeps_up
from planner.kinds.rl_rollout.spec import RlRolloutSpec
from planner.kinds.rl_rollout.sync import Sync, ideal_s, switch_s, sync_of
from planner.kinds.rl_rollout.turn import Turn, useful_samples

_LOOSE = 64.0
_KEPT = 32


@dataclass(frozen=True)
class Plan:
    """A design. What few ask for is computed when asked."""

    base: Base
    rollout_gpus: int
    """Of the rollout role; co-located the extra GPUs, if there are any."""
    needed_gpus: float | None
    turn: Turn
    sync: Sync
    sync_ideal_s: float
    switch_s: float
    returned: Returned
    bill: Bill

    @property
    def spec(self) -> RlRolloutSpec:
        return self.base.spec

    @property
    def fits(self) -> bool:
        """Whether an instance holds the weights and an answer."""
        return self.base.physics.fits

    @property
    def runs(self) -> bool:
        """Whether there is something to do and something to do it with."""
        return self.fits and self.base.demand.completed > 0

    @property
    def all_gpus(self) -> int:
        return self.rollout_gpus + self.spec.training_gpus

    @property
    def slowdown(self) -> float:
        return self.turn.step_s / self.spec.training_s - 1

    @property
    def useful(self) -> float:
        return useful_samples(self.base)

    @cached_property
    def _needs_in_turns(self) -> float | None:
        return keeps_up(self.base, "synchronous")

    def needs(self, mode: Mode) -> float | None:
        """Instances that keep up; synchronous and one step off they are as many."""
        return keeps_up(self.base, mode) if mode == "asynchronous" else self._needs_in_turns

    @property
    def work_s(self) -> float:
        """Time of one instance for a step with all its slots taken."""
        return rollout_work_s(self.base)

    @cached_property
    def split(self) -> Split | None:
        return best_split(self.base, self.spec.mode, all_gpus=self.all_gpus)

    @cached_property
    def verdict(self) -> Verdict | None:
        return verdict_of(self.base, all_gpus=self.all_gpus)

    @cached_property
    def comparison(self) -> Comparison:
        """On the GPUs of the design; a co-located one is taken apart as is best for asynchrony."""
        if self.spec.mode != "colocated":
            return Comparison(self.base, self.rollout_gpus, self.spec.training_gpus)
        split = self.verdict.split if self.verdict else None
        if split is None:
            return Comparison(self.base, max(self.rollout_gpus, self.spec.instance_gpus), self.spec.training_gpus)
        return Comparison(self.base, split.rollout_gpus, split.training_gpus)

    @cached_property
    def balance(self) -> Balance | None:
        """Of a fleet that keeps up just so."""
        return balance_of(self.base, turn=self.turn) if self.runs else None

    @cached_property
    def bound_needed(self) -> float | None:
        """Staleness bound at which training never waits for a group; None when generation is too slow for any."""
        loose = base_at(self.base, changes={"staleness_bound": int(_LOOSE), "enforcement": "admission"})
        rollout, _, _, _ = settled(
            loose,
            instances=self.turn.instances,
            trains_s=self.turn.parts["training"],
            sync_s=self.turn.parts["weight_sync"],
        )
        found = asynchronous(rollout, slots=self.base.physics.running)
        return None if found.waits else _LOOSE - found.buffered


def plan(spec: RlRolloutSpec, *, catalog: Catalog, law: AnswerLengths | None = None) -> Plan:
    """Work the design out; ``law`` of lengths in place of the design's own."""
    base = base_of(spec, catalog=catalog, law=law)
    gpus, needed = fleet_gpus(base)
    turn = turn_of(base, spec.mode, rollout_gpus=gpus)
    return Plan(
        base=base,
        rollout_gpus=gpus,
        needed_gpus=needed,
        turn=turn,
        sync=sync_of(base, instances=turn.instances),
        sync_ideal_s=ideal_s(base),
        switch_s=switch_s(base),
        returned=returned_of(base),
        bill=bill_of(base, turn=turn, training_gpus=spec.training_gpus),
    )


@lru_cache(maxsize=_KEPT)
def plan_of(spec: RlRolloutSpec, *, catalog: Catalog) -> Plan:
    """`plan` with nothing else given, kept for who asks next: after the estimate what counts the units."""
    return plan(spec, catalog=catalog)
