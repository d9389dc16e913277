"""The Sweep page: a form that loses nothing, the run until it ends, its points, and what one does with them."""

from __future__ import annotations

import csv
import io
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from planner import kinds
from planner.core.planning import Planning
from planner.designs import services as designs
from planner.designs.models import Comparison
from planner.jobs import runner, services
from planner.jobs.models import Job, State
from tests.web.library import check_page, check_write, load_entries, words

pytestmark = pytest.mark.django_db

HTMX = {"hx-request": "true"}
FORM = {
    "vary-0-field": "gpus",
    "vary-0-shown": "gpus",
    "vary-0-values": "8, 10 … 16",
    "vary-1-field": "layout",
    "vary-1-shown": "layout",
    "vary-1-values": ["split", "joint"],
    "vary-2-field": "",
    "vary-2-shown": "",
    "objective": "cost_usd_per_h",
    "against": "power_w",
    "limit-0-metric": "power_w",
    "limit-0-shown": "power_w",
    "limit-0-side": "at_most",
    "limit-0-value": "10000",
    "limit-1-metric": "",
    "limit-1-shown": "",
    "verify": "0",
}
"""Five by two designs; a GPU takes 700 W, so those of more than 14 miss the limit."""


@pytest.fixture(autouse=True)
def plans(monkeypatch):
    load_entries()
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning())


@pytest.fixture
def page(design):
    return f"/designs/{design.id}/sweep/"


@pytest.fixture
def swept(signed_in, page):
    """A finished sweep: its job and the address of its page."""
    started = signed_in("bob").post(page, FORM)
    assert started.status_code == 302, words(started)
    job = Job.objects.get()
    runner.run(job.id)
    return Job.objects.get(), started.url


def errors(response):
    return [text for text in re.findall(r'class="error[^"]*" id="[^"]*"[^>]*>([^<]+)<', words(response)) if text]


def test_before_the_first_sweep_the_form_proposes_what_advice_would_change(signed_in, page):
    shown = words(signed_in("bob").get(page))
    assert "No sweep of this design yet" in shown
    assert 'name="vary-0-values" value="6, 12, 16, 24"' in shown
    assert "4 designs, under 1 s" in shown
    assert "Find the cheapest" not in shown.split("No sweep")[0]


def test_the_page_is_for_members_and_starting_for_editors(signed_in, people, page):
    check_page(signed_in, page)
    assert "disabled" in words(signed_in("vera").get(page))
    check_write(signed_in, people, page, data=FORM)
    assert signed_in("charlie").get(page).status_code == 404


def test_the_count_follows_what_is_typed(signed_in, page):
    found = signed_in("bob").post(f"{page}count/", FORM, headers=HTMX)
    assert "10 designs, under 1 s" in words(found)
    assert 'id="sweep-vary"' not in words(found)
    wrong = signed_in("bob").post(
        f"{page}count/", {**FORM, "vary-0-values": "8..x step 1"}, headers={"hx-request": "true"}
    )
    assert "cannot be counted yet" in words(wrong)
    assert errors(wrong) == ["“x” is not a number."]


def test_a_field_just_chosen_gets_values_and_another_row_to_choose_in(signed_in, page):
    chosen = {**FORM, "vary-2-field": "headroom", "limit-1-metric": "cost_usd_per_h", "limit-1-shown": ""}
    found = words(signed_in("bob").post(f"{page}count/", chosen, headers=HTMX))
    assert 'name="vary-2-values" value="10, 15, 20, 25, 30"' in found
    assert 'name="vary-3-field"' in found
    assert 'value="8, 10 … 16"' in found
    assert 'name="limit-1-value" value="24.00"' in found
    assert "50 designs" in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vary-0-values": "0, 8"}, "greater than or equal to 1"),
        ({"vary-1-field": "gpus", "vary-1-shown": "gpus", "vary-1-values": "3"}, "This field is varied already."),
        ({"vary-1-values": []}, "Choose at least one value."),
        ({"limit-0-value": "lots"}, "“lots” is not a number."),
        ({"objective": "joy"}, "no such metric"),
        ({"vary-0-field": "", "vary-1-field": ""}, "Choose at least one field to vary."),
    ],
)
def test_what_cannot_be_swept_says_so_at_its_place_and_nothing_typed_is_lost(signed_in, page, change, said):
    refused = signed_in("bob").post(page, {**FORM, **change})
    assert refused.status_code == 422
    assert any(said in text for text in errors(refused)), errors(refused)
    if "vary-0-field" not in change:
        assert f'value="{change.get("vary-0-values", "8, 10 … 16")}"' in words(refused)
    assert not Job.objects.exists()


def test_a_run_is_followed_until_it_has_ended(signed_in, page):
    url = signed_in("bob").post(page, FORM).url
    assert 'hx-trigger="every 1s"' in words(signed_in("vera").get(url))
    job = Job.objects.get()
    runner.run(job.id)
    part = words(signed_in("vera").get(url, headers={"hx-request": "true", "hx-target": "sweep-run"}))
    assert part.startswith('<div class="stack sweepresult"')
    assert "every 1s" not in part
    assert 'id="sweeps-earlier"' in part
    assert "10 designs" in part


def test_the_answer_the_front_and_what_came_near(signed_in, swept):
    job, url = swept
    shown = words(signed_in("bob").get(url))
    assert '<b title="16.0">$16.0</b>' in shown
    assert "Open as design" in shown
    assert 'aria-label="Open design 1"' in shown
    assert 'id="plot-sweep-front"' in shown
    assert f'href="/sweeps/{job.id}/points/0/"' in shown
    assert "The front" in shown
    assert "Not taken" in shown
    assert "r1" in shown


