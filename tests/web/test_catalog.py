"""Catalog pages: tables with search and filters, entries with their sources, and what follows from them."""

from __future__ import annotations

import re

import pytest

from planner.catalog import selectors, services
from planner.catalog.models import Entry
from planner.formulas import attention, memory
from planner.web import catalog_pictures, catalog_sheet
from tests.web.library import check_page, load_entries, words

pytestmark = pytest.mark.django_db

TABLES = ("gpus", "llms", "links", "engines", "prices", "api_prices", "currencies")
ENTRIES = (
    "gpus/h100-sxm",
    "gpus/a10",
    "llms/deepseek-v3",
    "llms/gpt-oss-20b",
    "links/nvlink-4",
    "engines/vllm",
    "engines/sglang",
)


@pytest.fixture(autouse=True)
def entries(db):
    load_entries()


@pytest.mark.parametrize("address", ["/catalog/", *(f"/catalog/{table}/" for table in TABLES)])
def test_members_see_the_tables(signed_in, address):
    check_page(signed_in, address)


@pytest.mark.parametrize("place", ENTRIES)
def test_members_see_entries(signed_in, place):
    check_page(signed_in, f"/catalog/{place}/")


def test_every_entry_has_a_page(signed_in):
    client = signed_in("vera")
    for entry in Entry.objects.filter(table__in=("engines", "prices", "links")):
        assert client.get(f"/catalog/{entry.table}/{entry.slug}/").status_code == 200, entry.slug
    catalog = selectors.catalog()
    for entry in Entry.objects.filter(table="llms"):
        groups, sources = catalog_sheet.figure_groups(entry)
        assert groups
        assert sources
        assert catalog_sheet.llm_sheet(catalog.llm(entry.slug), catalog=catalog)["weights"]


@pytest.mark.parametrize(
    "address",
    ["/catalog/nothing/", "/catalog/gpus/no-such-gpu/", "/catalog/nothing/h100-sxm/", "/catalog/gpus/%00/"],
)
def test_what_is_not_there_is_not_found(signed_in, address):
    assert signed_in("alice").get(address).status_code == 404


def test_an_alias_leads_to_its_entry(signed_in):
    response = signed_in("vera").get("/catalog/gpus/H100%20SXM5/")
    assert response.url == "/catalog/gpus/h100-sxm/"


def test_search_and_filters_narrow_the_list(signed_in):
    client = signed_in("vera")
    found = words(client.get("/catalog/gpus/", {"q": "h100 nvl"}))
    assert "H100 NVL" in found
    assert "MI300X" not in found
    amd = words(client.get("/catalog/gpus/", {"vendor": "AMD"}))
    assert "MI300X" in amd
    assert 'href="/catalog/gpus/h100-sxm/"' not in amd
    nothing = words(client.get("/catalog/gpus/", {"q": "no such thing"}))
    assert "Nothing matches." in nothing


@pytest.mark.parametrize("asked", [{"q": "\x00"}, {"vendor": "\x00"}, {"page": "-3"}, {"q": "%" * 500}, {"nope": "1"}])
def test_odd_searches_are_answered(signed_in, asked):
    assert signed_in("vera").get("/catalog/gpus/", asked).status_code == 200


def test_a_search_swaps_the_list_and_says_how_many(signed_in):
    response = signed_in("vera").get(
        "/catalog/gpus/", {"q": "h200"}, headers={"hx-request": "true", "hx-target": "entries"}
    )
    text = words(response)
    assert "<html" not in text
    assert text.startswith('<div id="entries">')
    count = Entry.objects.filter(table="gpus", search__contains="h200").count()
    assert re.search(rf'hx-swap-oob="innerHTML:#status">{count} entr', text)
    assert "HX-Request" in response["Vary"]


def test_figures_carry_unit_source_and_date(signed_in):
    text = words(signed_in("vera").get("/catalog/gpus/h100-sxm/"))
    figure = selectors.shipped().gpu("h100-sxm").figures["memory_bytes_per_s"]
    assert '<b>3,350</b> <span class="u">GB/s</span>' in text
    assert figure.source.split(";")[0] in text
    assert figure.as_of in text


