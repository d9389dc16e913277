"""Designs nobody had in mind, through the API and the page: an answer with a reason, no NaN, no stack trace."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from planner.catalog import selectors
from planner.catalog.loading import load_entries
from tests.api.caller import Caller, strict
from tests.api.conftest import World

pytestmark = pytest.mark.usefixtures("real_kinds")
# Grouped-query attention with a head that does not divide the hidden size, three layers, a tiny vocabulary.
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 1000,
    "head_dim": 72,
    "num_attention_heads": 15,
    "num_key_value_heads": 3,
    "num_hidden_layers": 3,
    "intermediate_size": 17,
    "vocab_size": 259,
    "max_position_embeddings": 512,
    "torch_dtype": "float32",
}
OF_THE_LLM: dict[str, dict[str, Any]] = {
    "multi_lora": {"base_parameters": None},
    "rl_rollout": {"weight_bytes": None, "active_parameters": None},
}
# Kind, fields, and the code of a finding that says what is special.
ODD = [
    ("multi_lora", {"requests_per_s": 0}, "no_load"),
    ("multi_lora", {"input_tokens": 200_000, "output_tokens": 8000}, "ttft_missed"),
    ("multi_lora", {"llm": "jamba-1-5-mini", "gpus_per_replica": 4}, "not_adapted"),
    ("multi_lora", {"llm": "gpt-oss-120b"}, "no_room"),
    ("multi_lora", {"llm": "qwen3-vl-235b-a22b", "gpus_per_replica": 8}, "experts_not_adapted"),
    ("multi_lora", {"adapters": 1, "tenants": 1, "rank": 512, "max_rank": 512, "slots": 1}, "replica_binds"),
    ("multi_lora", {"llm": "ours"}, "replica_binds"),
    ("rl_rollout", {"problems": 0}, "no_load"),
    ("rl_rollout", {"prompt_tokens": 5e5, "output_tokens": 2e5, "max_output_tokens": 1e6}, "does_not_fit"),
    ("rl_rollout", {"llm": "nemotron-h-56b", "instance_gpus": 4}, "rate_batch_memory"),
    ("rl_rollout", {"llm": "gpt-oss-120b", "instance_gpus": 2, "routing_returned": "on"}, "routing_dominates"),
    ("rl_rollout", {"llm": "kimi-k3"}, "does_not_fit"),
    ("rl_rollout", {"problems": 1, "answers_per_problem": 1, "length_cv": 0}, "scoring"),
    ("rl_rollout", {"llm": "ours"}, "scoring"),
]


@pytest.fixture
def bob(world: World) -> Caller:
    """Bob with the catalog and an LLM of the team's own, known by its token and signed in."""
    load_entries(selectors.shipped())
    caller = Caller(token=world.token(world.bob))
    body = {"name": "Ours", "config": CONFIG}
    made = caller.post("/api/v1/catalog/llms/import/", body)
    assert made.status_code == 201, made.content
    caller.client.force_login(world.bob)
    return caller


@pytest.mark.parametrize(("kind", "fields", "code"), ODD)
def test_an_odd_design_has_an_answer_and_a_reason(bob: Caller, kind: str, fields: dict[str, Any], code: str) -> None:
    spec = fields if "llm" not in fields else {**OF_THE_LLM[kind], **fields}
    response = bob.post("/api/v1/estimates/", {"kind": kind, "spec": spec})
    assert response.status_code == 200, response.content
    answer = strict(response)
    assert code in {finding["code"] for finding in answer["findings"]}
    page = bob.client.get(f"/designs/new/{kind}/", {"set": json.dumps(spec)})
    text = page.content.decode()
    assert page.status_code == 200
    assert "Traceback" not in text
    assert not re.search(r"\b(nan|NaN|inf|Infinity)\b", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    assert sentence_of(answer) in re.sub(r"</?b>", "", text)


def sentence_of(answer: dict[str, Any]) -> str:
    """The answer as the page writes it, without its marks."""
    sentence: str = answer["answer"]["sentence"]
    return sentence.replace("**", "").replace("'", "&#x27;")
