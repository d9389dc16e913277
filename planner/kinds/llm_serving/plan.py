"""Everything that is computed about one design, before it is put into metrics, findings and series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from planner.core.catalog import Catalog, Gpu, Llm
from planner.formulas import cost, power, reliability, sizing
from planner.kinds.llm_serving import latency
from planner.kinds.llm_serving.fleet import Fleet, Role, fleet_for, rate_within_headroom, with_units_of
from planner.kinds.llm_serving.percentiles import Latencies, latencies, slow_end
from planner.kinds.llm_serving.physics import Physics, derived_kv_bytes_per_token, physics
from planner.kinds.llm_serving.spec import LlmServingSpec

_KEPT = 32


@dataclass(frozen=True, slots=True)
class Availability:
    """What one pool promises: units for the target, and how often the bought ones carry the peak.

    What fails as one are the units of a node, where several share one.
    """

    unit: float
    units_for_target: int | None
    carries_peak: float


@dataclass(frozen=True, slots=True)
class Plan:
    spec: LlmServingSpec
    llm: Llm
    gpu: Gpu
    decode_gpu: Gpu
    physics: Physics
    fleet: Fleet
    low_fleet: Fleet
    """Sized with the high end of the derived rates."""
    derived_fleet: Fleet
    high_fleet: Fleet
    quick_fleet: Fleet
    """Sized with the high end of the rates in use, stated or derived; never larger than `fleet`."""
    slow_fleet: Fleet
    decode: latency.Decode
    ttft: latency.Ttft
    latencies: Latencies
    quick: Latencies
    """With all rates at the high end of their range."""
    slow: Latencies
    """With all rates at the low end; past saturation what an hour of the peak leaves."""
    llm_kv_bytes_per_token: float

    @property
    def output_tokens_per_s(self) -> float:
        return self.spec.peak_rps * self.spec.output_tokens

    @property
    def concurrency_at_limit(self) -> float:
        """Sequences a decode GPU holds when it runs at its rate (Little: rate x TPOT)."""
        if self.spec.rate_mode == "derived":
            return self.physics.derived.decode_batch_per_gpu
        return self.physics.decode_tokens_per_s_per_gpu * self.spec.tpot_slo_s

    @property
    def kv_bytes_at_limit(self) -> float:
        return self.concurrency_at_limit * self.physics.kv_bytes_per_sequence

    @property
    def fits_weights(self) -> bool:
        """Whether the LLM leaves room for a KV cache on every GPU it runs on."""
        memories = [self.physics.decode_memory, *([] if self.spec.is_aggregated else [self.physics.prefill_memory])]
        return all(memory.kv_pool_bytes > 0 for memory in memories)

    @property
    def fits_kv(self) -> bool:
        return self.kv_bytes_at_limit <= self.physics.decode_memory.kv_pool_bytes * (1 + 1e-9)

    @property
    def is_stable(self) -> bool:
        return self.latencies.ttft_s["p99"] is not None and self.latencies.tpot_s["p99"] is not None

    @property
    def transfer_bytes_per_s(self) -> float:
        """KV handed from prefill to decode: all input tokens, cached ones included."""
        if self.spec.is_aggregated:
            return 0.0
        return self.spec.peak_rps * self.spec.input_tokens * self.physics.kv_bytes_per_token

    @property
    def nic_share(self) -> float | None:
        """Share of the rated NICs of all prefill GPUs that the hand-over takes."""
        if self.spec.is_aggregated or not self.fleet.prefill.gpus:
            return None
        return self.transfer_bytes_per_s / (self.fleet.prefill.gpus * self.gpu.figure("nic_bytes_per_s"))

    @property
    def good_share(self) -> float | None:
        """Share of requests inside both objectives; None past saturation."""
        first = latency.share_within_ttft(self.ttft, limit_s=self.spec.ttft_p99_slo_s)
        rest = latency.share_within_tpot(
            limit_s=self.spec.tpot_slo_s, physics=self.physics, fleet=self.fleet, decode=self.decode
        )
        return None if first is None or rest is None else first * rest

    @property
    def power_w(self) -> float | None:
        """Grid power; None when the catalog has no board power of a GPU."""
        if not (self.gpu.has("tdp_w") and self.decode_gpu.has("tdp_w")):
            return None
        pools = ((self.fleet.prefill, self.gpu), (self.fleet.decode, self.decode_gpu))
        return sum(
            power.wall_power_w(
                gpus=role.gpus,
                gpu_w=gpu.figure("tdp_w"),
                nodes=role.nodes,
                host_w_per_node=self.spec.host_w_per_node,
                pue=self.spec.pue,
            )
            for role, gpu in pools
        )

    def usd_per_m(self, tokens_per_s: float, *, fleet: Fleet | None = None) -> float | None:
        return cost.usd_per_million_tokens((fleet or self.fleet).usd_per_h, tokens_per_s=tokens_per_s)

    def availability(self, role: Role) -> Availability:
        unit = reliability.unit_availability(
            sizing.nodes_failing_with_a_unit(unit_gpus=role.unit_gpus, gpus_per_node=self.spec.gpus_per_node),
            failures_per_node_h=self.spec.failures_per_node_h,
            repair_h=self.spec.repair_h,
        )
        domains, at_once = -(-role.units // role.together), -(-role.needed_units // role.together)
        may_fail = (role.units - role.needed_units) // role.together
        wanted = reliability.units_for_availability(at_once, availability=unit, target=self.spec.availability)
        return Availability(
            unit=unit,
            units_for_target=None if wanted is None else role.needed_units + (wanted - at_once) * role.together,
            carries_peak=reliability.at_least_up(domains - may_fail, units=domains, availability=unit),
        )

    @property
    def rps_within_headroom(self) -> float | None:
        return rate_within_headroom(self.spec, physics=self.physics, fleet=self.fleet)

    @property
    def binding_role(self) -> str | None:
        """The pool that runs out first as the request rate grows."""
        if self.spec.peak_rps <= 0:
            return None
        busiest = max(self.fleet.roles, key=lambda role: role.utilisation or 0.0, default=None)
        return busiest.name if busiest and busiest.needed_gpus > 0 else None

    @property
    def bottleneck(self) -> str | None:
        """compute | memory bandwidth | KV capacity | network | launch overhead, of the pool that binds."""
        role = self.binding_role
        if role is None:
            return None
        if role == "prefill" or (role == "replica" and self.fleet.prefill_share > 0.5):
            return "network" if (self.nic_share or 0.0) > self.spec.nic_efficiency else "compute"
        return self.physics.derived.decode_bound if self.fits_kv else "KV capacity"

    @property
    def longest_context_tokens(self) -> float:
        """Mean context at which the KV pool is full with the sequences of the limit."""
        if self.concurrency_at_limit <= 0:
            return 0.0
        per_token = self.concurrency_at_limit * self.physics.kv_bytes_per_token * self.physics.kv_copies
        return max(0.0, self.physics.decode_memory.kv_pool_bytes) / per_token


def plan(spec: LlmServingSpec, *, catalog: Catalog, bought: Fleet | None = None) -> Plan:
    """Work the design out at its peak; with ``bought``, on that fleet instead of one sized for the peak."""
    facts = physics(spec, catalog=catalog)
    fleet = fleet_for(spec, physics=facts, rps=spec.peak_rps)
    if bought is not None:
        fleet = with_units_of(bought, need=fleet)
    derived = facts.derived
    spread = facts.spread
    decode = latency.decode_at(spec, physics=facts, fleet=fleet, rps=spec.peak_rps)
    return Plan(
        spec=spec,
        llm=catalog.llm(spec.llm),
        gpu=catalog.gpu(spec.gpu),
        decode_gpu=catalog.gpu(spec.decode_gpu or spec.gpu),
        physics=facts,
        fleet=fleet,
        low_fleet=_with_rates(spec, facts, derived.prefill_high, derived.decode_high),
        derived_fleet=_with_rates(
            spec, facts, derived.prefill_tokens_per_s_per_gpu, derived.decode_tokens_per_s_per_gpu
        ),
        high_fleet=_with_rates(spec, facts, derived.prefill_low, derived.decode_low),
        quick_fleet=fleet if bought else _with_rates(spec, facts, *rates_in_use(facts, high=True)),
        slow_fleet=fleet if bought else _with_rates(spec, facts, *rates_in_use(facts, high=False)),
        decode=decode,
        ttft=latency.ttft_at(spec, physics=facts, fleet=fleet, rps=spec.peak_rps, decode=decode),
        latencies=latencies(spec, physics=facts, fleet=fleet, rps=spec.peak_rps),
        quick=latencies(spec, physics=facts.slower(1 / spread), fleet=fleet, rps=spec.peak_rps),
        slow=slow_end(spec, physics=facts.slower(spread), fleet=fleet, rps=spec.peak_rps),
        llm_kv_bytes_per_token=derived_kv_bytes_per_token(spec, llm=catalog.llm(spec.llm)),
    )


@lru_cache(maxsize=_KEPT)
def plan_of(spec: LlmServingSpec, *, catalog: Catalog) -> Plan:
    """`plan` with nothing else given, kept for who asks next: after the estimate what counts the units."""
    return plan(spec, catalog=catalog)


def rates_in_use(facts: Physics, *, high: bool) -> tuple[float, float]:
    """An end of the range of the rates of prefill and decode that the design is sized with."""
    if facts.basis != "assumed":
        found = facts.derived
        return (found.prefill_high, found.decode_high) if high else (found.prefill_low, found.decode_low)
    factor = facts.spread if high else 1 / facts.spread
    return facts.prefill_tokens_per_s_per_gpu * factor, facts.decode_tokens_per_s_per_gpu * factor


def _with_rates(spec: LlmServingSpec, facts: Physics, prefill_rate: float, decode_rate: float) -> Fleet:
    changed = replace(facts, prefill_tokens_per_s_per_gpu=prefill_rate, decode_tokens_per_s_per_gpu=decode_rate)
    return fleet_for(spec, physics=changed, rps=spec.peak_rps)
