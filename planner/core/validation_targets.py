"""What is validated, in words, and what it is to reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.core.text import gettext_noop as _
from planner.core.validation import SEEN, UNSEEN, Row, share_within, summary


@dataclass(frozen=True, slots=True)
class Target:
    """Limits on the absolute errors [%] of the rows of a group ("": all rows of the quantity).

    ``within`` are pairs (share [%], error [%]); ``coverage`` is where the share of intervals that hold must lie.
    """

    group: str = ""
    median: float | None = None
    p90: float | None = None
    within: tuple[tuple[float, float], ...] = ()
    coverage: tuple[float, float] | None = None
    answered: bool = False
    right: bool = False
    """Whether every verdict must be right, or left open."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of figure: ``against`` says whose figures ours stand beside."""

    name: str
    label: str
    against: str
    targets: tuple[Target, ...] = ()
    theirs: str = _("measured")
    """What the figure beside ours is called."""


@dataclass(frozen=True, slots=True)
class Check:
    """One limit and what came out: ``measure`` is median, p90, within, coverage, answered or right."""

    measure: str
    limit: tuple[float, ...]
    found: float
    met: bool


EXACT = 0.01
"""Error [%] below which stored figures are the same: they keep five digits."""
_COVERAGE = (75.0, 85.0)
_STEP = (
    Target(UNSEEN, median=11, p90=35, coverage=_COVERAGE, answered=True),
    Target(SEEN, median=5, p90=18, coverage=_COVERAGE, answered=True),
)
_TTFT = (
    Target(UNSEEN, median=25, p90=70, coverage=_COVERAGE, answered=True),
    Target(SEEN, median=17, p90=55, coverage=_COVERAGE, answered=True),
)

