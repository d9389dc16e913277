"""The page of money: terms in the address, an answer or a message at the field, the same figures as CSV."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.urls import reverse

from planner import kinds
from planner.catalog import services as catalog_services
from planner.designs import services

REAL_KINDS, REAL_EXAMPLES = kinds.all_kinds, kinds.examples


@pytest.fixture
def saved(people, monkeypatch):
    monkeypatch.setattr(kinds, "all_kinds", REAL_KINDS)
    monkeypatch.setattr(kinds, "examples", REAL_EXAMPLES)
    catalog_services.catalog_load()
    return services.design_create(team=people.team, user=people.alice, kind="kv_pool", spec={}, name="Pool")


def page(client, design, **terms):
    return client.get(reverse("web:design-money", args=[design.id]), terms)


def test_it_answers_the_terms_of_the_address(signed_in, saved):
    text = page(signed_in("vera"), saved, source="list", provider="Crusoe", currency="EUR").content.decode()
    assert "Crusoe" in text
    assert "EUR/h" in text
    assert "What carries a week?" in text
    assert "From what use on does the fleet pay?" in text


def test_a_term_that_cannot_be_read_keeps_the_usual_answer(signed_in, saved):
    response = page(signed_in("vera"), saved, growth_per_month="much")
    assert response.status_code == 422
    text = response.content.decode()
    assert "“much” is not a number." in text
    assert "The bill" in text


def test_htmx_gets_the_answer_alone(signed_in, saved):
    where = reverse("web:design-money", args=[saved.id])
    text = signed_in("vera").get(where, headers={"HX-Request": "true", "HX-Target": "money"}).content.decode()
    assert 'id="money"' in text
    assert "<html" not in text


def test_the_csv_holds_the_parts_of_the_bill(signed_in, saved):
    where = reverse("web:design-money-csv", args=[saved.id])
    rows = list(csv.DictReader(StringIO(signed_in("vera").get(where).content.decode())))
    bill = next(float(row["value"]) for row in rows if (row["section"], row["name"]) == ("bill", "per_h"))
    for section in ("lines", "purposes"):
        assert sum(float(row["value"]) for row in rows if row["section"] == section) == bill
    assert sum(row["section"] == "week" for row in rows) == 4 * 168


def test_a_stranger_finds_nothing(signed_in, saved):
    assert page(signed_in("charlie"), saved).status_code == 404
