"""What a kind says reads as English with names and units: no "1 nodes", no slug where a name belongs, no blank."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.kind import DesignKind
from planner.core.result import Result

CATALOG = files.load()
SLUGS = {entry.slug for entry in (*CATALOG.gpus(), *CATALOG.llms()) if "-" in entry.slug}
ONE_OF_MANY = re.compile(
    r"(?<![\d.,])1[ \u00a0](GPUs|nodes|units|replicas|requests|tokens|ranks|groups|layers|months|\w+ units)\b"
)
SLIPS = re.compile(r"\(s\)|\bNone\b|\bnan\b|\binf\b| ,| \.(?!\d)|\.\.(?!\.)|  |\bof of\b|\ba a\b")

SMALL: dict[str, list[dict[str, Any]]] = {
    "llm_serving": [
        {"topology": "aggregated", "llm": "llama-3-1-8b", "gpu": "h100-sxm", "decode_unit_gpus": 1, "peak_rps": 1}
        | {"kv_bytes_per_token": None, "rate_mode": "derived", "prefix_hit_rate": 0.0},
        {"peak_rps": 0},
        {"llm": "llama-3-1-405b", "prefill_unit_gpus": 2, "decode_unit_gpus": 2, "kv_bytes_per_token": None},
        {"failures_per_node_h": 0.0, "mean_to_peak": 0.6},
        {"failures_per_node_h": 0.01, "availability": 0.9999},
    ],
    "kv_pool": [
        {"turns_per_s": 0.0},
        {"nodes": 1, "gpus_per_node": 1, "prefill_gpus": 1, "turns_per_s": 0.5, "kv_bytes_per_token": None},
        {"source": "zipf", "zipf_items": 1, "block_tokens": 1, "layers": 1},
        {"eviction": "ttl", "ttl_s": 60.0, "placement": "random", "relation": "exclusive", "write_mode": "back"},
        {"llm": "deepseek-v3", "latent_reads": "each_gpu", "version_by": "request", "written": "context"},
        {"dram_bytes_per_node": 0.0, "ssd_bytes_per_node": 0.0, "prefill_units": 1},
    ],
    "engine_instance": [
        {"concurrency": 1},
        {"rate_rps": 1.0, "input_tokens": 1, "output_tokens": 1},
        {"rate_rps": 1e5},
        {"llm": "llama-3-1-405b"},
        {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8},
    ],
    "rl_rollout": [
        {"problems": 0},
        {"problems": 1, "answers_per_problem": 1, "training_gpus": 1, "score_s": 0.0},
        {"mode": "colocated", "training_gpus": 1, "instance_gpus": 1},
        {"mode": "synchronous", "rollout_gpus": 1, "oversampling": 0.1, "filtering": "on"},
        {"mode": "one_step_off", "instance_gpus": 8, "scored": "batch", "score_s": 60.0, "scorers": 1},
        {"staleness_bound": 1, "enforcement": "discard", "loss": "plain", "new_weights": "recompute"},
        {"staleness_bound": 0, "problems": 1, "rollout_gpus": 1},
        {"weight_bytes": 1e12},
        {"length_cv": 0.0, "filtering": "on", "answers_per_problem": 1},
    ],
    "gateway": [
        {"instances": 1, "peak_rps": 1.0, "turns": 1.0},
        {"peak_rps": 0},
        {"instances": 2, "gateway_replicas": 1, "retries": 0, "policy": "least_requests", "detection": "active"},
        {"prefix_groups": 1, "policy": "prefix_aware", "hot_prefix_cap": None, "gateway_replicas": 2},
        {"peak_rps": 1e6, "processing": "external", "index_place": "in_process", "index_bytes_per_node": 27_000.0},
        {"failure_mode": "hangs", "verdicts": "shared", "half_open": "off", "instances_lost": 199},
        {"output_tokens": 0, "prefix_groups": 0, "turns": 1.0, "index_place": "approximate", "canary_by": "request"},
        {"index_own": "off", "event_lag_s": 10.0, "retry_budget": None, "retry_layers": 2, "overload_factor": 0.5},
    ],
    "multi_lora": [
        {"requests_per_s": 0.0},
        {"adapters": 1, "tenants": 1, "replicas": 1, "slots": 1, "host_adapters": 1, "requests_per_s": 2.0},
        {"adapter_memory_bytes": 0.0},
        {"host_adapters": 1, "source": "disk", "cold_replicas": 1, "copying": "layers", "copies_as": "slab"},
        {"slots": 2, "pinned_adapters": 1, "routing": "hash", "replicas": 2, "fairness": "first_come"},
        {"llm": "deepseek-v3", "base_parameters": None, "targets": "experts", "gpus_per_replica": 8, "gpu": "b200-sxm"},
        {"llm": "jamba-1-5-mini", "base_parameters": None, "gpus_per_replica": 4, "base_share": 0.5},
        {"requests_per_s": 1e6, "replicas": 1, "tenant_limit_rps": 1.0},
        {"max_rank": 64, "enabled_targets": "experts", "kernels": "gather", "launches": "eager", "base_share": 1.0},
        {"llm": "llama-3-1-405b", "base_parameters": None},
    ],
}
"""The corners where counts are one or nothing is left."""


def _said(kind: DesignKind, spec: Any, result: Result) -> Iterator[str]:
    yield from (result.answer.sentence, result.answer.note)
    for finding in result.findings:
        yield finding.message
        yield finding.suggestion or ""
    for question in kind.advice.questions(spec, result):
        yield from (question.text, question.present, question.changes)
    for follow_up in kind.advice.follow_ups(spec, result):
        yield from (follow_up.question, follow_up.answer)
    for variant in kind.advice.variants(spec, result):
        yield variant.label
    diagram = kind.architecture(spec, result)
    yield from (diagram.title, diagram.summary, *(flow.label for flow in diagram.flows))
    for box in diagram.boxes:
        yield from (box.title, *box.lines)
    for chart in kind.charts(spec, result):
        yield from (chart.title, chart.subtitle, chart.summary, *(limit.label for limit in chart.limits))


def _cases() -> Iterator[Any]:
    for slug in kinds.all_kinds():
        for place, spec in enumerate(SMALL.get(slug, [])):
            yield pytest.param(slug, spec, id=f"{slug}-corner-{place}")
    for example in kinds.examples():
        yield pytest.param(example.kind, dict(example.spec), id=example.slug)


@pytest.mark.parametrize(("slug", "given"), list(_cases()))
def test_sentences_are_english_with_names_and_units(slug: str, given: dict[str, Any]) -> None:
    kind = kinds.get(slug)
    spec = kind.spec(**given)
    result = kind.estimate(spec, CATALOG)
    for text in _said(kind, spec, result):
        assert not ONE_OF_MANY.search(text), text
        assert not SLIPS.search(text), text
        words = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", text))
        assert not words & SLUGS, text


def test_the_kinds_come_in_the_order_they_ask_for() -> None:
    found = list(kinds.all_kinds().values())
    assert found == sorted(found, key=lambda kind: (kind.order, kind.slug))
    assert len({kind.order for kind in found}) == len(found)
