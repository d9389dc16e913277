"""Workload pages: the list, what a trace says, imports with their errors, profiles, deletion."""

from __future__ import annotations

import gzip
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.accounts.models import AuditEntry
from planner.catalog import services
from planner.catalog.models import Workload
from planner.web import catalog_pictures
from tests.web.library import TRACE, check_page, check_write, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(people):
    return services.workload_import(team=people.team, name="Our trace", data=TRACE, filename="ours.csv")


@pytest.fixture
def shipped(trace):
    """As one that ships: of no team."""
    row = services.workload_import(team=trace.team, name="Public trace", data=TRACE, filename="public.csv")
    facts = {**row.facts, "attribution": "Somebody, 2023", "made": "Sorted."}
    Workload.objects.filter(pk=row.pk).update(team=None, licence="CC BY 4.0", facts=facts)
    return row


def upload(content, *, name="ours.csv"):
    return SimpleUploadedFile(name, content)


@pytest.mark.parametrize("address", ["/workloads/", "/workloads/our-trace/", "/workloads/public-trace/"])
def test_members_see_workloads(signed_in, shipped, address):
    check_page(signed_in, address)


def test_an_empty_list_says_what_to_do(signed_in):
    assert "No workload yet." in words(signed_in("bob").get("/workloads/"))
    assert "Import a trace" not in words(signed_in("vera").get("/workloads/"))


def test_a_stranger_sees_only_what_ships(signed_in, trace, shipped):
    client = signed_in("charlie")
    listed = words(client.get("/workloads/"))
    assert "Public trace" in listed
    assert "Our trace" not in listed
    assert client.get("/workloads/public-trace/").status_code == 200
    for address in ("/workloads/our-trace/", f"/workloads/{trace.pk}/", "/workloads/our-trace/delete/"):
        assert client.get(address).status_code == 404
    assert client.post("/workloads/our-trace/delete/").status_code == 404


@pytest.mark.parametrize("slug", ["nothing", "%00", "00000000-0000-0000-0000-000000000000"])
def test_what_is_not_there_is_not_found(signed_in, slug):
    assert signed_in("alice").get(f"/workloads/{slug}/").status_code == 404


def test_a_trace_says_what_it_holds(signed_in, trace):
    text = words(signed_in("vera").get(f"/workloads/{trace.pk}/"))
    assert "3 requests" in text
    assert "90 s" in text
    assert "3 rows were read." in text
    assert '<td class="n" title="200">200</td>' in text
    assert "upload ours.csv" in text


def test_arrivals_are_drawn_a_bin_a_minute(trace):
    chart = catalog_pictures.arrivals_chart(trace.facts["arrivals"])
    assert list(chart.traces[0].y) == [2, 1]
    assert list(chart.traces[0].x) == [0, 1]
    assert catalog_pictures.arrivals_chart({"bin_s": 60.0, "requests": [5]}) is None


def test_licence_and_attribution_stand_beside_what_ships(signed_in, shipped):
    text = words(signed_in("vera").get("/workloads/public-trace/"))
    assert "CC BY 4.0" in text
    assert "Somebody, 2023" in text


def test_what_was_left_out_is_counted(signed_in, people):
    data = b"timestamp,request_tokens,response_tokens,note\n5,10,0,hidden words\n9,10,5,x\n1,10,5,x\n"
    services.workload_import(team=people.team, name="Gaps", data=data, filename="gaps.csv")
    text = words(signed_in("vera").get("/workloads/gaps/"))
    assert "1 rows without output tokens were left out." in text
    assert "1 rows were out of order" in text
    assert "Columns not read: note." in text
    assert "hidden words" not in text


def test_a_new_design_starts_with_the_workload(signed_in, trace):
    client = signed_in("bob")
    page = client.get("/workloads/our-trace/").content.decode()
    address = re.search(r'href="(/designs/new/sample/\?set=[^"]+)"', page).group(1)
    assert 'name="input_tokens" value="200"' in words(client.get(address))
    assert "/designs/new/" not in words(signed_in("vera").get("/workloads/our-trace/"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_imported(signed_in, people, packed):
    content = gzip.compress(TRACE) if packed else TRACE
    response = signed_in("bob").post("/workloads/new/trace/", {"file": upload(content), "name": ""})
    assert response.url == "/workloads/ours/"
    row = Workload.objects.get()
    assert (row.team, row.facts["requests"]) == (people.team, 3)
    assert AuditEntry.objects.get(subject="workload").user == people.bob


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"arrival_s,input_tokens,output_tokens\n0,1,1\n1,-4,1\n", "Line 3, input_tokens:"),
        (b"arrival_s,input_tokens,output_tokens\n0,1,1\nsoon,4,1\n", "Line 3, arrival_s:"),
        (b"arrival_s,input_tokens\n0,1\n", "Line 1, output_tokens:"),
        (b"", "file:"),
        (b"\x1f\x8bnot gzip", "file: cannot be unpacked"),
        (b"PK\x03\x04", "file: is a ZIP archive"),
        (b'{"timestamp": 0, "input_length": 1, "output_length": 1}\n{oops}\n', "Line 2, line: is not a JSON object"),
        (b"arrival_s,input_tokens,output_tokens\n0,1,nan\n", "Line 2, output_tokens:"),
    ],
)
def test_a_bad_file_names_line_and_column_and_leaves_nothing(signed_in, content, said):
    response = signed_in("bob").post("/workloads/new/trace/", {"file": upload(content), "name": "Bad"})
    assert response.status_code == 422
    text = words(response)
    assert "Nothing was imported" in text
    assert said in text
    assert 'value="Bad"' in text
    assert not Workload.objects.exists()


