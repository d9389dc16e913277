"""A drill in a real browser: started from the editor, followed, answered in a sentence, read off by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.runs import SLOW_MS, finished
from tests.browser.test_pages import assert_sound
from tests.journeys.local_run import Api

pytestmark = pytest.mark.browser

SMALL = "/designs/new/llm_serving/?example=azure-2023-conversation-llama-70b"
"""Few replicas and few requests: a drill of seconds."""


@pytest.fixture(scope="module")
def drill(api: Api) -> str:
    """The reference design's drill, done: the address of its page."""
    status, asked, headers = api.call("POST", "/api/v1/drills/", {"kind": "llm_serving", "drill": "lose-decode-unit"})
    assert status == 202, asked
    return str(headers["Location"]).removeprefix("/api/v1")


def test_from_the_editor_to_the_sentence_and_through_time_by_keyboard(open_page: Any) -> None:
    page = open_page(SMALL)
    page.locator("#follow-ups").get_by_role("button", name=re.compile("^Run the drill")).click()
    page.wait_for_url(re.compile(r"/drills/[0-9a-f-]{36}/"))
    expect(page.locator("#drill-answer")).to_be_visible(timeout=SLOW_MS)
    said = page.locator("#drill-answer").inner_text()
    assert re.search(r"\d", said)
    assert "hx-trigger" not in page.locator("#drill").evaluate("element => element.outerHTML.slice(0, 300)")

    slider = page.get_by_role("slider", name="Moment of the run")
    slider.focus()
    clock = page.locator(".scrub output")
    page.keyboard.press("Home")
    first, figures = clock.inner_text(), page.locator(".strips tbody").inner_text()
    page.keyboard.press("End")
    assert clock.inner_text() > first
    assert page.locator(".strips tbody").inner_text() != figures
    assert slider.get_attribute("aria-valuetext").startswith(clock.inner_text())
    cursors = page.locator(".strips path.now")
    assert {cursors.nth(place).get_attribute("d") for place in range(cursors.count())} == {"M1000 0V40"}
    last = clock.inner_text()
    page.keyboard.press("PageDown")
    assert first < clock.inner_text() < last

    page.reload()
    expect(page.locator("#drill-answer")).to_have_text(said)


def test_play_goes_on_and_stops_where_it_is_told(open_page: Any, drill: str) -> None:
    page = open_page(drill)
    expect(page.locator("#drill-answer")).to_be_visible(timeout=SLOW_MS)
    play, clock = page.get_by_role("button", name="Play"), page.locator(".scrub output")
    page.locator("#board-speed").select_option("6")
    play.click()
    pause = page.get_by_role("button", name="Pause")
    page.wait_for_function("before => document.querySelector('.scrub output').textContent > before", arg="00:05:00")
    pause.click()
    stopped = clock.inner_text()
    page.wait_for_timeout(1500)
    assert clock.inner_text() == stopped


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
def test_the_page_of_a_drill_and_of_its_runs_is_accessible(open_page: Any, drill: str, width: int, dark: bool) -> None:
    page = open_page(drill, width=width, dark=dark)
    expect(page.locator("#drill-answer")).to_be_visible(timeout=SLOW_MS)
    assert_sound(page, width=width)
    page.get_by_role("link", name=re.compile("decode units$")).first.click()
    finished(page)
    assert page.get_by_role("slider", name="Moment of the run").is_visible()
    assert_sound(page, width=width)


def test_without_script_the_strips_and_the_answer_stand(open_page: Any, drill: str) -> None:
    followed = open_page(drill)
    expect(followed.locator("#drill-answer")).to_be_visible(timeout=SLOW_MS)
    page = open_page(drill, script=False)
    assert page.locator("#drill-answer").is_visible()
    assert page.locator(".strips svg.run path.ln").count() >= 8
    assert not page.locator("#board-at").is_visible()
