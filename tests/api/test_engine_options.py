"""Odd engines and clients over the API: an answer, or a refusal that names the option."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog import loading, selectors
from planner.jobs import runner, services
from tests.api.caller import Caller, check_problem, strict

URL = "/api/v1/simulations/"
LENGTHS = {"input_tokens": 600, "output_tokens": 60, "prefix_hit_rate": 0.0}
UNITS = {"peak_rps": 20.0, **LENGTHS}
REPLICAS = {"topology": "aggregated", "llm": "llama-3.1-70b", "decode_unit_gpus": 8, "peak_rps": 6.0, **LENGTHS}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("real_kinds")]


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog is there, and jobs wait until a test runs them."""
    loading.load_entries(selectors.shipped())
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)


def asked(spec: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "llm_serving", "spec": spec, "requests": 20, "options": options}


@pytest.mark.parametrize(
    ("spec", "options", "named"),
    [
        (UNITS, {"max_running": 4}, "/options/max_running"),
        (UNITS, {"kv_tokens": 10}, "/options/kv_tokens"),
        (UNITS, {"odd_units": 1000}, "/options/odd_units"),
        (UNITS, {"arrivals": "closed", "clients": 0}, "/options/clients"),
        (REPLICAS, {"kv_admission": "reserve"}, "/options/kv_admission"),
        (REPLICAS, {"kv_tokens": 1000, "block_tokens": 2000}, "/options/block_tokens"),
        (REPLICAS, {"max_running": 1.5}, "/options/max_running"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    bob: Caller, spec: dict[str, Any], options: dict[str, Any], named: str
) -> None:
    response = bob.post(URL, asked(spec, options))
    assert response.status_code == 422, response.content
    assert [error["pointer"] for error in check_problem(response)["errors"]] == [named]


@pytest.mark.parametrize(
    ("spec", "options", "rejected"),
    [
        (UNITS, {"arrivals": "closed", "clients": 1}, 0),
        (REPLICAS, {"arrivals": "closed", "clients": 3, "max_running": 1}, 0),
        (REPLICAS, {"kv_tokens": 64}, 20),
        (REPLICAS, {"arrivals": "closed", "clients": 3, "kv_tokens": 64}, 20),
    ],
)
def test_what_is_odd_has_an_answer(bob: Caller, spec: dict[str, Any], options: dict[str, Any], rejected: int) -> None:
    job = strict(bob.post(URL, asked(spec, options)))
    runner.run(job["id"])
    done = strict(bob.get(job["url"]))
    assert done["state"] == "succeeded", done
    metrics = strict(bob.get(done["result_url"]))["metrics"]
    assert metrics["requests_rejected"]["value"] == rejected
    assert metrics["requests_finished"]["value"] == 20 - rejected
