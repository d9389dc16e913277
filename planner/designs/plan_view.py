"""A fleet plan as strict JSON: the one builder behind its page and the API.

::

    members   [{name, kind: {slug, label}, design: {id, revision, …} or null, spec, answer, given: [{from, via, label,
              shown, changes: [{name, label, before, after}]}], pools: [{name, label, units, gpus, shown, bought_by}],
              usd_per_h, shown, severity}]
    joins     [{from, to, via, label}]                    night {hours, share, switch_s}
    lent      [{from, to, lender, borrower, idle_units, lent_units, replaced_units, hours, saved_usd_per_h}]
    total     {usd_per_h, usd_per_day, usd_per_month, usd_per_m_output_tokens, gpus, parts: [{member, name, label,
              usd_per_h, shown}]}: the parts sum to usd_per_h
    findings  [{member, code, severity, message, …}]      sentence
    diagram, charts  as `charts.codec` reads              provenance {catalog_digest, …}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.accounts.models import Team
from planner.charts import codec
from planner.core import quantities
from planner.core.ports import NIGHTS, PORTS
from planner.designs import estimation, snapshot
from planner.designs.plan_answer import Member, Plan, answer
from planner.designs.plan_body import parsed_body
from planner.designs.plan_findings import changes_view, findings_view
from planner.designs.plan_pictures import bill_chart, diagram
from planner.formulas import cost

DAY_H = 24.0


def plan_view(body: Mapping[str, Any], *, team: Team | None) -> dict[str, Any]:
    """Answer a stored body; raises as `estimation.estimate`."""
    plan = answer(parsed_body(body), team=team)
    findings = findings_view(plan)
    return {
        "members": [_member(plan, member) for member in plan.members],
        "joins": [
            {"from": join.source, "to": join.target, "via": join.via, "label": join_label(join.via)}
            for join in plan.body.all_joins
        ],
        "night": plan.body.night.model_dump(),
        "lent": _lent(plan),
        "total": _total(plan),
        "findings": findings,
        "sentence": _sentence(plan, errors=sum(row["severity"] == "error" for row in findings)),
        "severity": findings[0]["severity"] if findings else None,
        "diagram": codec.to_dict(diagram(plan)),
        "charts": [codec.to_dict(chart) for chart in bill_chart(plan)],
        "provenance": _provenance(plan),
    }


def join_label(via: str) -> str:
    return _("Units at night") if via == NIGHTS else _(PORTS[via].label)


def _member(plan: Plan, member: Member) -> dict[str, Any]:
    estimate = member.joined
    parts = [part.usd_per_h for part in plan.parts if part.member == member.name]
    known = [usd for usd in parts if usd is not None]
    usd = sum(known) if len(known) == len(parts) else None
    return {
        "name": member.name,
        "kind": {"slug": estimate.kind.slug, "label": estimate.kind.label},
        "design": snapshot.meta(member.design) if member.design else None,
        "spec": estimate.spec_json,
        "answer": snapshot.answer_view(estimate.result),
        "given": [
            {
                "from": given.join.source,
                "via": given.join.via,
                "label": join_label(given.join.via),
                "shown": quantities.show(given.value, PORTS[given.join.via].unit),
                "changes": changes_view(member, given),
            }
            for given in member.given
        ],
        "pools": _pools(member),
        "usd_per_h": usd,
        "shown": quantities.show(usd, "USD/h"),
        "severity": estimate.result.severity,
    }


def _pools(member: Member) -> list[dict[str, Any]]:
    return [
        {
            "name": pool.name,
            "label": pool.label,
            "units": pool.units,
            "gpus": pool.gpus,
            "shown": quantities.show(pool.usd_per_h, "USD/h"),
            "bought_elsewhere": pool.name in member.absorbed,
        }
        for pool in (member.fleet.pools if member.fleet else ())
    ]


def _lent(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "from": join.source,
            "to": join.target,
            "lender": lent.lender,
            "borrower": lent.borrower,
            "idle_units": lent.idle_units,
            "lent_units": lent.lent_units,
            "replaced_units": lent.replaced_units,
            "hours": lent.hours,
            "saved_usd_per_h": lent.saved_usd_per_h,
        }
        for join, each in plan.lent.items()
        for lent in each
    ]


def _total(plan: Plan) -> dict[str, Any]:
    usd, tokens = plan.usd_per_h, plan.output_tokens_per_s
    return {
        "usd_per_h": usd,
        "usd_per_day": None if usd is None else usd * DAY_H,
        "usd_per_month": None if usd is None else usd * cost.HOURS_PER_MONTH,
        "usd_per_m_output_tokens": None if usd is None else cost.usd_per_million_tokens(usd, tokens_per_s=tokens),
        "gpus": plan.gpus,
        "parts": [
            {
                "member": part.member,
                "name": part.name,
                "label": part.label,
                "usd_per_h": part.usd_per_h,
                "shown": quantities.show(part.usd_per_h, "USD/h"),
            }
            for part in plan.parts
        ],
    }


def _sentence(plan: Plan, *, errors: int) -> str:
    total = _total(plan)
    said = {
        "gpus": quantities.show(float(plan.gpus), "GPUs"),
        "usd": quantities.show(total["usd_per_h"], "USD/h"),
        "members": len(plan.members),
    }
    text = _("**%(gpus)s in %(members)d designs cost %(usd)s**") % said
    per_m = total["usd_per_m_output_tokens"]
    if per_m is not None:
        text += ", " + _("all of it %(price)s") % {"price": quantities.show(per_m, "USD/M output tokens")}
    saved = sum(lent.saved_usd_per_h for each in plan.lent.values() for lent in each)
    if saved:
        text += "; " + _("nights save %(saved)s") % {"saved": quantities.show(saved, "USD/h")}
    if errors:
        text += ". " + _("**It does not hold yet**: errors below")
    return f"{text}."


def _provenance(plan: Plan) -> dict[str, Any]:
    first = plan.members[0].joined
    made = estimation.made_by(first.kind, catalog=first.catalog)
    return {name: value for name, value in made.items() if name not in ("kind", "spec_version")}
