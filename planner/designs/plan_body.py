"""What a fleet plan says: its members, how they are joined, and its nights; checked before anything is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner import kinds
from planner.accounts.models import Team
from planner.core.joining import Cycle, Join, Night, in_order
from planner.core.ports import NIGHTS, PORTS, Ports
from planner.designs import selectors, texts
from planner.designs.estimation import parse_spec
from planner.designs.models import Design
from planner.designs.texts import InvalidField

FEWEST, MOST = 2, 8
_Name = Annotated[str, Field(min_length=1, max_length=40)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class MemberBody(_Strict):
    """A saved design, or a kind with its spec, under a name of the plan."""

    name: _Name
    design: str | None = None
    kind: str | None = None
    spec: dict[str, Any] = Field(default_factory=dict)


class JoinBody(_Strict):
    """``via`` is a port, see `core.ports`, or ``nights``."""

    source: _Name = Field(alias="from")
    target: _Name = Field(alias="to")
    via: str


class NightBody(_Strict):
    """The quiet hours of a day."""

    hours: float = Field(8.0, ge=0, le=24)
    share: float = Field(0.3, ge=0, le=1, description="Of the peak, asked at night.")
    switch_s: float = Field(900.0, ge=0, le=86_400, description="To drain, load and warm up, each way.")


class PlanBody(_Strict):
    members: list[MemberBody] = Field(min_length=FEWEST, max_length=MOST)
    joins: list[JoinBody] = Field(default_factory=list, max_length=24)
    night: NightBody = Field(default_factory=NightBody)

    @property
    def all_joins(self) -> list[Join]:
        return [Join(join.source, join.target, join.via) for join in self.joins]

    @property
    def nights(self) -> Night:
        return Night(hours=self.night.hours, share=self.night.share, switch_s=self.night.switch_s)


def checked_body(given: Mapping[str, Any], *, team: Team) -> dict[str, Any]:
    """The body as it is stored; raises `InvalidField` naming the place, and what `parse_spec` raises."""
    body = parsed_body(given)
    _check_members(body, team=team)
    known = {member.name: _kind_of(member, team=team) for member in body.members}
    _check_joins(body, kind_by_name=known)
    stored: dict[str, Any] = texts.storable(body.model_dump(mode="json", by_alias=True), field="members")
    return stored


def parsed_body(given: Mapping[str, Any]) -> PlanBody:
    try:
        return PlanBody.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise InvalidField(field="/".join(map(str, first["loc"])), message=f"{first['msg']}.") from None


def _check_members(body: PlanBody, *, team: Team) -> None:
    seen: set[str] = set()
    for place, member in enumerate(body.members):
        at = f"members/{place}"
        if member.name in seen:
            raise InvalidField(field=f"{at}/name", message=_("Two members have this name."))
        seen.add(member.name)
        if (member.design is None) == (member.kind is None):
            raise InvalidField(field=at, message=_("Give either a design or a kind with its spec."))
        if member.design is not None:
            _design(member.design, at=f"{at}/design", team=team)
        else:
            _check_spec(member.kind or "", spec=member.spec, at=at)


def _check_spec(kind: str, *, spec: Mapping[str, Any], at: str) -> None:
    if kind not in kinds.all_kinds():
        raise InvalidField(field=f"{at}/kind", message=_("No such kind."))
    parse_spec(kinds.get(kind), spec=spec)


def _design(wanted: str, *, at: str, team: Team) -> Design:
    try:
        return selectors.design(team, wanted)
    except Design.DoesNotExist:
        raise InvalidField(field=at, message=_("No such design in this team.")) from None


def _kind_of(member: MemberBody, *, team: Team) -> str:
    return member.kind or selectors.design(team, member.design or "").kind


def _check_joins(body: PlanBody, *, kind_by_name: Mapping[str, str]) -> None:
    taken: set[tuple[str, str]] = set()
    for place, join in enumerate(body.joins):
        at = f"joins/{place}"
        for end, name in (("from", join.source), ("to", join.target)):
            if name not in kind_by_name:
                raise InvalidField(field=f"{at}/{end}", message=_("No member has this name."))
        if join.via == NIGHTS:
            _check_nights(join, at=at, kind_by_name=kind_by_name)
        else:
            _check_port(join, at=at, kind_by_name=kind_by_name)
            if (join.target, join.via) in taken:
                raise InvalidField(field=f"{at}/to", message=_("It takes this from another member already."))
            taken.add((join.target, join.via))
    try:
        in_order(list(kind_by_name), joins=body.all_joins)
    except Cycle as ring:
        said = _("Members feed each other in a ring: %(ring)s.") % {"ring": ring}
        raise InvalidField(field="joins", message=said) from None


def _check_port(join: JoinBody, *, at: str, kind_by_name: Mapping[str, str]) -> None:
    if join.via not in PORTS:
        raise InvalidField(
            field=f"{at}/via", message=_("Choose one of %(ports)s.") % {"ports": ", ".join((*PORTS, NIGHTS))}
        )
    label = PORTS[join.via].label
    if ports_of(kind_by_name[join.source]).offer(join.via) is None:
        raise InvalidField(
            field=f"{at}/from", message=_("%(name)s does not give: %(what)s.") % _told(join.source, label)
        )
    if ports_of(kind_by_name[join.target]).take(join.via) is None:
        raise InvalidField(field=f"{at}/to", message=_("%(name)s does not take: %(what)s.") % _told(join.target, label))


def _check_nights(join: JoinBody, *, at: str, kind_by_name: Mapping[str, str]) -> None:
    if not ports_of(kind_by_name[join.source]).lends:
        raise InvalidField(
            field=f"{at}/from", message=_("%(name)s has no units to lend at night.") % {"name": join.source}
        )
    if not ports_of(kind_by_name[join.target]).borrows:
        raise InvalidField(
            field=f"{at}/to", message=_("%(name)s cannot run by the hour on units of others.") % {"name": join.target}
        )


def _told(name: str, label: str) -> dict[str, str]:
    return {"name": name, "what": _(label)}


def ports_of(kind: str) -> Ports:
    """What a kind gives and takes."""
    return kinds.planning(kind).ports or Ports()
