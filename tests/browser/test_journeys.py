"""The journeys of the specification in a real browser: first look, plan, simulate, compare, share, report."""

from __future__ import annotations

import io
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from tests.browser.runs import SLOW_MS, finished, simulate
from tests.journeys.local_run import Api, LocalRun

pytestmark = pytest.mark.browser
REFERENCE = "DeepSeek-V3 at 500 req/s"


def make_design(api: Api, name: str, spec: dict[str, Any]) -> str:
    status, design, _ = api.call("POST", "/api/v1/designs/", {"kind": "llm_serving", "name": name, "spec": spec})
    assert status == 201, design
    return str(design["id"])


def test_first_look_shows_worked_examples_with_figures_and_charts(open_page: Any) -> None:
    page = open_page("/")
    assert page.locator(".gallery .card").count() >= 6
    assert page.locator(".gallery .card svg.mini").count() >= 6
    page.get_by_role("link", name=REFERENCE, exact=True).click()
    assert "$0.756" in page.locator("#answer .fig").inner_text()
    assert "67 %" in page.locator("#findings").inner_text()
    page.locator("figure.chart").first.scroll_into_view_if_needed()
    page.wait_for_selector(".js-plotly-plot .main-svg")
    page.locator("details.twin summary").first.click()
    assert page.locator("details.twin[open] tbody tr").count() > 1


def test_plan_live_results_keep_focus_and_typing_and_the_design_is_saved(open_page: Any) -> None:
    page = open_page("/designs/new/llm_serving/")
    rate = page.get_by_label("Peak rate", exact=False).first
    rate.fill("1,000")
    rate.press("End")
    expect(page.locator("#answer")).to_contain_text("1,000 req/s")
    assert page.evaluate("document.activeElement.name") == "peak_rps"
    assert rate.input_value() == "1,000"

    rate.fill("many")
    expect(page.locator("#e-peak_rps")).not_to_be_empty()
    assert rate.input_value() == "many"
    assert "500" not in page.locator("#e-peak_rps").inner_text()

    rate.fill("500")
    expect(page.locator("#answer .fig")).to_contain_text("$0.756")
    page.locator("#findings .finding").first.get_by_role("button").click()
    expect(page.locator("#answer .fig")).to_contain_text("$0.956")
    assert page.locator("[name=spare_decode_units]").input_value() == "1"

    page.locator("#save-as > summary").click()
    page.locator("#save-name").fill("Browser N+1")
    page.locator("#save-tags").fill("browser, n+1")
    page.locator("#save-as").get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(re.compile(r"/designs/[0-9a-f-]{36}/"))
    assert page.get_by_role("heading", level=1).inner_text() == "Browser N+1"
    assert "browser" in page.locator(".head .meta").inner_text()


def test_delete_can_be_undone(open_page: Any, api: Api) -> None:
    made = make_design(api, "To be deleted", {})
    page = open_page(f"/designs/{made}/")
    page.locator("#more > summary").click()
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile(r"/\?deleted="))
    page.locator(".notice").get_by_role("button", name="Undo").click()
    page.wait_for_load_state()
    assert api.call("GET", f"/api/v1/designs/{made}/")[0] == 200


def test_simulate_a_real_trace_and_stay_through_a_reload(open_page: Any, api: Api) -> None:
    made = make_design(api, "On the trace", {})
    page = open_page(f"/designs/{made}/")
    page.locator("#simulate > summary").click()
    page.locator("#sim-workload").select_option("azure-2023-conversation")
    page.locator("#sim-duration").fill("1200")
    page.locator("#simulate").get_by_role("button", name="Simulate", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}/"))
    page.reload()
    page.wait_for_selector(".tag[data-s=ok]", timeout=SLOW_MS)
    text = page.locator("main").inner_text()
    assert "TTFT P99" in text
    assert "Estimate and simulation" in text
    titles = page.locator("figure.chart h3").all_inner_texts()
    assert any("TTFT" in title for title in titles)
    assert "hx-trigger" not in page.locator("#job").evaluate("element => element.outerHTML.slice(0, 400)")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).first.click()
    assert b"ttft_p99_s" in Path(download.value.path()).read_bytes()


def test_bring_a_trace_and_simulate_it(open_page: Any, tmp_path: Path) -> None:
    rows = [f"{0.25 * turn:.2f},{900 + turn % 300},{80 + turn % 50}" for turn in range(1200)]
    good, bad = tmp_path / "ours.csv", tmp_path / "bad.csv"
    good.write_text("arrival_s,input_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    bad.write_text("arrival_s,input_tokens,output_tokens\n0,100,10\n1,many,10\n")

    page = open_page("/workloads/new/trace/")
    page.locator("#file").set_input_files(bad)
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".problems")).to_contain_text("Line 3, input_tokens")

    page.locator("#file").set_input_files(good)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ours")
    expect(page.locator("main")).to_contain_text("1,200")

    page.goto("/designs/new/llm_serving/?example=azure-2023-conversation-llama-70b")
    simulate(page, workload="ours")
    expect(page.locator("main")).to_contain_text("1,200 requests")


