"""A plan corrected by what a start-up of the engine has measured.

The log was taken under its own settings. The model is evaluated under those, compared with what was measured, and the
difference is carried over to the settings asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.core.catalog import Catalog
from planner.formulas import paging
from planner.formulas.memory_terms import Measured, Spread
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import rank, startup_log
from planner.kinds.engine_instance.plan import Plan, resolve
from planner.kinds.engine_instance.pools import pool_of
from planner.kinds.engine_instance.spec import EngineInstanceSpec

GIB = 2.0**30
_PRINTED = 0.005 * GIB
"""Half of the last digit of a size in a log."""
_FAR = 0.05 * GIB
"""A pool this far from the one measured cannot be explained by rounding."""
_CLOSE = 0.03
"""Tokens and bytes of a pool that agree this well are of one pool."""
_FIELDS = {
    "measured_weights_bytes": "weights",
    "measured_kv_pool_bytes": "kv_pool",
    "measured_non_kv_bytes": "non_kv",
    "measured_free_before_load_bytes": "free_before",
    "measured_kv_tokens": "tokens",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The corrected plan, the figures it was corrected by, and what they say of the settings.

    ``filled`` are fields left blank that follow the log, ``against`` those where spec and log differ, as (field, spec,
    log). ``disagreements`` are sentences about figures that do not fit the LLM or each other.
    """

    plan: Plan
    figures: Mapping[str, float]
    filled: Mapping[str, Any]
    against: tuple[tuple[str, Any, Any], ...]
    disagreements: tuple[str, ...]

    @property
    def same_settings(self) -> bool:
        return not self.against


def plan_of(spec: EngineInstanceSpec, catalog: Catalog) -> tuple[Plan, Calibration | None]:
    """The plan of a spec, calibrated when it holds measured figures; raises as `resolve` does."""
    read = startup_log.read(spec.startup_log) if spec.startup_log else None
    figures = {**(read.figures if read else {}), **_given(spec)}
    if not figures:
        return resolve(spec, catalog), None
    conditions: dict[str, Any] = dict(read.settings if read else {})
    if spec.measured_memory_fraction is not None:
        conditions["memory_fraction"] = spec.measured_memory_fraction
    filled = {name: value for name, value in conditions.items() if _is_blank(spec, name)}
    asked = spec.model_copy(update=filled)
    against = tuple(
        (name, getattr(spec, name), value)
        for name, value in conditions.items()
        if name not in filled and name != "engine_version" and getattr(asked, name) != value
    )
    return _calibrated(asked, catalog, figures=figures, filled=filled, against=against)


def _given(spec: EngineInstanceSpec) -> dict[str, float]:
    found = {name: getattr(spec, field) for field, name in _FIELDS.items()}
    return {name: float(value) for name, value in found.items() if value is not None}


def _is_blank(spec: EngineInstanceSpec, name: str) -> bool:
    if name in ("tensor_parallel", "pipeline_parallel"):
        placed = (spec.gpus, spec.tensor_parallel, spec.pipeline_parallel, spec.data_parallel_attention)
        return all(field is None for field in placed)
    return getattr(spec, name) is None


def _calibrated(
    asked: EngineInstanceSpec,
    catalog: Catalog,
    *,
    figures: Mapping[str, float],
    filled: Mapping[str, Any],
    against: tuple[tuple[str, Any, Any], ...],
) -> tuple[Plan, Calibration]:
    plan = resolve(asked, catalog)
    then = resolve(_as_logged(asked, against), catalog) if against else plan
    visible = figures.get("visible")
    if visible and asked.visible_memory_bytes is None:
        plan, then = (replace(each, visible=Spread.exact(visible)) for each in (plan, then))
    weights = max(rank.stage_weights(then))
    scale = figures["weights"] / weights if figures.get("weights", 0.0) > 0 and weights else None
    plan, then = (replace(each, weights_scale=scale) for each in (plan, then))
    then = _with_parts(then, figures)
    pool, doubt = _measured_pool(then, figures)
    doubts = [*_weight_doubt(scale, figures, weights), *doubt]
    if pool is not None:
        then = _with_pool(then, pool)
        short = pool - fits.fit(then).tight.terms.kv_room
        if short > _FAR:
            # Nothing is left to give way but the memory itself: the log is of a larger GPU or fraction.
            then = _with_memory(then, short)
            then = _with_pool(replace(then, measured=_without_shift(then)), pool)
            doubts.append(_memory_doubt(plan, then))
    plan = replace(plan, measured=then.measured, activation_scale=then.activation_scale, visible=then.visible)
    return plan, Calibration(plan, figures, filled, against, tuple(doubts))


