"""Sentences about a replica: why it does not start, what binds, what was assumed, and the change that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.result import Finding, Metric
from planner.formulas import serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load_findings, remarks, search, sources
from planner.kinds.engine_instance.load import MOST_FRACTION, Operation, request_tokens, roomier
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.spec_start_up import unmeasured


def request_fits(plan: Plan, fitted: fits.Fit) -> bool:
    """Whether a request of the workload is short enough for the limit and the pool."""
    return request_tokens(plan) <= min(plan.max_model_len, fitted.longest_request)


def findings(
    plan: Plan,
    fitted: fits.Fit,
    ready: Operation | None,
    point: serving.Point | None,
    catalog: Catalog,
    trust: lean.Trust,
) -> list[Finding]:
    """All findings of a design, in the order they come to mind; the caller ranks them."""
    found: list[Finding] = []
    if not fitted.starts:
        found.append(does_not_start(plan, fitted, ready, close=fits.bounds(plan, fitted).too_close))
        found += _alternatives(plan, catalog)
        found += _served_all_the_same(plan, fitted, ready)
    elif not request_fits(plan, fitted):
        found.append(request_too_long(plan, fitted))
    if ready is not None:
        found += load_findings.findings(plan, ready, point, trust)
    found += remarks.placement(plan)
    found += remarks.honesty(plan, fitted, point)
    found += lean.remarks(plan, trust, ready)
    found += lean.width_of_cache(plan, fitted, ready)
    found += sources.remark(plan, ready, point)
    return found


def sentence(
    plan: Plan,
    metrics: Mapping[str, Metric],
    fitted: fits.Fit,
    point: serving.Point | None,
    *,
    refused: str = "",
) -> str:
    """The answer in one or two sentences. ``refused`` says why there are no times."""
    verdict = metrics["fits"]
    close = verdict.low is not None and verdict.low != verdict.high
    if not fitted.starts:
        claim = "**Too close to call**: most likely it does not start." if close else "**It does not start.**"
        return f"{claim} {_reason(plan, fitted)}"
    terms = fitted.tight.terms
    claim = "**Too close to call**: most likely it fits;" if close else "**It fits**:"
    room = (
        f"{claim} {show(terms.weights, 'bytes')} of weights on each GPU leave {show(terms.kv_room, 'bytes')} "
        f"of KV cache, {show(metrics['kv_pool_tokens'].value, 'tokens')}."
    )
    if not request_fits(plan, fitted):
        return f"{room} A request of {request_tokens(plan):,} tokens is too long for it."
    if refused:
        return f"{room} How fast it is, {refused}."
    if point is None:
        return f"{room} **Unstable**: requests come at least as fast as it serves them, so queues grow without end."
    speed = "" if point.tpot_s is None else f" at {show(point.tpot_s, 's')} a token each"
    per_gpu = show(metrics["output_tokens_per_s_per_gpu"].value, "tok/s")
    rate, most = plan.spec.rate_rps, metrics["max_request_rate_rps"].value
    full = rate is not None and most is not None and rate > load_findings.NEAR_SATURATION * most
    read = " **Near saturation**: read the ranges, not the figures." if full else ""
    return f"{room} On average {show(point.running, 'requests')} run at once{speed}; a GPU makes {per_gpu}.{read}"


def _reason(plan: Plan, fitted: fits.Fit) -> str:
    terms, layout = fitted.tight.terms, plan.layout
    match fitted.problem:
        case "tensor_parallel_splits_heads":
            return f"{plan.llm.heads} attention heads cannot be shared evenly by {layout.tensor_parallel} ranks."
        case "more_stages_than_layers":
            return f"{layout.pipeline_parallel} pipeline stages are more than the {plan.llm.layers} layers."
        case "expert_parallel_does_not_divide":
            return f"{layout.expert_parallel} expert ranks do not divide the {layout.stage_gpus} GPUs of a stage."
        case "context_parallel_does_not_divide":
            return f"{layout.context_parallel} context ranks do not divide {layout.tensor_parallel} tensor ranks."
        case "longest_request_does_not_fit":
            return (
                f"{plan.engine_name} wants room for one request of {plan.max_model_len:,} tokens; "
                f"the pool of {show(terms.kv_room, 'bytes')} holds {fitted.longest_request:,}."
            )
        case "load_peak_does_not_fit":
            stored = (plan.spec.checkpoint_dtype or plan.weight_dtype).upper()
            return (
                f"Files in {stored} converted to {plan.weight_dtype.upper()} while they load take "
                f"{show(fitted.load_peak, 'bytes')} on a GPU that shows {show(plan.visible_bytes, 'bytes')}."
            )
        case "no_room_for_cache":
            return f"The {show(terms.kv_room, 'bytes')} left for the KV cache do not hold one request."
    short = show(-terms.kv_room, "bytes")
    return (
        f"Weights of {show(terms.weights, 'bytes')} and what the engine needs beside them exceed the budget of "
        f"{show(terms.budget, 'bytes')} a GPU by {short}."
    )


def does_not_start(plan: Plan, fitted: fits.Fit, ready: Operation | None, *, close: bool) -> Finding:
    change: dict[str, Any] | None = None
    suggestion = None
    claim = "most likely does not start" if close else "does not start"
    if fitted.problem == "longest_request_does_not_fit" and fitted.longest_request >= request_tokens(plan):
        change = {"max_model_len": fitted.longest_request}
        suggestion = f"Limit requests to {fitted.longest_request:,} tokens."
    elif fitted.problem == "weights_do_not_fit" and plan.spec.memory_fraction is None and roomier(plan, fitted):
        change = {"memory_fraction": MOST_FRACTION}
        suggestion = f"Let the engine take {MOST_FRACTION:.0%} of the memory; little is left for anything else."
    elif _has_copies(plan, ready):
        change = remarks.copied(plan)
        suggestion = "Data-parallel attention: a copy on each GPU."
    return Finding(
        code=fitted.problem,
        severity="error",
        message=f"{plan.engine_name} {claim}. {_reason(plan, fitted)}",
        metric="fits",
        suggestion=suggestion,
        change=change,
    )


def _served_all_the_same(plan: Plan, fitted: fits.Fit, ready: Operation | None) -> Iterator[Finding]:
    """Times of a replica that does not start as it is stated: what they hold for."""
    if ready is None:
        return
    condition = _condition(plan, fitted)
    if _has_copies(plan, ready):
        condition = f"with data-parallel attention, a copy on each of the {ready.plan.layout.stage_gpus} GPUs"
    yield Finding(
        code="times_if_it_started",
        severity="info",
        message=f"Latency, throughput and price are those it would have {condition}.",
        metric="tpot_mean_s",
    )


def _has_copies(plan: Plan, ready: Operation | None) -> bool:
    """Whether the replica is timed with copies of attention that it does not state."""
    return ready is not None and ready.plan.layout != plan.layout


def _condition(plan: Plan, fitted: fits.Fit) -> str:
    if fitted.longest_request >= request_tokens(plan):
        return f"with requests limited to {fitted.longest_request:,} tokens"
    if fits.bounds(plan, fitted).high.longest_request(limit=request_tokens(plan)) >= request_tokens(plan):
        return "at the upper end of the range of its memory"
    return f"with a memory fraction of {MOST_FRACTION:g}"


def placed(gpus: int, **more: Any) -> dict[str, Any]:
    """The change that puts the replica on so many GPUs by tensor parallelism alone."""
    alone = {
        "pipeline_parallel": None,
        "data_parallel_attention": None,
        "expert_parallel": None,
        "context_parallel": None,
    }
    return {"gpus": gpus, "tensor_parallel": gpus, **alone, **more}


def _alternatives(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    gpus = search.smallest(plan)
    if gpus is not None and gpus != plan.layout.gpus:
        price = "" if plan.price_usd_per_h is None else f", {show(gpus * plan.price_usd_per_h, 'USD/h')}"
        yield Finding(
            code="smallest_replica",
            severity="info",
            message=f"The smallest replica of this GPU on which it starts is {gpus} × {plan.gpu.name}.",
            metric="smallest_gpus",
            suggestion=f"{show(gpus, 'GPUs')} by tensor parallelism{price}.",
            change=placed(gpus, **unmeasured(plan.spec)),
        )
    best = search.cheapest(plan, catalog)
    if best is None or (best.gpu.slug == plan.gpu.slug and best.gpus == gpus):
        return
    price = show(best.usd_per_h, "USD/h")
    yield Finding(
        code="cheapest_replica",
        severity="info",
        message=f"The cheapest replica on which it starts is {best.gpus} × {best.gpu.name}.",
        suggestion=f"{best.gpus} × {best.gpu.name}, {price}.",
        change=placed(best.gpus, gpu=best.gpu.slug, gpu_price_usd_per_h=None, **unmeasured(plan.spec)),
    )


def request_too_long(plan: Plan, fitted: fits.Fit) -> Finding:
    tokens = request_tokens(plan)
    fits_pool = tokens <= fitted.longest_request
    limit = (
        f"the limit of {plan.max_model_len:,}" if fits_pool else f"the {fitted.longest_request:,} that the pool holds"
    )
    return Finding(
        code="request_too_long",
        severity="error",
        message=f"A request of {tokens:,} tokens is longer than {limit}: no latency or rate exists.",
        metric="longest_request_tokens",
        suggestion=f"Allow {tokens:,} tokens." if fits_pool else None,
        change={"max_model_len": tokens} if fits_pool else None,
    )
