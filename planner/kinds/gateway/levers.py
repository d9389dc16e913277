"""The cheapest gateway: cores of a replica, the policy, where its index is, and instances where they have a price.

A replica of other cores is priced in proportion, and its memory and NIC stay those of a core: what clouds ask for
sizes of one machine family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.catalog import Catalog
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space, grid, ranked
from planner.core.wording import counted
from planner.kinds.gateway.load import load_of
from planner.kinds.gateway.spec import GatewaySpec

CORES = (2, 4, 8, 16, 32, 64)
POLICIES = ("cost_based", "prefix_aware", "bounded_hash", "power_of_two", "least_requests")
INSTANCES = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the instances of the design, where they have a price."""
FIELDS = (
    "cores_per_replica",
    "replica_usd_per_h",
    "memory_per_replica_bytes",
    "nic_bytes_per_s",
    "file_descriptors",
    "gateway_replicas",
    "spare_replicas",
    "policy",
    "index_place",
    "instances",
)


def space(spec: GatewaySpec, result: Result, catalog: Catalog) -> Space:
    """All sizes of replicas with all policies."""
    del result, catalog
    per_core = spec.replica_usd_per_h / spec.cores_per_replica
    told = {
        "usd_per_core_h": per_core,
        "provider": "this design",
        "source": "stated for a replica in the design, in proportion to its cores",
        "as_of": "",
    }
    return ranked(FIELDS, _candidates(spec), sources={"prices": {"core": told}})


def _candidates(spec: GatewaySpec) -> Iterator[Candidate]:
    traffic = load_of(spec).egress_bytes_per_s * 3600 / 1e9 * spec.egress_usd_per_gb
    axes: dict[str, Sequence[Any]] = {
        "cores_per_replica": [*CORES, spec.cores_per_replica],
        "policy": [spec.policy, *POLICIES],
        "index_place": [spec.index_place, "service", "in_process", "approximate"],
        "instances": _instances(spec),
    }
    for change in grid(axes):
        cores = change["cores_per_replica"]
        size = cores / spec.cores_per_replica
        sized = {
            "replica_usd_per_h": spec.replica_usd_per_h * size,
            "memory_per_replica_bytes": spec.memory_per_replica_bytes * size,
            "nic_bytes_per_s": spec.nic_bytes_per_s * size,
            "file_descriptors": max(1, round(spec.file_descriptors * size)),
            "gateway_replicas": None,
            "spare_replicas": spec.spare_replicas,
        }
        # Two replicas at least, of which one may be lost.
        least = 2 * sized["replica_usd_per_h"] + traffic + change["instances"] * (spec.instance_usd_per_h or 0.0)
        yield Candidate(
            {**change, **sized}, group=f"{cores} cores a replica", least=least if spec.peak_rps > 0 else 0.0
        )


def _instances(spec: GatewaySpec) -> list[int]:
    if not spec.instance_usd_per_h:
        return [spec.instances]
    least = max(spec.instances_lost + 1, 1)
    return sorted({spec.instances, *(max(least, round(share * spec.instances)) for share in INSTANCES)})


def mend(spec: GatewaySpec, result: Result) -> Mapping[str, Any]:
    """Another replica where the rest do not carry the peak when one is lost."""
    codes = {finding.code for finding in result.findings if finding.severity == "error"}
    if codes & {"gateway_single", "gateway_not_n_plus_1", "gateway_too_small"} and spec.gateway_replicas is None:
        return {"spare_replicas": spec.spare_replicas + 1}
    return {}


def words(spec: GatewaySpec, result: Result, catalog: Catalog) -> str:
    """Replicas with their cores, policy and index."""
    del catalog
    replicas = counted(result.value("gateway_replicas") or 0, "replica")
    place = {"service": "an index service", "in_process": "an index in each", "approximate": "an approximate index"}
    named = spec.policy.replace("_", " ")
    of = f" for {counted(spec.instances, 'instance')}" if spec.instance_usd_per_h else ""
    return f"{replicas} of {counted(spec.cores_per_replica, 'core')}{of}, {named}, {place[spec.index_place]}"


SEARCH = Search(objective="cost_usd_per_h", space=space, words=words, mends=("spare_replicas",), mend=mend)
