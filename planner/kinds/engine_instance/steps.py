"""A replica as a simulator takes it: the estimator's step as numbers, the ranks that take steps, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.catalog import Catalog
from planner.formulas import mixed_step, serving, speculation
from planner.formulas.mixed_step import StepNumbers
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, sources
from planner.kinds.engine_instance.load import Operation
from planner.kinds.engine_instance.plan import Plan


@dataclass(frozen=True, slots=True)
class Served:
    """``engines`` schedulers that know nothing of each other, each with ``ranks`` in lockstep.

    ``kv_tokens``, ``block_tokens``, ``most_running`` and ``budget_tokens`` are those of a rank; ``tokens_per_step`` is
    what a step gives a sequence, drafts included.
    """

    plan: Plan
    numbers: StepNumbers
    engines: int
    ranks: int
    kv_tokens: int
    block_tokens: int
    most_running: int
    budget_tokens: int
    tokens_per_step: float
    tpot_factor: float
    ttft_factor: float
    stay_s: float
    """About how long a request stays, by the estimate."""

    @property
    def all_running(self) -> int:
        return self.engines * self.ranks * self.most_running

    @property
    def all_kv_tokens(self) -> int:
        return self.engines * self.ranks * self.kv_tokens

    @property
    def all_blocks(self) -> int:
        return self.engines * self.ranks * (self.kv_tokens // self.block_tokens)


def step_table(ready: Operation, *, point: serving.Point | None) -> StepNumbers:
    """Steps of one rank of a replica as the estimate takes them, leaning on the same measurements.

    Parameters
    ----------
    ready : the replica in the calibrated roofline
    point : where it works; None: with all places taken
    """
    plan, times = ready.plan, sources.calibrated(ready.plan)
    drafts = float(ready.load.draft_tokens)
    numbers = mixed_step.step_numbers(
        times,
        most_tokens=float(plan.layout.pipeline_parallel * (plan.batched_tokens + plan.max_num_seqs)),
        context_tokens=ready.load.mean_context_tokens,
        tokens_per_sequence=1.0 + drafts,
    )
    tpot, ttft = factors(ready, point)
    # Each draft runs one layer more, one after the other.
    return numbers.scaled(tpot * (1.0 + drafts / times.layers), request=ttft)


def factors(ready: Operation, point: serving.Point | None) -> tuple[float, float]:
    """What measurements and lesser GPUs make of the formula's gaps and of its first token at a point, as factors."""
    at = min(max(ready.capacity if point is None else point.concurrency, 1.0), max(ready.capacity, 1.0))
    leaning, alone = ready.at(at), replace(ready, lean=None, lesser=()).at(at)
    gaps = (leaning.decode_s + leaning.interference_s) / (alone.decode_s + alone.interference_s)
    return gaps, leaning.ttft_s / alone.ttft_s


def served(plan: Plan, fitted: fits.Fit, catalog: Catalog) -> Served:
    """The replica of a plan that starts, as it is simulated.

    Attention copies of an LLM without experts share nothing: each is an engine of its own. Those of one with experts
    meet in every layer, so they step together.
    """
    ready = lean.operation(plan, fitted, catalog)
    point = ready.at_design()
    tpot, ttft = factors(ready, point)
    copies, stages = plan.layout.data_parallel, plan.layout.pipeline_parallel
    apart = copies if plan.llm.moe is None else 1
    return Served(
        plan=plan,
        numbers=step_table(ready, point=point),
        engines=apart,
        ranks=copies // apart,
        kv_tokens=kv_tokens(plan, fitted, held=ready.load.mean_context_tokens),
        block_tokens=plan.block_size,
        most_running=plan.max_num_seqs,
        budget_tokens=plan.batched_tokens * stages,
        tokens_per_step=speculation.tokens_per_step(
            draft_tokens=plan.spec.draft, acceptance=plan.spec.draft_acceptance
        ),
        tpot_factor=tpot,
        ttft_factor=ttft,
        stay_s=(ready.at(ready.capacity) if point is None else point).e2e_s,
    )


def kv_tokens(plan: Plan, fitted: fits.Fit, *, held: float) -> int:
    """Tokens that a rank's pool holds: of requests of the mean length where layers keep windows or states."""
    as_served = load.as_served(plan)
    pools = [fitted.tight.pool] if as_served is plan else [fitted.tight.pool, fits.fit(as_served).tight.pool]
    return max(
        pool.blocks * pool.block_size if pool.blocks_of(pool.block_size) == 1 else int(pool.requests(held) * held)
        for pool in pools
    )
