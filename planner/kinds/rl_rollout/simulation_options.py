"""The options of this kind's simulation: how they are shown, checked and defaulted; what a run is long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest
from planner.core.text import gettext_noop as _

DEFAULT_DURATION_S = 36_000.0
MAX_REQUESTS = 5_000_000
"""Answers."""
LEAST_MEASURED, USUAL_MEASURED, USUAL_WARMUP = 20, 100, 20
USUAL_ANSWERS = 3_000_000
"""Of a run whose length nobody asked for, all modes together: a few seconds."""
MOST_STEPS = 5000
MODES = 4
"""Side by side unless one is chosen."""
BOUNDS = (0, 1, 2, 4, 8)
"""Staleness bounds side by side."""

OPTIONS = (
    OptionDef(
        "modes",
        _("Modes"),
        "all",
        choices=("all", "chosen", "bounds"),
        help=_("All: each mode gets the same answers on the same GPUs. Bounds: asynchronous with η of 0 to 8."),
    ),
    OptionDef(
        "steps",
        _("Training steps"),
        None,
        minimum=1,
        maximum=MOST_STEPS,
        whole=True,
        help=_("Measured ones. Empty: as many as the duration holds; without one 100, or fewer where steps are large."),
    ),
    OptionDef(
        "warmup_steps",
        _("Warm-up"),
        None,
        unit="steps",
        minimum=0,
        maximum=MOST_STEPS,
        whole=True,
        help=_("Not measured: instances start empty, and groups that wait have to gather. Empty: 20, or half of few."),
    ),
    OptionDef(
        "staleness_bound",
        _("Staleness bound η"),
        None,
        unit="versions",
        minimum=0,
        maximum=64,
        whole=True,
        help=_("Empty: that of the design."),
    ),
    OptionDef(
        "enforcement",
        _("The bound is enforced"),
        "design",
        choices=("design", "admission", "discard", "carry"),
        help=_("When answers start; also by dropping older groups; also by cutting and carrying on."),
    ),
    OptionDef(
        "score_s",
        _("Scoring an answer takes"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e5,
        help=_("Empty: as in the design. Scorers are sized for it unless the design gives them."),
    ),
    OptionDef(
        "oversampling",
        _("Over-sampling"),
        None,
        unit="ratio",
        minimum=0.0,
        maximum=4.0,
        help=_("Empty: that of the design."),
    ),
    OptionDef(
        "lengths",
        _("Lengths"),
        "auto",
        choices=("auto", "law", "trace"),
        help=_("Auto: of the trace if one is chosen, scaled to the mean of the design; else the law of the design."),
    ),
    OptionDef(
        "memory",
        _("Answers an instance runs"),
        "held",
        choices=("held", "engine"),
        help=_("Held: at most as many as memory holds on average. Engine: as many as fit, and preempt."),
    ),
    OptionDef(
        "fail_at_s",
        _("Lose an instance at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e9,
        help=_("With all it runs. Empty: never."),
    ),
    OptionDef(
        "rejoin_s",
        _("It is back after"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e9,
        help=_("Empty: as the design says."),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options with their defaults filled in."""

    modes: str = "all"
    steps: float | None = None
    warmup_steps: float | None = None
    staleness_bound: float | None = None
    enforcement: str = "design"
    score_s: float | None = None
    oversampling: float | None = None
    lengths: str = "auto"
    memory: str = "held"
    fail_at_s: float | None = None
    rejoin_s: float | None = None

    def warms_up(self, *, request: SimulationRequest, step_s: float, answers: float) -> int:
        """Steps before measuring: less than usual where few answers are asked for, or an instance is lost early."""
        if self.warmup_steps is not None:
            return int(self.warmup_steps)
        found = USUAL_WARMUP
        if self.steps is None and request.requests is not None:
            found = min(found, math.ceil(request.requests / max(answers, 1.0)) // 2)
        if self.fail_at_s is not None:
            found = min(found, max(math.floor(self.fail_at_s / max(step_s, 1e-9)) - 1, 0))
        return found

    def side_by_side(self, staleness_bound: int) -> int:
        """Runs of the same answers."""
        return {"chosen": 1, "all": MODES, "bounds": len({*BOUNDS, staleness_bound})}[self.modes]

    @property
    def changes(self) -> dict[str, Any]:
        """Fields of the design that the run sets otherwise."""
        found: dict[str, Any] = {}
        if self.staleness_bound is not None:
            found["staleness_bound"] = int(self.staleness_bound)
        if self.enforcement != "design":
            found["enforcement"] = self.enforcement
        if self.score_s is not None:
            found["score_s"] = self.score_s
        if self.oversampling is not None:
            found["oversampling"] = self.oversampling
        return found

    def replays(self, request: SimulationRequest) -> bool:
        """Whether lengths are those of the request's trace."""
        return request.workload is not None and self.lengths != "law"


def steps_of(chosen: Options, *, request: SimulationRequest, step_s: float, answers: float, cases: int) -> int:
    """Training steps to be measured: asked for, as many as so many answers or the duration hold, or as usual.

    A run of the usual duration measures a hundred steps in every mode, or as many as take a few seconds.
    """
    if chosen.steps is not None:
        return max(int(chosen.steps), 1)
    warms_up = chosen.warms_up(request=request, step_s=step_s, answers=answers)
    if request.requests is not None:
        return max(math.ceil(request.requests / max(answers, 1.0)) - warms_up, 1)
    if request.duration_s in (None, DEFAULT_DURATION_S):
        fitting = math.floor(USUAL_ANSWERS / max(answers * cases, 1.0)) - warms_up
        return min(max(fitting, LEAST_MEASURED), USUAL_MEASURED)
    fitting = math.floor((request.duration_s or 0.0) / max(step_s, 1e-9)) - warms_up
    return min(max(fitting, LEAST_MEASURED), MOST_STEPS)


def check(*, request: SimulationRequest, chosen: Options) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what."""
    if request.workload is None and chosen.lengths == "trace":
        raise ValueError("options.lengths: “trace” needs a workload whose outputs are taken")
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=None, usual_s=DEFAULT_DURATION_S)
    check_moments(request, moments={"fail_at_s": chosen.fail_at_s})


def check_answers(
    chosen: Options, *, request: SimulationRequest, step_s: float, answers: float, staleness_bound: int
) -> None:
    """Refuse more answers than a run may have, all modes together; raises ValueError."""
    cases = chosen.side_by_side(staleness_bound)
    steps = steps_of(chosen, request=request, step_s=step_s, answers=answers, cases=cases)
    steps += chosen.warms_up(request=request, step_s=step_s, answers=answers)
    written = answers * steps * cases
    if written > MAX_REQUESTS:
        raise ValueError(f"options.steps: {written:,.0f} answers would be written; the most is {MAX_REQUESTS:,}")


def options(given: Mapping[str, Any]) -> Options:
    """Check the options of a request; raises ValueError that names the option."""
    return Options(**read_options(given, known=OPTIONS))
