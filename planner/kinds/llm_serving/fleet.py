"""How many GPUs, units and nodes carry a request rate, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.formulas import cost, reliability, sizing
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.spec import LlmServingSpec


@dataclass(frozen=True, slots=True)
class Role:
    """One pool: what it needs and what is bought. ``needed_units`` carry the peak without headroom."""

    name: str
    unit_gpus: int
    needed_gpus: float
    sized_units: int
    spare_units: int
    nodes: int
    price_usd_per_h: float
    together: int
    """Units that one lost node takes down: several small ones share a node, a large one spans many."""

    @property
    def noun(self) -> str:
        """What one unit of the pool is called."""
        return "replica" if self.name == "replica" else f"{self.name} unit"

    @property
    def capacity_words(self) -> str:
        return "capacity" if self.name == "replica" else f"{self.name} capacity"

    @property
    def units(self) -> int:
        return self.sized_units + self.spare_units

    @property
    def gpus(self) -> int:
        return self.units * self.unit_gpus

    @property
    def needed_units(self) -> int:
        return sizing.whole(self.needed_gpus / self.unit_gpus)

    @property
    def utilisation(self) -> float | None:
        return self.needed_gpus / self.gpus if self.gpus else None

    @property
    def usd_per_h(self) -> float:
        return self.gpus * self.price_usd_per_h

    def left(self, *, lost: int) -> float | None:
        """Capacity as a share of the need with ``lost`` units down."""
        return reliability.capacity_left(self.units, lost=lost, unit_gpus=self.unit_gpus, needed_gpus=self.needed_gpus)

    @property
    def left_after_loss(self) -> float | None:
        """Capacity as a share of the need after the loss of one node; None when there is nothing to carry."""
        return self.left(lost=self.together)

    @property
    def survives_one(self) -> bool | None:
        """Whether the rest carries the peak after the loss of one node; None when there is nothing to carry."""
        left = self.left_after_loss
        return None if left is None else left >= 1 - 1e-9

    @property
    def units_to_survive(self) -> int:
        """Fewest units of which the rest carries the peak after the loss of one node."""
        return self.needed_units + self.together


@dataclass(frozen=True, slots=True)
class Fleet:
    """The pools of a design. The aggregated layout has no prefill units; its need counts in `decode`."""

    prefill: Role
    decode: Role
    prefill_share: float
    """Share of the decode pool's need that is prefill work (0 when prefill has a pool of its own)."""

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(role for role in (self.prefill, self.decode) if role.gpus)

    @property
    def gpus(self) -> int:
        return self.prefill.gpus + self.decode.gpus

    @property
    def nodes(self) -> int:
        return self.prefill.nodes + self.decode.nodes

    @property
    def usd_per_h(self) -> float:
        return self.prefill.usd_per_h + self.decode.usd_per_h


def fleet_for(spec: LlmServingSpec, *, physics: Physics, rps: float) -> Fleet:
    """Size both pools for a request rate: demand over the rate of a GPU, headroom, whole units."""
    prefill_need, decode_need = needs(spec, physics=physics, rps=rps)
    decode_price = spec.gpu_price_usd_per_h
    if spec.decode_gpu_price_usd_per_h is not None:
        decode_price = spec.decode_gpu_price_usd_per_h
    shared = spec.is_aggregated
    prefill = role_for(
        spec,
        name="prefill",
        unit_gpus=spec.prefill_unit_gpus,
        needed_gpus=0.0 if shared else prefill_need,
        spare=0 if shared else spec.spare_prefill_units,
        price=spec.gpu_price_usd_per_h,
    )
    pooled = decode_need + (prefill_need if shared else 0.0)
    decode = role_for(
        spec,
        name="replica" if shared else "decode",
        unit_gpus=spec.decode_unit_gpus,
        needed_gpus=pooled,
        spare=spec.spare_decode_units,
        price=decode_price,
    )
    return Fleet(prefill=prefill, decode=decode, prefill_share=prefill_need / pooled if shared and pooled else 0.0)


def with_units_of(bought: Fleet, *, need: Fleet) -> Fleet:
    """The units that were bought, under the load another fleet was sized for."""
    pools = ((bought.prefill, need.prefill), (bought.decode, need.decode))
    prefill, decode = (replace(pool, needed_gpus=load.needed_gpus) for pool, load in pools)
    return Fleet(prefill=prefill, decode=decode, prefill_share=need.prefill_share)


def needs(spec: LlmServingSpec, *, physics: Physics, rps: float) -> tuple[float, float]:
    """GPUs asked for by prefill and by decode, before headroom and rounding.

    When both share a GPU, each decode step also pays its fixed part while a chunk of prefill runs, so that prefill
    costs 1 / (1 - fixed part / TPOT) of what it costs alone.
    """
    prefill = sizing.gpus_needed(
        rps * spec.computed_input_tokens, tokens_per_s_per_gpu=physics.prefill_tokens_per_s_per_gpu
    )
    decode = sizing.gpus_needed(rps * spec.output_tokens, tokens_per_s_per_gpu=physics.decode_tokens_per_s_per_gpu)
    if spec.is_aggregated:
        prefill /= 1 - min(physics.decode_fixed_s / spec.tpot_slo_s, 0.95)
    return prefill, decode


def role_for(spec: LlmServingSpec, *, name: str, unit_gpus: int, needed_gpus: float, spare: int, price: float) -> Role:
    """A pool that carries its need with headroom, in whole units, and its spares."""
    sized = sizing.units_needed(needed_gpus, unit_gpus=unit_gpus, headroom=spec.headroom)
    nodes = sizing.nodes_of_units(sized + spare, unit_gpus=unit_gpus, gpus_per_node=spec.gpus_per_node)
    return Role(
        name=name,
        unit_gpus=unit_gpus,
        needed_gpus=needed_gpus,
        sized_units=sized,
        spare_units=spare,
        nodes=nodes,
        price_usd_per_h=price,
        together=sizing.units_on_a_node(unit_gpus=unit_gpus, gpus_per_node=spec.gpus_per_node),
    )


def bill_parts(fleet: Fleet, *, headroom: float) -> Mapping[str, float]:
    """The bill by what it pays for; the parts add up to it to the last bit."""
    prefill, decode = fleet.prefill, fleet.decode
    pooled = decode.needed_gpus * decode.price_usd_per_h
    used = {
        "prefill_used": prefill.needed_gpus * prefill.price_usd_per_h + pooled * fleet.prefill_share,
        "decode_used": pooled * (1 - fleet.prefill_share),
    }
    parts = {
        **used,
        "headroom": headroom * sum(used.values()),
        "spare_units": sum(role.spare_units * role.unit_gpus * role.price_usd_per_h for role in fleet.roles),
    }
    return cost.exact_parts(fleet.usd_per_h, parts=parts, remainder="whole_units")


def rate_within_headroom(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet) -> float | None:
    """Request rate at which the next unit is due; None when a request costs nothing."""
    one = fleet_for(spec, physics=physics, rps=1.0)
    limits = [
        role.sized_units * role.unit_gpus / (1 + spec.headroom) / per_request.needed_gpus
        for role, per_request in ((fleet.prefill, one.prefill), (fleet.decode, one.decode))
        if per_request.needed_gpus > 0
    ]
    return min(limits) if limits else None