def test_points_are_filtered_sorted_and_paged_on_the_server(signed_in, swept):
    _job, url = swept

    def places(query):
        table = signed_in("bob").get(f"{url}?{query}", headers={**HTMX, "hx-target": "points"})
        return re.findall(r'name="place" value="(\d+)"', words(table)), words(table)

    assert places("sort=-cost_usd_per_h")[0][:2] == ["8", "9"]
    assert places("status=misses")[0] == ["8", "9"]
    assert places("v-layout=joint&sort=gpus")[0] == ["1", "3", "5", "7", "9"]
    assert "2 of 10" in places("q=above+the+10")[1]
    assert "No design like this." in places("q=nothing+like+it")[1]
    assert 'aria-sort="descending"' in places("sort=-gpus")[1]
    assert len(places("sort=drop&page=99&status=none")[0]) == 10


def test_a_point_opens_in_the_editor_with_what_it_changes_and_is_not_saved(signed_in, design, swept):
    job, _url = swept
    opened = signed_in("bob").get(f"/sweeps/{job.id}/points/3/")
    assert urlsplit(opened.url).path == f"/designs/{design.id}/"
    assert json.loads(parse_qs(urlsplit(opened.url).query)["set"][0]) == {"gpus": 10, "layout": "joint"}
    shown = words(signed_in("bob").get(opened.url))
    assert "since r1, not saved yet: GPUs 12 GPUs → 10 GPUs; Layout Disaggregated → Aggregated" in shown
    assert designs.Design.objects.get(id=design.id).revision == 1
    assert signed_in("bob").get(f"/sweeps/{job.id}/points/10/").status_code == 404
    assert signed_in("charlie").get(f"/sweeps/{job.id}/points/3/").status_code == 404


def test_selected_points_become_a_comparison_and_one_alone_meets_the_present_design(signed_in, people, design, swept):
    job, _url = swept
    made = signed_in("bob").post(f"/sweeps/{job.id}/compare/", {"place": ["0", "3"]})
    two = Comparison.objects.get()
    assert made.url == f"/compare/{two.id}/"
    assert [item["spec"]["gpus"] for item in two.items] == [8, 10]
    assert two.items[1]["name"] == "GPUs 10\u00a0GPUs · Layout Aggregated"
    signed_in("bob").post(f"/sweeps/{job.id}/compare/", {"place": ["3"]})
    alone = Comparison.objects.exclude(id=two.id).get()
    assert alone.items[0] == {"design": str(design.id)}
    many = signed_in("bob").post(f"/sweeps/{job.id}/compare/", {"place": [str(n) for n in range(7)]}, follow=True)
    assert "Compare 2 to 6 designs." in words(many)
    assert Comparison.objects.count() == 2
    check_write(signed_in, people, f"/sweeps/{job.id}/compare/", data={"place": ["0", "3"]})


def test_all_points_come_as_csv(signed_in, swept):
    job, _url = swept
    found = signed_in("vera").get(f"/sweeps/{job.id}/points.csv")
    head, *rows = csv.reader(io.StringIO(found.content.decode()))
    assert head[:3] == ["point", "gpus [GPUs]", "layout"]
    assert len(rows) == 10
    assert rows[3][1:3] == ["10", "joint"]


def test_a_sweep_of_an_earlier_revision_says_so_and_runs_again_on_the_present_one(signed_in, people, design, swept):
    job, url = swept
    designs.design_update(design=design, user=people.bob, expected_revision=1, spec={"gpus": 12, "headroom": 0.5})
    shown = words(signed_in("bob").get(url))
    assert "of r1; the design is at r2 now" in shown
    opened = parse_qs(urlsplit(signed_in("bob").get(f"/sweeps/{job.id}/points/0/").url).query)
    assert json.loads(opened["set"][0]) == {"gpus": 8, "headroom": 0.2}
    again = signed_in("bob").post(f"/sweeps/{job.id}/again/")
    fresh = Job.objects.exclude(id=job.id).get()
    assert again.url == url.replace(str(job.id), str(fresh.id))
    assert (fresh.request["spec"]["headroom"], fresh.request["vary"]) == (0.5, job.request["vary"])
    check_write(signed_in, people, f"/sweeps/{job.id}/again/")


def test_a_cancelled_and_a_failed_sweep_say_what_happened(signed_in, people, page):
    url = signed_in("bob").post(page, FORM).url
    job = Job.objects.get()
    check_write(signed_in, people, f"/sweeps/{job.id}/cancel/")
    assert signed_in("bob").post(f"/sweeps/{job.id}/cancel/").url == url
    assert "run it again for the whole" in words(signed_in("bob").get(url))
    Job.objects.update(state=State.FAILED, error={"message": "The worker is gone.", "suggestion": "Try fewer."})
    failed = words(signed_in("bob").get(url))
    assert "The worker is gone." in failed
    assert "Try fewer." in failed


def test_a_sweep_without_a_design_has_a_page_and_other_jobs_are_none(signed_in, people, swept):
    job, _url = swept
    Job.objects.update(design=None)
    shown = words(signed_in("bob").get(f"/sweeps/{job.id}/"))
    assert "Open as design" in shown
    assert urlsplit(signed_in("bob").get(f"/sweeps/{job.id}/points/3/").url).path == "/designs/new/sample/"
    other = services.report_start(team=people.team, user=people.bob, design=designs.Design.objects.get())
    assert signed_in("bob").get(f"/sweeps/{other.id}/").status_code == 404
