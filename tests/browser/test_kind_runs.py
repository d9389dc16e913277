"""Each kind with a simulator in a real browser: from its form to the pictures of its run, and from a follow-up."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from tests.browser.runs import estimate_and_simulation, expect_chart, finished, follow_up, simulate, titles

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class Case:
    """What is typed into the form of a kind, how it is simulated, and what is read then."""

    page: str
    opens_with: str
    change: tuple[str, str]
    answers: str
    says: tuple[str, ...]
    finds: str
    charts: tuple[str, ...]
    table: tuple[str, int]
    """A chart and the rows of its table, at least."""
    figure: tuple[str, str]
    """A metric with an estimate and a simulated value, and a sign both bear."""
    duration_s: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "pool": Case(
        page="/designs/new/kv_pool/?example=kv-pool-reference",
        opens_with="56 GPUs for prefill instead of 264",
        change=("turns_per_s", "20"),
        answers="at 20 turns/s",
        duration_s="3600",
        says=("of what came back was found", "caches empty at first"),
        finds="",
        charts=("Does the estimate of hits hold?", "Where are hits found over time?"),
        table=("Where are hits found over time?", 6),
        figure=("Hits in DRAM", "%"),
    ),
    "gateway": Case(
        page="/designs/new/gateway/?example=gateway-hot-prefix",
        opens_with="makes a hot spot",
        change=("peak_rps", "600"),
        answers="600 req/s",
        duration_s="40",
        says=("turned away",),
        finds="Longest prefix makes a hot spot",
        charts=("What do caches find with each policy?", "How evenly do instances work?"),
        table=("What do caches find with each policy?", 8),
        figure=("Prompt tokens hit", "%"),
    ),
    "adapters": Case(
        page="/designs/new/multi_lora/",
        opens_with="56 % used; 77 % of the requests find their adapter on the GPU",
        change=("requests_per_s", "40"),
        answers="serve 40 req/s",
        duration_s="40",
        options={"hosts": "cold", "warmup_s": "4"},
        says=("find their adapter on the GPU", "the first 4 s are warm-up"),
        finds="On the same requests",
        charts=("Which way finds adapters on the GPU?", "What does each tenant pay, by the GPU time it had?"),
        table=("Which way finds adapters on the GPU?", 5),
        figure=("Adapter in a slot", "%"),
    ),
    "rollout": Case(
        page="/designs/new/rl_rollout/",
        opens_with="36 GPUs generate 16.4 M tokens a step",
        change=("answers_per_problem", "8"),
        answers="8,192,000 tokens a step",
        options={"steps": "4", "warmup_steps": "2"},
        says=("4 steps of 1,024 answers; the first 2 are warm-up",),
        finds="On the same answers: Fully asynchronous",
        charts=("Who does what, and who waits?", "How old are samples when they are trained on?"),
        table=("How long is a step in each mode?", 4),
        figure=("Utilisation of rollout", "%"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_from_the_form_to_the_pictures_of_the_run(open_page: Any, case: Case) -> None:
    page = open_page(case.page)
    main = page.locator("main")
    expect(main).to_contain_text(case.opens_with)
    name, typed = case.change
    page.locator(f"[name={name}]").fill(typed)
    expect(page.locator("#answer")).to_contain_text(case.answers)
    simulate(page, duration_s=case.duration_s, **case.options)
    for said in case.says:
        expect(main).to_contain_text(said)
    expect(page.locator("#findings")).to_contain_text(case.finds)
    assert set(case.charts) <= set(titles(page))
    chart, least = case.table
    assert expect_chart(page, chart).count() >= least
    metric, sign = case.figure
    shown = estimate_and_simulation(page, metric)
    assert all(figure.endswith(sign) for figure in shown), shown


FOLLOW_UPS = [
    pytest.param(
        "/designs/new/kv_pool/?example=kv-pool-no-gain",
        "The LLM is upgraded",
        ("moved all the traffic at once",),
        "Where are hits found over time?",
        id="pool",
    ),
    pytest.param(
        "/designs/new/gateway/",
        "An instance dies. What is lost?",
        ("1 instance died at 100 s", "none failed for good"),
        "What did the loss of instances cost?",
        id="gateway",
    ),
    pytest.param(
        "/designs/new/multi_lora/",
        "The largest tenant sends 20 times its share",
        ("Of the output tokens, the tenants beside the largest got", "first come, first served"),
        "What does each tenant get?",
        id="adapters",
    ),
    pytest.param(
        "/designs/new/rl_rollout/",
        "What would a looser staleness bound bring?",
        ("η = 0 15.", "η = 8 5.0"),
        "How old are samples when they are trained on?",
        id="rollout",
    ),
]


@pytest.mark.parametrize(("path", "asked", "finds", "chart"), FOLLOW_UPS)
def test_a_follow_up_runs_what_it_speaks_of(
    open_page: Any, path: str, asked: str, finds: tuple[str, ...], chart: str
) -> None:
    page = open_page(path)
    follow_up(page, asked)
    for found in finds:
        expect(page.locator("#findings")).to_contain_text(found)
    assert chart in titles(page)


@dataclass(frozen=True)
class Mended:
    """An example whose finding is applied, and what the page says before and after."""

    example: str
    finding: str
    before: str
    after: str
    field: tuple[str, str]
    beside: str
    """Another example of the kind, for a comparison."""
    costs: str
    """A row of the comparison."""


MENDED = {
    "adapters": Mended(
        example="multi_lora/?example=multi-lora-past-the-cliff",
        finding="16 slots are too few",
        before="7 % of the requests find their adapter on the GPU",
        after="32 % of the requests find their adapter on the GPU",
        field=("routing", "load_aware"),
        beside="multi_lora/?example=multi-lora-thousand",
        costs="Adapter in a slot",
    ),
    "rollout": Mended(
        example="rl_rollout/?example=rl-rollout-no-gain",
        finding="co-located, training waits",
        before="8 GPUs generate and train in turns",
        after="training hardly waits",
        field=("mode", "asynchronous"),
        beside="rl_rollout/?example=rl-rollout-reference",
        costs="Cost of a useful sample",
    ),
}


def saved_as(page: Any, name: str) -> str:
    """The address of the design the form is saved as."""
    page.locator("#save-as > summary").click()
    page.locator("#save-name").fill(name)
    page.locator("#save-as").get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(re.compile(r"/designs/[0-9a-f-]{36}/"))
    address: str = page.url
    return address


@pytest.mark.parametrize("case", MENDED.values(), ids=MENDED)
def test_a_finding_is_applied_and_the_design_saved_compared_shared_and_printed(open_page: Any, case: Mended) -> None:
    page = open_page(f"/designs/new/{case.example}")
    answer = page.locator("#answer")
    expect(answer).to_contain_text(case.before)
    page.locator("#findings .finding", has_text=case.finding).get_by_role("button").click()
    expect(answer).to_contain_text(case.after)
    name, value = case.field
    assert dict(page.locator("#inputs").evaluate("form => [...new FormData(form)]"))[name] == value
    mended = saved_as(page, "Mended")

    page.goto(f"/designs/new/{case.beside}")
    beside = saved_as(page, "Beside")
    ids = [address.rstrip("/").rsplit("/", 1)[-1] for address in (mended, beside)]
    page.goto("/compare/?" + "&".join(f"d={one}" for one in ids))
    expect(page.locator("table.compare").first).to_contain_text(case.costs)
    assert len(titles(page)) >= 2

    page.goto(mended)
    page.locator("#share > summary").click()
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_load_state()
    link = page.locator("#share input[readonly]").first.input_value()
    stranger = open_page(link, signed_out=True)
    expect(stranger.locator("main")).to_contain_text(case.after)
    assert stranger.locator("figure.chart").count() >= 8

    page.locator("#report > summary").click()
    page.locator("#report").get_by_role("button", name="A4").click()
    finished(page)
    address = page.get_by_role("link", name="Open the PDF").get_attribute("href")
    sheets = PdfReader(io.BytesIO(page.request.get(address).body())).pages
    text = " ".join(" ".join(sheet.extract_text() for sheet in sheets).split())
    assert "Mended" in text
    assert "Sources" in text


def test_a_trace_that_names_adapters_becomes_a_design_and_a_run(open_page: Any, tmp_path: Path) -> None:
    rows = [f"{0.05 * row:.2f},{300 + row % 90},{60 + row % 50},tenant-{row * row % 23}" for row in range(1200)]
    trace = tmp_path / "adapters.csv"
    trace.write_text("arrival_s,input_tokens,output_tokens,adapter\n" + "\n".join(rows) + "\n")
    page = open_page("/workloads/new/trace/")
    page.locator("#file").set_input_files(trace)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("adapters")
    slug = page.url.rstrip("/").rsplit("/", 1)[-1]
    change = json.dumps({"popularity": "trace", "workload": slug, "tenants": 1})
    page.goto(f"/designs/new/multi_lora/?set={change}")
    distinct = len({row * row % 23 for row in range(1200)})
    expect(page.locator("#answer")).to_contain_text(f"over {distinct} adapters")
    simulate(page, workload="adapters", policies="chosen")
    expect(page.locator("main")).to_contain_text("replays adapters")
    assert all(figure.endswith("%") for figure in estimate_and_simulation(page, "Adapter in a slot"))
