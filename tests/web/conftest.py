"""A world for the pages: one kind, one example, a team of three roles, and a stranger."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.test import Client

from planner import kinds
from planner.accounts import services as accounts
from planner.catalog.services import catalog_load
from planner.designs import services as designs
from planner.web.views import home
from tests.web.sample import EXAMPLE, SAMPLE


@pytest.fixture(autouse=True)
def sample_kind(monkeypatch):
    """Only the sample kind exists."""
    monkeypatch.setattr(kinds, "all_kinds", lambda: {"sample": SAMPLE})
    monkeypatch.setattr(kinds, "examples", lambda: (EXAMPLE,))
    home.example_cards.cache_clear()


@pytest.fixture
def people(db):
    """Alice is the admin, Bob an editor, Vera a viewer; Charlie has a team of his own."""
    found = {name: accounts.create_user(username=name) for name in ("alice", "bob", "vera", "charlie")}
    team = accounts.create_team(name="Planners", owner=found["alice"])
    accounts.membership_set(team=team, user=found["bob"], role="editor", by=found["alice"])
    accounts.membership_set(team=team, user=found["vera"], role="viewer", by=found["alice"])
    accounts.create_team(name="Elsewhere", owner=found["charlie"])
    return SimpleNamespace(team=team, **found)


@pytest.fixture
def password(people):
    """Bob's; the others come in by links, so that no test pays for hashing what it does not use."""
    people.bob.set_password("a long enough sentence")
    people.bob.save()
    return "a long enough sentence"


@pytest.fixture
def signed_in(people):
    """A client of one of the people."""

    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(getattr(people, name))
        return client

    return client_of


@pytest.fixture
def design(people):
    return designs.design_create(
        team=people.team, user=people.alice, kind="sample", spec={"gpus": 12}, name="Twelve", tags=("prod",)
    )


@pytest.fixture
def typed():
    """What the form posts when nothing is changed."""
    return {
        "peak_rps": "500",
        "input_tokens": "3,000",
        "gpu": "h100-sxm",
        "gpus": "8",
        "price_usd_per_h": "2.00",
        "limit_w": "",
        "slo_s": "50",
        "headroom": "20",
        "layout": "split",
        "spares": "false",
        "hours": "100, 50",
        "note": "",
    }


@pytest.fixture
def catalog(db):
    catalog_load()