def _with_pool(then: Plan, pool: float) -> Plan:
    """The plan whose pool is as measured: the other terms take the difference."""
    shift = fits.fit(then).tight.terms.kv_room - pool
    return replace(then, measured=replace(then.measured or Measured(), rest_shift=shift, rounding=_PRINTED))


def _without_shift(then: Plan) -> Measured | None:
    return replace(then.measured, rest_shift=None) if then.measured else None


def _with_memory(then: Plan, short: float) -> Plan:
    fraction = fits.fit(then).tight.terms.memory_fraction
    return replace(then, visible=Spread.exact(then.visible_bytes + short / fraction))


def _memory_doubt(plan: Plan, then: Plan) -> str:
    return (
        f"weights and pool of the log do not fit the {plan.visible_bytes / GIB:.1f} GiB that {plan.gpu.name} shows; "
        f"{then.visible_bytes / GIB:.1f} GiB are taken: it was another GPU, or another memory fraction"
    )


def _as_logged(asked: EngineInstanceSpec, against: tuple[tuple[str, Any, Any], ...]) -> EngineInstanceSpec:
    changed = {name: value for name, _mine, value in against}
    if {"tensor_parallel", "pipeline_parallel"} & set(changed):
        changed |= {"gpus": None, "data_parallel_attention": None, "expert_parallel": None, "context_parallel": None}
    return asked.model_copy(update=changed)


def _with_parts(then: Plan, figures: Mapping[str, float]) -> Plan:
    """Terms that the log names one by one."""
    context, graph = figures.get("non_torch"), figures.get("graph")
    if "free_before" in figures and then.takes_free_memory:
        context = max(then.visible_bytes - figures["free_before"], 0.0)
    if "activation" in figures:
        modelled = rank.of_stage(then, weights_bytes=0.0).activation.typical
        then = replace(then, activation_scale=figures["activation"] / modelled if modelled else None)
    if context is None and graph is None:
        return then
    return replace(then, measured=Measured(context=context, graph=graph))


def _measured_pool(then: Plan, figures: Mapping[str, float]) -> tuple[float | None, tuple[str, ...]]:
    """Bytes of the pool that was measured, by the finest figure, and what speaks against it."""
    by_size = _whole_pool(then, figures["kv_pool"]) if "kv_pool" in figures else None
    if by_size is None and "non_kv" in figures:
        by_size = fits.fit(then).tight.terms.budget - figures["non_kv"]
    tokens = figures.get("tokens")
    if "blocks" in figures and tokens is None:
        tokens = figures["blocks"] * then.block_size
    if tokens is None:
        return by_size, ()
    by_tokens = _bytes_of(then, int(tokens))
    if by_tokens is None or not by_size or abs(by_tokens / by_size - 1) <= _CLOSE:
        return by_tokens if by_tokens is not None else by_size, ()
    doubt = (
        f"{int(tokens):,} tokens in {by_size / GIB:.2f} GiB are {by_size / tokens:,.0f} bytes a token, "
        f"the spec makes {by_tokens / tokens:,.0f}: another KV cache format, block or set of layers"
    )
    return by_size, (doubt,)


def _whole_pool(then: Plan, printed: float) -> float:
    """The pool of a printed size, which may leave out the states of recurrent layers and the cache of a draft layer."""
    settings, tight = then.settings, fits.fit(then).tight
    if settings["printed_pool"] != "keys_and_values":
        return printed
    if then.spec.draft and tight.mix.attention:
        printed *= (tight.mix.attention + 1) / tight.mix.attention
    if tight.mix.state and then.hybrid_cache == "two_pools":
        printed *= 1.0 + settings["state_pool_ratio"]
    return printed


def _bytes_of(then: Plan, tokens: int) -> float | None:
    fitted = fits.fit(then)
    tight = fitted.tight

    def made(size: float) -> paging.Pool:
        last = tight.index == then.layout.pipeline_parallel - 1
        return pool_of(then, pool_bytes=size, mix=tight.mix, last=last)

    try:
        return paging.pool_bytes_of(tokens, pool=made, count=lambda pool: fits.pool_tokens(then, pool))
    except ValueError:
        return None


def _weight_doubt(scale: float | None, figures: Mapping[str, float], weights: float) -> tuple[str, ...]:
    if scale is None or abs(scale - 1) <= _CLOSE:
        return ()
    doubt = (
        f"the log has {figures['weights'] / GIB:.2f} GiB of weights on a rank, the spec makes {weights / GIB:.2f} GiB: "
        "another format of the weights, or modules left unquantised"
    )
    return (doubt,)
