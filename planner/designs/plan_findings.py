"""The one list of findings of a fleet plan: what joining shows, then those of the members, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from planner.core import quantities
from planner.core.joining import Join, idle_at_night
from planner.core.ports import NIGHTS, PORTS
from planner.core.result import SEVERITY_RANK, Finding, Severity
from planner.designs import serial
from planner.designs.inputs import inputs
from planner.designs.plan_answer import Given, Member, Plan

COMMON = ("llm", "gpu", "input_tokens", "output_tokens", "kv_bytes_per_token", "gpu_price_usd_per_h")
"""Inputs that joined designs should agree in, where both have them."""


def findings_view(plan: Plan) -> list[dict[str, Any]]:
    """Each with the member it is about; "" for those of the plan."""
    own = [("", finding) for finding in _own(plan)]
    theirs = [(member.name, finding) for member in plan.members for finding in member.joined.result.findings]
    rows = sorted([*own, *theirs], key=lambda row: SEVERITY_RANK[row[1].severity])
    return [{"member": name, **serial.finding_json(finding)} for name, finding in rows]


def _own(plan: Plan) -> Iterator[Finding]:
    for member in plan.members:
        yield from _of_member(plan, member)
    for join in plan.body.all_joins:
        if join.via != NIGHTS:
            yield from _differing(plan, join)
        else:
            yield _nights(plan, join)


def _of_member(plan: Plan, member: Member) -> Iterator[Finding]:
    for given in member.given:
        yield _given(member, given)
    for pool in member.fleet.pools if member.fleet else ():
        if pool.name in member.absorbed:
            said = {"pool": pool.label, "member": member.name, "others": _takers(plan, member)}
            text = _(
                "%(pool)s of %(member)s are machines of the designs it feeds (%(others)s): they are bought there, once."
            )
            yield _finding("plan_bought_once", "info", text % said)
        elif pool.is_billed and pool.usd_per_h is None:
            said = {"pool": pool.label, "member": member.name}
            yield _finding(
                "plan_no_price", "error", _("%(pool)s of %(member)s have no price, so the plan has no total.") % said
            )


def _given(member: Member, given: Given) -> Finding:
    port = PORTS[given.join.via]
    said = {"member": member.name, "giver": given.join.source, "what": _(port.label)}
    if given.value is None:
        text = _("%(giver)s has no figure for: %(what)s. %(member)s keeps its own input.")
        return _finding("plan_nothing_given", "warning", text % said)
    said["value"] = quantities.show(given.value, port.unit)
    if not given.change:
        text = _("%(member)s: %(what)s of %(value)s from %(giver)s changes nothing, its inputs hold it already.")
        return _finding("plan_joined", "info", text % said)
    said["changes"] = "; ".join(
        f"{row['label']} {row['before']} → {row['after']}" for row in changes_view(member, given)
    )
    return _finding("plan_joined", "info", _("%(member)s by %(giver)s: %(changes)s.") % said)


def changes_view(member: Member, given: Given) -> list[dict[str, Any]]:
    """The inputs a join has set, before and after."""
    before = inputs(member.alone.kind, spec=member.alone.spec, catalog=member.alone.catalog)
    after = inputs(member.joined.kind, spec=member.joined.spec, catalog=member.joined.catalog)
    return [
        {"name": name, "label": before[name].label, "before": before[name].shown, "after": after[name].shown}
        for name in given.change
        if name in before
    ]


def _takers(plan: Plan, member: Member) -> str:
    names = dict.fromkeys(join.target for join in plan.body.all_joins if join.source == member.name)
    return ", ".join(names)


def _differing(plan: Plan, join: Join) -> Iterator[Finding]:
    """Inputs that two joined designs answer differently, said once a pair."""
    if any(other.source == join.source and other.target == join.target for other in _earlier(plan, join)):
        return
    source, target = plan.member(join.source), plan.member(join.target)
    one = inputs(source.joined.kind, spec=source.joined.spec, catalog=source.joined.catalog)
    two = inputs(target.joined.kind, spec=target.joined.spec, catalog=target.joined.catalog)
    told = [
        f"{one[name].label} {one[name].shown} / {two[name].shown}"
        for name in COMMON
        if name in one and name in two and None not in (one[name].value, two[name].value)
        if one[name].value != two[name].value
    ]
    if told:
        said = {"one": join.source, "two": join.target, "inputs": "; ".join(told)}
        text = _("%(one)s and %(two)s are planned for different things: %(inputs)s.")
        yield _finding("plan_inputs_differ", "warning", text % said, suggestion=_("Give both designs the same inputs."))


def _earlier(plan: Plan, join: Join) -> list[Join]:
    joins = [other for other in plan.body.all_joins if other.via != NIGHTS]
    return joins[: joins.index(join)]


def _nights(plan: Plan, join: Join) -> Finding:
    lent = plan.lent.get(join, ())
    said: dict[str, Any] = {"lender": join.source, "borrower": join.target}
    if not lent:
        text = _("%(lender)s lends nothing to %(borrower)s at night.")
        return _finding("plan_nights_lend_nothing", "warning", text % said, suggestion=_why_not(plan, join))
    said["units"] = ", ".join(f"{each.lent_units} × {each.lender}" for each in lent)
    said["work"] = ", ".join(f"{each.replaced_units} × {each.borrower}" for each in lent)
    said["hours"] = quantities.show(lent[0].hours, "h")
    said["saved"] = quantities.show(sum(each.saved_usd_per_h for each in lent) * 24, "USD")
    text = _(
        "At night %(lender)s lends %(units)s to %(borrower)s for %(hours)s: the work of %(work)s, %(saved)s a day."
    )
    return _finding("plan_nights", "info", text % said)


def _why_not(plan: Plan, join: Join) -> str:
    lender, borrower = plan.member(join.source).fleet, plan.member(join.target).fleet
    wanted = [pool for pool in borrower.pools if pool.borrows] if borrower else []
    idle = [pool for pool in lender.pools if idle_at_night(pool, share=plan.body.night.share)] if lender else []
    if plan.body.nights.usable_h <= 0:
        return _("The night is too short to change work twice.")
    if not wanted:
        return _("Nothing in %(name)s can run by the hour on GPUs of others.") % {"name": join.target}
    if not idle:
        return _(
            "Every unit of %(name)s is needed at night too: smaller units, or a quieter night, would free some."
        ) % {"name": join.source}
    gpus = sorted({pool.gpu or "?" for pool in wanted}), sorted({pool.gpu or "?" for pool in idle})
    return _("They run on other GPUs (%(idle)s idle, %(wanted)s wanted), or a unit is too small.") % {
        "idle": ", ".join(gpus[1]),
        "wanted": ", ".join(gpus[0]),
    }


def _finding(code: str, severity: Severity, message: str, *, suggestion: str | None = None) -> Finding:
    return Finding(code=code, severity=severity, message=message, suggestion=suggestion)
