"""What the tests of the library pages share: who may see an address, and a catalog that loads quickly."""

from __future__ import annotations

import re

from django.test import Client

from planner.catalog import loading, selectors
from tests.web.test_access import Inline

TRACE = b"arrival_s,input_tokens,output_tokens\n0,100,10\n30,200,20\n90,300,30\n"


def words(response):
    """The page as it reads: one space between words, no-break spaces plain."""
    return re.sub(r"\s+", " ", response.content.decode().replace("\u00a0", " "))


def load_entries():
    """The built-in entries, without the traces, which take longer."""
    loading.load_entries(selectors.shipped())


def check_page(signed_in, address):
    """Members see it, under a strict policy and with each id once; nobody is sent to sign in and back."""
    for name in ("alice", "bob", "vera"):
        response = signed_in(name).get(address)
        assert response.status_code == 200, (address, name)
        parser = Inline()
        parser.feed(response.content.decode())
        assert parser.found == [], address
        ids = re.findall(r'\sid="([^"]+)"', response.content.decode())
        assert sorted(ids) == sorted(set(ids)), address
    nobody = Client().get(address)
    assert nobody.status_code == 302, address
    assert nobody.url.startswith("/sign-in/?next="), address


def check_write(signed_in, people, address, *, data=None):
    """A viewer is told why not, nobody is sent away, and without the form's key nothing is written."""
    refused = signed_in("vera").post(address, data or {})
    assert refused.status_code == 403, address
    assert "admin" in words(refused)
    assert Client().post(address, data or {}).status_code == 302, address
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(people.alice)
    assert forged.post(address, data or {}).status_code == 403, address
