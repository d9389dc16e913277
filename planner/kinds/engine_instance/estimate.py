"""The answer: does it start, what fits, how fast is it at this load, what does it cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from planner.core.catalog import Catalog, MissingFigure
from planner.core.latency import KernelsUnavailable
from planner.core.quantities import show
from planner.core.result import Answer, Basis, Column, LazySeries, Metric, Result, Series, order_findings
from planner.formulas import serving
from planner.kinds.engine_instance import certainty, lean, load, saturation, search, sources
from planner.kinds.engine_instance import findings as notes
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance.measured import Calibration, plan_of
from planner.kinds.engine_instance.memory_metrics import memory_metrics
from planner.kinds.engine_instance.metrics import BY_NAME, RATE_NAMES
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec import EngineInstanceSpec

_TTFT = ("ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s")
_TPOT = ("tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s", "itl_p99_s", "e2e_mean_s")
_RATES = (*RATE_NAMES, *(f"{name}_per_gpu" for name in RATE_NAMES), "max_request_rate_rps")
_COSTS = ("cost_usd_per_m_output_tokens", "cost_usd_per_m_input_tokens", "cost_usd_per_m_total_tokens")
_BASIS_WORDS: Mapping[Basis, str] = {
    "measured": "measured on this very replica",
    "calibrated": "calibrated on this LLM, GPU and engine",
    "extrapolated": "extrapolated from other replicas",
}
_LOAD = (*_TTFT, *_TPOT, "concurrency", "running_requests", *_RATES, *_COSTS)


def estimate(spec: EngineInstanceSpec, catalog: Catalog) -> Result:
    """The whole answer for one replica.

    Raises `UnknownEntry`. A replica that does not start is an answer with error findings; where a figure of the GPU is
    missing, memory is answered and latency is not.
    """
    plan, known = plan_of(spec, catalog)
    fitted = fits.fit(plan)
    bounds = fits.bounds(plan, fitted)
    metrics = memory_metrics(plan, fitted, bounds, known)
    point, ready, refused, missing = None, None, None, None
    timed, held = load.with_copies(plan, fitted)
    if load.is_served(timed, held):
        try:
            ready, point = _loaded(timed, held, catalog)
        except KernelsUnavailable as problem:
            refused = problem
        except MissingFigure as problem:
            missing = problem
    trust = lean.trust(plan, catalog, ready, point)
    metrics |= _load_metrics(plan, point, ready, trust)
    if refused is None and missing is None:
        metrics |= _judged(plan, metrics)
    found = [
        *certainty.findings(plan, fitted, bounds, known),
        *notes.findings(plan, fitted, ready, point, catalog, trust),
    ]
    return Result(
        metrics={name: metrics[name] for name in BY_NAME},
        answer=_answer(plan, metrics, fitted, point, refused=refused or missing, trust=trust),
        findings=order_findings([*sources.refusal(refused), *certainty.missing(missing), *found]),
        series=LazySeries(lambda: _all_series(plan, fitted, ready, catalog, trust, others=spec.without_load())),
        provenance=_provenance(plan, catalog, known) | sources.provenance(ready) | lean.provenance(trust, catalog),
        evidence=lean.evidence(plan, catalog, trust, point),
    )


def _loaded(plan: Plan, fitted: fits.Fit, catalog: Catalog) -> tuple[load.Operation, serving.Point | None]:
    """The replica under load with the source of step times asked for; raises `KernelsUnavailable`."""
    if plan.spec.latency_source == "roofline":
        ready = lean.operation(plan, fitted, catalog)
    else:
        ready = load.operation(plan, capacity=load.places(plan, fitted), times=sources.measured(plan, catalog))
    return ready, ready.at_design()


def _all_series(
    plan: Plan,
    fitted: fits.Fit,
    ready: load.Operation | None,
    catalog: Catalog,
    trust: lean.Trust,
    *,
    others: EngineInstanceSpec,
) -> dict[str, Series]:
    series = {
        "stages": _stage_series(fitted),
        "replicas": _replica_series(plan, *_alternatives(others, cast(Hashable, catalog))),
    }
    if ready is not None:
        series["concurrency"] = lean.bands(trust, ready, load.curve_series(plan, ready.curve()), catalog)
        series |= sources.side_by_side(
            plan, catalog, ready, calibrated_one=lambda: lean.operation(plan, fitted, catalog)
        )
        series |= lean.series(plan, ready, catalog)
    return series


def _plain(name: str, value: float | None, basis: Basis = "exact") -> Metric:
    return Metric(BY_NAME[name], None if value is None else float(value), basis=basis)


def _band(name: str, value: float | None, *, down: float, up: float, basis: Basis) -> Metric:
    if value is None:
        return Metric(BY_NAME[name], None, basis=basis)
    return Metric(BY_NAME[name], value, low=value * down, high=value * up, basis=basis)


def _load_metrics(
    plan: Plan, point: serving.Point | None, ready: load.Operation | None, trust: lean.Trust
) -> dict[str, Metric]:
    values: dict[str, float | None] = dict.fromkeys(_LOAD)
    if point is not None:
        values |= load.figures(plan, point)
    if ready is not None:
        values["max_request_rate_rps"] = ready.max_rate_rps
    found = {}
    for name in _LOAD:
        width = _half_width(trust, name)
        found[name] = _band(name, values[name], down=1 / width, up=width, basis=trust.basis)
    rate = plan.spec.rate_rps
    if rate is None:
        found["concurrency"] = _plain("concurrency", values["concurrency"])
    else:
        for name in (*RATE_NAMES, *(f"{name}_per_gpu" for name in RATE_NAMES), *_COSTS):
            found[name] = _plain(name, values[name])
    if point is not None and ready is not None:
        if rate is not None:
            found |= _widened(found, saturation.ends(ready, rate_rps=rate, width=trust.tpot))
        most = ready.capacity if rate is not None else min(point.concurrency, ready.capacity)
        found["running_requests"] = _running(found["running_requests"], most=most)
    bill = load.bill_usd_per_h(plan)
    found["cost_usd_per_h"] = Metric(BY_NAME["cost_usd_per_h"], bill, working=_bill_working(plan))
    return found


def _widened(found: Mapping[str, Metric], reach: saturation.Ends) -> dict[str, Metric]:
    """Ranges that hold what the times at either end of theirs make of the waits."""
    wider = {}
    for name, metric in found.items():
        quick, slow = reach.quick.get(name), reach.slow.get(name)
        if metric.low is not None and metric.high is not None:
            ends = [end for end in (quick, slow) if end is not None]
            wider[name] = replace(metric, low=min(metric.low, *ends), high=max(metric.high, *ends)) if ends else metric
    return wider


def _running(metric: Metric, *, most: float) -> Metric:
    """No more run than are in the system, nor than there are places."""
    if metric.value is None or metric.high is None:
        return metric
    return replace(metric, high=max(min(metric.high, most), metric.value))


def _judged(plan: Plan, metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Latencies with their objectives; what no source says is neither met nor missed."""
    objectives = {"ttft_p99_s": plan.spec.ttft_p99_slo_s, "tpot_p99_s": plan.spec.tpot_slo_s}
    return {name: replace(metrics[name], objective=objective) for name, objective in objectives.items()}


