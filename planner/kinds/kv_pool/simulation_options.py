"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.spec import KvPoolSpec

DEFAULT_DURATION_S = 21_600.0
"""Caches start empty: a fleet sized for warm ones needs hours to work off what the first minutes leave."""
MAX_REQUESTS = 20_000_000
USUAL_REQUESTS = 3_000_000
"""A run without a stated length stays below, so that it ends in a minute."""

OPTIONS = (
    OptionDef(
        "policies",
        _("Eviction"),
        "all",
        choices=("all", "chosen"),
        help=_("All: least recently used, after a fixed time and by value on the same requests. Chosen: the design's."),
    ),
    OptionDef(
        "rate_scale",
        _("Rate, times"),
        1.0,
        minimum=1e-4,
        maximum=1e4,
        help=_("Multiplies the rate of turns; a trace is replayed that many times as fast."),
    ),
    OptionDef(
        "place",
        _("A turn goes to"),
        "auto",
        choices=("auto", "affinity", "least_loaded", "random", "round_robin"),
        help=_(
            "Affinity: its session's unit, which finds it in HBM but may be busy. Least loaded: waits less and finds "
            "it further down. Auto: in a pool the least loaded while HBM finds less than a tenth, else by the design."
        ),
    ),
    OptionDef(
        "warmup_s",
        _("Warm-up"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e8,
        help=_("Cut from the measurements. Empty: until caches are full and the work of the cold start is done."),
    ),
    OptionDef(
        "upgrade_at_s",
        _("Upgrade the LLM at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e8,
        help=_("From then on the new version serves its share, and finds nothing of the old one. Empty: never."),
    ),
    OptionDef("upgrade_share", _("Share that moves"), 1.0, minimum=0.0, maximum=1.0),
    OptionDef(
        "lose_unit_at_s",
        _("Lose a unit at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e8,
        help=_("A prefill unit and its part of all tiers. Empty: never."),
    ),
    OptionDef("rejoin_s", _("It rejoins empty after"), 600.0, unit="s", minimum=0.0, maximum=1e8),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    policies: str = "all"
    rate_scale: float = 1.0
    place: str = "auto"
    warmup_s: float | None = None
    upgrade_at_s: float | None = None
    upgrade_share: float = 1.0
    lose_unit_at_s: float | None = None
    rejoin_s: float = 600.0


def check(spec: KvPoolSpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    duration_s = request.duration_s
    if duration_s is not None and not 0 < duration_s < 1e9:
        raise ValueError(f"duration_s: must be above 0 and below 1e9 s, is {duration_s:g}")
    if request.requests is not None and not 1 <= request.requests <= MAX_REQUESTS:
        raise ValueError(f"requests: must be from 1 to {MAX_REQUESTS:,}, is {request.requests:,}")
    rate = spec.turns_per_s * chosen.rate_scale
    if request.workload is None and spec.source != "trace" and duration_s is not None and request.requests is None:
        expected = rate * duration_s
        if expected > MAX_REQUESTS:
            raise ValueError(f"duration_s: {expected:,.0f} requests would arrive; the most is {MAX_REQUESTS:,}")
    if request.workload is not None and request.workload.blocks is None:
        raise ValueError("workload: this trace has no block hashes, so nothing in it can be found again")
    if duration_s is not None:
        moments = {name: getattr(chosen, name) for name in ("warmup_s", "upgrade_at_s", "lose_unit_at_s")}
        for name, at_s in moments.items():
            if at_s is not None and at_s >= duration_s:
                raise ValueError(f"options.{name}: {at_s:g} s is not within the run of {duration_s:g} s")


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    known = {option.name: option for option in OPTIONS}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"options.{name}: there is no such option; there are {', '.join(known)}")
        if value not in (None, ""):
            option = known[name]
            values[name] = _chosen(option, value) if option.choices else _number(option, value)
    return Options(**values)


def _chosen(option: OptionDef, value: Any) -> str:
    if value not in option.choices:
        raise ValueError(f"options.{option.name}: must be one of {', '.join(option.choices)}, is {value!r}")
    return str(value)


def _number(option: OptionDef, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    low, high = option.minimum or 0.0, option.maximum or float("inf")
    if isinstance(value, bool) or not low <= number <= high:
        raise ValueError(f"options.{option.name}: must be a number from {low:g} to {high:g}, is {value!r}")
    return number
