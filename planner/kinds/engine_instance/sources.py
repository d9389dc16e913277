"""Where step times come from: the calibrated roofline, or measured kernels where the catalog has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planner.core.catalog import Catalog, MissingFigure
from planner.core.latency import KernelsUnavailable, Ranks
from planner.core.quantities import show
from planner.core.result import Column, Finding, Series
from planner.formulas import roofline, serving
from planner.formulas.kernels import KernelReplica
from planner.kinds.engine_instance import load
from planner.kinds.engine_instance.metrics import BY_NAME
from planner.kinds.engine_instance.plan import Plan

SOURCES = {"roofline": "calibrated roofline", "measured_kernels": "measured kernels"}
COMPARED = ("ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "tpot_p99_s", "output_tokens_per_s", "request_rate_rps")


def calibrated(plan: Plan) -> roofline.Replica:
    """The replica in the calibrated roofline."""
    return roofline.replica(
        plan.llm,
        plan.gpu,
        layout=plan.layout,
        weight_dtype=plan.weight_dtype,
        coefficients=plan.coefficients,
        kv_dtype_bytes=load.as_served(plan).kv_dtype_bytes,
    )


def measured(plan: Plan, catalog: Catalog) -> KernelReplica:
    """The replica in measured kernels; raises `KernelsUnavailable`."""
    layout = plan.layout
    found = catalog.kernel_times(
        plan.llm,
        plan.gpu,
        engine=plan.spec.engine,
        ranks=Ranks(
            tensor_parallel=layout.tensor_parallel,
            data_parallel=layout.data_parallel,
            pipeline_parallel=layout.pipeline_parallel,
            expert_parallel=layout.expert_parallel,
            context_parallel=layout.context_parallel,
        ),
        weight_dtype=plan.weight_dtype,
        kv_dtype=load.as_served(plan).kv_dtype,
    )
    return KernelReplica(times=found, layout=layout, layer_count=plan.llm.layers, coefficients=plan.coefficients)


def refusal(problem: KernelsUnavailable | None) -> Iterator[Finding]:
    """Why the source asked for gives no times. The other one is offered, never taken unasked."""
    if problem is not None:
        yield Finding(
            code="measured_kernels_unavailable" if problem.installed else "measured_kernels_not_installed",
            severity="error",
            message=f"{problem.reason} So latency and throughput are not known from this source.",
            metric="tpot_mean_s",
            suggestion="Take step times from the calibrated roofline.",
            change={"latency_source": "roofline"},
        )


def provenance(ready: load.Operation | None) -> dict[str, str]:
    """Which tables the step times came from, when they came from tables."""
    if ready is None or not isinstance(ready.times, KernelReplica):
        return {}
    return {"step_times": ready.times.times.tables}


def remark(plan: Plan, ready: load.Operation | None, point: serving.Point | None) -> Iterator[Finding]:
    """What a reader of figures from kernels should know of them."""
    if ready is None or point is None or not isinstance(ready.times, KernelReplica):
        return
    per_copy = point.running / (plan.layout.data_parallel * plan.layout.pipeline_parallel)
    share = ready.times.times.decode(
        sequences=max(round(per_copy), 1), context_tokens=round(ready.load.mean_context_tokens)
    ).measured_share
    yield Finding(
        code="measured_kernels_used",
        severity="info",
        message=(
            f"Step times are sums of kernels measured by others ({ready.times.times.tables}): {show(share, 'ratio')} "
            "of a decode step is read from tables, the rest from formulas. Waits and interference are those of the "
            f"roofline's calibration. On measured replicas TPOT was within a factor of {plan.trust.tpot:g} and TTFT "
            f"within {plan.trust.ttft:g} in four of five cases."
        ),
        metric="tpot_mean_s",
    )


def side_by_side(
    plan: Plan, catalog: Catalog, ready: load.Operation, *, calibrated_one: Callable[[], load.Operation]
) -> dict[str, Series]:
    """Both sources, at the design and against concurrency, where the package holds the replica; else nothing.

    ``ready`` is the source asked for; ``calibrated_one`` makes the calibrated one where that is the other.
    """
    if catalog.kernel_package is None:
        return {}
    kernels = isinstance(ready.times, KernelReplica)
    try:
        first = calibrated_one() if kernels else ready
        second = ready if kernels else replace(first, times=measured(plan, catalog), lean=None, lesser=())
        both = (first, second)
        return {"latency_sources": _at_design(plan, both), "latency_sources_curve": _curves(plan, both)}
    except (KernelsUnavailable, MissingFigure):
        return {}


def _at_design(plan: Plan, both: Sequence[load.Operation]) -> Series:
    """A row a figure, in its base unit."""
    points = [ready.at_design() for ready in both]
    roof, kernels = ({} if point is None else load.figures(plan, point) for point in points)
    pairs = [(roof.get(name), kernels.get(name)) for name in COMPARED]
    return Series(
        name="latency_sources",
        label="Two latency sources",
        columns=(
            Column("metric", "Figure", "", [BY_NAME[name].label for name in COMPARED]),
            Column("unit", "Unit", "", [BY_NAME[name].unit for name in COMPARED]),
            Column("roofline", "Calibrated roofline", "", [pair[0] for pair in pairs]),
            Column("measured_kernels", "Measured kernels", "", [pair[1] for pair in pairs]),
            Column("ratio", "Kernels to roofline", "ratio", [_ratio(*pair) for pair in pairs]),
        ),
    )


def _curves(plan: Plan, both: Sequence[load.Operation]) -> Series:
    curves = [[load.figures(plan, point) for point in ready.curve()] for ready in both]
    columns = [Column("concurrency", "Requests in the system", "requests", [row["concurrency"] for row in curves[0]])]
    for name in ("ttft_mean_s", "tpot_mean_s", "output_tokens_per_s"):
        for (source, words), rows in zip(SOURCES.items(), curves, strict=True):
            label = f"{BY_NAME[name].label}, {words}"
            columns.append(Column(f"{source}_{name}", label, BY_NAME[name].unit, [row[name] for row in rows]))
    return Series(name="latency_sources_curve", label="Two latency sources against concurrency", columns=tuple(columns))


def _ratio(roof: float | None, kernels: float | None) -> float | None:
    return kernels / roof if roof and kernels is not None else None
