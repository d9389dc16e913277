"""Every page and action against owner, team-mate, viewer, stranger and nobody; a route without a row fails."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from planner import kinds
from planner.accounts import services as accounts
from planner.catalog import services as catalog
from planner.catalog.models import Entry, Workload
from planner.designs import plans
from planner.designs import services as designs
from planner.designs.models import Comparison, Design, Measurement, Share
from planner.jobs import drills, runner, sweeps
from planner.jobs.models import Job
from planner.web.urls import urlpatterns

pytestmark = pytest.mark.django_db
KIND = next(iter(kinds.all_kinds()))
ZERO = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Row:
    """What a route is for: who may GET it, who may POST it, and whose things its address names.

    ``get``/``post`` are the least role (None: not offered); ``arguments`` name things of the team; ``own`` says that a
    stranger must not find them; ``leads`` that it only leads on to another page.
    """

    get: str | None = None
    post: str | None = None
    arguments: tuple[str, ...] = ()
    own: bool = False
    leads: bool = False


PUBLIC, MEMBER, EDITOR, ADMIN = "public", "viewer", "editor", "admin"
ROWS = {
    "home": Row(get=MEMBER),
    "sign-in": Row(get=PUBLIC, post=PUBLIC),
    "sign-out": Row(post=PUBLIC),
    "enter": Row(get=PUBLIC, arguments=("nonsense",)),
    "preferences": Row(post=PUBLIC),
    "account": Row(get=MEMBER),
    "choose-team": Row(post=MEMBER),
    "member-set": Row(post=ADMIN),
    "member-remove": Row(post=ADMIN, arguments=("zero",)),
    "token-create": Row(post=MEMBER),
    "token-revoke": Row(post=MEMBER, arguments=("zero",)),
    "search": Row(get=MEMBER),
    "validation": Row(get=MEMBER),
    "validation-csv": Row(get=MEMBER),
    "new": Row(get=MEMBER),
    "new-kind": Row(get=MEMBER, post=EDITOR, arguments=("kind",)),
    "live": Row(post=MEMBER, arguments=("kind",)),
    "simulate": Row(post=EDITOR, arguments=("kind",)),
    "start-drill": Row(post=EDITOR, arguments=("kind",)),
    "keep-workload": Row(post=EDITOR, arguments=("kind",)),
    "design": Row(get=MEMBER, post=EDITOR, arguments=("design",), own=True),
    "design-reliability": Row(get=MEMBER, arguments=("design",), own=True),
    "history": Row(get=MEMBER, arguments=("design",), own=True),
    "design-money": Row(get=MEMBER, arguments=("design",), own=True),
    "design-money-csv": Row(get=MEMBER, arguments=("design",), own=True),
    "design-sensitivity": Row(get=MEMBER, arguments=("design",), own=True),
    "design-draw": Row(post=EDITOR, arguments=("design",), own=True),
    "design-tornado-csv": Row(get=MEMBER, arguments=("design",), own=True),
    "design-flips-csv": Row(get=MEMBER, arguments=("design",), own=True),
    "revert": Row(post=EDITOR, arguments=("design",), own=True),
    "describe": Row(get=EDITOR, post=EDITOR, arguments=("design",), own=True),
    "duplicate": Row(post=EDITOR, arguments=("design",), own=True),
    "delete": Row(post=EDITOR, arguments=("design",), own=True),
    "restore": Row(post=EDITOR, arguments=("design",), own=True),
    "share": Row(post=EDITOR, arguments=("design",), own=True),
    # Alice made the links here; an editor takes back only their own (tests/web/test_editor.py).
    "share-revoke": Row(post=ADMIN, arguments=("design", "share"), own=True),
    "report": Row(post=EDITOR, arguments=("design",), own=True),
    "export": Row(get=MEMBER, arguments=("design", "csv"), own=True),
    "design-sweep": Row(get=MEMBER, post=EDITOR, arguments=("design",), own=True),
    "design-sweep-count": Row(post=MEMBER, arguments=("design",), own=True),
    "design-sweep-run": Row(get=MEMBER, arguments=("design", "sweep"), own=True),
    "sweep": Row(get=MEMBER, arguments=("lone_sweep",), own=True),
    "sweep-points": Row(get=MEMBER, arguments=("sweep",), own=True),
    "sweep-open": Row(get=MEMBER, arguments=("sweep", "0"), own=True, leads=True),
    "sweep-compare": Row(post=EDITOR, arguments=("sweep",), own=True),
    "sweep-cancel": Row(post=EDITOR, arguments=("sweep",), own=True),
    "sweep-again": Row(post=EDITOR, arguments=("sweep",), own=True),
    "design-launch": Row(get=MEMBER, arguments=("design",), own=True),
    "design-launch-file": Row(get=MEMBER, arguments=("design", "deepseek-v3-decode.yaml"), own=True),
    "compare": Row(get=MEMBER),
    "compare-save": Row(post=EDITOR),
    "measurement-add": Row(post=EDITOR),
    "measurement-remove": Row(post=EDITOR, arguments=("measurement",), own=True),
    "plans": Row(get=MEMBER),
    "plan-new": Row(post=EDITOR),
    "plan": Row(get=MEMBER, arguments=("plan",), own=True),
    "plan-save": Row(post=EDITOR, arguments=("plan",), own=True),
    "plan-delete": Row(post=EDITOR, arguments=("plan",), own=True),
    "plan-export": Row(get=MEMBER, arguments=("plan",), own=True),
    "comparison": Row(get=MEMBER, arguments=("comparison",), own=True),
    "comparison-export": Row(get=MEMBER, arguments=("comparison",), own=True),
    "comparison-report": Row(post=EDITOR, arguments=("comparison",), own=True),
    "comparison-simulate": Row(post=EDITOR, arguments=("comparison",), own=True),
    "comparison-share": Row(post=EDITOR, arguments=("comparison",), own=True),
    "comparison-share-revoke": Row(post=ADMIN, arguments=("comparison", "comparison_share"), own=True),
    "jobs": Row(get=MEMBER),
    "job": Row(get=MEMBER, arguments=("job",), own=True),
    "job-cancel": Row(post=EDITOR, arguments=("job",), own=True),
    "job-retry": Row(post=EDITOR, arguments=("job",), own=True),
    "job-document": Row(get=MEMBER, arguments=("job",), own=True),
    "job-export": Row(get=MEMBER, arguments=("job", "csv"), own=True),
    "drill": Row(get=MEMBER, arguments=("drill",), own=True),
    "drill-again": Row(post=EDITOR, arguments=("drill",), own=True),
    "drill-export": Row(get=MEMBER, arguments=("drill",), own=True),
    "catalog": Row(get=MEMBER),
    "catalog-table": Row(get=MEMBER, arguments=("gpus",)),
    "catalog-entry": Row(get=MEMBER, arguments=("gpus", "gpu"), own=True),
    "catalog-add-gpu": Row(get=EDITOR, post=EDITOR),
    "catalog-add-llm": Row(get=EDITOR, post=EDITOR),
    "catalog-edit-gpu": Row(get=EDITOR, post=EDITOR, arguments=("gpu",), own=True),
    "catalog-delete": Row(get=EDITOR, post=EDITOR, arguments=("gpus", "gpu"), own=True),
    "workloads": Row(get=MEMBER),
    "workload": Row(get=MEMBER, arguments=("workload",), own=True),
    "workload-import": Row(get=EDITOR, post=EDITOR),
    "workload-profile": Row(get=EDITOR, post=EDITOR),
    "workload-delete": Row(get=EDITOR, post=EDITOR, arguments=("workload",), own=True),
    "shared": Row(get=PUBLIC, arguments=("token",)),
    "shared-pdf": Row(get=PUBLIC, arguments=("token",)),
    "shared-csv": Row(get=PUBLIC, arguments=("token",)),
    "shared-open": Row(get=EDITOR, post=EDITOR, arguments=("token",)),
    "methods": Row(get=MEMBER),
    "api-guide": Row(get=MEMBER),
}
RANK = {"nobody": 0, "viewer": 1, "editor": 2, "admin": 3}
PEOPLE = {"vera": "viewer", "bob": "editor", "alice": "admin"}


@pytest.fixture
def world() -> SimpleNamespace:
    """A team with one of everything, and a stranger with a team of their own."""
    people = {name: accounts.create_user(username=name) for name in ("alice", "bob", "vera", "charlie")}
    team = accounts.create_team(name="Planners", owner=people["alice"])
    for name in ("bob", "vera"):
        accounts.membership_set(team=team, user=people[name], role=PEOPLE[name], by=people["alice"])
    accounts.create_team(name="Elsewhere", owner=people["charlie"])
    catalog.catalog_load()
    made = [
        designs.design_create(team=team, user=people["alice"], kind=KIND, spec={}, name=name) for name in ("One", "Two")
    ]
    comparison = designs.comparison_create(
        team=team, user=people["alice"], items=[{"design": str(one.id)} for one in made]
    )
    share = designs.share_create(team=team, user=people["alice"], design=made[0])
    columns = io.BytesIO()
    ones = np.ones(3, dtype=np.int64)
    np.savez_compressed(columns, arrival_s=np.arange(3.0), input_tokens=ones, output_tokens=ones)
    workload = Workload.objects.create(slug="own", name="Own", form="trace", team=team, columns=columns.getvalue())
    own = catalog.gpu_save(
        team=team,
        name="Own GPU",
        vendor="Us",
        architecture="Own",
        figures={"memory_bytes": 8e10, "memory_bytes_per_s": 3e12},
    )
    job = Job.objects.create(
        team=team, purpose="report", title="Printed", kind=KIND, key="k", state="succeeded", document=b"%PDF-1.7",
        request={}, result={"media_type": "application/pdf", "filename": "a.pdf", "bytes": 8, "metrics": {}},
    )  # fmt: skip
    drill = drills.drill_start(team=team, user=people["alice"], kind=KIND, spec={}, name="lose-decode-unit")
    asked = {"kind": KIND, "spec": {}, "vary": [{"field": "headroom", "values": [0.1, 0.2]}]}
    sweep = sweeps.sweep_start(team=team, user=people["alice"], design=made[0], **asked)
    runner.run(sweep.id)
    measurement = Measurement.objects.create(team=team, name="Run", tool="bench", figures={"ttft_mean_s": 0.1})
    plan = plans.plan_of([str(one.id) for one in made], name="Both", team=team, user=people["alice"])
    named = {
        "measurement": measurement.id,
        "plan": plan.id,
        "sweep": sweep.id,
        "lone_sweep": sweeps.sweep_start(team=team, user=people["alice"], **asked).id,
        "drill": drill.comparison_id,
        "kind": KIND,
        "design": made[0].id,
        "share": share.id,
        "comparison": comparison.id,
        "comparison_share": designs.share_create(team=team, user=people["alice"], comparison=comparison).id,
        "job": job.id,
        "workload": workload.id,
        "gpu": own.slug,
        "token": designs.share_link(share).strip("/").split("/")[1],
        "nonsense": "nonsense",
        "zero": ZERO,
    }
    return SimpleNamespace(people=people, named=named)


def address(world: SimpleNamespace, name: str) -> str:
    return reverse(f"web:{name}", args=[world.named.get(argument, argument) for argument in ROWS[name].arguments])


def client(world: SimpleNamespace, name: str) -> Client:
    found = Client()
    found.force_login(world.people[name])
    return found


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside is rolled back, so that one world serves every route."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_each_route_has_a_row() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(ROWS)


def allowed_get(row: Row, role: str) -> set[int]:
    if row.get is None:
        return {405, 403}
    if row.get == PUBLIC:
        return {200, 302, 404, 410}
    return {302 if row.leads else 200} if RANK[role] >= RANK[row.get] else {403}


@pytest.mark.parametrize("person", PEOPLE)
def test_members_get_what_their_role_allows(world: SimpleNamespace, person: str) -> None:
    browser = client(world, person)
    found = {name: browser.get(address(world, name)).status_code for name in ROWS}
    wrong = {name: status for name, status in found.items() if status not in allowed_get(ROWS[name], PEOPLE[person])}
    assert wrong == {}


@pytest.mark.parametrize("person", PEOPLE)
def test_members_change_what_their_role_allows(world: SimpleNamespace, person: str) -> None:
    wrong = {}
    for name, row in ROWS.items():
        if row.post in {None, PUBLIC}:
            continue
        with undone():
            status = client(world, person).post(address(world, name)).status_code
        may = RANK[PEOPLE[person]] >= RANK[row.post]
        if status not in ({200, 302, 404, 409, 412, 422} if may else {403}):
            wrong[name] = status
    assert wrong == {}


def test_nobody_is_sent_to_sign_in(world: SimpleNamespace) -> None:
    for name, row in ROWS.items():
        if row.get not in {None, PUBLIC}:
            assert Client().get(address(world, name)).url.startswith("/sign-in/?next="), name
        if row.post not in {None, PUBLIC}:
            assert Client().post(address(world, name)).url.startswith("/sign-in/"), name


def everything() -> list[list[dict]]:
    return [list(model.objects.order_by("pk").values()) for model in (Design, Comparison, Share, Job, Workload, Entry)]


def test_a_stranger_finds_nothing_and_changes_nothing(world: SimpleNamespace) -> None:
    before = everything()
    stranger = client(world, "charlie")
    wrong = {}
    for name, row in ROWS.items():
        if not row.own:
            continue
        if row.get is not None and (status := stranger.get(address(world, name)).status_code) != 404:
            wrong[name] = status
        if row.post is not None and (status := stranger.post(address(world, name), {"name": "x"}).status_code) != 404:
            wrong[name] = status
    assert wrong == {}
    assert everything() == before


def test_a_change_without_the_form_key_is_refused(world: SimpleNamespace) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(world.people["alice"])
    posts = [name for name, row in ROWS.items() if row.post is not None]
    assert {name: careful.post(address(world, name)).status_code for name in posts} == dict.fromkeys(posts, 403)
