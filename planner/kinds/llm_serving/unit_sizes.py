"""Other sizes of the decode unit: scaling grain against tokens per expert, each fleet kept N+1."""

from __future__ import annotations

from dataclasses import replace

from planner.core.catalog import Catalog, MissingFigure
from planner.core.result import Column, Series
from planner.kinds.llm_serving.fleet import Fleet, fleet_for
from planner.kinds.llm_serving.physics import derived_decode
from planner.kinds.llm_serving.plan import Plan
from planner.kinds.llm_serving.spec import LlmServingSpec

FACTORS = (0.5, 2.0)


def unit_sizes(plan: Plan, *, catalog: Catalog) -> Series:
    """Half, the same and twice the decode unit: rate of a GPU, units, nodes and price with one unit to spare.

    The rate of another size is the stated one times the ratio of the derived rates. One that needs a figure nobody
    has published is left out.
    """
    spec = plan.spec
    rows: list[tuple[int, float, Fleet, float | None]] = []
    for factor in (1.0, *FACTORS):
        gpus = round(spec.decode_unit_gpus * factor)
        if gpus < 1 or gpus * 2 < spec.gpus_per_node or (gpus != spec.decode_unit_gpus and gpus % spec.gpus_per_node):
            continue
        rate = plan.physics.decode_tokens_per_s_per_gpu
        changed = spec
        if gpus != spec.decode_unit_gpus:
            try:
                changed, rate = _resized(plan, gpus=gpus, catalog=catalog)
            except MissingFigure:
                continue  # a size over several nodes needs their network, whose figure this design does without
        fleet = _n_plus_1(plan, changed, rate)
        price = plan.usd_per_m(plan.output_tokens_per_s, fleet=fleet)
        rows.append((gpus, rate, fleet, price))
    rows.sort(key=lambda row: row[0])
    return Series(
        "unit_sizes",
        "Decode units of other sizes, each fleet with one unit to spare",
        (
            Column("unit_gpus", "decode unit", "GPUs", [row[0] for row in rows]),
            Column("decode_tokens_per_s_per_gpu", "rate", "tok/s/GPU", [row[1] for row in rows]),
            Column("decode_units", "units", "units", [row[2].decode.units for row in rows]),
            Column("spare_decode_units", "spare", "units", [row[2].decode.spare_units for row in rows]),
            Column("nodes", "nodes", "nodes", [row[2].nodes for row in rows]),
            Column("cost_usd_per_m_output_tokens", "cost", "USD/M output tokens", [row[3] for row in rows]),
        ),
    )


def _resized(plan: Plan, *, gpus: int, catalog: Catalog) -> tuple[LlmServingSpec, float]:
    rank = plan.spec.decode_rank_gpus
    changed = plan.spec.model_copy(
        update={"decode_unit_gpus": gpus, "decode_rank_gpus": min(rank, gpus) if rank else None}
    )
    now = plan.physics.derived.decode_tokens_per_s_per_gpu
    then = derived_decode(changed, catalog=catalog).tokens_per_s
    return changed, plan.physics.decode_tokens_per_s_per_gpu * then / now


def _n_plus_1(plan: Plan, spec: LlmServingSpec, rate: float) -> Fleet:
    """The fleet of this spec with as many spare decode units as it takes to lose one."""
    facts = replace(plan.physics, decode_tokens_per_s_per_gpu=rate)
    fleet = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    spare = max(spec.spare_decode_units, fleet.decode.units_to_survive - fleet.decode.sized_units)
    return fleet_for(spec.model_copy(update={"spare_decode_units": spare}), physics=facts, rps=spec.peak_rps)
