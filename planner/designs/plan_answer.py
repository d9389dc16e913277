"""Answers a fleet plan: each member after those that feed it, with what they give in the place of its own inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team
from planner.core.fleet import Fleet, Item, Pool
from planner.core.joining import Join, Lent, absorbed_by, in_order, lend
from planner.core.ports import NIGHTS
from planner.designs import estimation, selectors
from planner.designs.effects import changed
from planner.designs.estimation import Estimate
from planner.designs.models import Design
from planner.designs.plan_body import MemberBody, PlanBody, ports_of
from planner.designs.texts import InvalidField


@dataclass(frozen=True, slots=True)
class Given:
    """What a join brought: the value (None: there was none) and the inputs it set."""

    join: Join
    value: float | None
    change: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A member answered: as it was saved (``alone``), and joined."""

    name: str
    alone: Estimate
    joined: Estimate
    given: tuple[Given, ...]
    fleet: Fleet | None
    absorbed: frozenset[str]
    design: Design | None = None

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Those that the plan pays for here."""
        own = self.fleet.pools if self.fleet else ()
        return tuple(pool for pool in own if pool.name not in self.absorbed and pool.is_billed)

    @property
    def items(self) -> tuple[Item, ...]:
        return self.fleet.items if self.fleet else ()


@dataclass(frozen=True, slots=True)
class Part:
    """A line of the plan's bill; what nights save is negative. None: its price is not known."""

    member: str
    name: str
    label: str
    usd_per_h: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    members: tuple[Member, ...]
    body: PlanBody
    lent: Mapping[Join, Sequence[Lent]]

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The lines of the bill: pools and items of each member, each bought once, and what nights save."""
        found = [part for member in self.members for part in _parts(member)]
        saved = [
            Part(join.target, f"nights_{lent.lender}_{lent.borrower}", _("saved by nights"), -lent.saved_usd_per_h)
            for join, each in self.lent.items()
            for lent in each
            if lent.saved_usd_per_h
        ]
        return (*found, *saved)

    @property
    def usd_per_h(self) -> float | None:
        """The sum of the parts, in their order; None where a price is missing."""
        total = 0.0
        for part in self.parts:
            if part.usd_per_h is None:
                return None
            total += part.usd_per_h
        return total

    @property
    def gpus(self) -> int:
        return sum(pool.gpus for member in self.members for pool in member.pools)

    @property
    def output_tokens_per_s(self) -> float:
        """Of the members at the end of a chain: the same tokens pass all members before them."""
        feeding = {join.source for join in self.body.all_joins if join.via != NIGHTS}
        ends = (member.fleet for member in self.members if member.name not in feeding)
        return sum(fleet.tokens_per_s.get("output", 0.0) for fleet in ends if fleet and fleet.demand_field)


def answer(body: PlanBody, *, team: Team | None) -> Plan:
    """Answer every member in the order of the joins; raises as `estimation.estimate`."""
    joins = body.all_joins
    by_name = {member.name: member for member in body.members}
    designs = _designs(body, team=team)
    absorbed = absorbed_by(joins, absorbed=_absorbed(body, designs=designs))
    found: dict[str, Member] = {}
    for name in in_order(list(by_name), joins=joins):
        feeding = [join for join in joins if join.target == name and join.via != NIGHTS]
        alone = _alone(by_name[name], design=designs.get(name), team=team)
        found[name] = _joined(
            name,
            alone=alone,
            given=tuple(_given(join, giver=found[join.source], taker=alone) for join in feeding),
            absorbed=frozenset(absorbed.get(name, ())),
            design=designs.get(name),
        )
    nights = [join for join in joins if join.via == NIGHTS]
    return Plan(tuple(found[name] for name in by_name), body, _lending(nights, members=found, body=body))


def _designs(body: PlanBody, *, team: Team | None) -> dict[str, Design]:
    """The saved designs among the members, by name; raises `InvalidField` for one that is gone."""
    found: dict[str, Design] = {}
    for place, member in enumerate(body.members):
        if member.design is None or team is None:
            continue
        try:
            found[member.name] = selectors.design(team, member.design)
        except Design.DoesNotExist:
            message = _("The design of %(name)s has been deleted.") % {"name": member.name}
            raise InvalidField(field=f"members/{place}/design", message=message) from None
    return found


def _alone(asked: MemberBody, *, design: Design | None, team: Team | None) -> Estimate:
    kind, spec = (design.kind, design.spec) if design else (asked.kind or "", asked.spec)
    return estimation.estimate(kind=kind, spec=spec, team=team)


def _joined(
    name: str, *, alone: Estimate, given: tuple[Given, ...], absorbed: frozenset[str], design: Design | None
) -> Member:
    change = {field: value for each in given for field, value in each.change.items()}
    joined = changed(alone, change=change) if change else alone
    build = kinds.planning(joined.kind.slug).fleet
    fleet = build(joined.spec, joined.result, joined.catalog) if build else None
    return Member(name, alone, joined, given, fleet, absorbed, design)


def _given(join: Join, *, giver: Member, taker: Estimate) -> Given:
    offer = ports_of(giver.joined.kind.slug).offer(join.via)
    take = ports_of(taker.kind.slug).take(join.via)
    value = offer.value(giver.joined.spec, giver.joined.result) if offer else None
    if value is None or take is None:
        return Given(join, value)
    now = taker.spec_json
    return Given(join, value, {name: new for name, new in take.change(taker.spec, value).items() if now[name] != new})


def _absorbed(body: PlanBody, *, designs: Mapping[str, Design]) -> dict[tuple[str, str], tuple[str, ...]]:
    """What each member's offers absorb, by member and port."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for member in body.members:
        design = designs.get(member.name)
        for offer in ports_of(design.kind if design else member.kind or "").offers:
            found[member.name, offer.port] = offer.absorbed
    return found


def _lending(joins: Sequence[Join], *, members: Mapping[str, Member], body: PlanBody) -> dict[Join, Sequence[Lent]]:
    found: dict[Join, Sequence[Lent]] = {}
    for join in joins:
        lender, borrower = members[join.source].fleet, members[join.target].fleet
        found[join] = lend(lender, borrower=borrower, night=body.nights) if lender and borrower else []
    return found


def _parts(member: Member) -> list[Part]:
    pools = [Part(member.name, pool.name, pool.label, pool.usd_per_h) for pool in member.pools]
    return [*pools, *(Part(member.name, item.name, item.label, item.usd_per_h) for item in member.items)]
