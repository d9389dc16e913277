"""What is refused is named: by its pointer over the API, beside its label in the form, and nothing typed is lost."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from planner import kinds
from planner.accounts import services
from planner.catalog import selectors
from planner.catalog.loading import load_entries
from planner.jobs.models import Job

pytestmark = pytest.mark.django_db

# kind, what is typed into the form, the same as JSON, the field at fault, and words of the reason.
REFUSED = [
    ("multi_lora", {"rank": "0"}, {"rank": 0}, "rank", "at least 1"),
    ("multi_lora", {"adapters": "a few"}, {"adapters": "a few"}, "adapters", ""),
    ("multi_lora", {"gpus_per_replica": "1.5"}, {"gpus_per_replica": 1.5}, "gpus_per_replica", ""),
    ("multi_lora", {"base_share": "120"}, {"base_share": 1.2}, "base_share", "at most 100 %"),
    ("multi_lora", {"llm": "lama-3"}, {"llm": "lama-3"}, "llm", "lama-3"),
    ("multi_lora", {"popularity": "trace"}, {"popularity": "trace"}, "workload", "trace whose adapters"),
    ("multi_lora", {"adapters": "50"}, {"adapters": 50}, "tenants", "more tenants than adapters"),
    (
        "multi_lora",
        {"slots": "50", "host_adapters": "10"},
        {"slots": 50, "host_adapters": 10},
        "host_adapters",
        "fewer than 50 slots",
    ),
    ("multi_lora", {"rank": "32", "max_rank": "16"}, {"rank": 32, "max_rank": 16}, "rank", "do not fit slots"),
    ("multi_lora", {"max_rank": "48"}, {"max_rank": 48}, "max_rank", "vLLM takes"),
    ("rl_rollout", {"problems": "-1"}, {"problems": -1}, "problems", "at least 0"),
    ("rl_rollout", {"train_step_s": "soon"}, {"train_step_s": "soon"}, "train_step_s", ""),
    ("rl_rollout", {"staleness_bound": "2.5"}, {"staleness_bound": 2.5}, "staleness_bound", ""),
    ("rl_rollout", {"oversampling": "500"}, {"oversampling": 5}, "oversampling", "at most 400 %"),
    ("rl_rollout", {"gpu": "h1000"}, {"gpu": "h1000"}, "gpu", "h1000"),
    ("rl_rollout", {"mode": "sideways"}, {"mode": "sideways"}, "mode", ""),
    ("rl_rollout", {"utilisation_sync": "0"}, {"utilisation_sync": 0}, "utilisation_sync", "at least 0.1 %"),
    ("rl_rollout", {"output_tokens": "40,000"}, {"output_tokens": 40000}, "output_tokens", "longer than the cap"),
    ("rl_rollout", {"lengths": "trace"}, {"lengths": "trace"}, "workload", "trace whose lengths"),
    ("rl_rollout", {"scored": "batch"}, {"scored": "batch"}, "scored", "never ends in this mode"),
    ("gateway", {"prefix_tokens": "1e6"}, {"prefix_tokens": 1e6}, "prefix_tokens", ""),
    ("kv_pool", {"source": "trace"}, {"source": "trace"}, "workload", "trace that is to be replayed"),
    ("llm_serving", {"peak_rps": "many"}, {"peak_rps": "many"}, "peak_rps", ""),
    ("engine_instance", {"gpus": "0"}, {"gpus": 0}, "gpus", "at least 1"),
]
# How a run is asked for: what is typed into the menu, the same over the API, its pointer, its label and the reason.
RUNS = [
    ("multi_lora", {"opt_rate_scale": "0"}, {"options": {"rate_scale": 0}}, "/options/rate_scale", "Rate, times"),
    ("multi_lora", {"opt_hosts": "hot"}, {"options": {"hosts": "hot"}}, "/options/hosts", "Hosts and slots start"),
    (
        "multi_lora",
        {"opt_fail_at_s": "900", "sim_duration_s": "60"},
        {"options": {"fail_at_s": 900}, "duration_s": 60},
        "/options/fail_at_s",
        "Lose a replica at",
    ),
    ("multi_lora", {"sim_duration_s": "1e7"}, {"duration_s": 1e7}, "/duration_s", "Simulated time"),
    ("multi_lora", {"sim_requests": "0"}, {"requests": 0}, "/requests", "At most so many requests"),
    ("rl_rollout", {"opt_steps": "2.5"}, {"options": {"steps": 2.5}}, "/options/steps", "Training steps"),
    ("rl_rollout", {"opt_steps": "5000"}, {"options": {"steps": 5000}}, "/options/steps", "Training steps"),
    ("rl_rollout", {"opt_lengths": "trace"}, {"options": {"lengths": "trace"}}, "/options/lengths", "Lengths"),
    ("rl_rollout", {"sim_seed": "-1"}, {"seed": -1}, "/seed", "Seed"),
    ("rl_rollout", {"sim_workload": "nowhere"}, {"workload": "nowhere"}, "/workload", "Requests"),
]


@pytest.fixture
def reader() -> Client:
    load_entries(selectors.shipped())
    client = Client()
    client.force_login(services.local_user())
    return client


@pytest.fixture
def api(reader: Client) -> dict[str, str]:
    user = services.local_user()
    return {"Authorization": f"Bearer {services.token_create(user=user, team=user.teams.get(), name='refusals')[1]}"}


def text_of(response: Any) -> str:
    """The page as it reads: without tags, no-break spaces plain, one space between words."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", response.content.decode()))
    return re.sub(r"\s+", " ", text.replace("\u00a0", " "))


