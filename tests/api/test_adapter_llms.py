"""Adapters of LLMs of every shape, through the API and on the page: an answer without gaps in its figures."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from django.test import Client

from planner.catalog import loading, selectors
from tests.api.caller import Caller, strict
from tests.api.conftest import World

pytestmark = pytest.mark.usefixtures("real_kinds")
LLMS = (
    "gpt-oss-20b",
    "deepseek-v3",
    "kimi-linear-48b-a3b",
    "nemotron-h-56b",
    "jamba-1-5-mini",
    "qwen2-5-0-5b",
    "gemma-3-27b",
)
"""Experts, latent attention, linear attention, two with Mamba layers, tied embeddings, windows."""
SETTINGS: dict[str, dict[str, Any]] = {
    "slots": {"targets": "linear", "vocabulary": "on"},
    "pages": {"engine": "slora", "kernels": "gather", "targets": "experts"},
    "a million tokens": {"input_tokens": 9e5, "output_tokens": 1e5, "requests_per_s": 0.1},
    "no load": {"requests_per_s": 0.0},
}


@pytest.fixture
def entries(db: None) -> None:
    loading.load_entries(selectors.shipped())


def spec_of(llm: str, setting: str) -> dict[str, Any]:
    fleet = {"gpu": "h200-sxm", "gpus_per_replica": 8, "base_parameters": None}
    return {"llm": llm, **fleet, **SETTINGS[setting]}


@pytest.mark.parametrize("llm", LLMS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_shape_has_an_answer(entries: None, bob: Caller, llm: str, setting: str) -> None:
    # `strict` reads JSON that has neither NaN nor infinity.
    answer = strict(bob.post("/api/v1/estimates/", {"kind": "multi_lora", "spec": spec_of(llm, setting)}))
    figures = {name: metric["value"] for name, metric in answer["metrics"].items()}
    assert all(value is None or math.isfinite(value) for value in figures.values())
    assert figures["adapter_bytes"] > 0
    assert figures["step_factor"] >= 1
    explained = any(row["severity"] != "info" for row in answer["findings"])
    assert figures["tpot_s"] is not None or explained


@pytest.mark.parametrize("llm", LLMS)
def test_every_shape_has_a_page(entries: None, world: World, llm: str) -> None:
    client = Client()
    client.force_login(world.bob)
    page = client.get("/designs/new/multi_lora/", {"set": json.dumps(spec_of(llm, "pages"))})
    assert page.status_code == 200
    text = page.content.decode()
    assert "replicas" in text
    assert "nan" not in text.lower().split()
    assert "Infinity" not in text
