"""`/catalog/` and `/workloads/`: facts with sources, filters, imports, and what a bad file is told."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.accounts.selectors import audit_entries
from planner.catalog import loading, selectors
from planner.catalog.models import Entry, Workload
from tests.api.caller import Caller, check_problem, strict
from tests.api.conftest import World

GPUS, LLMS, IMPORT = "/api/v1/catalog/gpus/", "/api/v1/catalog/llms/", "/api/v1/catalog/llms/import/"
TRACE = b"arrival_s,input_tokens,output_tokens\n0,10,5\n1.5,20,6\n3,30,7\n"

# Llama 3.1 8B, from its published config.json (huggingface.co/meta-llama/Llama-3.1-8B).
LLAMA_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip


def upload(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def first_error(response: Any) -> dict[str, Any]:
    return check_problem(response)["errors"][0]


@pytest.fixture
def entries(db: None) -> None:
    loading.load_entries(selectors.shipped())


class TestEntries:
    def test_every_figure_of_a_gpu_has_unit_source_and_date(self, entries: None, alice: Caller) -> None:
        found = strict(alice.get(f"{GPUS}h100-sxm/"))
        assert found["shipped"] is True
        assert found["entry"]["figures"]["memory_bytes"]["value"] == 80e9
        for figure in found["entry"]["figures"].values():
            assert {"value", "unit", "source", "as_of"} <= set(figure)

    def test_an_alias_finds_its_entry(self, entries: None, alice: Caller) -> None:
        assert strict(alice.get(f"{GPUS}H100%20SXM/"))["slug"] == "h100-sxm"

    def test_an_llm_comes_with_its_derived_facts(self, entries: None, alice: Caller) -> None:
        facts = strict(alice.get(f"{LLMS}deepseek-v3/"))["facts"]
        assert facts["kv_bytes_per_token"]["bf16"] == 70_272  # kinds/llm_serving: 61 layers × 576 × 2 B

    def test_search_and_filters(self, entries: None, alice: Caller) -> None:
        assert "h100-sxm" in [row["slug"] for row in strict(alice.get(f"{GPUS}?q=h100"))["results"]]
        amd = strict(alice.get(f"{GPUS}?vendor=AMD"))["results"]
        assert amd
        assert {row["entry"]["vendor"] for row in amd} == {"AMD"}
        assert strict(alice.get(f"{GPUS}?q=nothing+like+it"))["count"] == 0

    @pytest.mark.parametrize(("url", "parameter"), [(f"{GPUS}?colour=red", "colour"), (f"{GPUS}?family=x", "family")])
    def test_a_filter_the_table_does_not_have_is_refused(self, alice: Caller, url: str, parameter: str) -> None:
        response = alice.get(url)
        assert response.status_code == 422
        assert first_error(response)["parameter"] == parameter

    @pytest.mark.parametrize("table", ["gpus", "llms", "links", "prices", "engines", "api_prices", "currencies"])
    def test_every_table_has_a_list_and_details(self, entries: None, alice: Caller, table: str) -> None:
        listed = strict(alice.get(f"/api/v1/catalog/{table}/?limit=3"))
        assert listed["count"] > 0
        for row in listed["results"]:
            assert strict(alice.get(row["url"]))["slug"] == row["slug"]

    @pytest.mark.parametrize("path", ["/api/v1/catalog/nothing/", f"{GPUS}nothing/", "/api/v1/catalog/nothing/x/"])
    def test_what_there_is_not_is_a_404(self, entries: None, alice: Caller, path: str) -> None:
        assert alice.get(path).status_code == 404

    def test_what_ships_cannot_be_deleted(self, entries: None, bob: Caller) -> None:
        assert bob.delete(f"{GPUS}h100-sxm/").status_code == 403
        assert Entry.objects.filter(slug="h100-sxm").exists()


class TestOwnGpu:
    def test_it_is_planned_with_at_once_and_gone_when_deleted(self, entries: None, bob: Caller) -> None:
        body = {"name": "Lab GPU", "figures": {"memory_bytes": 4e10, "memory_bytes_per_s": 1e12, "tdp_w": 250}}
        response = bob.post(GPUS, {**body, "price_usd_per_h": 0.5, "source": "our lab"})
        assert (response.status_code, response["Location"]) == (201, f"{GPUS}lab-gpu/")
        assert strict(response)["entry"]["figures"]["tdp_w"]["source"] == "our lab"
        estimate = {"kind": "sample", "spec": {"gpu": "lab-gpu", "gpus": 2}}
        assert strict(bob.post("/api/v1/estimates/", estimate))["metrics"]["power_w"]["value"] == 500
        assert bob.delete(response["Location"]).status_code == 204
        assert bob.post("/api/v1/estimates/", estimate).status_code == 422

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"name": ""}, "/name"),
            ({"figures": {}}, "/figures/memory_bytes"),
            ({"figures": {"memory_bytes": -1, "memory_bytes_per_s": 1e12}}, "/figures/memory_bytes"),
            ({"figures": {"memory_bytes": 1e10, "memory_bytes_per_s": 1e12, "nope": 1}}, "/figures/nope"),
            ({"figures": {"memory_bytes": "80 GB"}}, "/figures/memory_bytes"),
            ({"price_usd_per_h": -1}, "/price_usd_per_h"),
            ({"tdp_w": 5}, "/tdp_w"),
        ],
    )
    def test_a_bad_field_is_named_and_nothing_kept(self, bob: Caller, change: dict[str, Any], pointer: str) -> None:
        body = {"name": "Lab GPU", "figures": {"memory_bytes": 4e10, "memory_bytes_per_s": 1e12}}
        response = bob.post(GPUS, {**body, **change})
        assert response.status_code == 422
        assert first_error(response)["pointer"] == pointer
        assert not Entry.objects.exists()


class TestLlmImport:
    def check(self, response: Any, name: str) -> None:
        assert response.status_code == 201, response.content
        found = strict(response)
        assert found["name"] == name
        assert found["facts"]["kv_bytes_per_token"]["bf16"] == 131_072  # 2 × 32 × 8 × 128 × 2 B
        assert found["facts"]["parameters"]["total"] == pytest.approx(8.03e9, rel=0.01)  # the published total

    def test_as_json_with_a_name(self, bob: Caller) -> None:
        self.check(bob.post(IMPORT, {"name": "Ours", "config": LLAMA_8B}), "Ours")

    def test_as_the_bare_file(self, bob: Caller) -> None:
        self.check(bob.post(f"{IMPORT}?name=Bare", LLAMA_8B), "Bare")
        self.check(bob.post(IMPORT, {**LLAMA_8B, "_name_or_path": "lab/Named-8B"}), "Named-8B")

    def test_as_a_form(self, bob: Caller) -> None:
        self.check(bob.upload(IMPORT, file=upload("config.json", json.dumps(LLAMA_8B).encode()), name="Form"), "Form")

    def test_with_a_quantisation_beside_it(self, bob: Caller) -> None:
        beside = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head", "*self_attn*"]}}
        found = strict(bob.post(IMPORT, {"name": "Ours", "config": LLAMA_8B, "hf_quant_config": beside}))
        assert found["entry"]["native_dtype"] == "fp8"
        shares = {(each["part"], each["dtype"]): each["share"] for each in found["facts"]["part_formats"]}
        assert shares == {("attention", "bf16"): 1.0, ("dense_mlp", "fp8"): 1.0}

    def test_what_was_not_understood_is_said(self, bob: Caller) -> None:
        found = strict(bob.post(IMPORT, {"name": "Ours", "config": {**LLAMA_8B, "odd_knob": 3}}))
        assert found["entry"]["remarks"] == ["Keys not read: odd_knob."]
        assert found["facts"]["layers_by_kind"] == {"attention": 32}

    def test_a_file_with_infinity_is_taken(self, bob: Caller) -> None:
        """Published configurations of Mamba layers have it: Python writes it where JSON has no number."""
        text = json.dumps({**LLAMA_8B, "time_step_limit": [0.0, float("inf")]})
        assert "Infinity" in text
        self.check(bob.upload(IMPORT, file=upload("config.json", text.encode()), name="Form"), "Form")

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"name": "x", "config": {**LLAMA_8B, "num_hidden_layers": 0}}, "/config/num_hidden_layers"),
            ({"name": "x", "config": {**LLAMA_8B, "model_type": "nothing", "architectures": ["X"]}}, None),
            ({"name": "x", "config": []}, "/config"),
            ({"name": "x"}, "/config"),
            ({"name": "…", "config": LLAMA_8B}, "/name"),
            ({}, None),
        ],
    )
    def test_a_bad_config_is_told_where_and_nothing_kept(self, bob: Caller, body: Any, pointer: str | None) -> None:
        response = bob.post(IMPORT, body)
        assert response.status_code == 422
        assert pointer is None or first_error(response)["pointer"] == pointer
        assert not Entry.objects.exists()

    @pytest.mark.parametrize("content", [b"{", b'{"a": NaN}', b"[" * 9999, b"\x00\xff"])
    def test_a_form_file_that_is_no_json_is_named(self, bob: Caller, content: bytes) -> None:
        response = bob.upload(IMPORT, file=upload("config.json", content), name="x")
        assert response.status_code == 422
        assert first_error(response)["pointer"] == "/file"


class TestWorkloads:
    URL = "/api/v1/workloads/"

    @pytest.mark.parametrize("content", [TRACE, gzip.compress(TRACE, mtime=0)])
    def test_a_trace_is_imported_with_its_facts(self, bob: Caller, content: bytes) -> None:
        response = bob.upload(f"{self.URL}import/", file=upload("my.csv", content), name="My trace")
        assert (response.status_code, response["Location"]) == (201, f"{self.URL}my-trace/")
        found = strict(response)
        assert (found["form"], found["facts"]["requests"], found["facts"]["duration_s"]) == ("trace", 3, 3.0)
        assert (found["profile"]["input_tokens"], found["profile"]["output_tokens"]) == (20.0, 6.0)
        assert strict(bob.get(f"{self.URL}{found['id']}/"))["slug"] == "my-trace"
        assert bob.delete(response["Location"]).status_code == 204
        assert not Workload.objects.exists()

    def test_a_bad_line_is_named_and_nothing_kept(self, bob: Caller) -> None:
        response = bob.upload(f"{self.URL}import/", file=upload("t.csv", TRACE + b"4,many,5\n"), name="Bad")
        assert response.status_code == 422
        error = first_error(response)
        assert (error["pointer"], error["line"], error["field"]) == ("/file", 5, "input_tokens")
        assert not Workload.objects.exists()

    @pytest.mark.parametrize(
        "content", [b"", b"a,b\n1,2\n", b"\x89PNG\r\n\x1a\n\x00", gzip.compress(TRACE, mtime=0)[:-9]]
    )
    def test_what_is_no_trace_is_refused(self, bob: Caller, content: bytes) -> None:
        response = bob.upload(f"{self.URL}import/", file=upload("t.csv", content), name="Bad")
        assert response.status_code == 422
        assert not Workload.objects.exists()

    def test_without_a_file_or_with_unknown_fields_it_says_so(self, bob: Caller) -> None:
        assert first_error(bob.upload(f"{self.URL}import/", name="x"))["pointer"] == "/file"
        response = bob.upload(f"{self.URL}import/", file=upload("t.csv", TRACE), colour="red")
        assert first_error(response)["pointer"] == "/colour"
        assert bob.post(f"{self.URL}import/", {"name": "x"}).status_code == 422

    def test_a_file_too_large_is_a_413(self, bob: Caller, settings: Any) -> None:
        settings.UPLOAD_MAX_BYTES = 20
        response = bob.upload(f"{self.URL}import/", file=upload("t.csv", TRACE), name="Big")
        assert response.status_code == 413

    def test_a_file_that_unpacks_to_too_much_is_refused(self, bob: Caller, settings: Any) -> None:
        settings.UPLOAD_MAX_BYTES = 20_000
        bomb = gzip.compress(b"arrival_s,input_tokens,output_tokens\n" + b"0,1,1\n" * 400_000)
        assert len(bomb) < 20_000
        assert bob.upload(f"{self.URL}import/", file=upload("t.gz", bomb), name="Bomb").status_code == 422

    def test_a_profile_is_saved_listed_and_found(self, bob: Caller) -> None:
        facts = {"rate_rps": 5, "input_tokens": 100, "output_tokens": 50, "prefix_hit_rate": 0.5}
        response = bob.post(self.URL, {"name": "Chat", "facts": facts})
        assert response.status_code == 201
        assert strict(response)["profile"] == facts
        assert [row["slug"] for row in strict(bob.get(f"{self.URL}?q=cha&form=profile"))["results"]] == ["chat"]
        assert strict(bob.get("/api/v1/catalog/workloads/?form=trace"))["count"] == 0
        assert bob.get(f"{self.URL}?form=poem").status_code == 422

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"name": "x", "facts": {"prefix_hit_rate": 2}}, "/facts/prefix_hit_rate"),
            ({"name": "x", "facts": {"rate_rps": "5"}}, "/facts/rate_rps"),
            ({"name": "x", "facts": {"nope": 5}}, "/facts/nope"),
            ({"name": "x", "facts": {}}, "/facts"),
            ({"name": "!", "facts": {"rate_rps": 5}}, "/name"),
        ],
    )
    def test_a_bad_profile_is_named(self, bob: Caller, body: dict[str, Any], pointer: str) -> None:
        response = bob.post(self.URL, body)
        assert response.status_code == 422
        assert first_error(response)["pointer"] == pointer
        assert not Workload.objects.exists()


def test_the_audit_trail_says_who_changed_the_catalog(bob: Caller, world: World) -> None:
    bob.post(GPUS, {"name": "Ours", "figures": {"memory_bytes": 80e9, "memory_bytes_per_s": 3e12}})
    bob.post(IMPORT, {"name": "Own LLM", "config": LLAMA_8B})
    bob.post("/api/v1/workloads/", {"name": "Own load", "facts": {"rate_rps": 2.0}})
    bob.upload("/api/v1/workloads/import/", file=upload("t.csv", TRACE), name="Own trace")
    for path in (f"{GPUS}ours/", "/api/v1/workloads/own-load/"):
        assert bob.delete(path).status_code == 204
    entries = audit_entries(world.team).exclude(subject__in=("team", "member", "token"))
    assert {entry.subject for entry in entries} >= {"gpus", "llms", "workload"}
    assert {entry.user for entry in entries} == {world.bob}