def test_guesses_are_marked(signed_in):
    entry = next(
        row for row in Entry.objects.filter(table="gpus") if '"estimate:' in str(row.payload).replace("'", '"')
    )
    groups, _sources = catalog_sheet.figure_groups(entry)
    guesses = [row for group in groups for row in group["rows"] if row["is_estimate"]]
    text = words(signed_in("vera").get(f"/catalog/gpus/{entry.slug}/"))
    assert text.count("</svg>estimate</span>") == len(guesses) > 0


def test_ridge_points_are_peak_over_bandwidth():
    gpu = selectors.shipped().gpu("h100-sxm")
    ridges = {row["label"]: row["value"] for row in catalog_sheet.ridge_points(gpu)}
    assert ridges["BF16"] == pytest.approx(989e12 / 3.35e12)
    chart = catalog_pictures.roofline_chart(gpu)
    for trace in chart.traces:
        assert max(trace.y) == gpu.figure(f"{trace.name.lower()}_flops_per_s")
        assert trace.y[0] == pytest.approx(trace.x[0] * gpu.figure("memory_bytes_per_s"))


def test_prices_of_a_gpu_are_all_there_with_the_one_assumed(signed_in):
    catalog = selectors.shipped()
    text = words(signed_in("vera").get("/catalog/gpus/h100-sxm/"))
    for price in catalog.prices():
        if price.gpu == "h100-sxm":
            assert f"/catalog/prices/{price.slug}/" in text
    assert catalog.price("h100-sxm").source in text


def test_a_gpu_nobody_sells_says_so(signed_in):
    catalog = selectors.shipped()
    sold = {price.gpu for price in catalog.prices()}
    unsold = next(gpu.slug for gpu in catalog.gpus() if gpu.slug not in sold)
    assert "Nobody’s price" in words(signed_in("vera").get(f"/catalog/gpus/{unsold}/"))


def test_facts_of_an_llm_are_those_of_the_formulas(signed_in):
    llm = selectors.shipped().llm("deepseek-v3")
    text = words(signed_in("vera").get("/catalog/llms/deepseek-v3/"))
    assert f"{attention.kv_bytes_per_token(llm, dtype_bytes=2.0):,.0f} B/token" in text
    assert f'title="{memory.weight_bytes(llm, dtype="bf16"):.0f} bytes"' in text
    assert "off the published 671 G" in text
    assert "latent: whole on every tensor-parallel rank" in text


def test_new_designs_start_with_the_entry(signed_in):
    client = signed_in("bob")
    page = client.get("/catalog/gpus/a10/").content.decode()
    address = re.search(r'href="(/designs/new/sample/\?set=[^"]+)"', page).group(1)
    assert 'value="a10" selected' in words(client.get(address))
    assert "/designs/new/" not in words(signed_in("vera").get("/catalog/gpus/a10/"))


def test_strangers_do_not_see_a_teams_entries(signed_in, people):
    figures = {"memory_bytes": 1e11, "memory_bytes_per_s": 1e12}
    services.gpu_save(team=people.team, name="Our card", figures=figures, price_usd_per_h=1.0)
    assert "Our card" in words(signed_in("vera").get("/catalog/gpus/our-card/"))
    stranger = signed_in("charlie")
    assert stranger.get("/catalog/gpus/our-card/").status_code == 404
    assert "Our card" not in words(stranger.get("/catalog/gpus/", {"q": "our card"}))
    assert stranger.get("/catalog/prices/our-card-team/").status_code == 404


def test_a_teams_own_entry_stands_for_the_built_in_one(signed_in, people):
    figures = {"memory_bytes": 1e11, "memory_bytes_per_s": 1e12}
    services.gpu_save(team=people.team, name="a10", figures=figures)
    assert "Delete…" in words(signed_in("bob").get("/catalog/gpus/a10/"))
    assert "Delete…" not in words(signed_in("vera").get("/catalog/gpus/a10/"))
    assert "Delete…" not in words(signed_in("charlie").get("/catalog/gpus/a10/"))


@pytest.mark.parametrize(
    "address", ["/catalog/", "/catalog/llms/", "/catalog/gpus/h100-sxm/", "/catalog/llms/deepseek-v3/"]
)
def test_pages_take_few_queries(signed_in, address, django_assert_max_num_queries):
    client = signed_in("vera")
    client.get(address)
    with django_assert_max_num_queries(8):
        client.get(address)