def _half_width(trust: lean.Trust, name: str) -> float:
    if name in _TTFT:
        return trust.ttft
    return trust.tpot if name in _TPOT else trust.throughput


def _bill_working(plan: Plan) -> str:
    price = plan.price_usd_per_h
    return "" if price is None else f"{plan.layout.gpus} · {show(price, 'USD/GPU-h')}"


def _stage_series(fitted: fits.Fit) -> Series:
    """Memory of a rank of each pipeline stage."""
    names = ("weights", "kv_pool", "activation", "graph", "context", "other")
    parts = {name: "kv_room" if name == "kv_pool" else name for name in names}
    labels = {name: BY_NAME[f"{name}_bytes"].label for name in names}
    columns = [
        Column("stage", "Stage", "", [float(stage.index + 1) for stage in fitted.stages]),
        Column("layers", "Layers", "layers", [float(stage.layers) for stage in fitted.stages]),
    ]
    for name in names:
        values = [getattr(stage.terms, parts[name]) for stage in fitted.stages]
        columns.append(Column(f"{name}_bytes", labels[name], "bytes", values))
    columns.append(
        Column("outside_bytes", "Outside the budget", "bytes", [stage.terms.outside for stage in fitted.stages])
    )
    return Series(name="stages", label="Memory by pipeline stage", columns=tuple(columns))


