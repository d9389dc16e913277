"""What a run does to its units, as the simulator wants it: the options with the design's own figures filled in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.formulas import sizing
from planner.kinds.llm_serving.arrival_options import DAY_S
from planner.kinds.llm_serving.control_options import MOMENTS, POOLS
from planner.kinds.llm_serving.fleet import Fleet, Role
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.simulation_options import Options
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.systems.llm_serving import Control, Failure, FailureRate, Night, Nodes, Recovery, Scaling

GB = 1e9


def load_s(chosen: Options, *, facts: Physics) -> float:
    """From the order of a unit to its first request: the weights of a GPU, and start-up."""
    return facts.decode_memory.weights_bytes / (chosen.load_gb_per_s * GB) + chosen.start_up_s


def rejoin_s(spec: LlmServingSpec, *, chosen: Options) -> float:
    """From the detection of a loss until the unit is back."""
    return spec.repair_h * 3600 if chosen.rejoin_s is None else chosen.rejoin_s


def recovery_for(chosen: Options, *, facts: Physics) -> Recovery:
    """What becomes of the requests of a lost unit."""
    from sims.systems.llm_serving import Recovery

    holds = {"recompute": "nothing", "pool_prompts": "prompts", "pool": "answers"}[chosen.lost_kv]
    return Recovery(
        on_loss=chosen.on_loss,
        pool_holds=holds,
        pool_block_tokens=int(chosen.pool_block_tokens),
        pool_s_per_token=facts.kv_bytes_per_token / (chosen.pool_gb_per_s * GB) if chosen.lost_kv in POOLS else 0.0,
        pool_fixed_s=facts.handover_fixed_s if chosen.lost_kv in POOLS else 0.0,
    )


def control_for(spec: LlmServingSpec, *, chosen: Options, facts: Physics, fleet: Fleet, horizon_s: float) -> Control:
    """All that happens to the units; raises ValueError that names an option."""
    from sims.systems.llm_serving import Control

    check_control(chosen, fleet=fleet, horizon_s=horizon_s)
    roles = dict(_roles(fleet))
    return Control(
        failures=tuple(_failures(spec, chosen=chosen, roles=roles)),
        rates=tuple(_rates(spec, chosen=chosen, roles=roles)),
        scaling=tuple(_scaling(spec, chosen=chosen, facts=facts, roles=roles)) if chosen.autoscale == "on" else (),
        nights=tuple(_nights(chosen, roles=roles)),
        load_s=load_s(chosen, facts=facts),
        spares=tuple((role, int(chosen.standby_units)) for role in roles),
    )


def check_control(chosen: Options, *, fleet: Fleet, horizon_s: float) -> None:
    """Refuse what does not fit the run or the fleet; raises ValueError that names the option."""
    for name in MOMENTS:
        at_s = getattr(chosen, name)
        if at_s is not None and at_s >= horizon_s:
            raise ValueError(f"options.{name}: {at_s:g} s lies beyond the run of {horizon_s:g} s")
    if not fleet.prefill.units:
        for name in ("fail_prefill_unit_at_s", "night_prefill_units"):
            if getattr(chosen, name) is not None:
                raise ValueError(f"options.{name}: replicas do both, there are no prefill units")
    if _has_night(chosen) and chosen.night_from_h == chosen.night_to_h:
        raise ValueError("options.night_to_h: the night must end at another hour than it begins")
    for role, pool in _roles(fleet):
        if chosen.autoscale == "on" and getattr(chosen, f"least_{role}_units") > pool.units:
            raise ValueError(f"options.least_{role}_units: the design has {pool.units}")


def _has_night(chosen: Options) -> bool:
    return chosen.night_decode_units is not None or chosen.night_prefill_units is not None


def _roles(fleet: Fleet) -> Iterator[tuple[str, Role]]:
    yield "decode", fleet.decode
    if fleet.prefill.units:
        yield "prefill", fleet.prefill


def _failures(spec: LlmServingSpec, *, chosen: Options, roles: dict[str, Role]) -> Iterator[Failure]:
    from sims.systems.llm_serving import Failure

    for role, pool in roles.items():
        at_s = getattr(chosen, f"fail_{role}_unit_at_s")
        if at_s is not None:
            yield Failure(
                unit=0,
                at_s=at_s,
                rejoin_s=rejoin_s(spec, chosen=chosen),
                detection_s=spec.detection_s,
                role=role,
                together=min(pool.together, pool.units) if chosen.lost_together == "node" else 1,
            )


def _rates(spec: LlmServingSpec, *, chosen: Options, roles: dict[str, Role]) -> Iterator[FailureRate]:
    from sims.systems.llm_serving import FailureRate

    if not chosen.failure_factor:
        return
    for role, pool in roles.items():
        yield FailureRate(
            per_node_h=spec.failures_per_node_h * chosen.failure_factor,
            rejoin_s=rejoin_s(spec, chosen=chosen),
            detection_s=spec.detection_s,
            role=role,
            nodes=_nodes(spec, pool),
        )


def _nodes(spec: LlmServingSpec, pool: Role) -> Nodes:
    from sims.systems.llm_serving import Nodes

    per_unit = sizing.nodes_of_units(1, unit_gpus=pool.unit_gpus, gpus_per_node=spec.gpus_per_node)
    return Nodes(per_unit=per_unit, units=pool.together)


def _scaling(spec: LlmServingSpec, *, chosen: Options, facts: Physics, roles: dict[str, Role]) -> Iterator[Scaling]:
    from sims.parts.scaling import Policy
    from sims.systems.llm_serving import Scaling

    carried = facts.decode_tokens_per_s_per_gpu * spec.tpot_slo_s * facts.decode_unit_gpus
    for role, pool in roles.items():
        policy = Policy(
            target=chosen.scale_target * (carried if role == "decode" else 1.0),
            least=int(getattr(chosen, f"least_{role}_units")),
            most=pool.units,
            calm_s=chosen.scale_down_after_s,
        )
        load = "sequences" if role == "decode" else "busy"
        yield Scaling(policy=policy, every_s=chosen.scale_every_s, load=load, role=role)


def _nights(chosen: Options, *, roles: dict[str, Role]) -> Iterator[Night]:
    from sims.systems.llm_serving import Night

    has_day = chosen.arrivals == "diurnal"
    for role, pool in roles.items():
        units = getattr(chosen, f"night_{role}_units")
        if units is not None and units < pool.units:
            yield Night(
                from_h=chosen.night_from_h,
                to_h=chosen.night_to_h,
                units=int(units),
                role=role,
                start_h=chosen.start_h if has_day else 0.0,
                day_s=chosen.day_s if has_day else DAY_S,
            )
