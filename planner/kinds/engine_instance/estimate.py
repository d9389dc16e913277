"""The answer: does it start, what fits, how fast is it at this load, what does it cost."""

from __future__ import annotations

from typing import Any

from planner.core.catalog import Catalog
from planner.core.latency import KernelsUnavailable
from planner.core.quantities import show
from planner.core.result import Answer, Basis, Column, LazySeries, Metric, Result, Series, order_findings
from planner.formulas import serving
from planner.kinds.engine_instance import findings as notes
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import load, search, sources
from planner.kinds.engine_instance.metrics import BY_NAME, RATE_NAMES
from planner.kinds.engine_instance.plan import Plan, resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec

_TTFT = ("ttft_mean_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s")
_TPOT = ("tpot_mean_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s", "itl_p99_s", "e2e_mean_s")
_RATES = (*RATE_NAMES, *(f"{name}_per_gpu" for name in RATE_NAMES), "max_request_rate_rps")
_COSTS = ("cost_usd_per_m_output_tokens", "cost_usd_per_m_input_tokens", "cost_usd_per_m_total_tokens")
_LOAD = (*_TTFT, *_TPOT, "concurrency", "running_requests", *_RATES, *_COSTS)


def estimate(spec: EngineInstanceSpec, catalog: Catalog) -> Result:
    """The whole answer for one replica.

    Raises `UnknownEntry` and `MissingFigure`; a replica that does not start is an answer with error findings.
    """
    plan = resolve(spec, catalog)
    fitted = fits.fit(plan)
    metrics = _memory_metrics(plan, fitted)
    point, ready, refused = None, None, None
    if fitted.starts and notes.request_fits(plan, fitted):
        try:
            ready, point = _loaded(plan, fitted, catalog)
        except KernelsUnavailable as problem:
            refused = problem
    metrics |= _load_metrics(plan, point, ready)
    found = notes.findings(plan, fitted, ready, point, catalog)
    return Result(
        metrics={name: metrics[name] for name in BY_NAME},
        answer=_answer(plan, metrics, fitted, point, refused=refused),
        findings=order_findings([*sources.refusal(refused), *found]),
        series=LazySeries(lambda: _all_series(plan, fitted, ready, catalog)),
        provenance=_provenance(plan, catalog) | sources.provenance(ready),
    )


def _loaded(plan: Plan, fitted: fits.Fit, catalog: Catalog) -> tuple[load.Operation, serving.Point | None]:
    """The replica under load with the source of step times asked for; raises `KernelsUnavailable`."""
    times = sources.times(plan, catalog, source=plan.spec.latency_source)
    ready = load.operation(plan, capacity=fits.capacity(plan, fitted), times=times)
    return ready, ready.at_design()


def _all_series(plan: Plan, fitted: fits.Fit, ready: load.Operation | None, catalog: Catalog) -> dict[str, Series]:
    series = {"stages": _stage_series(fitted), "replicas": _replica_series(plan, catalog)}
    if ready is not None:
        series["concurrency"] = load.curve_series(plan, ready.curve())
    if fitted.starts and notes.request_fits(plan, fitted):
        series |= sources.side_by_side(plan, catalog, capacity=fits.capacity(plan, fitted))
    return series


def _memory_metrics(plan: Plan, fitted: fits.Fit) -> dict[str, Metric]:
    terms, pool = fitted.tight.terms, fitted.tight.pool
    basis: Basis = "calibrated" if plan.settings["memory_fraction_of"] != "free_after_peak" else "extrapolated"
    has_pool = terms.kv_pool > 0
    tokens = fits.pool_tokens(plan, fitted)
    found = {
        "fits": Metric(BY_NAME["fits"], float(fitted.starts)),
        "gpus": Metric(BY_NAME["gpus"], float(plan.layout.gpus)),
        "smallest_gpus": _plain("smallest_gpus", search.smallest(plan)),
        "budget_bytes": Metric(BY_NAME["budget_bytes"], terms.budget, working=_budget_working(plan, terms.budget)),
        "weights_bytes": Metric(BY_NAME["weights_bytes"], terms.weights),
        "kv_bytes_per_token": Metric(BY_NAME["kv_bytes_per_token"], fitted.kv_bytes_per_token),
    }
    for name in ("activation", "graph", "context", "other"):
        found[f"{name}_bytes"] = Metric(BY_NAME[f"{name}_bytes"], getattr(terms, name), basis=basis)
    found["kv_pool_bytes"] = Metric(
        BY_NAME["kv_pool_bytes"],
        terms.kv_pool if has_pool else None,
        low=max(terms.kv_pool - terms.band, 0.0) if has_pool else None,
        high=terms.kv_pool + terms.band if has_pool else None,
        basis=basis,
    )
    spread = min(terms.band / terms.kv_pool, 1.0) if has_pool else 0.0
    sized = {
        "kv_pool_tokens": float(tokens),
        "kv_blocks": float(pool.blocks),
        "max_concurrency": pool.requests(plan.max_model_len),
    }
    for name, value in sized.items():
        found[name] = _band(name, value if has_pool else None, down=1 - spread, up=1 + spread, basis=basis)
    found["longest_request_tokens"] = _plain("longest_request_tokens", fitted.longest_request or None, basis=basis)
    return found


