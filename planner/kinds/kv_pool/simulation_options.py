"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.spec import KvPoolSpec

DEFAULT_DURATION_S = 7200.0
"""Half of it fills the caches, which start empty."""
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
    if request.workload is not None and request.workload.blocks is None:
        raise ValueError("workload: this trace has no block hashes, so nothing in it can be found again")
    draws = request.workload is None and spec.source != "trace" and request.duration_s is not None
    rate = spec.turns_per_s * chosen.rate_scale if draws else None
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=rate, usual_s=DEFAULT_DURATION_S)
    check_moments(
        request, moments={name: getattr(chosen, name) for name in ("warmup_s", "upgrade_at_s", "lose_unit_at_s")}
    )


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
