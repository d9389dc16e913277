"""A sweep in a real browser: the cheapest is asked for with one click, followed, read off and opened as a design."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.runs import SLOW_MS
from tests.browser.test_pages import assert_sound
from tests.journeys.local_run import Api

pytestmark = pytest.mark.browser


def test_the_cheapest_is_found_verified_and_opened_as_a_design(open_page: Any, api: Api) -> None:
    small = {"kind": "llm_serving", "name": "To sweep", "spec": {"peak_rps": 50}}
    design = api.call("POST", "/api/v1/designs/", small)[1]["id"]
    page = open_page(f"/designs/{design}/sweep/")
    page.locator("#values-0").fill("0..4 step 1")
    expect(page.locator("#sweep-foot")).to_contain_text("15 designs")
    page.get_by_role("button", name="Find the cheapest").click()
    expect(page.locator(".runhead .tag")).to_have_text("Succeeded", timeout=SLOW_MS)
    expect(page.locator(".runhead .meta")).to_contain_text("verified", timeout=SLOW_MS)
    said = page.locator(".answer .say").inner_text()
    assert re.search(r"\$\d", said)
    expect(page.locator(".front .js-plotly-plot .scatterlayer")).to_be_visible(timeout=SLOW_MS)
    assert page.locator(".front svg.wide .ring").count() >= 1
    assert_sound(page, width=1440)
    url = page.url
    assert_sound(open_page(url, width=390, dark=True), width=390)

    page.locator(".front [data-plot]").focus()
    page.keyboard.press("ArrowRight")
    with page.expect_navigation(url=re.compile(rf"/designs/{design}/\?set=")):
        page.keyboard.press("Enter")
    page.go_back()
    page.locator("#open-best").click()
    expect(page.locator("#answer .changed")).to_contain_text("not saved yet")
    figure = page.locator("#answer .fig b").inner_text()
    assert figure in said

    plain = open_page(url, script=False)
    plain.locator("#points thead").get_by_role("link", name=re.compile("TPOT P99")).click()
    plain.locator("#points").get_by_role("link", name=re.compile("^Open design")).first.click()
    assert f"/designs/{design}/" in plain.url
