"""The API guide: its examples do what they say."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys

import pytest
from django.test import Client

from planner.accounts import services as accounts
from tests.web.library import check_page, words

pytestmark = pytest.mark.django_db


def example(text, name):
    return html.unescape(re.search(rf'<pre class="codeblock" id="{name}"[^>]*>(.*?)</pre>', text, re.DOTALL).group(1))


def test_members_read_the_guide(signed_in):
    check_page(signed_in, "/api-guide/")


def test_it_leads_to_the_reference(signed_in):
    text = words(signed_in("vera").get("/api-guide/"))
    for address in ("/api/schema/", "/api/schema/swagger-ui/", "/api/schema/redoc/", "/api/v1/kinds/sample/"):
        assert f'href="{address}"' in text
    assert "<code>sample</code>" in text


def test_it_tells_the_limit_that_is_set(signed_in, settings):
    from rest_framework.settings import api_settings

    rate = api_settings.DEFAULT_THROTTLE_RATES["user"].partition("/")[0]
    assert f"{int(rate):,} requests a" in words(signed_in("vera").get("/api-guide/"))


def test_the_bodies_are_taken_by_the_api(signed_in, people):
    text = signed_in("bob").get("/api-guide/").content.decode()
    _token, plain = accounts.token_create(user=people.bob, team=people.team, name="t", scopes=["read", "write"])
    client = Client(headers={"authorization": f"Bearer {plain}"})
    for name, status in (("code-estimate", 200), ("code-design", 201)):
        command = example(text, name)
        address = re.search(r'"http://testserver([^"]+)"', command).group(1)
        body = re.search(r"-d '(.*)'", command).group(1)
        response = client.post(address, body, content_type="application/json")
        assert response.status_code == status, (name, response.content)
    change = example(text, "code-change")
    address = re.search(r'"http://testserver([^"]+)"', change).group(1).replace("$ID", response.json()["id"])
    body = re.search(r"-d '(.*)'", change).group(1)
    renamed = client.patch(address, body, content_type="application/json", headers={"if-match": '"1"'})
    assert renamed.status_code == 200
    assert renamed.json()["name"] == json.loads(body)["name"]


@pytest.fixture
def served(live_server, people):
    """The guide as a server shows it, and a token in the environment."""
    _token, plain = accounts.token_create(user=people.bob, team=people.team, name="t", scopes=["read"])
    client = Client(headers={"host": live_server.url.removeprefix("http://")})
    client.force_login(people.bob)
    return client.get("/api-guide/").content.decode(), {"TOKEN": plain, "PATH": "/usr/bin:/bin"}


@pytest.mark.django_db(transaction=True)
def test_the_python_example_runs_as_printed(served):
    text, environment = served
    ran = subprocess.run(
        [sys.executable, "-c", example(text, "code-python")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "cost_usd_per_h 16.0 USD/h" in ran.stdout


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
@pytest.mark.parametrize(("name", "wanted"), [("code-kinds", "results"), ("code-estimate", "metrics")])
def test_the_curl_examples_run_as_printed(served, name, wanted):
    text, environment = served
    ran = subprocess.run(
        ["/bin/sh", "-c", example(text, name)], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert wanted in json.loads(ran.stdout)
