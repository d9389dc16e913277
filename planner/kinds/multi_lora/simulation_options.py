"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.spec import MultiLoraSpec

DEFAULT_DURATION_S = 600.0
USUAL_REQUESTS = 60_000
"""Of a run that nobody gave a length: at higher rates it is shorter."""
MAX_REQUESTS = 20_000_000
_MOST_S = 1e7

OPTIONS = (
    OptionDef(
        "rate_scale",
        _("Rate, times"),
        1.0,
        minimum=1e-4,
        maximum=1e4,
        help=_("Multiplies the rate; a trace is replayed that many times as fast. Replicas stay."),
    ),
    OptionDef(
        "policies",
        _("Side by side"),
        "routing",
        choices=("routing", "fairness", "chosen"),
        help=_(
            "The same requests in turn: ways of routing, or first come against weighted counters; or this design alone."
        ),
    ),
    OptionDef(
        "arrivals",
        _("Arrivals"),
        "auto",
        choices=("auto", "trace", "poisson"),
        help=_("Auto: the trace if one is chosen, else Poisson with the popularity of the design."),
    ),
    OptionDef(
        "hosts",
        _("Hosts and slots start"),
        "warm",
        choices=("warm", "cold"),
        help=_("Warm: with the most popular adapters. Cold: empty, so that each adapter is downloaded once."),
    ),
    OptionDef(
        "warmup_s",
        _("Warm-up"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("Cut from the measurements. Empty: a fifth of the run."),
    ),
    OptionDef(
        "shift_at_s",
        _("Popularity changes at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("From then on other adapters are popular, drawn at random. Empty: never."),
    ),
    OptionDef(
        "place_every_s",
        _("Copies are placed anew each"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("By the traffic since the last time, where requests go to their adapter by load. Empty: never."),
    ),
    OptionDef(
        "fail_at_s",
        _("Lose a replica at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("Its requests start again elsewhere. Empty: never."),
    ),
    OptionDef(
        "rejoin_s",
        _("It is back after"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("With empty slots and host memory. Empty: not in this run."),
    ),
    OptionDef(
        "noisy_at_s",
        _("A tenant turns noisy at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        help=_("The largest one then sends as many times its share as the design says. Empty: never."),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    rate_scale: float = 1.0
    policies: str = "routing"
    arrivals: str = "auto"
    hosts: str = "warm"
    warmup_s: float | None = None
    shift_at_s: float | None = None
    place_every_s: float | None = None
    fail_at_s: float | None = None
    rejoin_s: float | None = None
    noisy_at_s: float | None = None

    def replays(self, request: SimulationRequest) -> bool:
        """Whether the run follows a trace."""
        return request.workload is not None and self.arrivals != "poisson"

    @property
    def is_eventful(self) -> bool:
        """Whether something is made to happen, so that nothing is at rest."""
        return any(each is not None for each in (self.shift_at_s, self.fail_at_s, self.noisy_at_s))


def check(spec: MultiLoraSpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    if request.workload is None and chosen.arrivals == "trace":
        raise ValueError("options.arrivals: “trace” needs a workload to replay")
    if chosen.replays(request) and chosen.shift_at_s is not None:
        raise ValueError("options.shift_at_s: the popularity of a trace is its own")
    rate = None if chosen.replays(request) else spec.requests_per_s * chosen.rate_scale
    usual_s = DEFAULT_DURATION_S if not rate else min(DEFAULT_DURATION_S, USUAL_REQUESTS / rate)
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=rate, usual_s=usual_s)
    moments = {
        "warmup_s": chosen.warmup_s,
        "shift_at_s": chosen.shift_at_s,
        "fail_at_s": chosen.fail_at_s,
        "noisy_at_s": chosen.noisy_at_s,
    }
    check_moments(request, moments=moments)


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
