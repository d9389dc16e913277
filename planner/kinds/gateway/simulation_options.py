"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.spec import GatewaySpec

DEFAULT_DURATION_S = 150.0
MAX_REQUESTS = 20_000_000
_MOST_S = 1e7

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
        "policies",
        _("Policies"),
        "all",
        choices=("all", "chosen"),
        help=_("All: each policy gets the same requests in turn, beside the one of the design."),
    ),
    OptionDef(
        "arrivals",
        _("Arrivals"),
        "auto",
        choices=("auto", "trace", "poisson"),
        help=_("Auto: the trace if one is chosen, else sessions with Poisson turns as the design describes them."),
    ),
    OptionDef(
        "warmup_s",
        _("Warm-up"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("Cut from the measurements; caches start empty. Empty: half of the run."),
    ),
    OptionDef(
        "fail_at_s",
        _("Lose instances at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("So many as the design loses together; they die as it says. Empty: never."),
    ),
    OptionDef(
        "rejoin_s",
        _("They are back after"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("With an empty cache. Empty: the outage of the design."),
    ),
    OptionDef(
        "canary_at_s",
        _("Start the canary at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("From then on its weight of the traffic and of the instances runs the new version, cold. Empty: none."),
    ),
    OptionDef(
        "priorities",
        _("Urgent requests first"),
        "off",
        choices=("off", "on"),
        help=_("On: they overtake in each queue, and the others may fill only half of it."),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    rate_scale: float = 1.0
    policies: str = "all"
    arrivals: str = "auto"
    warmup_s: float | None = None
    fail_at_s: float | None = None
    rejoin_s: float | None = None
    canary_at_s: float | None = None
    priorities: str = "off"

    def replays(self, request: SimulationRequest) -> bool:
        """Whether the run follows a trace."""
        return request.workload is not None and self.arrivals != "poisson"


def check(spec: GatewaySpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    if request.workload is None and chosen.arrivals == "trace":
        raise ValueError("options.arrivals: “trace” needs a workload to replay")
    rate = None if chosen.replays(request) else spec.peak_rps * chosen.rate_scale
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=rate, usual_s=DEFAULT_DURATION_S)
    moments = {"warmup_s": chosen.warmup_s, "fail_at_s": chosen.fail_at_s, "canary_at_s": chosen.canary_at_s}
    check_moments(request, moments=moments)


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
