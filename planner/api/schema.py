"""The OpenAPI 3.1 document: the routes by drf-spectacular, the specs and metrics of each kind by the registry.

A request that names a kind is a ``oneOf`` over the kinds, discriminated by ``kind``; so a client sees the field names
of each spec. Nothing here knows a kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from planner import kinds
from planner.api import shapes
from planner.api.shapes_sensitivity import UncertaintyResult
from planner.api.shapes_sweep import SweepResult
from planner.core.kind import DesignKind
from planner.core.money import MoneyTerms
from planner.core.reliability import ReliabilityTerms
from planner.core.replications import MOST_REPLICATIONS

HERE = "#/components/schemas/"
TEXT: dict[str, Any] = {"type": "string"}


def ref(name: str) -> dict[str, Any]:
    """A reference to a component of the document."""
    return {"$ref": HERE + name}


def _parameter(
    name: str, place: Any, description: str, schema: dict[str, Any], *, required: bool = False
) -> OpenApiParameter:
    return OpenApiParameter(name=name, location=place, description=description, type=schema, required=required)


IF_MATCH = _parameter(
    "If-Match", OpenApiParameter.HEADER, "The ETag of the revision you read, or * for any.", TEXT, required=True
)
IDEMPOTENCY_KEY = _parameter(
    "Idempotency-Key", OpenApiParameter.HEADER, "Sent again with the same body, the first reply comes back.", TEXT
)
LIMIT = _parameter(
    "limit", OpenApiParameter.QUERY, "Rows of a page.", {"type": "integer", "minimum": 1, "maximum": 500}
)
OFFSET = _parameter("offset", OpenApiParameter.QUERY, "Rows to skip.", {"type": "integer", "minimum": 0})


RESULT_FILE: dict[str, Any] = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}, "name": TEXT},
    "required": ["file"],
}
UPLOAD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "name": TEXT,
        "skip_bad_rows": {
            "type": "boolean",
            "default": False,
            "description": "Import the rows that can be read; the others are counted in the facts.",
        },
    },
    "required": ["file"],
}


def _inlined(node: Any, parts: Mapping[str, Any]) -> Any:
    """The schema with the parts it refers to in their places: a parameter has no components of its own."""
    if isinstance(node, dict):
        place = node.get("$ref", "").removeprefix("#/$defs/")
        return _inlined(parts[place], parts) if place else {key: _inlined(child, parts) for key, child in node.items()}
    return [_inlined(child, parts) for child in node] if isinstance(node, list) else node


def query(model: type[BaseModel]) -> list[OpenApiParameter]:
    """The query parameters that a pydantic model checks."""
    whole = model.model_json_schema()
    fields = _inlined(whole["properties"], whole.get("$defs", {}))
    return [
        _parameter(
            name,
            OpenApiParameter.QUERY,
            field.get("description", ""),
            {key: value for key, value in field.items() if key not in ("title", "description")},
        )
        for name, field in fields.items()
    ]


def catalog_filters(filters: Mapping[str, Sequence[str]]) -> list[OpenApiParameter]:
    """The exact filters of the catalog tables, each with the tables that have it."""
    names = dict.fromkeys(name for of_table in filters.values() for name in of_table)
    return [
        _parameter(
            name,
            OpenApiParameter.QUERY,
            f"Exact; of {', '.join(table for table in filters if name in filters[table])}.",
            TEXT,
        )
        for name in names
    ]


def camel(slug: str) -> str:
    return "".join(word.capitalize() for word in slug.split("_"))


def _object(properties: dict[str, Any], *, required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _spec_components(kind: DesignKind) -> dict[str, Any]:
    """The spec's schema and the parts it refers to, under names of this kind."""
    name = camel(kind.slug)
    schema = kind.spec.model_json_schema(ref_template=f"{HERE}{name}{{model}}")
    parts = {f"{name}{part}": content for part, content in schema.pop("$defs", {}).items()}
    return {**parts, f"{name}Spec": {**schema, "title": kind.label, "description": kind.question}}


def _metrics(kind: DesignKind) -> dict[str, Any]:
    properties = {
        metric.name: {
            **ref("Metric"),
            "title": metric.label,
            "description": ". ".join(text for text in (metric.help, f"Unit: {metric.unit or 'none'}") if text),
        }
        for metric in kind.metrics
    }
    return {"type": "object", "properties": properties, "additionalProperties": ref("Metric")}


def _simulation_fields() -> dict[str, Any]:
    return {
        "workload": {
            "type": ["string", "null"],
            "description": "Slug or id of a workload whose requests are replayed.",
        },
        "duration_s": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "requests": {"type": ["integer", "null"], "minimum": 1},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "default": 1},
        "replications": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_REPLICATIONS,
            "default": 1,
            "description": "Runs with seeds of their own, put together into one result.",
        },
        "options": {"type": "object", "description": "The kind's simulation options, see /kinds/{kind}/."},
    }


