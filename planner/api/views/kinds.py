"""`/kinds/`: what can be planned, and what a spec of it may say."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from planner import kinds
from planner.api import shapes
from planner.api.paging import paged
from planner.api.views.resource import ApiView, reply
from planner.core.kind import DesignKind
from planner.core.simulation import OptionDef
from planner.designs.serial import plain


def summary(kind: DesignKind) -> dict[str, Any]:
    return {
        "kind": kind.slug,
        "label": kind.label,
        "question": kind.question,
        "simulates": kind.simulator is not None,
        "url": reverse("api:kind", args=[kind.slug]),
    }


def _option(option: OptionDef) -> dict[str, Any]:
    return {
        "name": option.name,
        "label": option.label,
        "default": plain(option.default),
        "unit": option.unit,
        "help": option.help,
        "choices": list(option.choices),
        "minimum": option.minimum,
        "maximum": option.maximum,
        "group": option.group,
        "only_with": option.only_with and {"option": option.only_with[0], "values": list(option.only_with[1])},
    }


def _examples(slug: str) -> list[dict[str, Any]]:
    return [
        {
            "slug": example.slug,
            "name": example.name,
            "description": example.description,
            "tags": list(example.tags),
            "spec": plain(example.spec),
            "workload": example.workload,
        }
        for example in kinds.examples()
        if example.kind == slug
    ]


@cache
def detail(kind: DesignKind) -> dict[str, Any]:
    """Everything about a kind; it changes only with the code."""
    fields = ("name", "label", "unit", "direction", "group", "help", "formula")
    return {
        **summary(kind),
        "spec_version": kind.spec.version,
        "spec_schema": kind.spec.model_json_schema(),
        "defaults": kind.spec().model_dump(mode="json"),
        "metrics": [{name: getattr(metric, name) for name in fields} for metric in kind.metrics],
        "simulation_options": [_option(option) for option in kind.simulator.options] if kind.simulator else [],
        "drills": [
            {"name": drill.name, "label": drill.label, "question": drill.question}
            for drill in (kind.simulator.drills if kind.simulator else ())
        ],
        "examples": _examples(kind.slug),
        "method": kinds.method(kind.slug),
    }


class Kinds(ApiView):
    @reply(shapes.page_of(shapes.KindSummary), summary="Design kinds")
    def get(self, _request: Request) -> Response:
        return paged(self, list(kinds.all_kinds().values()), show=summary)


class Kind(ApiView):
    @reply(shapes.KindDetail, summary="A kind: JSON Schema of its spec, defaults, metrics with unit and direction")
    def get(self, _request: Request, kind: str) -> Response:
        return Response(detail(kinds.get(kind)))
