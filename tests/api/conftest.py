from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache

from planner import kinds
from planner.accounts import services
from planner.accounts.models import Team, User
from planner.catalog import services as catalog_services
from planner.catalog.models import Entry
from planner.core.planning import Planning
from planner.jobs import services as jobs
from planner.reports import build
from tests.api import caller
from tests.api.caller import Caller
from tests.api.sample_kind import SAMPLE


@pytest.fixture(autouse=True)
def _only_the_sample_kind(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Behaviour of the API does not depend on which kinds there are; tests marked otherwise see the real ones."""
    if "real_kinds" not in request.fixturenames:
        example = kinds.Example("small", "Small", SAMPLE.slug, {"gpus": 2})
        monkeypatch.setattr(kinds, "all_kinds", lambda: {SAMPLE.slug: SAMPLE})
        monkeypatch.setattr(kinds, "examples", lambda: (example,))
        monkeypatch.setattr(kinds, "planning", lambda _slug: Planning())
        monkeypatch.setattr(kinds, "method", lambda _slug: "# Method")


@pytest.fixture
def real_kinds() -> None:
    """Ask for it to see the kinds of the product."""


@pytest.fixture
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes to a queue; the tests run a job themselves."""
    monkeypatch.setattr(jobs, "enqueue", lambda _job_id: None)
    monkeypatch.setattr(jobs.parts, "enqueue", lambda _job_id, **_: None)


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


@dataclass
class World:
    """A team with an admin, an editor and a viewer; and a stranger who is admin of another team."""

    team: Team
    alice: User
    bob: User
    vera: User
    other: Team
    charlie: User

    def token(self, user: User, *, scopes: tuple[str, ...] = ("read", "write"), **more: Any) -> str:
        team = self.other if user == self.charlie else self.team
        return services.token_create(user=user, team=team, name="test", scopes=scopes, **more)[1]

    def caller(self, name: str) -> Caller:
        return Caller() if name == "nobody" else Caller(token=self.token(getattr(self, name)))


@pytest.fixture
def world(db: None) -> World:
    users = {name: services.create_user(username=name) for name in ("alice", "bob", "vera", "charlie")}
    team = services.create_team(name="Planning", owner=users["alice"])
    for name, role in (("bob", "editor"), ("vera", "viewer")):
        services.membership_set(team=team, user=users[name], role=role, by=users["alice"])
    other = services.create_team(name="Elsewhere", owner=users["charlie"])
    return World(team=team, other=other, **users)


@pytest.fixture
def alice(world: World) -> Caller:
    return world.caller("alice")


@pytest.fixture
def bob(world: World) -> Caller:
    return world.caller("bob")


@pytest.fixture
def saved(world: World) -> Callable[..., dict[str, Any]]:
    """Save a design of the team through the API and give its JSON."""

    def save(**changes: Any) -> dict[str, Any]:
        body = {"kind": SAMPLE.slug, "name": "First", "spec": {}, **changes}
        response = world.caller("bob").post("/api/v1/designs/", body)
        assert response.status_code == 201, response.content
        return caller.strict(response)

    return save


@pytest.fixture
def own_gpu(world: World) -> Entry:
    """A GPU of the team, beside the shipped ones."""
    figures = {"memory_bytes": 8e10, "memory_bytes_per_s": 2e12, "tdp_w": 500}
    return catalog_services.gpu_save(team=world.team, name="Own GPU", figures=figures)


@pytest.fixture
def quick_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report looks like is tested with the reports; here it is who gets one, and how."""

    def paper_of(_view: Any, *, paper: str = "a4", **_language: str) -> bytes:
        return b"%PDF-" + paper.encode()

    monkeypatch.setattr(build, "document", paper_of)
    monkeypatch.setattr(build, "comparison_document", paper_of)
