"""Fixtures of designs and jobs: toy kinds, their catalog, two teams."""

from __future__ import annotations

import pytest

from planner import kinds
from planner.accounts import services as accounts
from planner.catalog import selectors as catalog_selectors
from planner.core.planning import Planning
from tests.designs import toy


@pytest.fixture(autouse=True)
def toy_world(monkeypatch):
    """Only the toy kinds exist, and one catalog for every team."""
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"toy": toy.TOY, "other": toy.OTHER})
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning())
    world = toy.ToyCatalog()
    monkeypatch.setattr(catalog_selectors, "catalog", lambda _team=None: world)
    return world


@pytest.fixture
def alice(db):
    return accounts.create_user(username="alice")


@pytest.fixture
def team(alice):
    return accounts.create_team(name="Alice's", owner=alice)


@pytest.fixture
def stranger(db):
    return accounts.create_team(name="Charlie's", owner=accounts.create_user(username="charlie"))
