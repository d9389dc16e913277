"""A log that names adapters, from the upload to the replayed simulation: nothing of it is lost on the way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.catalog import loading, selectors
from planner.jobs import runner, services
from tests.api.caller import Caller, check_problem, strict

pytestmark = pytest.mark.usefixtures("real_kinds")

EXPONENT, ADAPTERS, REQUESTS = 0.8, 20, 3000
BASE_EVERY = 6
"""Requests of which one asks the base itself."""


def log(*, named: bool = True) -> SimpleUploadedFile:
    """Requests at 20 a second for adapters by Zipf's law, whose names do not say how popular they are."""
    draws = np.random.default_rng(5)
    shares = np.arange(1, ADAPTERS + 1) ** -EXPONENT
    asked = draws.choice(ADAPTERS, size=REQUESTS, p=shares / shares.sum())
    names = draws.permutation(ADAPTERS)
    lines = ["arrival_s,input_tokens,output_tokens" + (",adapter" if named else "")]
    for place, (at_s, adapter) in enumerate(zip(np.cumsum(draws.exponential(0.05, REQUESTS)), asked, strict=True)):
        name = "" if place % BASE_EVERY == 0 else f"customer-{names[adapter]}"
        lines.append(f"{at_s:.4f},400,{100 + place % 50}" + (f",{name}" if named else ""))
    return SimpleUploadedFile("log.csv", "\n".join(lines).encode())


@pytest.fixture
def trace(db: None, bob: Caller, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The log as a workload of the team; jobs are run by the tests themselves."""
    loading.load_entries(selectors.shipped())
    monkeypatch.setattr(services, "enqueue", lambda _job_id: None)
    response = bob.upload("/api/v1/workloads/import/", file=log(), name="Customers")
    assert response.status_code == 201, response.content
    return strict(response)


SPEC = {"popularity": "trace", "workload": "customers", "requests_per_s": 20.0, "tenants": 5}


def test_popularity_is_that_of_the_log_and_its_fit_is_told(trace: dict[str, Any], bob: Caller) -> None:
    assert trace["facts"]["adapters"] == ADAPTERS
    answer = strict(bob.post("/api/v1/estimates/", {"kind": "multi_lora", "spec": SPEC}))
    # Three thousand draws fit their exponent to a few hundredths.
    assert answer["metrics"]["zipf_exponent"]["value"] == pytest.approx(EXPONENT, abs=0.06)
    assert answer["metrics"]["gpu_slots"]["value"] == ADAPTERS
    said = {row["code"]: row["message"] for row in answer["findings"]}
    assert f"{ADAPTERS} adapters" in said["trace_popularity"]
    assert "Zipf" in said["trace_popularity"]
    expected = np.arange(1, ADAPTERS + 1) ** -EXPONENT
    hottest = (1 - 1 / BASE_EVERY) * float(expected[0] / expected.sum())
    assert answer["metrics"]["hottest_share"]["value"] == pytest.approx(hottest, rel=0.1)


def test_a_replay_keeps_adapters_and_requests_for_the_base(trace: dict[str, Any], bob: Caller) -> None:
    options = {"policies": "chosen", "warmup_s": 0.0}
    body = {"kind": "multi_lora", "spec": SPEC, "workload": "customers", "options": options}
    job = strict(bob.post("/api/v1/simulations/", body))
    runner.run(job["id"])
    result = strict(bob.get(strict(bob.get(job["url"]))["result_url"]))
    assert result["metrics"]["requests_arrived"]["value"] == REQUESTS
    assert result["metrics"]["requests_finished"]["value"] > 0.99 * REQUESTS
    rows = result["series"]["simulated_tenants"]["columns"]
    columns = {column["name"]: column["values"] for column in rows} if isinstance(rows, list) else rows
    rates = dict(zip(columns["tenant"], columns["rate_rps"], strict=True))
    total = math.fsum(rates.values())
    assert rates["the base alone"] / total == pytest.approx(1 / BASE_EVERY, abs=0.002)
    # Dealt in turn by popularity, so the first of five tenants has the adapters of rank 1, 6, 11 and 16.
    expected = np.arange(1, ADAPTERS + 1) ** -EXPONENT
    first = (1 - 1 / BASE_EVERY) * float(expected[::5].sum() / expected.sum())
    assert rates["tenant 1"] / total == pytest.approx(first, abs=0.03)
    assert result["metrics"]["distinct_in_batch"]["value"] <= ADAPTERS


def test_a_log_without_adapters_is_refused_by_the_field_that_names_it(trace: dict[str, Any], bob: Caller) -> None:
    assert bob.upload("/api/v1/workloads/import/", file=log(named=False), name="Plain").status_code == 201
    for url in ("/api/v1/estimates/", "/api/v1/simulations/"):
        response = bob.post(url, {"kind": "multi_lora", "spec": {**SPEC, "workload": "plain"}})
        assert response.status_code == 409
        told = check_problem(response)["errors"][0]
        assert (told["pointer"], "the adapter of each request" in told["detail"]) == ("/spec/workload", True)


def test_a_law_replays_a_log_without_adapters_and_says_that_it_draws_them(trace: dict[str, Any], bob: Caller) -> None:
    assert bob.upload("/api/v1/workloads/import/", file=log(named=False), name="Plain").status_code == 201
    job = strict(
        bob.post(
            "/api/v1/simulations/",
            {"kind": "multi_lora", "spec": {"tenants": 5}, "workload": "plain", "options": {"policies": "chosen"}},
        )
    )
    runner.run(job["id"])
    result = strict(bob.get(strict(bob.get(job["url"]))["result_url"]))
    said = {row["code"]: row["message"] for row in result["findings"]}
    assert "drawn" in said["simplified"]
