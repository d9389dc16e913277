"""Sign-in, account, preferences, home, search and error pages."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from planner.accounts import services as accounts
from planner.accounts.models import ApiToken, Membership
from planner.designs import services as designs
from planner.web.templatetags.words import claim, figure_words

pytestmark = pytest.mark.django_db


def words(response):
    return re.sub(r"\s+", " ", response.content.decode().replace("\u00a0", " "))


def test_a_password_signs_in_and_leads_back(people, password):
    client = Client()
    wrong = client.post("/sign-in/", {"username": "bob", "password": "no"})
    assert wrong.status_code == 422
    assert 'value="bob"' in words(wrong)
    right = client.post("/sign-in/", {"username": "bob", "password": password, "next": "/account/"})
    assert right.url == "/account/"
    assert client.get("/account/").status_code == 200


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_never_leads_elsewhere(people, password, elsewhere):
    response = Client().post("/sign-in/", {"username": "bob", "password": password, "next": elsewhere})
    assert response.url == "/"


def test_a_link_signs_in_once(people):
    token = accounts.sign_in_link_create(user=people.bob, ttl_s=60)
    assert Client().head(f"/enter/{token}/").status_code == 200  # a preview does not spend it
    client = Client()
    assert client.get(f"/enter/{token}/").url == "/"
    assert client.get("/").status_code == 200
    again = Client().get(f"/enter/{token}/")
    assert again.status_code == 410
    assert "make link" in words(again)
    assert Client().get("/enter/forged/").status_code == 410


def test_signing_out(signed_in):
    client = signed_in("bob")
    client.post("/sign-out/")
    assert client.get("/").status_code == 302


def test_someone_without_a_team_is_told_what_to_do(people):
    people.bob.memberships.all().delete()
    client = Client()
    client.force_login(people.bob)
    response = client.get("/")
    assert response.status_code == 403
    assert "Ask an admin" in words(response)


def test_the_theme_is_drawn_by_the_server(signed_in, people):
    client = signed_in("bob")
    client.post("/preferences/", {"theme": "dark", "next": "/search/"})
    assert 'data-theme="dark"' in words(client.get("/"))
    people.bob.refresh_from_db()
    assert people.bob.theme == "dark"
    client.post("/preferences/", {"theme": ""})
    assert "data-theme=" not in words(client.get("/")).split("<head>")[0]
    assert client.post("/preferences/", {"theme": "pink"}).status_code == 400
    client.cookies["theme"] = '"><script>'
    assert "<script>" not in words(client.get("/")).split("<head>")[0]


def test_single_keys_can_be_switched_off(signed_in):
    client = signed_in("bob")
    client.post("/preferences/", {"keys": "off"})
    assert 'data-keys="off"' in words(client.get("/"))


def test_a_language_without_messages_is_not_pretended(signed_in):
    page = signed_in("bob").get("/", headers={"accept-language": "fr, zh-hans;q=0.9"})
    assert page["Content-Language"] in words(page).split("<head>")[0]


def test_a_token_is_shown_once_and_revoked(signed_in, people):
    client = signed_in("bob")
    made = client.post("/account/tokens/", {"name": "nightly", "days": "30", "scope": "write"})
    plain = re.search(r'id="fresh-token" value="([^"]+)"', words(made)).group(1)
    assert plain not in words(client.get("/account/"))
    token = ApiToken.objects.get()
    assert (token.user, token.team, token.scopes) == (people.bob, people.team, ["read", "write"])
    assert signed_in("alice").post(reverse("web:token-revoke", args=[token.public_id])).status_code == 404
    client.post(reverse("web:token-revoke", args=[token.public_id]))
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("bad", [{"name": ""}, {"name": "x" * 81}, {"days": "9999"}])
def test_a_bad_token_form_is_told(signed_in, bad):
    response = signed_in("bob").post("/account/tokens/", {"name": "n", "days": "30", "scope": "read"} | bad)
    assert response.status_code == 422
    assert not ApiToken.objects.exists()


def test_nul_in_a_name_is_refused_not_a_crash(signed_in, people):
    client = signed_in("alice")
    assert client.post("/account/tokens/", {"name": "a\x00", "days": ""}).status_code == 422
    assert client.post("/account/members/", {"username": "\x00", "role": "viewer"}).status_code == 422
    assert Client().post("/sign-in/", {"username": "\x00", "password": "x"}).status_code == 422


def test_a_viewer_makes_no_writing_token(signed_in):
    response = signed_in("vera").post("/account/tokens/", {"name": "n", "days": "30", "scope": "write"})
    assert response.status_code == 422


def test_admins_manage_members(signed_in, people):
    client = signed_in("alice")
    assert client.post("/account/members/", {"username": "charlie", "role": "viewer"}).status_code == 302
    assert Membership.objects.get(team=people.team, user=people.charlie).role == "viewer"
    assert client.post("/account/members/", {"username": "nobody", "role": "viewer"}).status_code == 422
    assert client.post("/account/members/", {"username": "bob", "role": "king"}).status_code == 422
    assert client.post("/account/members/", {"username": "alice", "role": "viewer"}).status_code == 422
    assert client.post(reverse("web:member-remove", args=[people.charlie.public_id])).status_code == 302
    assert client.post(reverse("web:member-remove", args=[people.charlie.public_id])).status_code == 404
    assert signed_in("bob").post("/account/members/", {"username": "charlie", "role": "viewer"}).status_code == 403


def test_one_works_in_the_team_one_chose(signed_in, people):
    other = accounts.create_team(name="Second", owner=people.bob)
    client = signed_in("bob")
    client.post("/account/team/", {"team": str(other.id)})
    assert "Second" in words(client.get("/account/"))
    elsewhere = people.charlie.memberships.get().team
    assert client.post("/account/team/", {"team": str(elsewhere.id)}).status_code == 404


def test_home_starts_from_questions_examples_and_designs(signed_in, design):
    page = words(signed_in("bob").get("/"))
    for text in ("How many GPUs?", "A small fleet", "$8.00", "Twelve", "$24.0", "met"):
        assert text in page
    assert 'class="mini"' in page


def test_home_filters(signed_in, people, design):
    designs.design_create(team=people.team, user=people.bob, kind="sample", spec={}, name="Eight", tags=["test"])
    client = signed_in("bob")

    def named(query):
        return set(re.findall(r'<a href="/designs/[0-9a-f-]{36}/">(\w+)</a>', words(client.get("/", query))))

    assert named({}) == {"Twelve", "Eight"}
    assert named({"q": "twel"}) == named({"tag": "prod"}) == {"Twelve"}
    assert named({"kind": "nothing"}) == set()
    assert "No design matches." in words(client.get("/", {"q": "zebra"}))
    fragment = client.get("/", {"q": "twel"}, headers={"hx-request": "true", "hx-target": "designs"})
    assert "<html" not in words(fragment)
    assert "Twelve" in words(fragment)
    assert "HX-Request" in fragment["Vary"]


@pytest.mark.parametrize("name", ["q", "kind", "tag"])
def test_a_filter_with_nul_finds_nothing(signed_in, design, name):
    page = signed_in("alice").get("/", {name: "a\x00"})
    assert page.status_code == 200
    assert design.name not in page.content.decode()


def test_a_design_of_a_kind_that_is_gone_is_still_listed(signed_in, design):
    type(design).objects.filter(id=design.id).update(kind="gone")
    assert "no answer" in words(signed_in("bob").get("/"))


@pytest.mark.parametrize("query", ["Twelve", "prod", "H100", "small", "<script>", "%", "\x00"])
def test_search_finds_and_never_breaks(signed_in, design, query, catalog):
    response = signed_in("bob").get("/search/", {"q": query})
    assert response.status_code == 200
    assert "<script>" not in response.content.decode().replace('<script src="', "")
    if query in ("Twelve", "prod"):
        assert reverse("web:design", args=[design.id]) in words(response)


def test_errors_say_what_to_do(signed_in):
    missing = signed_in("bob").get("/nothing/here/")
    assert missing.status_code == 404
    assert "Go to the designs" in words(missing)
    assert Client().get("/nothing/").status_code == 404


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "68", "unit_text": "nodes", "shown": "68 nodes", "label": "Nodes"}, "68"),
        ({"text": "1.27", "unit_text": "s", "shown": "1.27 s", "label": "TTFT P99, seconds"}, "1.27 s"),
        ({"text": "3", "unit_text": "", "shown": "3", "label": "Depth"}, "3"),
    ],
)
def test_a_figure_drops_its_unit_only_where_the_label_says_it(row, said):
    assert figure_words(row) == said


def test_a_claim_stands_out_and_markup_does_not_get_in():
    assert claim("**4 GPUs** <i>do</i>") == "<b>4 GPUs</b> &lt;i&gt;do&lt;/i&gt;"


def test_too_many_wrong_passwords_are_told_to_wait(people, password):
    client = Client()
    for _attempt in range(9):
        refused = client.post("/sign-in/", {"username": "bob", "password": "wrong"})
    assert refused.status_code == 429
    assert "Wait 15 minutes" in words(refused)
    assert client.post("/sign-in/", {"username": "bob", "password": password}).status_code == 429
    assert client.get("/").status_code == 302
