"""The launch page: commands and files of a design, and a refusal that leads to the input to change."""

from __future__ import annotations

import pytest
from django.urls import reverse

from planner import kinds
from planner.designs import services as designs
from planner.web.launch_rows import setting_groups

REAL = kinds.all_kinds
KIND = next(slug for slug in kinds.all_kinds() if "tensor_parallel" in kinds.get(slug).spec.model_fields)
SPEC = {"llm": "llama-3-1-8b", "gpu": "h100-sxm", "gpus": 1, "max_model_len": 8192}


@pytest.fixture
def made(people, monkeypatch):
    """Makes a design of a kind that says how it is started."""
    monkeypatch.setattr(kinds, "all_kinds", REAL)

    def make(**changed):
        spec = {**SPEC, **changed}
        return designs.design_create(team=people.team, user=people.alice, kind=KIND, spec=spec, name="One engine")

    return make


def test_a_command_and_the_input_each_setting_comes_from(signed_in, made) -> None:
    design = made()
    page = signed_in("vera").get(reverse("web:design-launch", args=[design.id]))
    text = page.content.decode()
    assert "vllm serve " in text
    assert f'href="{reverse("web:design", args=[design.id])}#f-max_model_len"' in text
    assert 'href="https://docs.vllm.ai/' in text
    assert 'role="alert"' not in text


def test_a_refusal_leads_to_the_input_and_offers_no_command(signed_in, made) -> None:
    design = made(max_model_len=5_000_000)
    page = signed_in("vera").get(reverse("web:design-launch", args=[design.id]))
    assert page.status_code == 200
    text = page.content.decode()
    assert 'role="alert"' in text
    assert f'href="{reverse("web:design", args=[design.id])}#f-max_model_len"' in text
    assert "vllm serve " not in text


def test_each_file_is_taken_away_as_it_is_shown(signed_in, made) -> None:
    design = made()
    client = signed_in("vera")
    files = client.get(reverse("web:design-launch", args=[design.id])).context["launch"]["manifests"]
    assert files
    for file in files:
        answer = client.get(reverse("web:design-launch-file", args=[design.id, file["filename"]]))
        assert answer["Content-Disposition"] == f'attachment; filename="{file["filename"]}"'
        assert answer.content.decode() == file["text"]


def test_a_target_or_a_file_nobody_knows_is_not_there(signed_in, made) -> None:
    design = made()
    client = signed_in("vera")
    page = reverse("web:design-launch", args=[design.id])
    assert client.get(page, {"target": "odd"}).status_code == 404
    assert client.get(reverse("web:design-launch-file", args=[design.id, "odd.yaml"])).status_code == 404


def test_a_kind_without_a_launch_has_no_page(signed_in, design) -> None:
    assert signed_in("vera").get(reverse("web:design-launch", args=[design.id])).status_code == 404


def test_settings_that_roles_share_are_told_once() -> None:
    def row(role, flag, text):
        return {"program": "engine", "role": role, "flag": flag, "value": text, "text": text, "why": "because"}

    rows = [row(role, "--port", "8000") for role in ("prefill", "decode")]
    rows += [row("prefill", "--tp", "4"), row("decode", "--rank", "0"), row("decode", "--rank", "$RANK")]
    told = [
        (group["roles"], [(each["flag"], each["texts"]) for each in group["rows"]]) for group in setting_groups(rows)
    ]
    assert told == [
        ("prefill · decode", [("--port", ["8000"])]),
        ("prefill", [("--tp", ["4"])]),
        ("decode", [("--rank", ["0", "$RANK"])]),
    ]
