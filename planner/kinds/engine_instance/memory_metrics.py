"""The memory of the tightest rank as metrics, each with its range and where it comes from."""

from __future__ import annotations

from collections.abc import Callable

from planner.core.quantities import show
from planner.core.result import Basis, Metric
from planner.formulas import paging
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import search
from planner.kinds.engine_instance.measured import Calibration
from planner.kinds.engine_instance.metrics import BY_NAME
from planner.kinds.engine_instance.plan import Plan

_SPREAD = ("activation", "graph", "context")
_NAMED = {"activation": "activation", "graph": "graph", "context": "non_torch"}
"""Terms by the figure of a log that names them; else only their sum is known."""


def memory_metrics(plan: Plan, fitted: fits.Fit, bounds: fits.Bounds, known: Calibration | None) -> dict[str, Metric]:
    """Verdict, terms, pool and what the pool holds."""
    terms, basis = fitted.tight.terms, _basis(plan, known)
    of_terms: Basis = "calibrated" if basis == "measured" else basis
    found = {
        "fits": _verdict(fitted, bounds, basis),
        "gpus": Metric(BY_NAME["gpus"], float(plan.layout.gpus)),
        "smallest_gpus": _plain("smallest_gpus", search.smallest(plan)),
        "budget_bytes": Metric(BY_NAME["budget_bytes"], terms.budget, working=_budget_working(plan, terms.budget)),
        "weights_bytes": _weights(fitted, known),
        "load_peak_bytes": Metric(BY_NAME["load_peak_bytes"], fitted.load_peak),
        "kv_bytes_per_token": Metric(BY_NAME["kv_bytes_per_token"], fitted.kv_bytes_per_token),
        "other_bytes": Metric(BY_NAME["other_bytes"], terms.other, basis=of_terms),
    }
    for name in _SPREAD:
        spread, value = terms.spreads[name], getattr(terms, name)
        named = known is not None and known.same_settings and _NAMED[name] in known.figures
        found[f"{name}_bytes"] = _ranged(
            f"{name}_bytes",
            value,
            low=max(spread.low, 0.0),
            high=spread.high,
            basis="measured" if named else of_terms,
        )
    return found | _pool(plan, fitted, bounds, basis)


def _basis(plan: Plan, known: Calibration | None) -> Basis:
    if known is not None and plan.measured is not None:
        return "measured" if known.same_settings and plan.measured.rest_shift is not None else "calibrated"
    return "calibrated" if plan.settings["memory_fraction_of"] != "free_after_peak" else "extrapolated"


def _verdict(fitted: fits.Fit, bounds: fits.Bounds, basis: Basis) -> Metric:
    if not fits.is_of_memory(fitted):
        return Metric(BY_NAME["fits"], float(fitted.starts))
    low, high = float(bounds.starts_low), float(bounds.starts_high)
    if low == high:
        return Metric(BY_NAME["fits"], float(fitted.starts))
    return Metric(BY_NAME["fits"], float(fitted.starts), low=low, high=high, basis=basis)


def _weights(fitted: fits.Fit, known: Calibration | None) -> Metric:
    spread, value = fitted.tight.terms.spreads["weights"], fitted.tight.terms.weights
    basis: Basis
    if known is not None and "weights" in known.figures:
        basis = "measured" if known.same_settings else "calibrated"
        return Metric(BY_NAME["weights_bytes"], value, basis=basis)
    basis = "exact" if spread.low == spread.high else "calibrated"
    return _ranged("weights_bytes", value, low=spread.low, high=spread.high, basis=basis)


def _pool(plan: Plan, fitted: fits.Fit, bounds: fits.Bounds, basis: Basis) -> dict[str, Metric]:
    terms = fitted.tight.terms
    if terms.kv_room <= 0:
        names = ("kv_pool_bytes", "kv_pool_tokens", "kv_blocks", "max_concurrency", "longest_request_tokens")
        return {name: _plain(name, None, basis=basis) for name in names}

    def counted(name: str, count: Callable[[paging.Pool], float]) -> Metric:
        value, low, high = (float(count(pool)) for pool in (fitted.tight.pool, bounds.low, bounds.high))
        return _ranged(name, value, low=low, high=high, basis=basis)

    def longest(pool: paging.Pool) -> float:
        return float(pool.longest_request(limit=max(plan.llm.max_context_tokens, plan.max_model_len)))

    size = _ranged("kv_pool_bytes", terms.kv_room, low=max(terms.pool_low, 0.0), high=terms.pool_high, basis=basis)
    return {
        "kv_pool_bytes": size,
        "kv_pool_tokens": counted("kv_pool_tokens", lambda pool: fits.pool_tokens(plan, pool)),
        "kv_blocks": counted("kv_blocks", lambda pool: pool.blocks),
        "max_concurrency": counted("max_concurrency", lambda pool: pool.requests(plan.max_model_len)),
        "longest_request_tokens": counted("longest_request_tokens", longest)
        if fitted.longest_request
        else _plain("longest_request_tokens", None, basis=basis),
    }


def _budget_working(plan: Plan, budget: float) -> str:
    if plan.settings["memory_fraction_of"] != "visible":
        return f"all of {show(plan.visible_bytes, 'bytes')} visible"
    return f"{budget / plan.visible_bytes:.2f} · {show(plan.visible_bytes, 'bytes')} visible"


def _plain(name: str, value: float | None, basis: Basis = "exact") -> Metric:
    return Metric(BY_NAME[name], None if value is None else float(value), basis=basis)


def _ranged(name: str, value: float, *, low: float, high: float, basis: Basis) -> Metric:
    """A metric with its range; one that has none shows no band."""
    if high - low <= 1e-9 * abs(value):
        return Metric(BY_NAME[name], value, basis=basis)
    return Metric(BY_NAME[name], value, low=min(low, value), high=max(high, value), basis=basis)
