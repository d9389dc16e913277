"""The validation page in a real browser: filters swap the detail and keep the address, charts are drawn anew."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SIMULATED = "/validation/?quantity=estimate_against_simulation"


def test_a_filter_changes_rows_charts_and_address_in_place(open_page: Any) -> None:
    page = open_page(SIMULATED)
    drawn = page.locator("[data-plot] .scatterlayer .points path")
    page.locator("figure").first.scroll_into_view_if_needed()
    expect(drawn.first).to_be_visible()
    before = page.locator("table.validated tbody tr").count()
    page.evaluate("window.stays = true")
    page.locator("#by-gpu").focus()
    page.locator("#by-gpu").select_option("h800-sxm")
    page.wait_for_url("**gpu=h800-sxm**")
    expect(page.locator("#by-gpu")).to_be_focused()
    assert 0 < page.locator("table.validated tbody tr").count() < before
    page.locator("figure").first.scroll_into_view_if_needed()
    expect(drawn.first).to_be_visible()
    assert page.evaluate("window.stays") is True
    page.locator("#by-quantity").select_option("parameters")
    expect(page.locator("#found-title")).to_have_text("Parameters")
    page.go_back()
    expect(page.locator("#found-title")).to_have_text("Estimate against simulation")
    assert "gpu=h800-sxm" in page.url
    page.locator("figure").first.scroll_into_view_if_needed()
    expect(drawn.first).to_be_visible()


def test_it_works_without_script(open_page: Any) -> None:
    page = open_page(SIMULATED, script=False)
    page.locator("#by-engine").select_option("vllm")
    page.get_by_role("button", name="Show", exact=True).click()
    assert "engine=vllm" in page.url
    page.locator("table.validated thead").get_by_role("link", name="Error").click()
    assert "sort=error" in page.url
    assert "engine=vllm" in page.url
    assert page.locator("figure svg.wide").first.is_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").last.click()
    assert download.value.suggested_filename == "validation-estimate_against_simulation.csv"
