"""Estimates through the whole API: token, validation, formulas, reply; each time another spec, so nothing is cached."""

from __future__ import annotations

import os
import statistics
import time

REQUESTS = 60


def prepare() -> str:
    """A database with the catalog and a token of its local user."""
    os.environ.setdefault("PYTEST_DB", "bench")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.config.settings")
    os.environ.setdefault("ALLOWED_HOSTS", "testserver")
    import tests.services  # noqa: F401 - starts the servers, names them in the environment

    import django  # isort: skip

    django.setup()
    from django.core.management import call_command

    from planner.accounts import services

    call_command("migrate", verbosity=0)
    call_command("load_catalog", verbosity=0)
    user = services.local_user()
    _row, token = services.token_create(user=user, team=user.teams.get(), name="bench", scopes=["read", "write"])
    return token


def p50_s(token: str, *, kind: str, field: str, first: float) -> float:
    """Median CPU time of a request."""
    from django.test import Client

    client, headers = Client(), {"Authorization": f"Bearer {token}"}
    times = []
    for turn in range(REQUESTS):
        body = {"kind": kind, "spec": {field: first + turn}}
        started = time.process_time()
        reply = client.post("/api/v1/estimates/", body, content_type="application/json", headers=headers)
        times.append(time.process_time() - started)
        assert reply.status_code == 200, reply.content
    return statistics.median(times)
