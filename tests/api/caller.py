"""A caller of the API that holds every reply against the OpenAPI document and the one shape of problems."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, NoReturn

from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from jsonschema import Draft202012Validator

from planner import kinds
from planner.api import schema

PROBLEM = "application/problem+json"


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} in a reply")


def strict(response: HttpResponse) -> Any:
    return json.loads(response.content, parse_constant=_refuse)


def check_problem(response: HttpResponse) -> dict[str, Any]:
    """The problem of an error reply, its shape checked."""
    assert response["Content-Type"] == PROBLEM, response.content
    problem = strict(response)
    assert {"type", "title", "status", "detail", "errors"} <= set(problem)
    assert problem["status"] == response.status_code
    assert problem["title"]
    for error in problem["errors"]:
        assert set(error) >= {"pointer", "detail"}
        assert error["pointer"] == "" or error["pointer"].startswith("/")
        assert error["detail"]
    return problem


def template(path: str) -> str:
    """The path as the document writes it: `/api/v1/designs/{id}/`."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", resolve(path.split("?", 1)[0]).route)


@cache
def _validator(kinds_: tuple[str, ...], method: str, path: str, status: str, media: str) -> Draft202012Validator:
    document = schema.document()
    responses = document["paths"][path][method]["responses"]
    assert status in responses, f"{method} {path} answers {status}, the document knows {sorted(responses)}"
    found = responses[status]["content"][media]["schema"]
    return Draft202012Validator({**found, "components": document["components"]})


class Caller:
    """``token`` or a signed-in ``user`` or nobody."""

    def __init__(self, *, token: str = "", user: Any = None, csrf: bool = False) -> None:
        self.client = Client(enforce_csrf_checks=csrf)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        if user is not None:
            self.client.force_login(user)

    def ask(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> HttpResponse:
        """``headers`` with underscores for dashes; ``raw`` is sent as it is, ``body`` as JSON."""
        kept = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        kind = kept.pop("Content-Type", "application/json")
        if raw is None:
            raw = b"" if body is None else json.dumps(body).encode()
        response = self.client.generic(method, path, raw, content_type=kind if raw else "", headers=kept)
        self._check(method, path, response)
        return response

    def upload(self, path: str, **form: Any) -> HttpResponse:
        response = self.client.post(path, form, headers=self.headers)
        self._check("POST", path, response)
        return response

    def _check(self, method: str, path: str, response: HttpResponse) -> None:
        if response.status_code >= 400:
            check_problem(response)
        elif path.startswith("/api/v1/") and response.get("Content-Type") == "application/json":
            validator = _validator(
                tuple(kinds.all_kinds()), method.lower(), template(path), str(response.status_code), "application/json"
            )
            validator.validate(strict(response))

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **more: Any) -> HttpResponse:
        return self.ask("POST", path, body, **more)

    def put(self, path: str, body: Any = None, **more: Any) -> HttpResponse:
        return self.ask("PUT", path, body, **more)

    def patch(self, path: str, body: Any = None, **more: Any) -> HttpResponse:
        return self.ask("PATCH", path, body, **more)

    def delete(self, path: str, **more: Any) -> HttpResponse:
        return self.ask("DELETE", path, **more)
