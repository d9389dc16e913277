"""How requests arrive in a simulation of this kind: the options, their defaults, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.simulation import OptionDef
from planner.core.text import gettext_noop as _

GROUP = _("Arrivals")
DAY_S = 86_400.0
USUAL_MEAN_TO_PEAK = 0.6
"""Of a day, where the design plans for a flat one."""

_TRACE = ("arrivals", ("auto", "trace"))
_DAY = ("arrivals", ("diurnal",))
_BURSTS = ("arrivals", ("bursty",))
_CLOSED = ("arrivals", ("closed",))

OPTIONS = (
    OptionDef(
        "arrivals",
        _("They come"),
        "auto",
        choices=("auto", "trace", "poisson", "diurnal", "bursty", "gamma", "closed"),
        choice_labels=(
            _("the trace, else Poisson"),
            _("the trace"),
            _("Poisson at the peak rate"),
            _("by the hour of the day"),
            _("in bursts"),
            _("at uneven gaps"),
            _("from clients that wait for their answers"),
        ),
        group=GROUP,
        help=_("Drawn arrivals with a trace take their lengths from it, in any order."),
    ),
    OptionDef(
        "rate_scale",
        _("Rate, times"),
        1.0,
        minimum=1e-4,
        maximum=1e4,
        group=GROUP,
        only_with=("arrivals", ("auto", "trace", "poisson", "diurnal", "bursty", "gamma")),
        help=_("Multiplies the peak rate; a trace is replayed that many times as fast."),
    ),
    OptionDef(
        "mean_to_peak",
        _("Mean rate of the day"),
        None,
        unit=_("of peak"),
        minimum=0.01,
        maximum=1.0,
        group=GROUP,
        only_with=_DAY,
        help=_("The peak is that of the design. Empty: the design's mean demand, or 0.6 where that is flat."),
    ),
    OptionDef("peak_h", _("Busiest at"), 14.0, unit="h", minimum=0.0, maximum=24.0, group=GROUP, only_with=_DAY),
    OptionDef(
        "hourly",
        _("Rates by the hour"),
        "",
        group=GROUP,
        only_with=_DAY,
        help=_("24 numbers from midnight on, in any unit, the highest standing for the peak; in place of a sine."),
    ),
    OptionDef(
        "start_h", _("The run begins at"), 0.0, unit="h", minimum=0.0, maximum=23.99, group=GROUP, only_with=_DAY
    ),
    OptionDef(
        "day_s",
        _("A day lasts"),
        DAY_S,
        unit="s",
        minimum=60.0,
        maximum=DAY_S,
        group=GROUP,
        only_with=_DAY,
        help=_("Shorter: the same rates, passed through faster. Without a simulated time the run is one day."),
    ),
    OptionDef(
        "burst_times",
        _("Rate in a burst"),
        5.0,
        unit=_("times the calm"),
        minimum=1.0,
        maximum=1e3,
        group=GROUP,
        only_with=_BURSTS,
        help=_("The mean over bursts and calm stays the peak rate of the design."),
    ),
    OptionDef(
        "burst_s",
        _("A burst lasts"),
        30.0,
        unit="s",
        minimum=0.1,
        maximum=1e6,
        group=GROUP,
        only_with=_BURSTS,
        help=_("On average; both lengths are exponential."),
    ),
    OptionDef("calm_s", _("Between bursts"), 270.0, unit="s", minimum=0.1, maximum=1e6, group=GROUP, only_with=_BURSTS),
    OptionDef(
        "gap_cv",
        _("Variation of the gaps"),
        2.0,
        minimum=0.0,
        maximum=20.0,
        group=GROUP,
        only_with=("arrivals", ("gamma",)),
        help=_("Standard deviation over mean: 0 is a metronome, 1 is Poisson, more comes in clumps."),
    ),
    OptionDef(
        "clients",
        _("Clients"),
        64,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=GROUP,
        only_with=_CLOSED,
        help=_("Each sends its next request when it has its answer; those of a trace in its order."),
    ),
    OptionDef(
        "think_s",
        _("Pause of a client"),
        0.0,
        unit="s",
        minimum=0.0,
        maximum=1e6,
        group=GROUP,
        only_with=_CLOSED,
        help=_("From the end of an answer to the next request."),
    ),
    OptionDef(
        "spike_at_s",
        _("A spike at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        group=GROUP,
        only_with=("arrivals", ("auto", "poisson", "diurnal", "bursty", "gamma")),
        help=_("For drawn arrivals. Empty: none."),
    ),
    OptionDef(
        "spike_times",
        _("The rate rises to"),
        3.0,
        unit=_("times"),
        minimum=0.0,
        maximum=1e3,
        group=GROUP,
        only_with=("spike_at_s", ()),
    ),
    OptionDef(
        "spike_for_s",
        _("It lasts"),
        60.0,
        unit="s",
        minimum=0.1,
        maximum=1e7,
        group=GROUP,
        only_with=("spike_at_s", ()),
    ),
    OptionDef(
        "trace_start_s",
        _("Begin the trace at"),
        0.0,
        unit="s",
        minimum=0.0,
        maximum=1e9,
        group=GROUP,
        only_with=_TRACE,
        help=_("By the trace's own clock."),
    ),
    OptionDef(
        "warp_to_s",
        _("Stretch the trace to"),
        None,
        unit="s",
        minimum=1.0,
        maximum=1e8,
        group=GROUP,
        only_with=_TRACE,
        help=_("Its rate over time keeps its shape. Empty: it lasts as long as it did."),
    ),
    OptionDef(
        "warp_keeps",
        _("A stretched trace keeps"),
        "requests",
        choices=("requests", "rate"),
        choice_labels=(_("its requests, at other gaps"), _("its rate, with more or fewer requests")),
        group=GROUP,
        only_with=("warp_to_s", ()),
        help=_("With the rate kept a request comes again as often as that needs, each time with prefixes of its own."),
    ),
    OptionDef(
        "repeat",
        _("Play the trace"),
        1,
        unit=_("times"),
        minimum=1,
        maximum=100_000,
        whole=True,
        group=GROUP,
        only_with=_TRACE,
        help=_("End to end, each time with prefixes of its own."),
    ),
)


@dataclass(frozen=True, slots=True)
class ArrivalOptions:
    """The options with their defaults filled in."""

    arrivals: str = "auto"
    rate_scale: float = 1.0
    mean_to_peak: float | None = None
    peak_h: float = 14.0
    hourly: str = ""
    start_h: float = 0.0
    day_s: float = DAY_S
    burst_times: float = 5.0
    burst_s: float = 30.0
    calm_s: float = 270.0
    gap_cv: float = 2.0
    clients: float = 64
    think_s: float = 0.0
    spike_at_s: float | None = None
    spike_times: float = 3.0
    spike_for_s: float = 60.0
    trace_start_s: float = 0.0
    warp_to_s: float | None = None
    warp_keeps: str = "requests"
    repeat: float = 1

    @property
    def is_closed(self) -> bool:
        """Whether requests come when answers end."""
        return self.arrivals == "closed"

    def replays(self, *, has_trace: bool) -> bool:
        """Whether the moments are those of a trace; raises ValueError where there is none."""
        if self.arrivals == "trace" and not has_trace:
            raise ValueError("options.arrivals: “trace” needs a workload to replay")
        return has_trace and self.arrivals in ("auto", "trace")

    @property
    def hours(self) -> tuple[float, ...] | None:
        """Rates by the hour, if they were given; raises ValueError."""
        words = self.hourly.replace(",", " ").split()
        if not words:
            return None
        try:
            hours = tuple(float(word) for word in words)
        except ValueError:
            raise ValueError("options.hourly: must be 24 numbers, from midnight on") from None
        if len(hours) != 24 or not all(0 <= hour < 1e12 for hour in hours) or not any(hours):
            raise ValueError("options.hourly: must be 24 numbers of at least 0, and one of them more")
        return hours


def check(chosen: ArrivalOptions, *, replays: bool) -> None:
    """Refuse options that do not go together; raises ValueError that names one."""
    if not replays:
        _hours = chosen.hours
        return
    if chosen.spike_at_s is not None:
        raise ValueError("options.spike_at_s: a replayed trace has its own spikes; draw the arrivals to add one")
    if chosen.warp_to_s is not None and chosen.warp_keeps == "requests" and chosen.rate_scale != 1.0:
        raise ValueError("options.rate_scale: leave it at 1 where the trace is stretched and keeps its requests")