def test_a_file_is_needed_and_limited(signed_in, settings):
    client = signed_in("bob")
    assert "file: Choose a file." in words(client.post("/workloads/new/trace/", {"name": "x"}))
    settings.UPLOAD_MAX_BYTES = 2**20
    response = client.post("/workloads/new/trace/", {"file": upload(b"x" * (2**20 + 1))})
    assert response.status_code == 422
    assert "is larger than 1 MiB" in words(response)


def test_a_profile_is_kept_in_base_units(signed_in):
    given = {"name": "Chat", "peak_rps": "120", "input_tokens": "3 k tokens", "prefix_hit_rate": "50"}
    response = signed_in("bob").post("/workloads/new/profile/", given)
    assert response.url == "/workloads/chat/"
    assert Workload.objects.get().facts == {"peak_rps": 120.0, "input_tokens": 3000.0, "prefix_hit_rate": 0.5}
    check_page(signed_in, "/workloads/chat/")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, 'id="x-name">Give it a name'),
        ({"peak_rps": "-1"}, 'id="x-peak_rps">must lie between'),
        ({"peak_rps": "many"}, 'id="x-peak_rps">“many” is not a number'),
        ({"prefix_hit_rate": "150"}, 'id="x-prefix_hit_rate">must lie between'),
        ({"peak_rps": ""}, "Give at least one figure."),
    ],
)
def test_a_bad_profile_names_its_field(signed_in, change, said):
    response = signed_in("bob").post("/workloads/new/profile/", {"name": "Chat", "peak_rps": "120", **change})
    assert response.status_code == 422
    assert said in words(response)
    assert not Workload.objects.exists()


def test_deleting_asks_first_and_spares_what_ships(signed_in, trace, shipped):
    client = signed_in("bob")
    assert "cannot be brought back" in words(client.get("/workloads/our-trace/delete/"))
    assert Workload.objects.filter(pk=trace.pk).exists()
    assert client.post("/workloads/our-trace/delete/").url == "/workloads/"
    assert not Workload.objects.filter(pk=trace.pk).exists()
    assert client.post("/workloads/public-trace/delete/").status_code == 404


@pytest.mark.parametrize(
    "address", ["/workloads/new/trace/", "/workloads/new/profile/", "/workloads/our-trace/delete/"]
)
def test_viewers_may_not_write(signed_in, people, trace, address):
    check_write(signed_in, people, address, data={"name": "x", "peak_rps": "1"})
    assert signed_in("vera").get(address).status_code == 403
    assert signed_in("bob").get(address).status_code == 200
    assert Workload.objects.count() == 1


def test_pages_take_few_queries(signed_in, trace, django_assert_max_num_queries):
    client = signed_in("bob")
    for address in ("/workloads/", "/workloads/our-trace/"):
        client.get(address)
        with django_assert_max_num_queries(8):
            client.get(address)


MIXED = b"arrival_s,input_tokens,output_tokens\n0,1,1\n1,-4,1\n2,5,1\nsoon,4,1\n"


def test_bad_rows_are_listed_and_can_be_left_out(signed_in):
    client = signed_in("bob")
    page = words(client.post("/workloads/new/trace/", {"file": upload(MIXED), "name": "Mixed"}))
    assert "2 rows cannot be read" in page
    assert "Line 3, input_tokens:" in page
    assert "Line 5, arrival_s:" in page
    assert not Workload.objects.exists()
    given = {"file": upload(MIXED), "name": "Mixed", "skip_bad_rows": "true"}
    assert client.post("/workloads/new/trace/", given).url == "/workloads/mixed/"
    kept = words(client.get("/workloads/mixed/"))
    assert "2 rows could not be read and were left out." in kept
    assert "Left out: line 3, input_tokens:" in kept
