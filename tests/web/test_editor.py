"""The editor: opening, live results, saving, and what happens when something is wrong."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from planner import kinds
from planner.catalog import selectors as catalogs
from planner.designs import services as designs
from planner.designs.models import Design, Share
from planner.jobs import services as jobs
from planner.jobs.models import Job
from planner.web import workload_source
from tests.web.sample import SECRET

pytestmark = pytest.mark.django_db
LIVE = "/designs/live/sample/"
HTMX = {"hx-request": "true", "hx-target": "result"}


def words(response):
    return re.sub(r"\s+", " ", response.content.decode().replace("\u00a0", " "))


def test_a_new_design_opens_with_its_answer(signed_in):
    page = words(signed_in("bob").get("/designs/new/sample/"))
    assert "$16.0" in page  # 8 GPUs at $2.00
    assert "<b>8 GPUs</b> do it." in page
    assert 'value="3,000"' in page
    assert "0 of 12 fields differ from the defaults" in page
    assert "<noscript><button" in page


def test_an_example_opens_as_its_own_base(signed_in):
    page = words(signed_in("bob").get("/designs/new/sample/?example=small"))
    assert "A small fleet" in page
    assert "$8.00" in page
    assert "0 of 12 fields differ from the example" in page
    assert signed_in("bob").get("/designs/new/sample/?example=none").status_code == 404
    assert signed_in("bob").get("/designs/new/nothing/").status_code == 404


def test_a_link_may_set_fields(signed_in):
    page = words(signed_in("bob").get("/designs/new/sample/", {"set": json.dumps({"gpus": 3, "unknown": 1})}))
    assert "$6.00" in page
    assert "1 of 12 fields differ" in page
    broken = signed_in("bob").get("/designs/new/sample/", {"set": json.dumps({"gpus": 0})})
    assert broken.status_code == 422
    assert signed_in("bob").get("/designs/new/sample/", {"set": "[[["}).status_code == 200


def test_live_results_come_as_fragments_and_save_nothing(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"gpus": "10"}, headers=HTMX)
    page = words(response)
    assert response.status_code == 200
    assert "<html" not in page
    assert "$20.0" in page
    assert page.count('id="result"') == page.count('id="answer"') == 1
    assert 'data-changed-fields="gpus"' in page
    assert "What changed" in page
    assert "GPUs 8 GPUs → 10 GPUs" in page
    assert '<form class="inputs"' not in page  # focus and typing stay
    assert not Design.objects.exists()


def test_without_javascript_the_same_address_gives_the_page(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"gpus": "10"})
    assert response.status_code == 200
    assert "<html" in words(response)
    assert "$20.0" in words(response)


def test_bad_input_is_told_at_its_field_and_the_last_answer_stays(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"gpus": "0"}, headers=HTMX)
    page = words(response)
    assert response.status_code == 422
    assert response["HX-Reswap"] == "none"
    assert re.search(r'id="e-gpus"[^>]*>Give at least 1 GPUs\.', page)
    assert '<a href="#f-gpus">GPUs</a>' in page
    whole = signed_in("bob").post(LIVE, typed | {"gpus": "0"})
    assert whole.status_code == 422
    assert "$16.0" in words(whole)
    assert re.search(r'name="gpus" value="0"', words(whole))


def test_hostile_text_is_shown_as_text(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"peak_rps": '"><script>alert(1)</script>', "note": "<i>x</i>"})
    assert response.status_code == 422
    assert "<script>alert" not in response.content.decode()
    over = words(signed_in("bob").post(LIVE, typed | {"limit_w": "1"}))
    assert "<b>More</b>" not in over
    assert "&lt;b&gt;More" in over


def test_a_missing_figure_names_itself(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"note": "missing"}, headers=HTMX)
    assert response.status_code == 409
    assert "fp2_flops_per_s" in words(response)


def test_an_unknown_entry_is_told_at_its_field(signed_in, typed):
    response = signed_in("bob").post(LIVE, typed | {"gpu": "abacus"}, headers=HTMX)
    assert response.status_code == 422
    assert re.search(r'id="e-gpu"[^>]*>[^<]*abacus', words(response))


def test_a_finding_applies_its_change_and_keeps_what_was_typed(signed_in, typed):
    page = words(signed_in("bob").post(LIVE, typed | {"limit_w": "1", "slo_s": "40", "apply": '{"gpus": 1}'}))
    assert re.search(r'name="gpus" value="1"', page)
    assert re.search(r'name="slo_s" value="40"', page)
    assert "$2.00" in page
    assert signed_in("bob").post(LIVE, typed | {"apply": '{"gpus": "many"}'}).status_code == 422
    assert signed_in("bob").post(LIVE, typed | {"apply": "nonsense"}).status_code == 200


def test_variants_are_ready_computed(signed_in):
    page = words(signed_in("bob").get("/designs/new/sample/"))
    assert "Sixteen GPUs" in page
    assert "$32.0" in page


def test_a_bug_is_not_shown(signed_in, typed):
    client = signed_in("bob")
    client.raise_request_exception = False
    response = client.post(LIVE, typed | {"note": "bug"})
    assert response.status_code == 500
    assert SECRET not in response.content.decode()
    assert "Traceback" not in response.content.decode()
    assert "Something broke" in response.content.decode()


def test_saving_a_new_design(signed_in, people, typed):
    named = typed | {"gpus": "10", "save_name": "  Ten  GPUs ", "save_tags": "Prod, h100"}
    response = signed_in("bob").post("/designs/new/sample/", named)
    saved = Design.objects.get()
    assert response.url == reverse("web:design", args=[saved.id])
    assert (saved.name, saved.tags, saved.team) == ("Ten GPUs", ["prod", "h100"], people.team)
    assert saved.spec["gpus"] == 10
    nameless = signed_in("bob").post("/designs/new/sample/", typed | {"save_name": " "})
    assert nameless.status_code == 422
    assert Design.objects.count() == 1


def test_saving_again_makes_a_revision(signed_in, design, typed):
    client = signed_in("bob")
    address = reverse("web:design", args=[design.id])
    saved = client.post(address, typed | {"gpus": "13", "design": str(design.id), "revision": "1"})
    assert saved.status_code == 302
    design.refresh_from_db()
    assert (design.revision, design.spec["gpus"], design.updated_by.username) == (2, 13, "bob")
    page = words(client.get(address))
    assert "since r1: GPUs 12 GPUs → 13 GPUs" in page
    assert "Saved as revision 2." in page


def test_bad_input_is_not_saved(signed_in, design, typed):
    response = signed_in("bob").post(reverse("web:design", args=[design.id]), typed | {"gpus": "x", "revision": "1"})
    assert response.status_code == 422
    design.refresh_from_db()
    assert design.revision == 1


def test_a_stale_save_shows_both_and_overwrites_nothing(signed_in, people, design, typed):
    designs.design_update(design=design, user=people.alice, expected_revision=1, spec={"gpus": 20})
    response = signed_in("bob").post(reverse("web:design", args=[design.id]), typed | {"gpus": "30", "revision": "1"})
    page = words(response)
    assert response.status_code == 412
    assert "<b>30</b>" in page
    assert "<b>20</b>" in page
    assert "alice saved r2" in page
    design.refresh_from_db()
    assert (design.revision, design.spec["gpus"]) == (2, 20)
    mine = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    assert mine["revision"] == "2"
    assert signed_in("bob").post(reverse("web:design", args=[design.id]), mine).status_code == 302
    design.refresh_from_db()
    assert (design.revision, design.spec["gpus"]) == (3, 30)


@pytest.mark.parametrize("revision", ["", "x", "-1", "9" * 30, "²"])
def test_a_save_that_names_no_revision_is_stale(signed_in, design, typed, revision):
    response = signed_in("bob").post(
        reverse("web:design", args=[design.id]), typed | {"gpus": "9", "revision": revision}
    )
    assert response.status_code == 412


def test_history_shows_changes_and_goes_back(signed_in, people, design):
    designs.design_update(design=design, user=people.alice, expected_revision=1, spec={"gpus": 20}, name="Twenty")
    client = signed_in("bob")
    page = words(client.get(reverse("web:history", args=[design.id])))
    assert "12 GPUs" in page
    assert "20 GPUs" in page
    address = reverse("web:revert", args=[design.id])
    assert client.post(address, {"revision": "1", "number": "1"}).status_code == 412
    assert client.post(address, {"revision": "2", "number": "77"}).status_code == 404
    assert client.post(address, {"revision": "2", "number": "1"}).status_code == 302
    design.refresh_from_db()
    assert (design.revision, design.spec["gpus"], design.name) == (3, 12, "Twelve")


def test_describing(signed_in, people, design):
    client, address = signed_in("bob"), reverse("web:describe", args=[design.id])
    assert client.post(address, {"name": "", "tags": "", "description": "", "revision": "1"}).status_code == 422
    ok = client.post(address, {"name": "Dozen", "tags": "a, b", "description": "Why.", "revision": "1"})
    assert ok.status_code == 302
    design.refresh_from_db()
    assert (design.name, design.tags, design.description) == ("Dozen", ["a", "b"], "Why.")
    stale = client.post(address, {"name": "Late", "tags": "", "description": "", "revision": "1"})
    assert stale.status_code == 412
    assert 'value="Late"' in words(stale)
    assert "Saved: Dozen" in words(stale)


def test_deleting_can_be_undone(signed_in, design):
    client = signed_in("bob")
    response = client.post(reverse("web:delete", args=[design.id]))
    page = words(client.get(response.url))
    assert "“Twelve” is deleted" in page
    assert "Undo" in page
    assert client.get(reverse("web:design", args=[design.id])).status_code == 404
    assert client.post(reverse("web:restore", args=[design.id])).status_code == 302
    assert client.get(reverse("web:design", args=[design.id])).status_code == 200


def test_duplicating(signed_in, design):
    response = signed_in("bob").post(reverse("web:duplicate", args=[design.id]))
    copy = Design.objects.exclude(id=design.id).get()
    assert response.url == reverse("web:design", args=[copy.id])
    assert copy.spec == design.spec


def test_sharing_and_revoking(signed_in, design):
    client, address = signed_in("bob"), reverse("web:share", args=[design.id])
    assert client.post(address, {"days": "30"}).status_code == 302
    share = Share.objects.get()
    page = words(client.get(reverse("web:design", args=[design.id])))
    assert f"http://testserver{designs.share_link(share)}" in page
    assert client.post(address, {"days": "31"}).status_code == 302
    assert Share.objects.count() == 1
    client.post(reverse("web:share-revoke", args=[design.id, share.id]))
    share.refresh_from_db()
    assert share.revoked_at is not None


def test_only_its_maker_or_an_admin_takes_a_link_back(signed_in, design, people):
    share = designs.share_create(team=people.team, user=people.alice, design=design)
    address, revoke = (
        reverse("web:design", args=[design.id]),
        reverse("web:share-revoke", args=[design.id, share.id]),
    )
    assert revoke not in words(signed_in("bob").get(address))
    assert signed_in("bob").post(revoke).status_code == 403
    assert revoke in words(signed_in("alice").get(address))
    assert signed_in("alice").post(revoke).status_code == 302


def test_a_trace_fills_the_form_with_figures_one_would_type(people, catalog):
    """The shipped trace has a mean of 1,154.697… input tokens; the profile of a design keeps what was typed."""
    kind, trace = kinds.get("sample"), workload_source.selectors.workload("azure-2023-conversation", team=people.team)
    means = {row.slug: change for row, change in workload_source.sources(kind, team=people.team)}[trace.slug]
    for name, value in means.items():
        assert value == float(f"{value:.5g}")
        assert value == pytest.approx(trace.facts[name], rel=1e-4)


def test_simulating_starts_a_job_with_what_is_typed(signed_in, typed):
    response = signed_in("bob").post(
        "/designs/simulate/sample/", typed | {"gpus": "11", "sim_seed": "7", "sim_duration_s": "60", "opt_depth": "3"}
    )
    job = Job.objects.get()
    assert response.status_code == 302
    assert str(job.id) in response.url
    assert job.request["spec"]["gpus"] == 11
    assert (job.request["seed"], job.request["duration_s"], job.request["options"]) == (7, 60.0, {"depth": 3})
    assert job.request["replications"] == 1


def test_replications_are_asked_for_in_the_form(signed_in, typed, monkeypatch):
    monkeypatch.setattr(jobs.parts, "enqueue", lambda _job, **_: None)
    client = signed_in("bob")
    assert 'name="sim_replications" value="1"' in words(client.get("/designs/new/sample/"))
    client.post("/designs/simulate/sample/", typed | {"sim_replications": "5"})
    job = Job.objects.get()
    assert (job.request["replications"], job.parts.count()) == (5, 5)
    refused = client.post("/designs/simulate/sample/", typed | {"sim_replications": "65"})
    assert refused.status_code == 422
    assert "Simulate: Replications: Give a whole number from 1 to 64." in words(refused)
    assert 'name="sim_replications" value="65"' in words(refused)


def test_a_follow_up_simulates_with_its_options(signed_in, typed):
    signed_in("bob").post("/designs/simulate/sample/", typed | {"sim_options": '{"depth": 5, "duration_s": 30}'})
    job = Job.objects.get()
    assert (job.request["duration_s"], job.request["options"]) == (30.0, {"depth": 5})


@pytest.mark.parametrize(
    "bad", [{"sim_seed": "x"}, {"opt_depth": "99"}, {"sim_duration_s": "-1"}, {"sim_workload": "none"}, {"gpus": "0"}]
)
def test_a_simulation_that_cannot_run_says_why(signed_in, typed, bad):
    response = signed_in("bob").post("/designs/simulate/sample/", typed | bad)
    assert response.status_code == 422
    assert not Job.objects.exists()


def test_a_report_is_a_job(signed_in, design):
    response = signed_in("bob").post(reverse("web:report", args=[design.id]), {"paper": "letter"})
    assert str(Job.objects.get().id) in response.url
    bad = signed_in("bob").post(reverse("web:report", args=[design.id]), {"paper": "papyrus"})
    assert bad.url == reverse("web:design", args=[design.id])


def test_a_workload_is_kept_and_fills_another_form(signed_in, people, typed, catalog):
    client = signed_in("bob")
    kept = client.post("/designs/keep-workload/sample/", typed | {"peak_rps": "42", "profile_name": "Evenings"})
    assert kept.status_code == 200
    row = next(row for row in catalogs.workloads(people.team) if row.name == "Evenings")
    page = words(client.post(LIVE, typed | {"fill": str(row.id)}))
    assert re.search(r'name="peak_rps" value="42"', page)
    assert client.post("/designs/keep-workload/sample/", typed | {"profile_name": ""}).status_code == 422


def test_export(signed_in, design):
    client = signed_in("vera")
    as_json = client.get(reverse("web:export", args=[design.id, "json"]))
    assert json.loads(as_json.content)["spec"]["gpus"] == 12
    as_csv = client.get(reverse("web:export", args=[design.id, "csv"]))
    assert as_csv["Content-Type"].startswith("text/csv")
    assert "twelve-r1.csv" in as_csv["Content-Disposition"]
    assert client.get(reverse("web:export", args=[design.id, "xml"])).status_code == 404


def test_what_changed_can_be_undone(signed_in, people, design, typed):
    designs.design_update(design=design, user=people.alice, expected_revision=1, spec={"gpus": 20})
    client, address = signed_in("bob"), reverse("web:design", args=[design.id])
    page = words(client.get(address))
    assert f'action="{address}revert/"' in page
    dirty = words(client.post(LIVE, typed | {"design": str(design.id), "revision": "2"}, headers=HTMX))
    assert "since r2, not saved yet" in dirty
    assert f'<a href="{address}">Undo</a>' in dirty
    assert "Undo" not in words(signed_in("vera").get(address))
