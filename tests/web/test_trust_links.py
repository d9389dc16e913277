"""A calibrated figure leads to what such figures were worth on its GPU and engine; an exact one leads nowhere."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from planner import kinds
from planner.catalog import validation
from planner.web import trust_links
from tests.web.validated import stored_of, tpot_rows

REAL_KINDS = kinds.all_kinds
PLACE = {"gpu": "h100-sxm", "engine": "vllm"}


@pytest.fixture(autouse=True)
def stored(monkeypatch):
    found = stored_of(*tpot_rows(3))
    monkeypatch.setattr(trust_links, "stored", lambda: found)
    monkeypatch.setattr(validation, "stored", lambda: found)


def view(*fields, **spec):
    return {"spec": spec, "inputs": {"groups": [{"fields": [dict(field) for field in fields]}]}}


def test_the_place_is_named_as_the_rows_name_it():
    gpu = {"catalog": "gpus", "value": "H100-SXM"}
    second = {"catalog": "gpus", "value": "h200-sxm"}
    assert trust_links.place_of(view(gpu, second, {"catalog": "", "value": 3}, engine="vllm")) == PLACE
    assert trust_links.place_of(view({"catalog": "gpus", "value": "our own"})) == {"gpu": "our own"}
    assert trust_links.place_of(view({"catalog": "engines", "value": None})) == {}
    assert trust_links.place_of(None) == {}


@pytest.mark.parametrize("basis", ["measured", "calibrated", "extrapolated"])
def test_figures_that_carry_an_error_lead_to_it(basis):
    where = trust_links.address("tpot_p50_s", unit="s", basis=basis, place=PLACE)
    assert where == "/validation/?quantity=tpot&gpu=h100-sxm&engine=vllm#detail"


@pytest.mark.parametrize(
    ("metric", "unit", "quantity"),
    [
        ("e2e_mean_s", "s", "tpot"),
        ("ttft_p99_s", "s", "ttft"),
        ("output_tokens_per_s", "tok/s/GPU", "throughput"),
        ("cost", "USD/M tokens", "throughput"),
        ("kv_pool_tokens", "tokens", "memory_kv_tokens_configured"),
    ],
)
def test_each_figure_leads_to_its_own_quantity(monkeypatch, metric, unit, quantity):
    every = ("tpot", "ttft", "throughput", "memory_kv_tokens_configured")
    monkeypatch.setattr(trust_links, "stored", lambda: SimpleNamespace(rows=every))
    assert f"quantity={quantity}&" in trust_links.address(metric, unit=unit, basis="calibrated", place=PLACE)


def test_what_has_no_error_or_is_not_compared_leads_nowhere():
    assert trust_links.address("tpot_p50_s", unit="s", basis="exact", place=PLACE) == ""
    assert trust_links.address("tpot_p50_s", unit="s", basis="calibrated", place={"engine": "vllm"}) == ""
    assert trust_links.address("ttft_p99_s", unit="s", basis="calibrated", place=PLACE) == ""
    assert trust_links.address("running", unit="requests", basis="calibrated", place=PLACE) == ""


@pytest.mark.django_db
def test_the_metrics_of_a_design_link_and_the_link_opens(signed_in, monkeypatch):
    monkeypatch.undo()
    found = stored_of(*tpot_rows(3))
    monkeypatch.setattr(trust_links, "stored", lambda: found)
    monkeypatch.setattr(validation, "stored", lambda: found)
    client = signed_in("vera")
    links = {
        link
        for slug in kinds.all_kinds()
        for link in re.findall(r'href="(/validation/\?[^"]+)"', client.get(f"/designs/new/{slug}/").content.decode())
    }
    assert links
    for link in links:
        assert client.get(link.replace("&amp;", "&").partition("#")[0]).status_code == 200


def evidence(id="run-00001"):
    return {"id": id, "figures": [{"name": "ttft"}, {"name": "tpot"}]}


def test_a_measurement_leads_to_its_row_where_it_has_one():
    assert trust_links.row_address(evidence()) == "/validation/?quantity=tpot&row=run-00001#detail"
    assert trust_links.row_address(evidence("elsewhere")) == ""


@pytest.mark.django_db
def test_the_row_of_a_measurement_is_shown_alone_under_every_condition(signed_in):
    page = signed_in("vera").get("/validation/?quantity=tpot&row=run-00001&gpu=b200-sxm").content.decode()
    assert page.count('title="run-00001"') == 2  # unseen and seen
    assert "run-00002" not in page
    assert "Show all" in page


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["engine_instance", "llm_serving"])
def test_the_editor_shows_the_nearest_measurement_badges_and_ranges(signed_in, monkeypatch, slug):
    monkeypatch.setattr(kinds, "all_kinds", REAL_KINDS)
    page = signed_in("vera").get(f"/designs/new/{slug}/").content.decode()
    assert "Nearest published measurement" in page
    assert "Measured there" in page
    assert 'id="bases"' in page
    assert "the same formula away from its measurements" in page
    assert page.count('<dd class="r">') >= 2
