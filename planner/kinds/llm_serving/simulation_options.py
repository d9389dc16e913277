"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving.spec import LlmServingSpec

DEFAULT_DURATION_S = 600.0
MAX_REQUESTS = 20_000_000

OPTIONS = (
    OptionDef(
        "rate_scale",
        _("Rate, times"),
        1.0,
        minimum=1e-4,
        maximum=1e4,
        help=_("Multiplies the peak rate; a trace is replayed that many times as fast."),
    ),
    OptionDef(
        "arrivals",
        _("Arrivals"),
        "auto",
        choices=("auto", "trace", "poisson"),
        help=_(
            "Auto: the trace if one is chosen, else Poisson. Poisson with a trace draws the lengths from the trace."
        ),
    ),
    OptionDef(
        "router",
        _("Router"),
        "least_loaded",
        choices=("least_loaded", "round_robin"),
        help=_("How requests are spread over the units."),
    ),
    OptionDef(
        "prefix_hits",
        _("Prefix hits"),
        "alike",
        choices=("alike", "spread"),
        help=_(
            "Alike: every prompt finds the same share, as the estimate assumes. Spread: it varies from all to nothing."
        ),
    ),
    OptionDef(
        "warmup_s",
        _("Warm-up"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("Cut from the measurements. Empty: five mean stays of a request, at most a quarter of the run."),
    ),
    OptionDef(
        "fail_decode_unit_at_s",
        _("Lose a decode unit at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("The first decode unit (or replica) stops; its requests are computed again elsewhere. Empty: never."),
    ),
    OptionDef(
        "rejoin_s",
        _("It rejoins after"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("Counted from when the failure is detected. Empty: the time to rejoin of the design."),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    rate_scale: float = 1.0
    arrivals: str = "auto"
    router: str = "least_loaded"
    prefix_hits: str = "alike"
    warmup_s: float | None = None
    fail_decode_unit_at_s: float | None = None
    rejoin_s: float | None = None


def check(spec: LlmServingSpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    if request.workload is None and chosen.arrivals == "trace":
        raise ValueError("options.arrivals: “trace” needs a workload to replay")
    draws = request.workload is None or chosen.arrivals == "poisson"
    rate = spec.peak_rps * chosen.rate_scale if draws else None
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=rate, usual_s=DEFAULT_DURATION_S)
    check_moments(request, moments={"warmup_s": chosen.warmup_s, "fail_decode_unit_at_s": chosen.fail_decode_unit_at_s})


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
