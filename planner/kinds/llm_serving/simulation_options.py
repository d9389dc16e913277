"""The options of this kind's simulation: how they are shown, checked and defaulted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving import arrival_options, control_options, engine_options
from planner.kinds.llm_serving.arrival_options import ArrivalOptions
from planner.kinds.llm_serving.control_options import ControlOptions
from planner.kinds.llm_serving.engine_options import EngineOptions
from planner.kinds.llm_serving.spec import LlmServingSpec

OWN_CACHES = "own_caches"
OPTIONS = (
    *arrival_options.OPTIONS,
    OptionDef(
        "router",
        _("Router"),
        "least_loaded",
        choices=("least_loaded", "round_robin", "cache_aware"),
        choice_labels=(
            _("to the least loaded"),
            _("in turn"),
            _("to where it is through first, cached prefix included"),
        ),
        help=_("How requests are spread over the units."),
    ),
    OptionDef(
        "prefix_hits",
        _("Prefix hits"),
        "alike",
        choices=("alike", "spread", OWN_CACHES),
        choice_labels=(
            _("the same share of every prompt"),
            _("from all to nothing"),
            _("as the units' own caches find"),
        ),
        help=_(
            "A trace that tells its hits is believed, as of a cache without limit; own caches look up its blocks in "
            "the KV pool of the unit (or replica) that the router names. The estimate assumes the same share of all."
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
    *engine_options.OPTIONS,
    *control_options.OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Options(ArrivalOptions, EngineOptions, ControlOptions):
    """The options with their defaults filled in."""

    router: str = "least_loaded"
    prefix_hits: str = "alike"
    warmup_s: float | None = None


def check(spec: LlmServingSpec, *, request: SimulationRequest, chosen: Options) -> None:
    """Refuse options that do not go together, or lie beyond the run; raises ValueError that names one."""
    replays = chosen.replays(has_trace=request.workload is not None)
    arrival_options.check(chosen, replays=replays)
    engine_options.check(spec, chosen=chosen)
    has_blocks = replays and request.workload is not None and request.workload.blocks is not None
    if chosen.prefix_hits == OWN_CACHES and not has_blocks:
        raise ValueError("options.prefix_hits: own caches need a trace, replayed, that tells the blocks of its prompts")
    names = ("warmup_s", *control_options.MOMENTS, "spike_at_s")
    check_moments(request, moments={name: getattr(chosen, name) for name in names})


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
