"""Compare pages: choosing, side by side, keeping, sharing, printing, simulating alike."""

from __future__ import annotations

import json

import pytest
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.designs import services
from planner.designs.models import Comparison, Design, Measurement, Share
from planner.jobs import services as jobs
from planner.jobs.models import Job
from tests.catalog.importers.test_benchmarks import SERVE
from tests.web.library import check_page, check_write, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_queue(monkeypatch):
    monkeypatch.setattr(jobs, "enqueue", lambda _job_id: None)


@pytest.fixture
def make(people):
    def made(name="Sixteen", **spec):
        return services.design_create(team=people.team, user=people.alice, kind="sample", spec=spec, name=name)

    return made


@pytest.fixture
def pair(design, make):
    return [design, make(gpus=16)]


@pytest.fixture
def saved(people, pair):
    items = [{"design": str(row.id)} for row in pair]
    return services.comparison_create(team=people.team, user=people.alice, items=items, name="Both")


def side_by_side(designs):
    return "/compare/?" + "&".join(f"d={row.id}" for row in designs)


def test_members_see_comparisons(signed_in, pair, saved):
    for address in ("/compare/", side_by_side(pair), f"/compare/{saved.id}/"):
        check_page(signed_in, address)


def test_without_designs_the_chooser_says_what_to_do(signed_in):
    text = words(signed_in("bob").get("/compare/"))
    assert "No design is saved yet." in text
    assert "None yet: compare designs" in text


def test_one_design_is_chosen_already(signed_in, design):
    text = words(signed_in("bob").get(f"/compare/?d={design.id}"))
    assert f'value="{design.id}" checked' in text


def test_differences_are_shown_with_their_direction(signed_in, pair):
    text = words(signed_in("vera").get(side_by_side(pair)))
    assert "Inputs that differ: 1 of 12" in text
    assert '<td class="n diff" role="cell" data-k="B"><span class="v">16 GPUs</span></td>' in text
    # 12 × $2 and 16 × $2: dearer by 8, a third
    assert 'data-d="worse">+$8.00, +33.3 %' in text
    assert '<td class="n best" role="cell" data-k="A">' in text
    assert "11 equal inputs" in text


def test_the_first_is_the_baseline(signed_in, pair):
    text = words(signed_in("vera").get(side_by_side(pair[::-1])))
    assert 'data-d="better">−$8.00, −25 %' in text


def test_the_address_can_drop_add_and_reorder(signed_in, pair, make):
    third = make("Third", gpus=20)
    a, b = (str(row.id) for row in pair)
    text = words(signed_in("bob").get(side_by_side([*pair, third])))
    assert f'href="/compare/?d={b}&amp;d={a}&amp;d={third.id}">as baseline' in text
    assert f'href="/compare/?d={b}&amp;d={third.id}">leave out' in text
    with_two = words(signed_in("bob").get(side_by_side(pair)))
    assert f'<option value="{third.id}">Third</option>' in with_two


@pytest.mark.parametrize("ids", [["nonsense", "other"], ["\x00", "x"], ["00000000-0000-0000-0000-000000000000"] * 2])
def test_what_cannot_be_compared_leads_back_to_the_choice(signed_in, design, ids):
    response = signed_in("bob").get("/compare/", {"d": [str(design.id), *ids]})
    assert response.status_code == 422
    assert "Choose designs" in words(response)


def test_more_than_six_are_refused(signed_in, make):
    designs = [make(f"D{number}", gpus=number) for number in range(1, 8)]
    response = signed_in("bob").get(side_by_side(designs))
    assert response.status_code == 422
    assert "Compare 2 to 6 designs." in words(response)
    assert signed_in("bob").get(side_by_side(designs[:6])).status_code == 200


def test_a_design_without_an_answer_is_named(signed_in, pair):
    Design.objects.filter(pk=pair[1].pk).update(spec={**pair[1].spec, "note": "missing"})
    response = signed_in("bob").get(side_by_side(pair))
    assert response.status_code == 409
    assert "fp2_flops_per_s" in words(response)