def _of_kind(kind: DesignKind) -> dict[str, dict[str, Any]]:
    """Each family's member for one kind."""
    named: dict[str, Any] = {"kind": {"const": kind.slug, "type": "string"}}
    spec = ref(f"{camel(kind.slug)}Spec")
    described = {"name": TEXT, "description": TEXT, "tags": {"type": "array", "items": TEXT}}
    answered = {
        "spec": spec,
        "metrics": ref(f"{camel(kind.slug)}Metrics"),
        "findings": {"type": "array", "items": ref("Finding")},
        "series": {"type": "object", "additionalProperties": ref("Series")},
        "provenance": {"type": "object"},
        "evidence": {"type": "array", "items": ref("Evidence")},
        "answer": ref("AnswerCard"),
    }
    specs = {"type": "array", "items": spec, "minItems": 1, "maxItems": 1000}
    return {
        "EstimateRequest": _object({**named, "spec": spec}, required=["kind"]),
        "EstimateBatchRequest": _object({**named, "specs": specs}, required=["kind", "specs"]),
        "DesignRequest": _object({**named, **described, "spec": spec}, required=["kind", "name"]),
        "SimulationRequest": _object({**named, "spec": spec, **_simulation_fields()}, required=["kind"]),
        "MoneyRequest": _object({**named, "spec": spec, "terms": ref("MoneyTerms")}, required=["kind"]),
        "LaunchRequest": _object({**named, "spec": spec, "target": TEXT}, required=["kind"]),
        "ReliabilityRequest": _object({**named, "spec": spec, "terms": ref("ReliabilityTerms")}, required=["kind"]),
        "Estimate": _object({**named, **answered}, required=["kind", *answered]),
    }


def _families() -> dict[str, Any]:
    """Each family as a choice by kind."""
    members: dict[str, dict[str, str]] = {}
    schemas: dict[str, Any] = {}
    for kind in kinds.all_kinds().values():
        for family, schema in _of_kind(kind).items():
            name = f"{camel(kind.slug)}{family}"
            schemas[name] = schema
            members.setdefault(family, {})[kind.slug] = HERE + name
    for family, mapping in members.items():
        choices = [{"$ref": place} for place in mapping.values()]
        schemas[family] = {"oneOf": choices, "discriminator": {"propertyName": "kind", "mapping": mapping}}
    return schemas


def _shared() -> dict[str, Any]:
    """The shapes that the kinds' components refer to."""
    models = (
        shapes.Metric,
        shapes.Finding,
        shapes.Series,
        shapes.Evidence,
        shapes.AnswerCard,
        shapes.Problem,
        shapes.SimulationResult,
        SweepResult,
        UncertaintyResult,
    )
    _names, schema = models_json_schema([(model, "serialization") for model in models], ref_template=HERE + "{model}")
    found: dict[str, Any] = schema["$defs"]
    return found


def components() -> dict[str, Any]:
    """The component schemas that the registry makes."""
    schemas: dict[str, Any] = {**_shared(), **_families()}
    for kind in kinds.all_kinds().values():
        schemas |= _spec_components(kind)
        schemas[f"{camel(kind.slug)}Metrics"] = _metrics(kind)
    results = {"type": "array", "items": {"oneOf": [ref("Estimate"), ref("Problem")]}}
    schemas["JobResult"] = {"oneOf": [ref("SimulationResult"), ref("SweepResult"), ref("UncertaintyResult")]}
    schemas["EstimateBatch"] = _object({"results": results}, required=["results"])
    schemas["MoneyTerms"] = MoneyTerms.model_json_schema(ref_template=HERE + "{model}")
    schemas["MoneyTermsRequest"] = _object({"terms": ref("MoneyTerms")}, required=[])
    schemas["ReliabilityTerms"] = ReliabilityTerms.model_json_schema(ref_template=HERE + "{model}")
    schemas["ReliabilityTermsRequest"] = _object({"terms": ref("ReliabilityTerms")}, required=[])
    return schemas


class Generator(SchemaGenerator):
    """The document with the kinds' components in it."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = super().get_schema(request=request, public=public)  # type: ignore[no-untyped-call]
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(components())
        found["components"]["schemas"] = dict(sorted(schemas.items()))
        return found


def document() -> dict[str, Any]:
    """The document as it is served; it changes only with the code and the kinds."""
    return _document(tuple(kinds.all_kinds()))


@lru_cache(maxsize=4)
def _document(_kinds: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = Generator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found
