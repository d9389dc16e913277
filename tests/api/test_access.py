"""Each route × owner, team-mate, viewer, stranger, signed out. The list of routes comes from the URLs: one without an
entry here fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.urls import URLPattern
from django.utils import timezone

from planner.accounts.models import ApiToken, Membership
from planner.accounts.selectors import allows
from planner.api.urls import v1
from planner.catalog import selectors as catalog_selectors
from planner.catalog.models import Entry, Workload
from planner.designs import services
from planner.designs.models import Comparison, Design, FleetPlan, Measurement, Share
from planner.designs.plan_body import checked_body
from planner.jobs import drills
from planner.jobs.models import Job, Purpose, State
from tests.api.caller import strict
from tests.api.conftest import World

PEOPLE = ("alice", "bob", "vera", "charlie", "nobody")
SAMPLE = {"kind": "sample", "name": "New", "spec": {}}
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
    "max_position_embeddings": 2048, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
PROFILE = {"name": "Chat", "facts": {"rate_rps": 5, "input_tokens": 100, "output_tokens": 50}}
GPU = {"name": "New GPU", "figures": {"memory_bytes": 8e10, "memory_bytes_per_s": 2e12, "bf16_flops_per_s": 1e15}}


@dataclass(frozen=True)
class Access:
    """``done`` is the status of success, ``needs`` the role.

    ``private`` routes name a row of the team: to a stranger they are not there; the others act within the caller's own
    team. ``own`` routes name a row of bob himself.
    """

    done: int = 200
    needs: str = "viewer"
    body: Any = None
    private: bool = False
    own: bool = False
    headers: dict[str, str] = field(default_factory=dict)


READ = Access()
ROW = Access(private=True)
ITEMS = {"items": [{"kind": "sample", "spec": {}}, {"kind": "sample", "spec": {"gpus": 4}}]}
VARY = {"vary": [{"field": "gpus", "values": [1, 2]}]}
PLAN = {"members": [{"name": name, "kind": "sample", "spec": {}} for name in "ab"]}


def write(done: int, body: Any = None, **more: Any) -> Access:
    return Access(done=done, needs="editor", body=body, **more)


def write_row(done: int, body: Any = None, **more: Any) -> Access:
    return write(done, body, private=True, **more)


MATCH = {"If_Match": "*"}
ACCESS: dict[tuple[str, str], Access] = {
    ("kinds", "GET"): READ,
    ("kind", "GET"): READ,
    ("llm-import", "POST"): write(201, {"name": "Tiny", "config": CONFIG}),
    ("gpus", "GET"): READ,
    ("gpus", "POST"): write(201, GPU),
    ("catalog-workloads", "GET"): READ,
    ("catalog-workload", "GET"): ROW,
    ("entries", "GET"): READ,
    ("entry", "GET"): ROW,
    ("entry", "DELETE"): write_row(204),
    ("validation", "GET"): READ,
    ("validation-rows", "GET"): READ,
    ("workloads", "GET"): READ,
    ("workloads", "POST"): write(201, PROFILE),
    ("workload-import", "POST"): write(201, "file"),
    ("workload", "GET"): ROW,
    ("workload", "DELETE"): write_row(204),
    ("estimates", "POST"): Access(body={"kind": "sample"}),
    ("estimate-batch", "POST"): Access(body={"kind": "sample", "specs": [{}]}),
    ("designs", "GET"): READ,
    ("designs", "POST"): write(201, SAMPLE),
    ("design", "GET"): ROW,
    ("design", "PUT"): write_row(200, SAMPLE, headers=MATCH),
    ("design", "PATCH"): write_row(200, {"name": "New"}, headers=MATCH),
    ("design", "DELETE"): write_row(204),
    ("design-restore", "POST"): write_row(200),
    ("design-revisions", "GET"): ROW,
    ("design-simulations", "POST"): write_row(202, {"seed": 7}),
    ("design-reports", "POST"): write_row(202),
    ("design-pdf", "GET"): ROW,
    ("design-csv", "GET"): ROW,
    ("design-shares", "GET"): ROW,
    ("design-shares", "POST"): write_row(201),
    ("design-share", "DELETE"): write_row(204),
    ("design-drills", "POST"): write_row(202, {"seed": 7}),
    ("drills", "GET"): READ,
    ("drills", "POST"): write(202, {"kind": "sample", "drill": "halve"}),
    ("drill", "GET"): ROW,
    ("sensitivity", "POST"): Access(body={"kind": "sample"}),
    ("design-sensitivity", "GET"): ROW,
    ("design-sensitivity", "POST"): ROW,
    ("uncertainty", "POST"): write(202, {"kind": "sample"}),
    ("design-uncertainty", "POST"): write_row(202),
    ("sweeps", "POST"): write(202, {"kind": "sample", **VARY}),
    ("design-sweeps", "POST"): write_row(202, VARY),
    # The sample kind says neither what it buys nor how it is started: who may ask is told so.
    ("money", "POST"): Access(422, body={"kind": "sample"}),
    ("design-money", "POST"): Access(422, private=True),
    ("reliability", "POST"): Access(body={"kind": "sample"}),
    ("design-reliability", "POST"): ROW,
    ("launch", "POST"): Access(422, body={"kind": "sample"}),
    ("design-launch", "GET"): Access(422, private=True),
    ("measurements", "GET"): READ,
    ("measurements", "POST"): write(201, "file"),
    ("measurement", "GET"): ROW,
    ("measurement", "DELETE"): write_row(204),
    ("plans", "GET"): READ,
    ("plans", "POST"): Access(body=PLAN),
    ("plan", "GET"): ROW,
    ("plan", "PUT"): write_row(200, PLAN),
    ("plan", "DELETE"): write_row(204),
    ("simulations", "POST"): write(202, {"kind": "sample", "seed": 7}),
    ("jobs", "GET"): READ,
    ("job", "GET"): ROW,
    ("job-result", "GET"): ROW,
    ("job-document", "GET"): ROW,
    ("job-cancel", "POST"): write_row(200),
    ("job-retry", "POST"): write_row(202),
    ("comparisons", "GET"): READ,
    ("comparisons", "POST"): Access(body=ITEMS),
    ("comparison", "GET"): ROW,
    ("comparison-shares", "GET"): ROW,
    ("comparison-shares", "POST"): write_row(201),
    ("comparison-share", "DELETE"): write_row(204),
    ("comparison-reports", "POST"): write_row(202),
    ("comparison-pdf", "GET"): ROW,
    ("comparison-csv", "GET"): ROW,
    ("tokens", "GET"): READ,
    ("tokens", "POST"): Access(done=201, body={"name": "new"}),
    ("token", "DELETE"): Access(done=204, own=True),
    ("members", "GET"): READ,
    ("members", "POST"): Access(needs="admin", body={"username": "vera", "role": "editor"}),
    ("member", "DELETE"): Access(done=204, needs="admin", private=True),
}


def methods(route: URLPattern) -> Iterator[str]:
    view = route.callback.cls  # type: ignore[attr-defined]
    return (name.upper() for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name))


ROUTES = {(route.name, method): route for route in v1 for method in methods(route)}


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    assert set(ROUTES) == set(ACCESS)


def form_of(name: str) -> dict[str, Any]:
    """The upload a route takes."""
    rows = "arrival_s,input_tokens,output_tokens\n0,10,5\n1.5,20,6\n"
    text = rows if name == "workload-import" else '{"mean_ttft_ms": 12.5}'
    return {"file": SimpleUploadedFile("upload", text.encode()), "name": "Mine"}


def rows_of(world: World) -> dict[str, dict[str, Any]]:
    """One row of each thing in alice's team, by the name of its route: the arguments of the path."""
    alice, team = world.alice, world.team
    design = services.design_create(team=team, user=alice, kind="sample", spec={}, name="Row")
    deleted = services.design_delete(
        design=services.design_create(team=team, user=alice, kind="sample", spec={}, name="Gone"), user=alice
    )
    other = services.design_create(team=team, user=alice, kind="sample", spec={"gpus": 4}, name="Other")
    pair = [{"design": str(design.id)}, {"design": str(other.id)}]
    comparison = services.comparison_create(team=team, user=alice, items=pair)
    of_design = services.share_create(team=team, user=world.bob, design=design)
    of_comparison = services.share_create(team=team, user=world.bob, comparison=comparison)
    made = {"team": team, "kind": "sample", "title": "Job", "created_by": alice, "created_at": timezone.now()}
    estimate = {"metrics": {}, "findings": [], "series": {}, "provenance": {}}
    result = {"kind": "sample", "spec": {}, **estimate, "answer": {}, "charts": [], "estimate": estimate}
    request = {
        "kind": "sample",
        "spec": {},
        "workload": None,
        "duration_s": 1.0,
        "requests": None,
        "seed": 9,
        "options": {},
    }
    done = {**made, "state": State.SUCCEEDED}
    simulated = Job.objects.create(**done, purpose=Purpose.SIMULATION, request=request, key="a", result=result)
    paper = {"design": str(design.id), "revision": 1, "comparison": None, "paper": "a4"}
    report = Job.objects.create(
        **done, purpose=Purpose.REPORT, request=paper, key="b", document=b"%PDF-", result={"filename": "row.pdf"}
    )
    failed = Job.objects.create(**made, purpose=Purpose.SIMULATION, state=State.FAILED, request=request, key="c")
    queued = Job.objects.create(**made, purpose=Purpose.SIMULATION, state=State.QUEUED, request=request, key="d")
    drill = drills.drill_start(team=team, user=alice, kind="sample", spec={}, name="halve")
    workload = Workload.objects.create(
        slug="ours",
        name="Ours",
        form="profile",
        team=team,
        facts={"rate_rps": 1, "input_tokens": 1, "output_tokens": 1},
    )
    measurement = Measurement.objects.create(team=team, name="Run", tool="bench", figures={"ttft_mean_s": 0.1})
    plan = FleetPlan.objects.create(team=team, name="Plan", body=checked_body(PLAN, team=team))
    world.token(world.bob)
    entry = Entry.objects.filter(table="gpus", slug="own-gpu", team=team).get()
    token = ApiToken.objects.filter(user=world.bob).order_by("-created").first()
    assert token is not None
    return {
        "kind": {"kind": "sample"},
        "entries": {"table": "gpus"},
        "entry": {"table": "gpus", "slug": entry.slug},
        "workload": {"slug": workload.slug},
        "catalog-workload": {"slug": workload.slug},
        "design-restore": {"id": deleted.id},
        "design-share": {"id": design.id, "share": of_design.id},
        "comparison-share": {"id": comparison.id, "share": of_comparison.id},
        "job": {"id": simulated.id},
        "job-result": {"id": simulated.id},
        "job-document": {"id": report.id},
        "job-cancel": {"id": queued.id},
        "job-retry": {"id": failed.id},
        "drill": {"id": drill.comparison_id},
        "measurement": {"id": measurement.id},
        "plan": {"id": plan.id},
        "token": {"id": token.public_id},
        "member": {"id": world.vera.public_id},
        **{name: {"id": design.id} for name, _method in ROUTES if name == "design" or name.startswith("design-")}
        | {
            "design-restore": {"id": deleted.id},
            "design-share": {"id": design.id, "share": of_design.id},
            "design-drills": {"id": design.id, "name": "halve"},
        },
        **{
            name: {"id": comparison.id}
            for name, _method in ROUTES
            if name == "comparison" or name.startswith("comparison-")
        }
        | {"comparison-share": {"id": comparison.id, "share": of_comparison.id}},
    }