def test_a_stranger_compares_nothing(signed_in, pair, saved):
    client = signed_in("charlie")
    assert client.get(side_by_side(pair)).status_code == 422
    for ending in ("", "table.csv"):
        assert client.get(f"/compare/{saved.id}/{ending}").status_code == 404
    for ending in ("report/", "share/", "simulate/"):
        assert client.post(f"/compare/{saved.id}/{ending}").status_code == 404
    assert client.post("/compare/keep/", {"d": [str(row.id) for row in pair]}).status_code == 422
    assert Comparison.objects.count() == 1


def test_keeping_gives_an_address(signed_in, people, pair):
    data = {"d": [str(row.id) for row in pair], "name": "For the board"}
    check_write(signed_in, people, "/compare/keep/", data=data)
    assert not Comparison.objects.exists()
    response = signed_in("bob").post("/compare/keep/", data)
    saved = Comparison.objects.get()
    assert response.url == f"/compare/{saved.id}/"
    assert (saved.name, saved.created_by) == ("For the board", people.bob)
    assert "For the board" in words(signed_in("vera").get("/compare/"))


@pytest.mark.parametrize("data", [{"d": []}, {"d": ["x", "y"]}, {"name": "n" * 400}])
def test_what_cannot_be_kept_is_said(signed_in, pair, data):
    response = signed_in("bob").post("/compare/keep/", {"d": [str(row.id) for row in pair], **data})
    assert response.status_code == 422
    assert not Comparison.objects.exists()


def test_a_kept_one_follows_its_designs(signed_in, people, pair, saved):
    services.design_update(design=pair[1], user=people.alice, expected_revision=1, spec={"gpus": 20})
    assert '<span class="v">20 GPUs</span>' in words(signed_in("vera").get(f"/compare/{saved.id}/"))


def test_deleted_designs_are_named_or_leave_too_few(signed_in, people, pair, make):
    third = make("Third", gpus=20)
    items = [{"design": str(row.id)} for row in (*pair, third)]
    saved = services.comparison_create(team=people.team, user=people.alice, items=items)
    services.design_delete(design=third, user=people.alice)
    client = signed_in("bob")
    assert "has been deleted since" in words(client.get(f"/compare/{saved.id}/"))
    services.design_delete(design=pair[1], user=people.alice)
    assert client.get(f"/compare/{saved.id}/").status_code == 409
    assert client.get(f"/compare/{saved.id}/table.csv").status_code == 404
    response = client.post(f"/compare/{saved.id}/share/", {"days": "7"})
    assert "nothing to share" in str(list(get_messages(response.wsgi_request))[-1])
    assert not Share.objects.exists()


def test_the_table_comes_as_csv(signed_in, saved):
    response = signed_in("vera").get(f"/compare/{saved.id}/table.csv")
    assert response["Content-Type"].startswith("text/csv")
    assert "A Twelve,B Sixteen" in response.content.decode()


def test_links_are_made_shown_and_revoked(signed_in, people, saved):
    address = f"/compare/{saved.id}/share/"
    check_write(signed_in, people, address, data={"days": "7"})
    client = signed_in("bob")
    assert client.post(address, {"days": "7"}).url == f"/compare/{saved.id}/#share"
    share = Share.objects.get()
    page = words(client.get(f"/compare/{saved.id}/"))
    assert f'value="http://testserver{services.share_link(share)}"' in page
    assert services.share_link(share) not in words(signed_in("vera").get(f"/compare/{saved.id}/"))
    revoke = f"/compare/{saved.id}/share/{share.id}/revoke/"
    assert f'action="{revoke}"' in page
    check_write(signed_in, people, revoke)
    assert signed_in("charlie").post(revoke).status_code == 404
    client.post(revoke)
    share.refresh_from_db()
    assert share.revoked_at
    assert "revoked" in words(client.get(f"/compare/{saved.id}/"))


def test_only_links_of_this_comparison_are_revoked_here(signed_in, people, design, saved):
    other = services.share_create(team=people.team, user=people.alice, design=design)
    assert signed_in("bob").post(f"/compare/{saved.id}/share/{other.id}/revoke/").status_code == 404


def test_only_offered_times_are_taken(signed_in, saved):
    signed_in("bob").post(f"/compare/{saved.id}/share/", {"days": "100000"})
    assert not Share.objects.exists()


