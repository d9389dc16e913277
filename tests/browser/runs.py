"""What a user does with a simulation, whatever the kind: choose how it runs, start it, wait for it, read it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

SLOW_MS = 120_000


def finished(page: Any) -> None:
    """Wait for the job that was just started."""
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    page.wait_for_selector(".tag[data-s=ok]", timeout=SLOW_MS)


def simulate(page: Any, *, workload: str | None = None, duration_s: str = "", **options: str) -> None:
    """Simulate the inputs as they stand and wait; a workload by its label, options by their name."""
    page.locator("#simulate > summary").click()
    if workload:
        page.locator("#sim-workload").select_option(label=workload)
    page.locator("#sim-duration").fill(duration_s)
    if options:
        for group in page.locator("#simulate details.options > summary").all():
            group.click()
    for name, value in options.items():
        field = page.locator(f"#opt-{name}")
        is_choice = field.evaluate("element => element.tagName") == "SELECT"
        field.select_option(value) if is_choice else field.fill(value)
    page.locator("#simulate").get_by_role("button", name="Simulate", exact=True).click()
    finished(page)


def follow_up(page: Any, asked: str) -> None:
    """Run what a follow-up proposes, and wait."""
    page.locator("#follow-ups button", has_text=asked).click()
    finished(page)


def titles(page: Any) -> list[str]:
    """Of all charts."""
    found: list[str] = page.locator("figure.chart h3").all_inner_texts()
    return found


def expect_chart(page: Any, asked: str) -> Any:
    """The chart of this title: drawn, with its table behind it; gives the rows of the table."""
    figure = page.locator("figure.chart", has=page.get_by_role("heading", name=asked, exact=True))
    figure.scroll_into_view_if_needed()
    expect(figure.locator("svg:visible").first).to_be_visible()
    figure.locator("details.twin summary").click()
    return figure.locator("details.twin[open] tbody tr")


def estimate_and_simulation(page: Any, metric: str) -> tuple[str, str]:
    """Both figures of a metric, as the table beside each other shows them."""
    row = page.locator("table tr", has=page.get_by_role("rowheader", name=metric, exact=True)).first
    cells = row.locator("td").all_inner_texts()
    return cells[0], cells[1]
