"""Options of a run about its units: which are lost and how they return, and which come and go with load and hour."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.simulation import OptionDef
from planner.core.text import gettext_noop as _

LOSSES, SCALING = _("Losses"), _("Units by load and hour")
POOLS = ("pool_prompts", "pool")
"""What `lost_kv` is when a pool has the KV."""

MOMENTS = ("fail_decode_unit_at_s", "fail_prefill_unit_at_s")
"""Options that name a moment of the run."""

OPTIONS = (
    OptionDef(
        "fail_decode_unit_at_s",
        _("Lose a decode unit at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("The first decode unit (or replica) stops. Empty: never."),
        group=LOSSES,
    ),
    OptionDef(
        "fail_prefill_unit_at_s",
        _("Lose a prefill unit at"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("The first prefill unit stops; its prompts go to the others. Empty: never."),
        group=LOSSES,
    ),
    OptionDef(
        "lost_together",
        _("What is lost"),
        "unit",
        choices=("unit", "node"),
        choice_labels=(_("one unit"), _("a node with all its units")),
        help=_("A lost node stops the whole unit it belongs to; small units that share one are lost together."),
        group=LOSSES,
    ),
    OptionDef(
        "failure_factor",
        _("Random failures of nodes, times"),
        None,
        minimum=0.0,
        maximum=1e7,
        help=_("Multiplies the failure rate of the design, so that a short run sees some. Empty: none."),
        group=LOSSES,
    ),
    OptionDef(
        "rejoin_s",
        _("It rejoins after"),
        None,
        unit="s",
        minimum=0.0,
        maximum=1e7,
        help=_("Counted from when the failure is detected. Empty: the time to rejoin of the design."),
        group=LOSSES,
    ),
    OptionDef(
        "standby_units",
        _("Units standing by"),
        0,
        minimum=0,
        maximum=1000,
        whole=True,
        help=_("Of each role, beyond the fleet: one takes the place of a lost unit after loading and start-up."),
        group=LOSSES,
    ),
    OptionDef(
        "on_loss",
        _("Requests of a lost unit"),
        "resume",
        choices=("resume", "fail"),
        choice_labels=(_("go on elsewhere"), _("fail")),
        help=_("Those that go on keep what they have written; no token is sent twice."),
        group=LOSSES,
    ),
    OptionDef(
        "lost_kv",
        _("Their KV cache"),
        "recompute",
        choices=("recompute", *POOLS),
        choice_labels=(_("is computed again"), _("of prompts is in a pool"), _("of prompts and answers is in a pool")),
        help=_("A pool holds full blocks and sends them over one link, one request after the other."),
        group=LOSSES,
        only_with=("on_loss", ("resume",)),
    ),
    OptionDef(
        "pool_gb_per_s",
        _("Link of the pool"),
        200,
        unit="GB/s",
        minimum=0.001,
        maximum=1e6,
        help=_("What the pool sends to all units together."),
        group=LOSSES,
        only_with=("lost_kv", POOLS),
    ),
    OptionDef(
        "pool_block_tokens",
        _("Blocks of the pool"),
        64,
        unit="tokens",
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=LOSSES,
        only_with=("lost_kv", POOLS),
    ),
    OptionDef(
        "load_gb_per_s",
        _("Weights load at"),
        1,
        unit="GB/s/GPU",
        minimum=1e-6,
        maximum=1e4,
        help=_("For units that stand by, are scaled up, or come back in the morning."),
        group=SCALING,
    ),
    OptionDef(
        "start_up_s",
        _("Start-up after loading"),
        240,
        unit="s",
        minimum=0.0,
        maximum=1e6,
        help=_("Start of the engine, graphs and warm-up, until it takes requests."),
        group=SCALING,
    ),
    OptionDef(
        "autoscale",
        _("Units follow the load"),
        "off",
        choices=("off", "on"),
        choice_labels=(_("no"), _("yes")),
        help=_("Between the least and what the design buys; the rest is free for other work."),
        group=SCALING,
    ),
    OptionDef(
        "scale_target",
        _("Load to aim for"),
        0.7,
        unit="ratio",
        minimum=0.01,
        maximum=1.0,
        help=_("Of decode: sequences over those that a unit carries at the TPOT objective. Of prefill: time at work."),
        group=SCALING,
        only_with=("autoscale", ("on",)),
    ),
    OptionDef(
        "scale_every_s",
        _("Looked at every"),
        15,
        unit="s",
        minimum=0.1,
        maximum=1e5,
        group=SCALING,
        only_with=("autoscale", ("on",)),
    ),
    OptionDef(
        "scale_down_after_s",
        _("Down after"),
        300,
        unit="s",
        minimum=0.0,
        maximum=1e6,
        help=_("So long fewer must have been wanted."),
        group=SCALING,
        only_with=("autoscale", ("on",)),
    ),
    OptionDef(
        "least_decode_units",
        _("At least, decode"),
        1,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=SCALING,
        only_with=("autoscale", ("on",)),
    ),
    OptionDef(
        "least_prefill_units",
        _("At least, prefill"),
        1,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=SCALING,
        only_with=("autoscale", ("on",)),
    ),
    OptionDef(
        "night_decode_units",
        _("Decode units at night"),
        None,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        help=_("The others drain and are free for other work. Empty: all stay."),
        group=SCALING,
    ),
    OptionDef(
        "night_prefill_units",
        _("Prefill units at night"),
        None,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=SCALING,
    ),
    OptionDef(
        "night_from_h",
        _("Night begins at"),
        1,
        unit="h",
        minimum=0.0,
        maximum=23.99,
        help=_("By the hour of the arrivals; without one a run begins at 0:00."),
        group=SCALING,
    ),
    OptionDef(
        "night_to_h",
        _("Night ends at"),
        7,
        unit="h",
        minimum=0.0,
        maximum=23.99,
        help=_("All units are up again by then: they start to load before."),
        group=SCALING,
    ),
)


@dataclass(frozen=True)
class ControlOptions:
    """These options with their defaults filled in."""

    fail_decode_unit_at_s: float | None = None
    fail_prefill_unit_at_s: float | None = None
    lost_together: str = "unit"
    failure_factor: float | None = None
    rejoin_s: float | None = None
    standby_units: float = 0
    on_loss: str = "resume"
    lost_kv: str = "recompute"
    pool_gb_per_s: float = 200
    pool_block_tokens: float = 64
    load_gb_per_s: float = 1
    start_up_s: float = 240.0
    autoscale: str = "off"
    scale_target: float = 0.7
    scale_every_s: float = 15.0
    scale_down_after_s: float = 300.0
    least_decode_units: float = 1
    least_prefill_units: float = 1
    night_decode_units: float | None = None
    night_prefill_units: float | None = None
    night_from_h: float = 1.0
    night_to_h: float = 7.0