@lru_cache(maxsize=64)
def _alternatives(spec: EngineInstanceSpec, catalog: Catalog) -> tuple[int | None, search.Alternative | None]:
    """The fewest GPUs of this kind and the cheapest of any kind on which the engine starts, whatever the load."""
    plan, _known = plan_of(spec, catalog)
    return search.smallest(plan), search.cheapest(plan, catalog)


def _replica_series(plan: Plan, gpus: int | None, best: search.Alternative | None) -> Series:
    """The replicas of `_alternatives` as a table."""
    rows: list[tuple[str, str, float, float | None]] = []
    if gpus is not None:
        price = plan.price_usd_per_h
        rows.append(("fewest of this kind", plan.gpu.name, float(gpus), None if price is None else gpus * price))
    if best is not None:
        rows.append(("cheapest", best.gpu.name, float(best.gpus), best.usd_per_h))
    return Series(
        name="replicas",
        label="Smallest and cheapest replicas that start",
        columns=(
            Column("which", "Replica", "", [row[0] for row in rows]),
            Column("gpu", "GPU", "", [row[1] for row in rows]),
            Column("gpus", "GPUs", "GPUs", [row[2] for row in rows]),
            Column("cost_usd_per_h", "Cost", "USD/h", [row[3] for row in rows]),
        ),
    )


def _answer(
    plan: Plan,
    metrics: dict[str, Metric],
    fitted: fits.Fit,
    point: serving.Point | None,
    *,
    refused: KernelsUnavailable | MissingFigure | None,
    trust: lean.Trust,
) -> Answer:
    priced, missing = plan.price_usd_per_h is not None, isinstance(refused, MissingFigure)
    facts = ("fits", "kv_pool_tokens", "max_concurrency", "ttft_p99_s", "tpot_p99_s", "output_tokens_per_s_per_gpu")
    return Answer(
        metric="kv_pool_tokens" if missing else ("cost_usd_per_m_output_tokens" if priced else "output_tokens_per_s"),
        sentence=notes.sentence(plan, metrics, fitted, point, refused=_refusal(refused)),
        note=f"at {_load_words(plan)}, {_basis_words(plan, trust)}",
        facts=facts,
    )


def _refusal(refused: KernelsUnavailable | MissingFigure | None) -> str:
    """Why there are no times, as the end of a sentence; "" when there are."""
    if refused is None:
        return ""
    if isinstance(refused, MissingFigure):
        return f"the catalog cannot say: it has no {refused.figure} of {refused.slug}"
    return "the measured kernels asked for cannot say"


def _load_words(plan: Plan) -> str:
    if plan.spec.rate_rps is not None:
        return show(plan.spec.rate_rps, "req/s")
    return f"{show(plan.concurrency, 'requests')} at once"


def _basis_words(plan: Plan, trust: lean.Trust) -> str:
    if plan.spec.latency_source != "roofline":
        return f"from {sources.SOURCES[plan.spec.latency_source]}"
    return _BASIS_WORDS[trust.basis]


def _provenance(plan: Plan, catalog: Catalog, known: Calibration | None) -> dict[str, Any]:
    table = catalog.calibration("roofline")
    return {
        "catalog": catalog.digest,
        "catalog_as_of": catalog.as_of,
        "llm": plan.llm.source,
        "calibration": f"{table['source']}, {table['as_of']}",
        "memory": plan.memory_rules["source"] if known is None else "the start-up log given",
        "price": plan.price_source if plan.spec.gpu_price_usd_per_h is None else "given",
        "weight_format": plan.weight_dtype,
        "defaults": dict(plan.assumed),
    }
