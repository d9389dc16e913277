"""The gateway itself: what binds it, whether it survives, what a decision weighs in it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas import proxying
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.replicas import EXTERNAL, PROXY, Resource, of
from planner.kinds.gateway.words import a_second, those_left

STORM_WORTH_A_WARNING = 0.2


def replica_findings(plan: Plan) -> Iterator[Finding]:
    """Errors of the size first."""
    yield from _index_too_large(plan)
    if plan.load.rps <= 0:
        return
    yield from _too_few(plan)
    yield from _in_flight(plan)
    yield from _survival(plan)
    yield from _binding(plan)
    yield from _external(plan)
    yield from _storm(plan)


def _index_too_large(plan: Plan) -> Iterator[Finding]:
    spec, size = plan.spec, plan.index.bytes_per_replica
    if size < spec.usable_share * spec.memory_per_replica_bytes:
        return
    yield Finding(
        code="index_does_not_fit",
        severity="error",
        message=f"The index takes {show(size, 'bytes')} in each gateway; of "
        f"{show(spec.memory_per_replica_bytes, 'bytes')} "
        f"{percent(spec.usable_share)} are planned with. No number of replicas mends that.",
        metric="replicas_needed",
        suggestion="Make the index a service, or its nodes smaller.",
        change={"index_place": "service"},
    )


def _words(resource: Resource, amount: float) -> str:
    return show(amount, resource.unit)


def _amount(resource: Resource, amount: float) -> str:
    """Without the word for things, which was just said."""
    return f"{amount:,.0f}" if resource.unit in ("files", "requests", "cores") else show(amount, resource.unit)


def _too_few(plan: Plan) -> Iterator[Finding]:
    spec, sized = plan.spec, plan.sizing
    binding, share = sized.binding, sized.binding.share(sized.replicas)
    if spec.gateway_replicas is None or sized.sized is None or share <= spec.usable_share:
        return
    yield Finding(
        code="gateway_too_small" if share > 1 else "gateway_too_full",
        severity="error" if share > 1 else "warning",
        message=f"{counted(sized.replicas, 'gateway replica')} {'is' if sized.replicas == 1 else 'are'} "
        f"{percent(share)} full of {binding.name} at the peak"
        + (": it cannot be carried." if share > 1 else f"; {percent(spec.usable_share)} are planned with."),
        metric="busiest_utilisation",
        suggestion=f"{counted(sized.sized, 'replica')} would do, {_spare(spec.spare_replicas)}.",
        change={"gateway_replicas": None},
    )


def _spare(spare: int) -> str:
    return "none of them spare" if spare == 0 else f"{spare:,} of them spare"


def _in_flight(plan: Plan) -> Iterator[Finding]:
    spec, load, sized = plan.spec, plan.load, plan.sizing
    cap = spec.requests_in_flight_cap
    if cap is not None:
        held = cap * sized.replicas
        if held < load.streams:
            yield Finding(
                code="in_flight_cap",
                severity="error",
                message=f"The cap of {show(cap, 'requests')} a replica holds {held:,.0f} of "
                f"{show(load.streams, 'streams')}: {percent(1 - held / load.streams)} are refused, and nothing else is "
                "short.",
                metric="streams",
                suggestion="Raise the cap, or leave it out.",
                change={"requests_in_flight_cap": None},
            )
        return
    default = proxying.ENVOY_DEFAULT_CAP * sized.replicas
    if default < load.streams:
        yield Finding(
            code="proxy_default_caps",
            severity="info",
            message=f"Envoy's default caps, {proxying.ENVOY_DEFAULT_CAP:,} connections and requests each, would hold "
            f"{default:,} of {show(load.streams, 'streams')} in {counted(sized.replicas, 'replica')} and refuse the "
            "rest without a sign of load.",
            metric="streams",
            suggestion="Set them for this load before the first test.",
        )


def _survival(plan: Plan) -> Iterator[Finding]:
    sized, after = plan.sizing, plan.sizing.survivor_busiest
    if after is None:
        yield Finding(
            code="gateway_single",
            severity="error",
            message=f"One gateway replica carries everything: when it fails, all {show(plan.load.streams, 'streams')} "
            "end and nothing is routed.",
            metric="survivor_utilisation",
            suggestion="Keep a spare.",
            change={"gateway_replicas": None, "spare_replicas": max(plan.spec.spare_replicas, 1)},
        )
        return
    resource, share = after
    cut = plan.load.streams / sized.replicas
    if share > 1:
        yield Finding(
            code="gateway_not_n_plus_1",
            severity="error",
            message=f"One lost replica cuts {show(cut, 'streams')}; with their clients coming back "
            f"{those_left(sized.survivors, 'need')} {percent(share)} of their {resource.name}.",
            metric="survivor_utilisation",
            suggestion="The gateway is not N+1. Add a replica.",
            change={"gateway_replicas": sized.replicas + 1},
        )
        return
    yield Finding(
        code="gateway_survives",
        severity="info",
        message=f"One lost replica cuts {show(cut, 'streams')}; {those_left(sized.survivors, 'are')} {percent(share)} "
        "full of "
        f"{resource.name} while the clients come back.",
        metric="survivor_utilisation",
    )


def _binding(plan: Plan) -> Iterator[Finding]:
    sized = plan.sizing
    binding = sized.binding
    decisions = sized.cpu_parts["routing decisions"]
    per_core = f"{1 / sized.decision_cpu_s:,.0f}" if sized.decision_cpu_s > 1e-9 else "any number of"
    largest = max(sized.cpu_parts, key=lambda name: sized.cpu_parts[name])
    yield Finding(
        code="gateway_binding",
        severity="info",
        message=f"{binding.name[:1].upper()}{binding.name[1:]} bind first: {_words(binding, binding.demand)} of "
        f"{_amount(binding, binding.capacity)} a replica. Of {sized.cores:.3g} cores {largest} take "
        f"{sized.cpu_parts[largest]:.3g} and decisions {decisions:.2g}: a core makes {per_core} decisions a second, so "
        "the decision is not what a gateway runs out of.",
        metric="busiest_utilisation",
    )


def _external(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    if spec.processing != "external":
        return
    costs = {name: of(spec, name) for name in EXTERNAL}
    amounts = {
        "event_cpu_s": plan.load.events_per_s,
        "prompt_token_cpu_s": plan.load.prompt_tokens_per_s,
        "decision_cpu_s": plan.load.rps,
    }
    spent = {name: amounts[name] * costs[name] for name in costs}
    alone = sum(amounts[name] * PROXY[name] for name in costs)
    yield Finding(
        code="external_processing",
        severity="warning",
        message=f"An external processor that sees every body and chunk takes {sum(spent.values()):,.0f} cores: "
        f"{spent['event_cpu_s']:,.0f} for {a_second(plan.load.events_per_s, 'events')} and "
        f"{spent['prompt_token_cpu_s']:,.0f} for {show(plan.load.prompt_tokens_per_s, 'tok/s')} of prompts. A proxy "
        "that "
        f"relays takes {alone:.3g}.",
        metric="cores_used",
        suggestion="Let chunks of answers pass by the processor; it needs the prompt only.",
        change={"processing": "proxy"},
    )


def _storm(plan: Plan) -> Iterator[Finding]:
    spec, sized = plan.spec, plan.sizing
    if sized.survivors < 1:
        return
    share = sized.storm_cores / (sized.survivors * spec.cores_per_replica)
    if share < STORM_WORTH_A_WARNING:
        return
    yield Finding(
        code="reconnect_storm",
        severity="warning",
        message=f"When a replica is lost {show(plan.load.streams / sized.replicas, 'streams')} shake hands again "
        "within "
        f"{show(spec.reconnect_s, 's')}: {sized.storm_cores:.3g} cores, {percent(share)} of those left.",
        metric="reconnect_cores",
        suggestion="Let clients back off with jitter, and resume TLS sessions.",
        change={"reconnect_s": min(4 * spec.reconnect_s, 3600.0)},
    )
