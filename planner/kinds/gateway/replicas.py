"""How many gateway replicas: each resource's demand over what one replica has, and the case of one lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.formulas import proxying
from planner.formulas.sizing import whole
from planner.kinds.gateway.index import Index
from planner.kinds.gateway.load import Load
from planner.kinds.gateway.spec import GatewaySpec

HASHED_TOKEN_S = 0.02e-6
"""An estimate: four bytes a token hashed and parsed at 200 MB/s."""
EXTERNAL = {
    "prompt_token_cpu_s": proxying.PROMPT_TOKEN_S,
    "event_cpu_s": proxying.EXTERNAL_RELAY_S,
    "decision_cpu_s": proxying.EXTERNAL_DECISION_S,
}
PROXY = {
    "prompt_token_cpu_s": HASHED_TOKEN_S,
    "event_cpu_s": proxying.RELAY_S,
    "decision_cpu_s": proxying.DECISION_S,
}
CONNECTION_BYTES = {
    "both": proxying.CONNECTION_BYTES_TLS_BOTH,
    "client": proxying.CONNECTION_BYTES_TLS_CLIENT,
    "none": proxying.CONNECTION_BYTES_CLEAR,
}
MOST_REPLICAS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: what the load takes in all, what every replica takes whatever the load, what a replica has."""

    name: str
    unit: str
    demand: float
    per_replica: float
    capacity: float

    def replicas(self, usable_share: float) -> float | None:
        """Replicas that the demand fills to the usable share, with decimals; None when one holds nothing."""
        room = usable_share * self.capacity - self.per_replica
        if self.demand <= 0:
            return 0.0 if room >= 0 else None
        return self.demand / room if room > 0 else None

    def share(self, replicas: float) -> float:
        """How full it is on each of so many replicas; 1 is all of it."""
        spread = self.demand / replicas if replicas > 0 else self.demand
        return (spread + self.per_replica) / self.capacity


@dataclass(frozen=True, slots=True)
class Sizing:
    """Replicas needed and bought, what binds, and what one lost leaves."""

    cpu_parts: Mapping[str, float]
    """Cores the load takes, by what for; they sum to the demand on cores."""
    resources: tuple[Resource, ...]
    needed: float | None
    sized: int | None
    replicas: int
    binding: Resource
    decision_cpu_s: float
    storm_cores: float
    """Cores that the clients of one lost replica take to shake hands again."""

    @property
    def cores(self) -> float:
        return sum(self.cpu_parts.values())

    @property
    def busiest_share(self) -> float:
        return max(each.share(self.replicas) for each in self.resources)

    @property
    def survivors(self) -> int:
        return self.replicas - 1

    def survivor_share(self, resource: Resource) -> float | None:
        """How full a resource of each survivor is while the cut clients come back; None: nobody survives."""
        if self.survivors < 1:
            return None
        storm = self.storm_cores / self.survivors / resource.capacity if resource.name == "cores" else 0.0
        return resource.share(self.survivors) + storm

    @property
    def survivor_busiest(self) -> tuple[Resource, float] | None:
        """The fullest resource after a loss."""
        shares = [(each, self.survivor_share(each)) for each in self.resources]
        known = [(each, share) for each, share in shares if share is not None]
        return max(known, key=lambda pair: pair[1]) if known else None


def sizing(spec: GatewaySpec, *, load: Load, index: Index) -> Sizing:
    """Size the replicas, or take those that are stated."""
    parts = cpu_parts(spec)
    resources = _resources(spec, load=load, index=index, cores=sum(parts.values()))
    needs = [each.replicas(spec.usable_share) for each in resources]
    needed = None if None in needs else max(need for need in needs if need is not None)
    sized = None if needed is None else min(whole(needed), MOST_REPLICAS) + spec.spare_replicas
    replicas = spec.gateway_replicas or max(sized or 1, 1 if load.rps > 0 else 0)
    return Sizing(
        cpu_parts=parts,
        resources=resources,
        needed=needed,
        sized=sized,
        replicas=replicas,
        binding=max(resources, key=lambda each: _need(each, spec.usable_share)),
        decision_cpu_s=of(spec, "decision_cpu_s"),
        storm_cores=_storm_cores(spec, load=load, replicas=replicas),
    )


