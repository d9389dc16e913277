"""The answer of a design: one sentence, figures, findings and series."""

from __future__ import annotations

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Answer, LazyFindings, LazySeries, Result
from planner.core.wording import counted, percent
from planner.kinds.gateway.figures import metrics
from planner.kinds.gateway.findings import findings
from planner.kinds.gateway.plan import Plan, plan_of
from planner.kinds.gateway.policies import Outcome
from planner.kinds.gateway.series import all_series
from planner.kinds.gateway.spec import GatewaySpec

FACTS = (
    "cost_usd_per_h",
    "survivor_utilisation",
    "ttft_p99_s",
    "hit_share",
    "max_rps",
    "index_bytes",
    "requests_lost_before_ejection",
)

SOURCES = {
    "cost_of_proxying": "HAProxy and NGINX sizing guides; load tests of agentgateway, dynamo and llm-d-router; "
    "estimates where the input says so",
    "defaults_of_ejection": "Envoy, outlier detection and circuit breakers",
    "age_of_views": "own simulation of 200 instances at a load of 90 % with eight gateways, after Mitzenmacher 2000",
}
"""Where the figures come from that a design takes without being told."""


def estimate(spec: GatewaySpec, catalog: Catalog) -> Result:
    """Size the gateway for its peak, compare the policies, and say what binds and what breaks."""
    return answer(plan_of(spec), catalog=catalog)


def answer(made: Plan, *, catalog: Catalog) -> Result:
    """A worked design as the surfaces take it."""
    spec = made.spec
    return Result(
        metrics=metrics(made),
        answer=Answer(
            metric="gateway_replicas",
            sentence=_sentence(made),
            note=f"at the {spec.peak_rps:,g} req/s peak over {counted(spec.instances, 'instance')}",
            facts=FACTS,
        ),
        findings=LazyFindings(lambda: findings(made)),
        series=LazySeries(lambda: all_series(made)),
        provenance={
            "catalog_digest": catalog.digest,
            "catalog_as_of": catalog.as_of,
            "spec_version": spec.version,
            **SOURCES,
        },
    )


def _sentence(made: Plan) -> str:
    spec, sized, chosen = made.spec, made.sizing, made.policies.chosen
    if spec.peak_rps <= 0:
        return "**No load**: nothing is routed."
    if sized.needed is None:
        return "**No number of replicas works**: the index does not fit the memory of one."
    replicas = f"**{counted(sized.replicas, 'gateway replica')}**"
    fits = sized.binding.share(sized.replicas) <= 1
    carry = ("carries" if sized.replicas == 1 else "carry") if fits else "**cannot carry**"
    return (
        f"{replicas} {carry} {show(spec.peak_rps, 'req/s')} and {show(made.load.streams, 'streams')}; "
        f"{sized.binding.name} bind first, {percent(sized.binding.share(sized.replicas))} full. {_routing(chosen)}"
    )


def _routing(chosen: Outcome) -> str:
    if chosen.wait_s is None:
        return f"{chosen.said} **saturates the instances** at {show(chosen.capacity_rps, 'req/s')}."
    return (
        f"{chosen.said} hits {percent(chosen.delivered)} of the prompt tokens and leaves the instances "
        f"{percent(chosen.service.rho)} busy."
    )