def kept(response: Any, *, name: str, typed: str) -> bool:
    """Whether an input or a select still has what was typed."""
    page = response.content.decode()
    as_input = re.search(rf'name="{name}" value="{re.escape(html.escape(typed))}"', page)
    select = re.search(rf'<select[^>]*name="{name}"[^>]*>.*?</select>', page, re.DOTALL)
    as_select = select and re.search(
        rf'<option(?: value="{re.escape(typed)}")? selected>(?:{re.escape(typed)}<)?', select[0]
    )
    as_segment = re.search(rf'name="{name}" value="{re.escape(typed)}" checked', page)
    return bool(as_input or as_select or as_segment)


@pytest.mark.parametrize(("kind", "typed", "sent", "field", "why"), REFUSED)
def test_a_bad_input_is_named_by_the_api_and_by_the_form(
    reader: Client,
    api: dict[str, str],
    kind: str,
    typed: Mapping[str, str],
    sent: Mapping[str, Any],
    field: str,
    why: str,
) -> None:
    body = {"kind": kind, "spec": sent}
    answer = reader.post("/api/v1/estimates/", body, content_type="application/json", headers=api)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [f"/spec/{field}"]

    page = reader.post(f"/designs/live/{kind}/", {"save_name": "Mine", **typed})
    assert page.status_code == 422
    label = kinds.get(kind).spec.model_fields[field].title
    assert re.search(rf"{re.escape(label)} : [^.]*{re.escape(why)}", text_of(page), re.IGNORECASE), text_of(page)[:2000]
    offered = {"sideways", "trace"}
    assert all(kept(page, name=name, typed=text) for name, text in typed.items() if text not in offered)


@pytest.mark.parametrize(("kind", "typed", "sent", "pointer", "label"), RUNS)
def test_a_run_that_cannot_be_is_refused_before_there_is_a_job(
    reader: Client,
    api: dict[str, str],
    kind: str,
    typed: Mapping[str, str],
    sent: Mapping[str, Any],
    pointer: str,
    label: str,
) -> None:
    body = {"kind": kind, "spec": {}, **sent}
    answer = reader.post("/api/v1/simulations/", body, content_type="application/json", headers=api)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]

    page = reader.post(f"/designs/simulate/{kind}/", typed)
    assert page.status_code == 422
    assert f"Simulate: {label}: " in text_of(page)
    assert all(kept(page, name=name, typed=text) for name, text in typed.items() if text not in {"hot", "nowhere"})
    assert not Job.objects.exists()