def expected(access: Access, person: str) -> int:
    role = {"alice": "admin", "bob": "editor", "vera": "viewer", "charlie": "admin", "nobody": ""}[person]
    if person == "nobody":
        return 401
    if access.own and person != "bob":
        return 404
    if not allows(role, access.needs):
        return 403
    if access.private and person == "charlie":
        return 404
    return access.done


@pytest.mark.parametrize(("name", "method"), sorted(ROUTES))
def test_access(name: str, method: str, world: World, own_gpu: Any, quick_reports: None) -> None:
    """Each person meets the same rows: what one does is undone before the next."""
    rows = rows_of(world)
    before = counts(world)
    for person in PEOPLE:
        with transaction.atomic():
            ask_as(person, world=world, name=name, method=method, kwargs=rows.get(name, {}), before=before)
            transaction.set_rollback(True)
        catalog_selectors.forget(world.team)


def ask_as(person: str, *, world: World, name: str, method: str, kwargs: dict[str, Any], before: list[Any]) -> None:
    access, caller, path = ACCESS[(name, method)], world.caller(person), _path(name, kwargs)
    if access.body == "file":
        response = caller.upload(path, **form_of(name))
    else:
        response = caller.ask(method, path, access.body, **access.headers)
    assert response.status_code == expected(access, person), f"{person}: {response.content!r}"
    if person == "charlie" or response.status_code >= 400:
        assert counts(world) == before, person
    if person == "charlie" and response.status_code == 200 and b'"results"' in response.content:
        for row in strict(response).get("results", []):
            assert row.get("shipped", True)
            assert row.get("username", "charlie") == "charlie"
            assert "Row" not in str(row)


def _path(name: str, kwargs: dict[str, Any]) -> str:
    from django.urls import reverse

    return reverse(f"api:{name}", kwargs=kwargs)


def counts(world: World) -> list[Any]:
    """What the team has: the rows and the columns that a write could change."""
    team = world.team
    return [
        sorted(Design.objects.filter(team=team).values_list("id", "name", "revision", "deleted_at"), key=str),
        Comparison.objects.filter(team=team).count(),
        sorted(Share.objects.filter(team=team).values_list("id", "revoked_at"), key=str),
        sorted(Job.objects.filter(team=team).values_list("id", "state"), key=str),
        Workload.objects.filter(team=team).count(),
        Entry.objects.filter(team=team).count(),
        sorted(Membership.objects.filter(team=team).values_list("user", "role")),
        named_tokens(team),
    ]


def named_tokens(team: Any) -> int:
    return ApiToken.objects.filter(team=team).exclude(name="test").count()