def _budget_working(plan: Plan, budget: float) -> str:
    if plan.settings["memory_fraction_of"] != "visible":
        return f"all of {show(plan.visible_bytes, 'bytes')} visible"
    return f"{budget / plan.visible_bytes:.2f} · {show(plan.visible_bytes, 'bytes')} visible"


def _plain(name: str, value: float | None, basis: Basis = "exact") -> Metric:
    return Metric(BY_NAME[name], None if value is None else float(value), basis=basis)


def _band(name: str, value: float | None, *, down: float, up: float, basis: Basis) -> Metric:
    if value is None:
        return Metric(BY_NAME[name], None, basis=basis)
    return Metric(BY_NAME[name], value, low=value * down, high=value * up, basis=basis)


def _load_metrics(plan: Plan, point: serving.Point | None, ready: load.Operation | None) -> dict[str, Metric]:
    basis: Basis = "calibrated" if plan.trust.calibrated else "extrapolated"
    values: dict[str, float | None] = dict.fromkeys(_LOAD)
    if point is not None:
        values |= load.figures(plan, point)
    if ready is not None:
        values["max_request_rate_rps"] = ready.max_rate_rps
    found = {}
    for name in _LOAD:
        width = _half_width(plan, name)
        found[name] = _band(name, values[name], down=1 / width, up=width, basis=basis)
    if plan.spec.rate_rps is not None:
        for name in (*RATE_NAMES, *(f"{name}_per_gpu" for name in RATE_NAMES), *_COSTS):
            found[name] = _plain(name, values[name])
    found["concurrency"] = _plain("concurrency", values["concurrency"], basis if plan.spec.rate_rps else "exact")
    objectives = {"ttft_p99_s": plan.spec.ttft_p99_slo_s, "tpot_p99_s": plan.spec.tpot_slo_s}
    for name, objective in objectives.items():
        made = found[name]
        found[name] = Metric(made.definition, made.value, made.low, made.high, made.basis, objective)
    bill = load.bill_usd_per_h(plan)
    found["cost_usd_per_h"] = Metric(BY_NAME["cost_usd_per_h"], bill, working=_bill_working(plan))
    return found


def _half_width(plan: Plan, name: str) -> float:
    if name in _TTFT:
        return plan.trust.ttft
    return plan.trust.tpot if name in _TPOT else plan.trust.throughput


def _bill_working(plan: Plan) -> str:
    price = plan.price_usd_per_h
    return "" if price is None else f"{plan.layout.gpus} · {show(price, 'USD/GPU-h')}"


def _stage_series(fitted: fits.Fit) -> Series:
    """Memory of a rank of each pipeline stage."""
    names = ("weights", "kv_pool", "activation", "graph", "context", "other")
    labels = {name: BY_NAME[f"{name}_bytes"].label for name in names}
    columns = [
        Column("stage", "Stage", "", [float(stage.index + 1) for stage in fitted.stages]),
        Column("layers", "Layers", "layers", [float(stage.layers) for stage in fitted.stages]),
    ]
    for name in names:
        values = [getattr(stage.terms, name) for stage in fitted.stages]
        columns.append(Column(f"{name}_bytes", labels[name], "bytes", values))
    columns.append(
        Column("outside_bytes", "Outside the budget", "bytes", [stage.terms.outside for stage in fitted.stages])
    )
    return Series(name="stages", label="Memory by pipeline stage", columns=tuple(columns))


def _replica_series(plan: Plan, catalog: Catalog) -> Series:
    """The fewest GPUs of this kind and the cheapest of any kind on which the engine starts."""
    gpus, best = search.smallest(plan), search.cheapest(plan, catalog)
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
    refused: KernelsUnavailable | None,
) -> Answer:
    priced = plan.price_usd_per_h is not None
    facts = ("fits", "kv_pool_tokens", "max_concurrency", "ttft_p99_s", "tpot_p99_s", "output_tokens_per_s_per_gpu")
    return Answer(
        metric="cost_usd_per_m_output_tokens" if priced else "output_tokens_per_s",
        sentence=notes.sentence(plan, metrics, fitted, point, refused=refused is not None),
        note=f"at {_load_words(plan)}, {_basis_words(plan)}",
        facts=facts,
    )


def _load_words(plan: Plan) -> str:
    if plan.spec.rate_rps is not None:
        return show(plan.spec.rate_rps, "req/s")
    return f"{show(plan.concurrency, 'requests')} at once"


def _basis_words(plan: Plan) -> str:
    if plan.spec.latency_source != "roofline":
        return f"from {sources.SOURCES[plan.spec.latency_source]}"
    return "calibrated on this LLM, GPU and engine" if plan.trust.calibrated else "extrapolated from other replicas"


def _provenance(plan: Plan, catalog: Catalog) -> dict[str, Any]:
    table = catalog.calibration("roofline")
    return {
        "catalog": catalog.digest,
        "catalog_as_of": catalog.as_of,
        "llm": plan.llm.source,
        "calibration": f"{table['source']}, {table['as_of']}",
        "memory": plan.memory_rules["source"],
        "price": plan.price_source if plan.spec.gpu_price_usd_per_h is None else "given",
        "weight_format": plan.weight_dtype,
        "defaults": dict(plan.assumed),
    }
