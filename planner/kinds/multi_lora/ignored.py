"""Fields that were given and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core import ignored
from planner.core.result import Finding
from planner.kinds.multi_lora.plan import Plan


def findings(plan: Plan) -> Iterator[Finding]:
    """One finding for each field that is not at its default."""
    return ignored.told(plan.given, _ignored(plan))


def _ignored(plan: Plan) -> Iterator[tuple[str, str]]:
    yield from _asked(plan)
    yield from _memory(plan)
    yield from _engine(plan)
    yield from _tenants(plan)


def _asked(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.popularity == "trace":
        own = ("adapters", "base_share", "input_tokens", "input_sigma", "output_tokens", "output_sigma")
        yield from ((name, "the trace has its own") for name in (*own, "zipf_exponent"))
    else:
        yield "workload", "popularity is a law"
    if spec.replicas is not None:
        yield "spare_replicas", "the number of replicas is stated"
    if plan.replica.adapted <= 0:
        yield from ((name, "no request uses an adapter") for name in ("pinned_adapters", "kernels", "tenant_slots"))


def _memory(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.paged:
        names = ("adapter_memory_bytes", "slots", "pinned_adapters", "tenant_slots")
        yield from ((name, "adapters have no slots, only pages while they run") for name in names)
    elif spec.slots is not None:
        yield "adapter_memory_bytes", "the number of slots is stated"
    if spec.host_adapters is not None:
        yield "host_memory_bytes", "the number of adapters in host memory is stated"
    if spec.paged:
        yield from ((name, "pages are as large as the adapters") for name in ("max_rank", "enabled_targets"))
    if plan.parts.adapter.slot_matrices == plan.parts.adapter.matrices:
        yield "enabled_targets", "the LLM has no more matrices than the adapted ones"
    if not spec.paged and _same_slot(plan):
        yield "engine", "a slot has the same size in each of them"
    if spec.gpus_per_replica == 1:
        yield "sharding", "a replica has one GPU"


def _engine(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.source == "disk":
        names = ("store_first_byte_s", "store_bytes_per_s", "store_connections")
        yield from ((name, "adapters come from a disk") for name in names)
    else:
        yield "disk_bytes_per_s", "adapters come from a store"
    if spec.routing == "random":
        yield "copies", "every replica may serve every adapter"
    if plan.fleet.replicas == 1:
        yield "copies", "there is one replica"


def _same_slot(plan: Plan) -> bool:
    """Whether another engine would have slots of the same size."""
    spec = plan.spec
    usual = spec.model_copy(update={"engine": type(spec).model_fields["engine"].default})
    return (usual.slot_rank, usual.slot_targets) == (spec.slot_rank, spec.slot_targets)


def _tenants(plan: Plan) -> Iterator[tuple[str, str]]:
    spec = plan.spec
    if spec.requests_per_s <= 0:
        names = ("noisy_factor", "tenant_limit_rps", "tenant_slots")
        yield from ((name, "there are no requests") for name in names)
    if spec.tenants == 1:
        names = ("tenant_adapters", "premium_share", "premium_weight")
        yield from ((name, "there is one tenant") for name in names)
    if spec.fairness == "first_come":
        names = ("premium_share", "premium_weight", "output_weight")
        yield from ((name, "requests are served in the order they come") for name in names)
    if spec.tenant_slots is not None and plan.noise.slots < spec.tenant_slots:
        yield "tenant_slots", "a noisy tenant holds fewer"
