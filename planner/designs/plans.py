"""Writes of fleet plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from planner import kinds
from planner.accounts.models import Team, User
from planner.accounts.services import audit
from planner.core.ports import NIGHTS, PORTS
from planner.designs import texts
from planner.designs.models import FleetPlan
from planner.designs.plan_body import checked_body, ports_of
from planner.designs.services import design_create


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