def test_a_job_survives_the_death_of_its_worker(open_page: Any, api: Api, run: LocalRun) -> None:
    body = {"kind": "llm_serving", "spec": {"peak_rps": 499}, "duration_s": 14_400, "seed": 11}
    status, job, headers = api.call("POST", "/api/v1/simulations/", body)
    assert status == 202, job
    deadline = time.monotonic() + 60
    while api.call("GET", headers["Location"])[1]["state"] == "queued" and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_our_worker(entry, run)
    ]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    page = open_page(headers["Location"].removeprefix("/api/v1"))
    page.wait_for_selector(".tag[data-s=ok]", timeout=SLOW_MS)
    assert api.call("GET", headers["Location"])[1]["attempts"] >= 1


def _is_our_worker(entry: Path, run: LocalRun) -> bool:
    try:
        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        environment = (entry / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return "celery" in command and f"LOCAL_DIR={run.data}" in environment


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "llm_serving", "spec": {"peak_rps": 498}, "duration_s": 36_000},
        {"kind": "multi_lora", "spec": {"adapters": 999}, "duration_s": 300_000},
        {"kind": "rl_rollout", "spec": {"problems": 127}, "options": {"steps": 2400, "modes": "chosen"}},
    ],
    ids=lambda body: body["kind"],
)
def test_cancel_stops_within_a_second(open_page: Any, api: Api, body: dict[str, Any]) -> None:
    status, _, headers = api.call("POST", "/api/v1/simulations/", {**body, "seed": 12})
    assert status == 202
    page = open_page(headers["Location"].removeprefix("/api/v1"))
    expect(page.locator(".head .tag").first).to_have_text(re.compile("running", re.IGNORECASE), timeout=SLOW_MS)
    page.get_by_role("button", name="Cancel job").click()
    started = time.monotonic()
    page.wait_for_selector(".tag[data-s=warning]", timeout=SLOW_MS)
    assert time.monotonic() - started < 4, "one second for the worker, the rest for polling and a busy machine"


def test_compare_two_designs_keep_and_share(open_page: Any, api: Api) -> None:
    two, one = make_design(api, "Compare B", {"spare_decode_units": 1}), make_design(api, "Compare A", {})
    page = open_page("/")  # last changed first: A is the baseline
    for made in (one, two):
        page.locator(f"input[name=d][value='{made}']").check()
    page.get_by_role("button", name=re.compile("^Compare")).click()
    page.wait_for_url(re.compile(r"/compare/\?d="))
    table = page.locator("table.compare").first
    assert "Spare decode units" in table.inner_text()
    assert table.locator("td.diff").count() >= 1
    assert "+26.5" in table.inner_text()
    titles = page.locator("figure.chart h3").all_inner_texts()
    assert len(titles) >= 2
    assert page.locator("#answer, .answer").first.inner_text().startswith("B ")

    page.locator("summary", has_text="Keep").click()
    page.locator("#keep-name").fill("Kept in the browser")
    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url(re.compile(r"/compare/[0-9a-f-]{36}/"))
    page.locator("#share > summary").click()
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_load_state()
    link = page.locator("#share input[readonly]").first.input_value()
    stranger = open_page(link, signed_out=True)
    assert "Compare B" in stranger.locator("table.compare").first.inner_text()


def test_share_a_design_signed_out_and_revoke_it(open_page: Any, api: Api) -> None:
    made = make_design(api, "Shared", {"spare_decode_units": 2})
    page = open_page(f"/designs/{made}/")
    page.locator("#share > summary").click()
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_load_state()
    link = page.locator("#share input[readonly]").first.input_value()
    stranger = open_page(link, signed_out=True)
    assert stranger.get_by_role("heading", level=1).inner_text() == "Shared"
    assert stranger.locator("nav.nav").count() == 0
    assert stranger.locator("figure.chart").count() >= 3
    page.locator("#share > summary").click() if not page.locator("#share[open]").count() else None
    page.locator("#share").get_by_role("button", name="Revoke").click()
    page.wait_for_load_state()
    gone = open_page("/", signed_out=True)
    assert gone.request.get(link).status in {404, 410}


def test_report_of_a_design_is_a_pdf_with_its_answer(open_page: Any, api: Api) -> None:
    made = make_design(api, "Printed design", {})
    page = open_page(f"/designs/{made}/")
    page.locator("#report > summary").click()
    page.locator("#report").get_by_role("button", name="A4").click()
    finished(page)
    address = page.get_by_role("link", name="Open the PDF").get_attribute("href")
    reply = page.request.get(address)
    assert reply.headers["content-type"] == "application/pdf"
    text = "\n".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(reply.body())).pages)
    assert "Printed design" in text
    assert "68" in text
    assert "0.756" in text


def test_it_works_without_javascript(open_page: Any) -> None:
    page = open_page("/designs/new/llm_serving/", script=False)
    page.locator("[name=peak_rps]").fill("1000")
    page.get_by_role("button", name="Recalculate").first.click()
    assert "1,000 req/s" in page.locator("#answer").inner_text()
    assert page.locator("figure.chart svg").count() > 3
