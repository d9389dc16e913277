"""The answer of a pool: one sentence, figures, findings and series."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Answer, LazyFindings, LazySeries, Result
from planner.core.wording import counted
from planner.kinds.kv_pool.figures import metrics
from planner.kinds.kv_pool.findings import findings
from planner.kinds.kv_pool.plan import Plan, plan_of
from planner.kinds.kv_pool.series import all_series
from planner.kinds.kv_pool.spec import KvPoolSpec
from planner.kinds.kv_pool.tiers import SSD
from planner.kinds.kv_pool.words import percent

FACTS = (
    "hit_share",
    "cost_usd_per_h",
    "saving_usd_per_h",
    "ttft_p99_s",
    "ttft_p99_without_pool_s",
    "ssd_life_years",
)

SAME = 0.02


def estimate(spec: KvPoolSpec, catalog: Catalog) -> Result:
    """Work out what the tiers hit, what that saves, and what binds."""
    return answer(plan_of(spec, catalog=catalog))


def answer(made: Plan) -> Result:
    """A worked design as the surfaces take it."""
    spec, figures = made.spec, metrics(made)
    return Result(
        metrics=figures,
        answer=Answer(
            metric="gpus_saved",
            sentence=_sentence(made),
            note=f"at {spec.turns_per_s:,.10g} turns/s; prefill and pool, decode not counted",
            facts=FACTS if made.room.stored_bytes[SSD] > 0 else (*FACTS[:-1], "compute_saved_share"),
        ),
        findings=LazyFindings(lambda: findings(made, figures=figures)),
        series=LazySeries(lambda: all_series(made)),
        provenance=_provenance(made),
    )


def _sentence(made: Plan) -> str:
    spec = made.spec
    if spec.turns_per_s <= 0:
        return "**No load**: nothing comes back, and nothing is computed."
    hits, saved = float(made.reach_hits[-1]), (made.without_fleet.units - made.fleet.units) * spec.prefill_gpus
    reused = f"**{percent(hits)} of what can be reused is found**"
    if not made.fleet.is_stable:
        return f"{reused}, but {counted(made.fleet.units, 'prefill unit')} **cannot keep up**: queues grow without end."
    fleet = counted(made.fleet.units * spec.prefill_gpus, "GPU")
    if saved <= 0:
        return f"{reused}; the pool **saves no GPU**: {fleet} for prefill with it and without."
    before = made.without_fleet.units * spec.prefill_gpus
    p99, without = made.ttft[2], made.without_ttft[2]
    wait = ""
    if p99 and without:
        other = "with it and without" if abs(without / p99 - 1) < SAME else f"instead of {show(without, 's')}"
        wait = f"; TTFT P99 {show(p99, 's')} {other}"
    return f"{reused}: **{fleet} for prefill instead of {before:,}**{wait}."


def _provenance(made: Plan) -> dict[str, object]:
    return {
        "catalog_digest": made.catalog.digest,
        "catalog_as_of": made.catalog.as_of,
        "spec_version": made.spec.version,
        "llm": made.physics.llm.source,
        "gpu": {name: figure.source for name, figure in made.physics.gpu.figures.items()},
    }
