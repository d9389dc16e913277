"""Presets that break something: what the loss of a decode unit at peak does to this design and to a sturdier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.catalog import Catalog
from planner.core.quantities import show
from planner.core.simulation import Drill, Drilled, DrillVariant
from planner.core.text import gettext_noop as _
from planner.core.wording import counted
from planner.kinds.llm_serving.fleet import Role, fleet_for
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.simulated_losses import PHASE_NAMES
from planner.kinds.llm_serving.spec import LlmServingSpec

STEADY_S = 900.0
"""Before the loss: the warm-up and as much again to compare with."""
CALM_S = 600.0
"""After the backlog is gone."""
MOST_REQUESTS = 6_000_000


def _decode(spec: LlmServingSpec, catalog: Catalog) -> Role:
    return fleet_for(spec, physics=physics(spec, catalog=catalog), rps=spec.peak_rps).decode


def how(spec: LlmServingSpec, catalog: Catalog) -> Mapping[str, Any]:
    """A run that sees the loss, the time without the unit, and the backlog go."""
    away_s = spec.detection_s + spec.repair_h * 3600
    role = _decode(spec, catalog)
    backlog_s = _backlog_s(role, away_s=away_s)
    duration_s = STEADY_S + away_s + min(backlog_s, 2 * away_s) + CALM_S
    if spec.peak_rps > 0:
        duration_s = min(duration_s, max(MOST_REQUESTS / spec.peak_rps, 2 * STEADY_S))
    return {"duration_s": duration_s, "seed": 1, "options": {"fail_decode_unit_at_s": STEADY_S}}


def _backlog_s(role: Role, *, away_s: float) -> float:
    """About how long the whole pool works off what piles up without one unit [s], with a quarter more for chance."""
    left, whole = role.left(lost=1), role.left(lost=0)
    if left is None or whole is None or left >= 1:
        return 0.0
    return 1.25 * away_s * (1 - left) / (whole - 1) if whole > 1 else float("inf")


def variants(spec: LlmServingSpec, catalog: Catalog) -> Sequence[DrillVariant]:
    """The design as it is beside its N+1 fleet; of one that is N+1 already, beside one unit fewer or more."""
    role = _decode(spec, catalog)
    enough = role.needed_units + 1
    spare = spec.spare_decode_units
    other = spare + enough - role.units
    if other <= spare:
        other = spare - 1 if spare else 1
    return (
        DrillVariant(f"As it is, {counted(role.units, role.noun)}"),
        DrillVariant(f"{counted(role.units + other - spare, role.noun)}", {"spare_decode_units": other}),
    )


def answer(drilled: Sequence[Drilled]) -> str:
    """What the loss does to each fleet and what the difference costs, in a sentence; then the figures of each."""
    held = [f"with {_units(one)} {_queue(one)}" for one in drilled if _came(one)]
    if not held:
        return "**No request came after the loss**, so nobody notices."
    claim = "; ".join(held) + _price(drilled)
    told = " ".join(_told(one) for one in drilled if _came(one))
    return f"**{claim[:1].upper()}{claim[1:]}.** {told}"


def _came(one: Drilled) -> bool:
    return one.simulated.value(f"ttft_p99_{PHASE_NAMES[1]}_s") is not None


def _units(one: Drilled) -> str:
    return counted(one.estimate.value("decode_units") or 0, _noun(one))


def _told(one: Drilled) -> str:
    times = [
        f"{show(value, 's')} {phase}"
        for phase in PHASE_NAMES
        if (value := one.simulated.value(f"ttft_p99_{phase}_s")) is not None
    ]
    units = _units(one)
    return f"{units[:1].upper()}{units[1:]}: TTFT P99 {', '.join(times)}{_missed(one)}; {_kept(one)}."


def _queue(one: Drilled) -> str:
    back_s = one.simulated.value("queue_back_after_s")
    if back_s is None:
        return "requests queue up beyond the end of the run"
    return f"requests queue up for {show(back_s, 's')}" if back_s else "no queue builds up"


def _missed(one: Drilled) -> str:
    """The objectives that those miss who come during the loss."""
    limits = {"TTFT": one.spec.ttft_p99_slo_s, "TPOT": one.spec.tpot_slo_s}
    during = {name: one.simulated.value(f"{name.lower()}_p99_during_s") for name in limits}
    beyond = [
        f"{name} {show(during[name], 's')}, objective {show(limit, 's')}"
        for name, limit in limits.items()
        if (during[name] or 0.0) > limit
    ]
    return f" (missed during the loss: {'; '.join(beyond)})" if beyond else ", within both objectives"


def _noun(one: Drilled) -> str:
    return "replica" if one.spec.is_aggregated else "decode unit"


def _kept(one: Drilled) -> str:
    lost, again = one.simulated.value("requests_lost") or 0, one.simulated.value("requests_restarted") or 0
    kept = f"{counted(lost, 'request')} lost" if lost else "no request was lost"
    return f"{kept}, {again:,.0f} went on elsewhere" if again else kept


def _price(drilled: Sequence[Drilled]) -> str:
    """What the last fleet costs more or less than the first."""
    first, last = (drilled[place].estimate.value("cost_usd_per_h") for place in (0, -1))
    if first is None or last is None or first == last:
        return ""
    return f", for {show(abs(last - first), 'USD/h')} {'more' if last > first else 'less'}"


DRILLS = (
    Drill(
        name="lose-decode-unit",
        label=_("Lose a decode unit at peak"),
        question=_("A decode unit is lost at peak. Who notices?"),
        how=how,
        variants=variants,
        answer=answer,
    ),
)
