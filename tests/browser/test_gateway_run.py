"""A gateway in a real browser: from the form to the pictures of its simulation, and from an answer to a drill."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SLOW_MS = 120_000
HOT_SPOT = "/designs/new/gateway/?example=gateway-hot-prefix"


def finished(page: Any) -> None:
    """Wait for the run that was just started."""
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    page.wait_for_selector(".tag[data-s=ok]", timeout=SLOW_MS)


def test_one_system_prompt_is_a_hot_spot_in_the_form_and_in_the_run_of_all_policies(open_page: Any) -> None:
    page = open_page(HOT_SPOT)
    expect(page.locator("#findings")).to_contain_text("makes a hot spot")
    page.get_by_label("Peak rate", exact=False).first.fill("600")
    expect(page.locator("#answer")).to_contain_text("600 req/s")
    page.locator("#simulate > summary").click()
    page.locator("#sim-duration").fill("40")
    page.locator("#simulate").get_by_role("button", name="Simulate", exact=True).click()
    finished(page)
    expect(page.locator("main")).to_contain_text("turned away")
    expect(page.locator("#findings")).to_contain_text("Longest prefix makes a hot spot")
    titles = page.locator("figure.chart h3").all_inner_texts()
    assert {"What do caches find with each policy?", "How evenly do instances work?"} <= set(titles)
    page.locator("details.twin summary").first.click()
    assert page.locator("details.twin[open] tbody tr").count() == 8


def test_a_follow_up_runs_the_loss_it_speaks_of(open_page: Any) -> None:
    page = open_page("/designs/new/gateway/")
    page.locator("#follow-ups button", has_text="An instance dies. What is lost?").click()
    finished(page)
    expect(page.locator("#findings")).to_contain_text("1 instance died at 100 s")
    expect(page.locator("#findings")).to_contain_text("none failed for good")
    assert "What did the loss of instances cost?" in page.locator("figure.chart h3").all_inner_texts()
