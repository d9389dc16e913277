"""The OpenAPI document: valid, complete, true. Made-up requests never meet a bug."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from planner import kinds
from planner.accounts import services
from planner.api import schema
from planner.api.urls import v1
from planner.config.wsgi import application
from planner.core.kind import DesignKind
from planner.designs import services as design_services
from planner.jobs import services as job_services

SLUGS = sorted(kinds.all_kinds())


def refs(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from ([node["$ref"]] if isinstance(node.get("$ref"), str) else [])
        for child in node.values():
            yield from refs(child)
    elif isinstance(node, list):
        for child in node:
            yield from refs(child)


class TestDocument:
    def test_it_is_valid_openapi_31(self) -> None:
        assert schema.document()["openapi"].startswith("3.1")
        validate_schema(schema.document())

    def test_every_reference_leads_somewhere(self) -> None:
        schemas = schema.document()["components"]["schemas"]
        assert not {ref for ref in refs(schema.document()) if ref.removeprefix(schema.HERE) not in schemas}

    def test_every_route_is_in_it(self) -> None:
        assert len(schema.document()["paths"]) == len(v1)

    def test_every_operation_has_a_name_of_its_own_and_a_summary(self) -> None:
        operations = [operation for path in schema.document()["paths"].values() for operation in path.values()]
        names = [operation["operationId"] for operation in operations]
        assert len(names) == len(set(names))
        assert all(operation["summary"] for operation in operations)
        described = [operation["description"] for operation in operations if operation.get("description")]
        assert len(described) == len(set(described))
        assert all("default" in operation["responses"] for operation in operations)

    @pytest.mark.parametrize("slug", SLUGS)
    def test_a_client_sees_the_fields_and_metrics_of_each_kind(self, slug: str) -> None:
        schemas = schema.document()["components"]["schemas"]
        kind, name = kinds.get(slug), schema.camel(slug)
        spec = schemas[f"{name}Spec"]
        assert set(spec["properties"]) == set(kind.spec.model_fields)
        assert spec["additionalProperties"] is False
        for field, content in spec["properties"].items():
            assert content["title"] == kind.spec.model_fields[field].title
        assert set(schemas[f"{name}Metrics"]["properties"]) == {metric.name for metric in kind.metrics}
        assert schemas["EstimateRequest"]["discriminator"]["mapping"][slug].endswith(f"{name}EstimateRequest")


class TestPages:
    def test_the_document_is_served_to_anyone_as_json_and_yaml(self, client: Client) -> None:
        response = client.get("/api/schema/")
        assert response["Content-Type"].startswith("application/json")
        assert json.loads(response.content)["openapi"].startswith("3.1")
        assert client.get("/api/schema/", headers={"accept": "application/yaml"}).content.startswith(b"openapi: 3.1")

    @pytest.mark.parametrize("page", ["swagger-ui", "redoc"])
    def test_the_readers_use_assets_from_here_and_no_inline_script(self, client: Client, page: str) -> None:
        response = client.get(f"/api/schema/{page}/")
        assert response.status_code == 200
        text = response.content.decode()
        assert "https://" not in text
        assert "http://" not in text
        assert "<script>" not in text
        policy = response["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "style-src 'self' 'unsafe-inline'" in policy
        assert response["X-Frame-Options"] == "DENY"

    def test_the_script_of_swagger_is_a_file_of_its_own(self, client: Client) -> None:
        response = client.get("/api/schema/swagger-ui/?script=")
        assert response["Content-Type"].startswith("application/javascript")
        assert b'url: "/api/schema/' in response.content

    def test_the_loose_style_policy_is_for_the_readers_alone(self, client: Client) -> None:
        assert "unsafe-inline" not in client.get("/api/schema/")["Content-Security-Policy"]
        assert "unsafe-inline" not in client.get("/api/v1/kinds/")["Content-Security-Policy"]


def operations() -> list[schemathesis.APIOperation]:
    document = schemathesis.openapi.from_dict(schema.document())
    document.app = application
    return [found.ok() for found in document.get_all_operations()]


@pytest.fixture
def headers(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A token of an admin. The connection stays open between requests, as for Django's own test client."""
    monkeypatch.setattr(job_services, "enqueue", lambda _job_id: None)
    user = services.local_user()
    _token, plain = services.token_create(user=user, team=user.teams.get(), name="fuzz")
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield {"Authorization": f"Bearer {plain}"}
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


REFUSED = [*CHECKS, checks.negative_data_rejection]


@pytest.fixture
def rows(headers: dict[str, str]) -> dict[str, str]:
    """Rows that are there, so that made-up bodies and queries meet more than a 404."""
    user = services.local_user()
    team = user.teams.get()
    made = [
        design_services.design_create(team=team, user=user, kind=SLUGS[0], spec={}, name=name) for name in ("A", "B")
    ]
    pair = design_services.comparison_create(team=team, user=user, items=[{"design": str(row.id)} for row in made])
    job = job_services.simulation_start(team=team, user=user, kind=simulated().slug, spec={})
    return {"designs": str(made[0].id), "comparisons": str(pair.id), "jobs": str(job.id)}


def simulated() -> DesignKind:
    return next(kind for kind in kinds.all_kinds().values() if kind.simulator)


@pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.label)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_made_up_requests_are_answered_as_documented(
    operation: schemathesis.APIOperation, mode: GenerationMode, headers: dict[str, str], rows: dict[str, str]
) -> None:
    @settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        place = operation.path.split("/")[3]
        if mode == GenerationMode.POSITIVE and place in rows and not operation.path.endswith(".pdf"):
            case.path_parameters["id"] = rows[place]
        response = case.call(headers=headers)
        # A batch with a bad spec is answered: by a problem in its place.
        must_refuse = mode == GenerationMode.NEGATIVE and not operation.path.endswith("/batch/")
        case.validate_response(response, checks=REFUSED if must_refuse else CHECKS)

    ask()
