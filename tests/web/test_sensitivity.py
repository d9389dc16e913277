"""The sensitivity page: bars at once, what would change the decision, and draws that the page follows."""

from __future__ import annotations

import pytest

from planner import kinds
from planner.core.planning import Planning
from planner.jobs import runner, services
from planner.jobs.models import Job, State
from tests.web.library import check_page, check_write, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _plain_kind(monkeypatch):
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)
    monkeypatch.setattr(kinds, "planning", lambda _slug: Planning())


@pytest.fixture
def url(design):
    return f"/designs/{design.id}/sensitivity/"


def test_who_sees_it(signed_in, url):
    check_page(signed_in, url)


def test_bars_and_what_is_left_out(signed_in, url):
    response = signed_in("vera").get(url)
    text = words(response)
    # 12 GPUs at $2: a tenth of the price is $2.40/h, and a GPU $2/h.
    assert "<b>GPU price</b> moves it most: $21.6/h at $1.80/h, $26.4/h at $2.20/h;" in text
    assert "then <b>GPUs</b>: $22.0/h at 11 GPUs, $26.0/h at 13 GPUs." in text
    assert "change nothing between their ends" in text
    assert "Power limit (open)" in text
    assert b'hx-trigger="load"' in response.content
    assert b"Draw</button>" not in response.content


def test_ranges_of_your_own_and_a_bad_one(signed_in, url):
    client = signed_in("bob")
    text = words(client.get(url, {"low-price_usd_per_h": "1", "high-price_usd_per_h": "$4"}))
    assert "<b>GPU price</b> moves it most: $12.0/h at $1.00/h, $48.0/h at $4.00/h" in text
    text = words(client.get(url, {"low-price_usd_per_h": "cheap", "high-gpus": "3"}))
    assert "“cheap” is not a number." in text
    assert "The low end lies above the high one." in text


def test_another_figure_is_asked_for(signed_in, url):
    assert "W at 11 GPUs" in words(signed_in("bob").get(url, {"metric": "power_w"}))


def test_what_would_change_the_decision_opens_as_a_design(signed_in, people, design):
    design.spec = {"gpus": 12, "limit_w": 10_000}
    design.save()
    url = f"/designs/{design.id}/sensitivity/"
    response = signed_in("bob").get(url, headers={"hx-request": "true", "hx-target": "flips"})
    # 15 GPUs of 700 W draw 10.5 kW.
    assert "<p>“GPUs” becomes 15 GPUs (+25 %): then Power misses 10 kW.</p>" in words(response)
    assert f"/designs/{design.id}/?set=%7B%22gpus%22%3A15%7D" in response.content.decode()
    assert "“GPUs” becomes 15 GPUs" in words(signed_in("vera").get(url, {"flips": "1"}))


def test_draws_are_followed_until_they_are_done(signed_in, people, url):
    client = signed_in("bob")
    check_write(signed_in, people, f"{url}draw/")
    back = client.post(f"{url}draw/", {"low-peak_rps": "400", "high-peak_rps": "600"})
    assert back.status_code == 302
    job = Job.objects.get()
    assert (job.purpose, job.request["ranges"]) == ("sensitivity", {"peak_rps": {"low": 400.0, "high": 600.0}})
    waiting = client.get(back.url)
    assert b'hx-trigger="every 1s"' in waiting.content
    runner.run(job.id)
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED, job.error
    part = client.get(back.url, headers={"hx-request": "true", "hx-target": "uncertainty"})
    assert b'hx-trigger="every 1s"' not in part.content
    assert "512 draws, seed 1, 8 independent batches" in words(part)
    assert "400 req/s – 600 req/s" in words(part)
    assert "sensitivity" in words(client.get("/jobs/")).lower()
    assert client.get(f"/jobs/{job.id}/").status_code == 200


def test_rows_as_csv(signed_in, url):
    client = signed_in("vera")
    assert client.get(f"{url}tornado.csv").content.startswith(b"input,unit,value,cost_usd_per_h")
    assert client.get(f"{url}flips.csv").content.startswith(b"name,unit,value,holds")
