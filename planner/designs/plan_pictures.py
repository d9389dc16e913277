"""Pictures of a fleet plan: its members with what flows between them, and what is paid for."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.chart import Axis, Chart, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.joining import Join
from planner.core.ports import NIGHTS, PORTS
from planner.core.wording import counted
from planner.designs.plan_answer import Member, Plan


def diagram(plan: Plan) -> Diagram:
    """Members from left to right as they feed each other; those that are joined to none are not in it."""
    ranks = _ranks(plan)
    lanes: dict[int, int] = {}
    boxes = []
    joined = {name for join in plan.body.all_joins for name in (join.source, join.target)}
    for member in plan.members:
        if joined and member.name not in joined:
            continue
        rank = ranks[member.name]
        lanes[rank] = lanes.get(rank, -1) + 1
        boxes.append(Box(member.name, member.name, _lines(member), rank=rank, lane=lanes[rank]))
    return Diagram(
        title=_("Fleet plan"),
        boxes=tuple(boxes),
        flows=_flows(plan),
        summary="; ".join(f"{member.name}: {', '.join(_lines(member))}" for member in plan.members),
    )


def _ranks(plan: Plan) -> dict[str, int]:
    """The longest way from a member that nothing feeds."""
    ranks = {member.name: 0 for member in plan.members}
    for _step in plan.members:
        for join in plan.body.all_joins:
            ranks[join.target] = max(ranks[join.target], ranks[join.source] + 1)
    return ranks


def _lines(member: Member) -> tuple[str, ...]:
    pools = [counted(pool.units, pool.noun) for pool in member.pools]
    usd = sum(pool.usd_per_h or 0.0 for pool in member.pools) + sum(item.usd_per_h for item in member.items)
    return (member.joined.kind.label, *pools[:2], quantities.show(usd, "USD/h"))


def _flows(plan: Plan) -> tuple[Flow, ...]:
    """One arrow a pair, with all that it carries."""
    labels: dict[tuple[str, str], list[str]] = {}
    for join in plan.body.all_joins:
        labels.setdefault((join.source, join.target), []).append(_label(plan, join))
    return tuple(
        Flow(source, target, ", ".join(label for label in told if label)) for (source, target), told in labels.items()
    )


def _label(plan: Plan, join: Join) -> str:
    if join.via == NIGHTS:
        lent = plan.lent.get(join, ())
        units = sum(each.lent_units for each in lent)
        return _("%(units)s at night") % {"units": counted(units, _("unit"))} if units else _("nothing at night")
    given = next((each for each in plan.member(join.target).given if each.join == join), None)
    if given is None or given.value is None or (not given.change and join.via != "request_rate"):
        return ""
    shown = quantities.show(given.value, PORTS[join.via].unit)
    words = {"prefix_hit_rate": _("%(value)s hits"), "surge": _("surge %(value)s")}
    return words.get(join.via, "%(value)s") % {"value": shown}


def bill_chart(plan: Plan) -> list[Chart]:
    """What is paid for, a bar a line of the bill; nothing where a price is missing."""
    parts = [part for part in plan.parts if part.usd_per_h]
    if plan.usd_per_h is None or not parts:
        return []
    names = list(dict.fromkeys(part.member for part in parts))
    traces = tuple(
        Trace(
            name=name,
            x=[f"{name}: {part.label}" for part in parts if part.member == name],
            y=[part.usd_per_h for part in parts if part.member == name],
            order=order % 6,
        )
        for order, name in enumerate(names)
    )
    return [
        Chart(
            name="plan_bill",
            title=_("What is paid for?"),
            subtitle=_("The bars sum to the bill; what nights save is below zero."),
            form="bars",
            x=Axis(label=""),
            y=Axis(label=_("bill"), unit="USD/h"),
            traces=traces,
            summary=", ".join(f"{part.member} {quantities.show(part.usd_per_h, 'USD/h')}" for part in parts),
        )
    ]