def of(spec: GatewaySpec, name: str) -> float:
    """A cost that may be left empty: then it is that of the way bodies and chunks go."""
    stated: float | None = getattr(spec, name)
    defaults = EXTERNAL if spec.processing == "external" else PROXY
    return defaults[name] if stated is None else stated


def connection_bytes(spec: GatewaySpec) -> float:
    """Memory of one open stream."""
    return CONNECTION_BYTES[spec.tls] if spec.connection_bytes is None else spec.connection_bytes


def handshake_cpu_s(spec: GatewaySpec) -> float:
    """Core time of the mean handshake with a client."""
    if spec.tls == "none":
        return 0.0
    full, resumed = 1 / spec.full_handshakes_per_core, 1 / spec.resumed_handshakes_per_core
    return (1 - spec.resumed_share) * full + spec.resumed_share * resumed


def cpu_parts(spec: GatewaySpec) -> dict[str, float]:
    """Cores that each sort of work takes at the peak."""
    found = proxying.core_demand(
        spec.peak_rps,
        prompt_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        tokens_per_event=spec.tokens_per_event,
        relay_s=of(spec, "event_cpu_s"),
        request_s=spec.request_cpu_s,
        prompt_token_s=of(spec, "prompt_token_cpu_s"),
        decision_s=of(spec, "decision_cpu_s"),
        new_connection_share=0.0 if spec.tls == "none" else 1 / spec.requests_per_connection,
        resumed_share=spec.resumed_share,
        handshakes_per_core_s=spec.full_handshakes_per_core,
        resumed_per_core_s=spec.resumed_handshakes_per_core,
        event_bytes=spec.bytes_per_event * {"both": 2.0, "client": 1.0, "none": 0.0}[spec.tls],
        encrypted_bytes_per_core_s=spec.encrypted_bytes_per_core_s,
    )
    return {
        "events of streams": found.relay,
        "TLS handshakes": found.handshakes,
        "prompts": found.prompts,
        "encryption": found.encryption,
        "requests": found.requests,
        "routing decisions": found.decisions,
    }


def _resources(spec: GatewaySpec, *, load: Load, index: Index, cores: float) -> tuple[Resource, ...]:
    found = [
        Resource("cores", "cores", cores, 0.0, float(spec.cores_per_replica)),
        Resource(
            "memory",
            "bytes",
            load.streams * connection_bytes(spec),
            index.bytes_per_replica,
            spec.memory_per_replica_bytes,
        ),
        Resource(
            "open files", "files", proxying.DESCRIPTORS_PER_STREAM * load.streams, 0.0, float(spec.file_descriptors)
        ),
        Resource("network out", "bytes/s", load.egress_bytes_per_s, 0.0, spec.nic_bytes_per_s),
    ]
    if index.is_inside:
        found.append(Resource("index updates", "1/s", 0.0, index.heard_per_s, spec.index_updates_per_s))
    if spec.requests_in_flight_cap is not None:
        found.append(Resource("in-flight cap", "requests", load.streams, 0.0, float(spec.requests_in_flight_cap)))
    return tuple(found)


def _need(resource: Resource, usable_share: float) -> float:
    need = resource.replicas(usable_share)
    return float("inf") if need is None else need


def _storm_cores(spec: GatewaySpec, *, load: Load, replicas: int) -> float:
    """The streams of one replica shake hands again within the reconnect time."""
    each_s = handshake_cpu_s(spec)
    if each_s <= 0:
        return 0.0
    return proxying.reconnect_storm_cores(
        load.streams, replicas=replicas, lost=1, within_s=spec.reconnect_s, handshakes_per_core_s=1 / each_s
    )
