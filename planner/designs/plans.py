"""Writes of fleet plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team, User
from planner.accounts.services import audit
from planner.core.joining import Cycle, Join, in_order
from planner.core.ports import NIGHTS, PORTS
from planner.designs import selectors, texts
from planner.designs.models import FleetPlan
from planner.designs.plan_body import FEWEST, MOST, checked_body, ports_of
from planner.designs.services import design_create
from planner.designs.texts import InvalidField


@transaction.atomic
def plan_create(*, team: Team, user: User | None, name: str, body: Mapping[str, Any]) -> FleetPlan:
    """Save a plan; raises `InvalidField` and what `estimation.parse_spec` raises."""
    plan = FleetPlan.objects.create(
        team=team, created_by=user, name=texts.name(name), body=checked_body(body, team=team)
    )
    _audit(plan, user=user, action="created")
    return plan


@transaction.atomic
def plan_update(*, plan: FleetPlan, user: User | None, name: str, body: Mapping[str, Any]) -> FleetPlan:
    plan.name, plan.body = texts.name(name), checked_body(body, team=plan.team)
    plan.updated_at = timezone.now()
    plan.save(update_fields=["name", "body", "updated_at"])
    _audit(plan, user=user, action="changed")
    return plan


@transaction.atomic
def plan_delete(*, plan: FleetPlan, user: User | None) -> None:
    """Forget a plan; its designs stay."""
    _audit(plan, user=user, action="deleted")
    plan.delete()


@transaction.atomic
def plan_of(designs: Sequence[str], *, name: str, team: Team, user: User | None) -> FleetPlan:
    """A plan of saved designs under their kinds' names, with every join there can be, as far as none is a ring."""
    rows = list(selectors.designs(team).filter(id__in=[id_ for id_ in designs if _is_uuid(id_)]))
    if not FEWEST <= len(rows) <= MOST:
        span = {"fewest": FEWEST, "most": MOST}
        raise InvalidField(field="members", message=_("Choose %(fewest)d to %(most)d designs.") % span)
    names = _names([kinds.get(row.kind).label for row in rows])
    members = [{"name": label, "design": str(row.id)} for label, row in zip(names, rows, strict=True)]
    joins = proposed_joins([(label, row.kind) for label, row in zip(names, rows, strict=True)])
    told = name.strip() or ", ".join(row.name for row in rows)[:150]
    return plan_create(team=team, user=user, name=told, body={"members": members, "joins": joins})


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _names(labels: Sequence[str]) -> list[str]:
    """Names of members: short, each once."""
    found: list[str] = []
    for label in labels:
        base, number = label[:36], 1
        while (name := base if number == 1 else f"{base} {number}") in found:
            number += 1
        found.append(name)
    return found


def proposed_joins(members: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Joins to begin with: of each input one giver, and none that would close a ring."""
    chosen: list[Join] = []
    for source, target, via in possible_joins(members):
        join = Join(source, target, via)
        is_taken = any((other.target, other.via) == (target, via) for other in chosen if via != NIGHTS)
        if not is_taken and _has_order([name for name, _kind in members], joins=[*chosen, join]):
            chosen.append(join)
    return [{"from": join.source, "to": join.target, "via": join.via} for join in chosen]


def _has_order(names: Sequence[str], *, joins: Sequence[Join]) -> bool:
    try:
        in_order(names, joins=joins)
    except Cycle:
        return False
    return True


@transaction.atomic
def example_open(example: kinds.ExamplePlan, *, team: Team, user: User | None) -> FleetPlan:
    """A worked plan as the team's own: its members become designs that can be changed."""
    members = [
        {"name": member["name"], "design": str(_member_design(member, example=example, team=team, user=user))}
        for member in example.members
    ]
    body = {"members": members, "joins": list(example.joins), "night": dict(example.night)}
    return plan_create(team=team, user=user, name=example.name, body=body)


def _member_design(member: Mapping[str, Any], *, example: kinds.ExamplePlan, team: Team, user: User | None) -> Any:
    name = f"{member['name']} ({example.slug})"
    return design_create(team=team, user=user, kind=member["kind"], spec=member["spec"], name=name).id


def possible_joins(members: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Every join there can be among members (name and kind): who gives, who takes, through what."""
    pairs = [(one, two) for one in members for two in members if one[0] != two[0]]
    ports = [
        (source, target, port)
        for (source, giver), (target, taker) in pairs
        for port in PORTS
        if ports_of(giver).offer(port) and ports_of(taker).take(port)
    ]
    nights = [(source, target, NIGHTS) for (source, lender), (target, taker) in pairs if _may_lend(lender, taker)]
    return [*ports, *nights]


def _may_lend(lender: str, borrower: str) -> bool:
    """Whether the one scales with its demand and has GPUs, and the other can run by the hour."""
    return ports_of(lender).lends and ports_of(borrower).borrows


def _audit(plan: FleetPlan, *, user: User | None, action: str) -> None:
    audit(team=plan.team, user=user, action=action, subject="plan", subject_id=str(plan.id), summary=plan.name)
