"""Alive, ready, and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from planner.catalog import loading, selectors
from planner.config import health


@pytest.fixture
def client_() -> Client:
    return Client()


def test_alive_needs_nothing(client_: Client) -> None:
    """No database is allowed in this test."""
    response = client_.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")


def test_ready_names_each_check(client_: Client, db: None) -> None:
    loading.load_entries(selectors.shipped())
    response = client_.get("/readyz")
    body = json.loads(response.content)
    assert response.status_code == 200
    assert body["status"] == "ready"
    assert body["checks"] == dict.fromkeys(("database", "broker", "cache", "migrations", "catalog"), "ok")


def test_an_empty_catalog_is_not_ready(client_: Client, db: None) -> None:
    response = client_.get("/readyz")
    assert response.status_code == 503
    assert json.loads(response.content)["checks"]["catalog"] == "failed"


def test_a_broker_that_is_away_is_not_ready_and_its_address_not_told(client_: Client, db: None, settings: Any) -> None:
    loading.load_entries(selectors.shipped())
    settings.BROKER_URL = "redis://:hidden@127.0.0.1:1/0"
    response = client_.get("/readyz")
    assert response.status_code == 503
    checks = json.loads(response.content)["checks"]
    assert [name for name, state in checks.items() if state != "ok"] == ["broker"]
    assert b"hidden" not in response.content


def test_a_migration_that_waits_is_not_ready(client_: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    loading.load_entries(selectors.shipped())
    monkeypatch.setattr(health.MigrationExecutor, "migration_plan", lambda _self, _targets: ["0009"])
    response = client_.get("/readyz")
    assert json.loads(response.content)["checks"]["migrations"] == "failed"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_they_only_answer_reads(client_: Client, path: str) -> None:
    assert client_.post(path).status_code == 405


def test_metrics_are_prometheus_text(client_: Client, db: None) -> None:
    client_.get("/healthz")
    response = client_.get("/metrics")
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain")
    assert b"django_http_requests_total_by_method_total" in response.content
