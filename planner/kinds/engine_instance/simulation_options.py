"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance.spec import EngineInstanceSpec

DEFAULT_DURATION_S = 600.0
MAX_REQUESTS = 5_000_000
BENCHMARK_ROUNDS = 10
"""Requests a client of the usual benchmark sends in all."""
USUAL_SIGMA = 0.065
"""Spread of lengths drawn evenly from 0.8 to 1.0 of the longest, as benchmark clients do."""
_MOST_S = 1e7
LOAD, ENGINE, MEASURING = _("Load"), _("Engine"), _("Measuring")

OPTIONS = (
    OptionDef(
        "arrivals",
        _("Arrivals"),
        "auto",
        choices=("auto", "trace", "poisson", "closed_loop"),
        choice_labels=(_("the trace, else as the design says"), _("the trace"), _("Poisson"), _("closed loop")),
        group=LOAD,
        help=_(
            "A design with a concurrency is a closed loop: so many clients, each sends its next request when its last "
            "answer ended. One with a rate gets Poisson arrivals."
        ),
    ),
    OptionDef(
        "rate_scale",
        _("Rate, times"),
        1.0,
        minimum=1e-4,
        maximum=1e4,
        group=LOAD,
        help=_("Multiplies the rate; a trace is replayed that many times as fast."),
        only_with=("arrivals", ("auto", "trace", "poisson")),
    ),
    OptionDef(
        "think_s",
        _("Pause of a client"),
        0.0,
        unit="s",
        minimum=0.0,
        maximum=3600.0,
        group=LOAD,
        help=_("Between the end of an answer and the next request."),
        only_with=("arrivals", ("auto", "closed_loop")),
    ),
    OptionDef(
        "input_sigma",
        _("Spread of input"),
        USUAL_SIGMA,
        minimum=0.0,
        maximum=2.0,
        group=LOAD,
        help=_("Sigma of a log-normal around the mean; 0: all alike. As it is: the spread of the usual benchmark."),
        only_with=("arrivals", ("auto", "poisson", "closed_loop")),
    ),
    OptionDef(
        "output_sigma",
        _("Spread of output"),
        USUAL_SIGMA,
        minimum=0.0,
        maximum=2.0,
        group=LOAD,
        help=_("Sigma of a log-normal around the mean; 0: all alike. As it is: the spread of the usual benchmark."),
        only_with=("arrivals", ("auto", "poisson", "closed_loop")),
    ),
    OptionDef(
        "prefix_cache",
        _("Prefix hits"),
        "auto",
        choices=("auto", "share", "off"),
        choice_labels=(_("those of the trace, else of the design"), _("the share of the design"), _("none")),
        group=ENGINE,
        help=_("A trace with blocks tells what each prompt finds of earlier ones while nothing is evicted."),
    ),
    OptionDef(
        "admission",
        _("A prompt is let in with room for"),
        "auto",
        choices=("auto", "whole_prompt", "first_chunk"),
        choice_labels=(_("as the engine version does"), _("the whole prompt"), _("its first chunk")),
        group=ENGINE,
        help=_("Letting prompts in with room for a chunk alone starts them earlier and preempts more."),
    ),
    OptionDef(
        "warmup_s",
        _("Warm-up"),
        None,
        unit="s",
        minimum=0.0,
        maximum=_MOST_S,
        group=MEASURING,
        help=_(
            "Cut from the measurements. Empty: nothing of a trace or a closed loop, as benchmarks do; of Poisson "
            "arrivals five mean stays of a request, at most a quarter of the run."
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    arrivals: str = "auto"
    rate_scale: float = 1.0
    think_s: float = 0.0
    input_sigma: float = USUAL_SIGMA
    output_sigma: float = USUAL_SIGMA
    prefix_cache: str = "auto"
    admission: str = "auto"
    warmup_s: float | None = None

    def way(self, spec: EngineInstanceSpec, request: SimulationRequest) -> str:
        """``trace``, ``poisson`` or ``closed_loop``."""
        if self.arrivals != "auto":
            return self.arrivals
        if request.workload is not None:
            return "trace"
        return "closed_loop" if spec.rate_rps is None else "poisson"


def check(spec: EngineInstanceSpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    way = chosen.way(spec, request)
    if way == "trace" and request.workload is None:
        raise ValueError("options.arrivals: “trace” needs a workload to replay")
    if way == "poisson" and spec.rate_rps is None:
        raise ValueError("options.arrivals: “poisson” needs a design with a request rate, rate_rps")
    if way == "closed_loop" and spec.rate_rps is not None:
        raise ValueError("options.arrivals: “closed_loop” needs a design with a concurrency, not with a rate")
    rate = (spec.rate_rps or 0.0) * chosen.rate_scale if way == "poisson" else None
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=rate, usual_s=DEFAULT_DURATION_S)
    check_moments(request, moments={"warmup_s": chosen.warmup_s})


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