QUANTITIES: tuple[Quantity, ...] = (
    Quantity(
        "parameters",
        _("Parameters"),
        _("totals that the LLM’s makers publish"),
        (Target(within=((100, 1.0),)),),
        theirs=_("published"),
    ),
    Quantity(
        "kv_bytes_per_token",
        _("KV bytes per token"),
        _("arithmetic of the published architectures"),
        (Target(within=((100, EXACT),)),),
        theirs=_("published"),
    ),
    Quantity(
        "reference_designs",
        _("Reference designs"),
        _("figures of the customer’s design notes"),
        (Target(within=((100, EXACT),)),),
        theirs=_("in the notes"),
    ),
    Quantity(
        "memory_weights",
        _("Weights of a rank"),
        _("what engines logged at start-up"),
        (Target(median=0.5, within=((100, 3.0),)),),
    ),
    Quantity(
        "memory_pool_rules",
        _("From KV pool to tokens, blocks and concurrency"),
        _("what engines logged at start-up"),
        (Target(within=((100, 0.5),)),),
    ),
    Quantity(
        "memory_kv_tokens_configured",
        _("KV tokens from the configuration alone"),
        _("what engines logged at start-up"),
        (Target(median=6.0, within=((80, 10.0),)),),
    ),
    Quantity(
        "memory_kv_tokens_from_log",
        _("KV tokens given one start-up line"),
        _("what engines logged at start-up"),
        (Target(median=0.5, within=((90, 3.0),)),),
    ),
    Quantity("memory_fit", _("Does it fit"), _("what engines logged at start-up"), (Target(right=True),)),
    Quantity("tpot", _("Time per output token (TPOT)"), _("measured serving runs"), _STEP),
    Quantity("ttft", _("Time to first token (TTFT)"), _("measured serving runs"), _TTFT),
    Quantity("throughput", _("Output throughput"), _("measured serving runs"), _STEP),
    Quantity(
        "system_throughput",
        _("Throughput of whole systems"),
        _("published days and reports of large systems"),
        (Target(within=((100, 15.0),)),),
    ),
    Quantity("published_results", _("Published results"), _("documentation, blogs, papers and benchmarks")),
    Quantity(
        "second_opinion_step_time",
        _("Step time, a second opinion"),
        _("what another planner computes from measured kernels; not a measurement"),
        theirs=_("other planner"),
    ),
    Quantity(
        "cache_hits",
        _("Cache hits"),
        _("exact replays of published traces, and published hit rates"),
        (Target("replayed trace", within=((100, 5.0),)), Target("published rate", within=((100, 10.0),))),
        theirs=_("replayed or published"),
    ),
    Quantity(
        "weight_sync",
        _("New weights to the instances"),
        _("published times of synchronisation in RL training"),
        (Target("run left out of the fit", within=((100, 25.0),)),),
        theirs=_("published"),
    ),
    Quantity(
        "rollout_steps",
        _("Steps of RL training"),
        _(
            "published steps before and after a change of mode; "
            "times of co-located runs alone do not foretell asynchronous ones"
        ),
        (Target("sum of the roles", within=((100, 10.0),)), Target("one step off", within=((100, 10.0),))),
        theirs=_("published"),
    ),
    Quantity(
        "lora_throughput",
        _("Throughput with adapters"),
        _(
            "S-LoRA’s published runs, in ratios to the run with the fewest adapters; "
            "absolute figures extrapolate to an engine of 2023"
        ),
        (Target("more adapters", median=5, within=((100, 15.0),)), Target("first adapter", within=((100, 5.0),))),
        theirs=_("published"),
    ),
    Quantity(
        "lora_step",
        _("A step with adapters"),
        _("what threads of engines report with and without adapters"),
        (Target("whole step, not used", within=((100, 10.0),)), Target("time added, not used", within=((100, 40.0),))),
        theirs=_("published"),
    ),
    Quantity(
        "simulated_runs",
        _("Simulated runs"),
        _("runs of engines measured request by request"),
        (Target("TTFT", median=20), Target("TPOT", median=10), Target("throughput", median=8)),
    ),
    Quantity(
        "simulated_sweeps",
        _("Simulated sweeps"),
        _("sweeps over concurrency, of which not all settings are known"),
    ),
    Quantity(
        "estimate_against_simulation",
        _("Estimate against simulation"),
        _("our own discrete-event simulation"),
        theirs=_("simulated"),
    ),
)
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def quantity_of(name: str) -> Quantity:
    """The quantity of a name; one that is not listed here is shown by its name, without a target."""
    return BY_NAME.get(name) or Quantity(name, name.replace("_", " ").capitalize(), "")


def checks_of(name: str, group: str, rows: Sequence[Row]) -> list[Check]:
    """The limits on the rows of a group: its own, and those on all rows of the quantity."""
    return [
        check for target in quantity_of(name).targets if target.group in ("", group) for check in checks(target, rows)
    ]


def checks(target: Target, rows: Sequence[Row]) -> list[Check]:
    """Each limit of a target against the rows of its group; nothing where nothing was compared."""
    mine = [row for row in rows if not target.group or row.group == target.group]
    found = summary(mine)
    if not found.n or found.median is None or found.p90 is None or found.answered is None:
        return []
    made = []
    if target.median is not None:
        made.append(Check("median", (target.median,), found.median, found.median <= target.median))
    if target.p90 is not None:
        made.append(Check("p90", (target.p90,), found.p90, found.p90 <= target.p90))
    for share, limit in target.within:
        inside = share_within(mine, limit) or 0.0
        made.append(Check("within", (share, limit), inside, inside >= share))
    if target.coverage is not None:
        held = found.coverage or 0.0
        made.append(Check("coverage", target.coverage, held, target.coverage[0] <= held <= target.coverage[1]))
    if target.right:
        right = share_within(mine, 0.0) or 0.0
        made.append(Check("right", (100.0,), right, right == 100))
    if target.answered:
        made.append(Check("answered", (100.0,), found.answered, found.not_expressible == 0))
    return made
