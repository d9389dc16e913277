"""What starts a design, as strict JSON that the API answers and the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner import kinds
from planner.core.launch import Launch, Launcher, Refusal, Setting
from planner.core.quantities import show
from planner.designs.estimation import Estimate
from planner.designs.inputs import show_value
from planner.designs.serial import plain


def launcher_of(kind: str) -> Launcher | None:
    """How designs of a kind are started; None where the kind does not say."""
    return kinds.planning(kind).launch


def launch(answered: Estimate, *, target: str = "") -> dict[str, Any] | None:
    """What starts an answered design with a target, its own by default; raises `UnknownTarget`."""
    found = launcher_of(answered.kind.slug)
    if found is None:
        return None
    made = found.launch(answered.spec, answered.result, answered.catalog, target=target)
    known = found.targets(answered.spec)
    return {
        "kind": answered.kind.slug,
        "spec": answered.spec_json,
        "target": made.target.slug,
        "targets": [{"slug": each.slug, "label": each.label} for each in known],
        "offered": made.is_offered,
        "refusals": [_refusal(answered, each) for each in made.refusals],
        "commands": [{"title": each.title, "where": each.where, "text": each.text} for each in made.commands],
        "manifests": [
            {"filename": each.filename, "media_type": each.media_type, "title": each.title, "text": each.text}
            for each in made.manifests
        ],
        "settings": _settings(answered, made),
        "notes": list(made.notes),
        "provenance": plain(answered.result.provenance),
    }


def _refusal(answered: Estimate, refusal: Refusal) -> dict[str, Any]:
    return {
        "flag": refusal.flag,
        "value": refusal.value,
        "role": refusal.role,
        "reason": refusal.reason,
        "change": refusal.change,
        "field": refusal.field,
        "label": _label(answered, refusal.field),
    }


def _settings(answered: Estimate, made: Launch) -> list[dict[str, Any]]:
    """Each setting once, in the order it is given."""
    rows = [_setting(answered, each) for each in made.settings]
    return [row for place, row in enumerate(rows) if row not in rows[:place]]


def _setting(answered: Estimate, setting: Setting) -> dict[str, Any]:
    option, asked = setting.option, setting.asked
    program = answered.catalog.program(setting.program)
    return {
        "program": program.name,
        "role": setting.role,
        "flag": option.flag,
        "value": plain(setting.value),
        "text": setting.text,
        "why": asked.why,
        "field": asked.field,
        "metric": asked.metric,
        "label": _label(answered, asked.field) or _metric(answered, asked.metric),
        "shown": _shown(answered, setting),
        "place": option.place,
        "documented": {"url": option.source, "as_of": option.as_of, "since": option.since, "until": option.until},
    }


def _label(answered: Estimate, field: str) -> str:
    fields: Mapping[str, Any] = answered.kind.spec.model_fields
    return str(fields[field].title) if field in fields else ""


def _metric(answered: Estimate, name: str) -> str:
    metrics = answered.result.metrics
    return metrics[name].definition.label if name in metrics else ""


def _shown(answered: Estimate, setting: Setting) -> str:
    """What the input or the figure says, in its own unit; "" where it is left to its default."""
    fields = answered.kind.spec.model_fields
    if setting.asked.field in fields:
        value = plain(getattr(answered.spec, setting.asked.field))
        return show_value(fields[setting.asked.field], value=value, catalog=answered.catalog)
    metric = answered.result.metrics.get(setting.asked.metric)
    return "" if metric is None else show(metric.value, metric.definition.unit)
