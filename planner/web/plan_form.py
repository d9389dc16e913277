"""The form of a fleet plan: members, the joins there can be among them, and the night."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from planner import kinds
from planner.accounts.models import Team
from planner.core.quantities import show
from planner.designs import selectors
from planner.designs.models import FleetPlan
from planner.designs.plan_body import MOST
from planner.designs.plan_view import join_label
from planner.designs.plans import possible_joins

_MARK = "\x1f"
"""Between the three parts of a join in one value; no name holds it."""
NIGHT = (("hours", 1.0), ("share", 100.0), ("switch_s", 1 / 60))
"""Fields of the night and what one base unit is in the form: hours, %, minutes."""


def form_of(plan: FleetPlan, *, team: Team) -> dict[str, Any]:
    """What the page shows of a plan's body, ready to be sent back."""
    members, designs = plan.body["members"], {str(row.id): row for row in selectors.designs(team)}
    kind_of = {
        member["name"]: member["kind"] or (designs[member["design"]].kind if member["design"] in designs else "")
        for member in members
    }
    chosen = {(join["from"], join["to"], join["via"]) for join in plan.body["joins"]}
    known = [(name, kind) for name, kind in kind_of.items() if kind]
    joins = [
        {
            "value": _MARK.join(join),
            "from": join[0],
            "to": join[1],
            "label": join_label(join[2]),
            "checked": join in chosen,
        }
        for join in possible_joins(known)
    ]
    labels = {kind.slug: kind.label for kind in kinds.all_kinds().values()}
    return {
        "members": [
            {
                "name": member["name"],
                "design": member["design"] or "",
                "title": designs[member["design"]].name if member["design"] in designs else "",
                "kind": labels.get(kind_of[member["name"]], ""),
                "gone": not kind_of[member["name"]],
            }
            for member in members
        ],
        "others": [row for id_, row in designs.items()] if len(members) < MOST else [],
        "joins": joins,
        "night": [
            (name, f"{plan.body['night'][name] * scale:g}") for name, scale in NIGHT if name in plan.body["night"]
        ],
        "night_shown": show(plan.body["night"]["hours"], "h"),
    }


def body_of(data: QueryDict) -> dict[str, Any]:
    """The body a form says: members that are kept, one more if chosen, joins among them, the night."""
    kept = set(data.getlist("keep"))
    names, ids = data.getlist("member_name"), data.getlist("member_design")
    rows = zip(data.getlist("member_was"), names, ids, strict=False)
    members = [{"name": name.strip(), "design": id_, "was": was} for was, name, id_ in rows if was in kept]
    if added := data.get("add", ""):
        members.append({"name": data.get("add_name", "").strip() or "member", "design": added, "was": ""})
    renamed = {member["was"]: member["name"] for member in members}
    joins = [value.split(_MARK) for value in data.getlist("join") if value.count(_MARK) == 2]
    return {
        "members": [{"name": member["name"], "design": member["design"]} for member in members],
        "joins": [
            {"from": renamed[source], "to": renamed[target], "via": via}
            for source, target, via in joins
            if source in renamed and target in renamed
        ],
        "night": {name: _number(data.get(name, ""), scale=scale) for name, scale in NIGHT},
    }


def _number(text: str, *, scale: float) -> Any:
    """The number in base units; what is none is given on as it is, to be refused by name."""
    try:
        return float(text.replace(",", "")[:40]) / scale
    except ValueError:
        return text[:40]