def test_a_report_is_a_job(signed_in, people, saved):
    address = f"/compare/{saved.id}/report/"
    check_write(signed_in, people, address)
    response = signed_in("bob").post(address, {"paper": "letter"})
    job = Job.objects.get()
    assert response.url == f"/jobs/{job.id}/"
    assert job.request["paper"] == "letter"
    assert f'href="/compare/{saved.id}/"' in words(signed_in("bob").get(f"/jobs/{job.id}/"))
    signed_in("bob").post(address, {"paper": "wall"})
    assert Job.objects.count() == 1


def test_simulating_all_uses_one_seed_and_horizon(signed_in, people, saved):
    address = f"/compare/{saved.id}/simulate/"
    check_write(signed_in, people, address, data={"seed": "3", "duration_s": "60"})
    response = signed_in("bob").post(address, {"seed": "3", "duration_s": "60"}, follow=True)
    assert "2 simulations are under way" in words(response)
    assert {(job.request["seed"], job.request["duration_s"]) for job in Job.objects.all()} == {(3, 60.0)}
    assert {job.request["spec"]["gpus"] for job in Job.objects.all()} == {12, 16}


def test_simulating_all_in_replications(signed_in, saved, monkeypatch):
    monkeypatch.setattr(jobs.parts, "enqueue", lambda _job, **_: None)
    address = f"/compare/{saved.id}/simulate/"
    signed_in("bob").post(address, {"seed": "3", "duration_s": "60", "replications": "4"})
    assert {(job.request["replications"], job.parts.count()) for job in Job.objects.all()} == {(4, 4)}
    refused = signed_in("bob").post(address, {"seed": "3", "duration_s": "60", "replications": "99"}, follow=True)
    assert "replications: Give a whole number from 1 to 64." in words(refused)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"seed": "x", "duration_s": "60"}, "seed: Give a number."),
        ({"seed": "1.5", "duration_s": "60"}, "seed: Give a whole number"),
        ({"seed": "1", "duration_s": "-60"}, "duration_s: Give seconds"),
        ({"seed": "1", "duration_s": "nan"}, "duration_s: Give seconds"),
        ({}, "seed: Give a number."),
    ],
)
def test_a_run_that_cannot_be_is_refused(signed_in, saved, data, said):
    response = signed_in("bob").post(f"/compare/{saved.id}/simulate/", data, follow=True)
    assert said in words(response)
    assert not Job.objects.exists()


def test_a_page_takes_few_queries(signed_in, saved, django_assert_max_num_queries):
    client = signed_in("bob")
    client.get(f"/compare/{saved.id}/")
    with django_assert_max_num_queries(14):
        client.get(f"/compare/{saved.id}/")


def test_an_uploaded_measurement_stands_beside_a_design(signed_in, design):
    file = SimpleUploadedFile("run.json", json.dumps(SERVE).encode())
    bob = signed_in("bob")
    response = bob.post("/compare/measurements/", {"d": str(design.id), "file": file})
    assert response.status_code == 302
    text = words(bob.get(response["Location"]))
    assert "measured, vLLM bench serve, concurrency 32" in text
    row = Measurement.objects.get()
    check_page(signed_in, response["Location"])
    assert signed_in("vera").post(f"/compare/measurements/{row.id}/delete/").status_code == 403
    bob.post(f"/compare/measurements/{row.id}/delete/")
    assert not Measurement.objects.exists()


def test_a_file_that_is_no_result_is_refused_with_its_reason(signed_in, design):
    file = SimpleUploadedFile("run.json", b'{"a": 1}')
    response = signed_in("bob").post("/compare/measurements/", {"d": str(design.id), "file": file})
    assert response.status_code == 422
    assert "is no result that is known here" in words(response)
    assert f'value="{design.id}" checked' in words(response)
    assert signed_in("bob").post("/compare/measurements/", {}).status_code == 422


def test_terms_are_chosen_and_kept(signed_in, pair):
    address = f"{side_by_side(pair)}&mode=equal_gpus"
    text = words(signed_in("bob").get(address))
    assert 'aria-current="page"' in text
    assert "as it is: it has no demand to scale" in text
    assert signed_in("bob").get(f"{side_by_side(pair)}&mode=moons").status_code == 422
    kept = signed_in("bob").post("/compare/keep/", {"d": [str(row.id) for row in pair], "mode": "equal_cost"})
    assert Comparison.objects.get().mode == "equal_cost"
    assert "For the money of A" in words(signed_in("bob").get(kept["Location"]))
