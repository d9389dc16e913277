"""The charts in a real Chromium, under the policy of the product: no inline style, no inline script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template import engines

from planner.charts import overlay
from tests.charts import samples

pytestmark = pytest.mark.browser

ROOT = Path(settings.BASE_DIR)
SHEETS = ("tokens", "base", "layout", "components", "parts")
CHARTS = (samples.LINE, samples.CDF, samples.SCATTER, samples.BARS, samples.STACKED, samples.HEAT, samples.GANTT)
PAGE = """{% load charts static %}<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Charts</title>
<link rel="icon" href="data:,">
{% for sheet in sheets %}<link rel="stylesheet" href="/static/css/{{ sheet }}.css">{% endfor %}
{% include "components/chart_assets.html" %}</head><body><main class="page">
{% if charts %}{% for c in charts %}{% chart c %}{% endfor %}
{% chart bars key="overlay" %}{% diagram d %}{% endif %}</main></body></html>"""


def policy() -> str:
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    return "; ".join(f"{name} {' '.join(str(source) for source in sources)}" for name, sources in directives.items())


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in ("/page", "/plain"):
            return super().do_GET()
        bars = overlay({"A Reference": samples.STACKED, "B N+1": samples.STACKED})
        context = {"charts": CHARTS, "bars": bars, "d": samples.DIAGRAM} if self.path == "/page" else {}
        body = engines["django"].from_string(PAGE).render({**context, "sheets": SHEETS}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", policy())
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(ROOT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/page"
    server.shutdown()


@pytest.fixture
def opened(chromium: Any, address: str) -> Iterator[Any]:
    """A function that opens the page; what the console said is in ``page.said``."""
    contexts = []

    def open_page(**options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 5000}, **options})
        contexts.append(context)
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


def drawn(page: Any, count: int = 6) -> None:
    """Wait until Plotly stands in for the SVG of that many charts."""
    from playwright.sync_api import expect

    expect(page.locator("figure:has(.main-svg) > svg[hidden].wide")).to_have_count(count, timeout=20_000)


def colours(page: Any) -> tuple[str, str]:
    """The stroke of the first line, and the token it should have."""
    stroke = "getComputedStyle(document.querySelector('[data-plot=plot-ttft] .js-line')).stroke"
    token = "getComputedStyle(document.documentElement).getPropertyValue('--chart-1')"
    return page.evaluate(stroke), page.evaluate(token)


def test_plotly_draws_under_the_strict_policy_without_a_word(opened: Any) -> None:
    page = opened()
    drawn(page)
    assert page.said == []
    assert page.locator("figure:has(.main-svg) > svg:visible").count() == 0
    assert page.locator("figure:not(:has([data-plot])) > svg.wide:visible").count() == 3


def test_a_line_has_the_colour_of_its_token_and_follows_the_theme(opened: Any) -> None:
    page = opened(color_scheme="light")
    drawn(page)
    light, token = colours(page)
    assert light == token
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(300)
    dark, token = colours(page)
    assert dark == token != light


def test_charts_that_htmx_swaps_in_are_drawn_too(opened: Any) -> None:
    page = opened()
    drawn(page)
    page.evaluate(
        """async () => {
          const again = new DOMParser().parseFromString(await (await fetch("/page")).text(), "text/html");
          const main = document.querySelector("main");
          main.replaceChildren(...again.querySelector("main").children);
          main.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true, detail: { elt: main } }));
        }"""
    )
    drawn(page)
    assert page.said == []


def test_nothing_moves_when_plotly_takes_over(opened: Any) -> None:
    quiet, lively = opened(java_script_enabled=False), opened()
    drawn(lively)
    height = "document.documentElement.scrollHeight"
    assert lively.evaluate(height) == pytest.approx(quiet.evaluate(height), abs=16)


def test_without_javascript_every_chart_is_there(opened: Any) -> None:
    page = opened(java_script_enabled=False)
    assert page.locator("figure > svg.wide:visible").count() == 9
    assert page.locator("[data-plot]:visible").count() == 0
    page.locator("summary").first.click()
    assert page.locator("table").first.is_visible()


def test_on_a_phone_charts_are_redrawn_narrow_and_nothing_runs_over(opened: Any) -> None:
    page = opened(viewport={"width": 390, "height": 7000})
    drawn(page, 4)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("figure:not(:has(.main-svg)) > svg.narrow:visible").count() == 5
    assert page.said == []


def test_hovering_tells_the_figure_with_its_unit(opened: Any) -> None:
    page = opened()
    drawn(page)
    page.hover("[data-plot=plot-ttft] .nsewdrag", position={"x": 300, "y": 120})
    page.wait_for_selector("[data-plot=plot-ttft] .hoverlayer .legendtext")
    said = page.locator("[data-plot=plot-ttft] .hoverlayer").text_content()
    assert "req/s" in said
    assert "\u00a0s" in said


def test_the_table_saves_as_csv_with_full_figures(opened: Any) -> None:
    page = opened()
    drawn(page)
    twin = page.locator("figure:has([data-plot=plot-ttft]) .twin")
    twin.locator("summary").click()
    with page.expect_download() as download:
        twin.locator("[data-csv]").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert download.value.suggested_filename == "ttft.csv"
    assert lines[0].startswith('"request rate, req/s"')
    assert float(lines[1].split(",")[1]) == pytest.approx(samples.LINE.traces[0].y[0], rel=1e-12)


def test_a_page_without_charts_fetches_no_plotly(chromium: Any, address: str) -> None:
    page = chromium.new_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(address.replace("/page", "/plain"))
    page.wait_for_load_state("networkidle")
    page.close()
    assert [url for url in fetched if url.endswith("plotly-theme.js")]
    assert not [url for url in fetched if "vendor/plotly" in url]
