"""Configurations of real architectures, against published totals, public implementations and engine logs."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_architectures import ARCHITECTURES
from planner.catalog.importers.hf_config import read_config
from planner.catalog.llm_schema import ArchitectureContent, LlmContent
from planner.formulas import attention, memory, moe
from tests.catalog.importers.published import NAMES, config, llm, published

LLAMA = config("llama-3.1-8b")
KNOWN = [
    ("llama-3.1-8b", "llama-3-1-8b"),
    ("llama-4-scout", "llama-4-scout"),
    ("qwen3-32b", "qwen3-32b"),
    ("qwen3-30b-a3b", "qwen3-30b-a3b"),
    ("mixtral-8x7b", "mixtral-8x7b"),
    ("deepseek-v3", "deepseek-v3"),
    ("deepseek-v2-lite", "deepseek-v2-lite"),
    ("deepseek-v3.2", "deepseek-v3-2"),
    ("deepseek-v4-flash", "deepseek-v4-flash"),
    ("kimi-k2", "kimi-k2"),
    ("gemma-2-9b", "gemma-2-9b"),
    ("gemma-3-27b", "gemma-3-27b"),
    ("gpt-oss-20b", "gpt-oss-20b"),
    ("glm-4.5-air", "glm-4-5-air"),
    ("mimo-v2-flash", "mimo-v2-flash"),
    ("jamba-1.5-mini", "jamba-1-5-mini"),
]


def problem(values) -> ImportProblem:
    with pytest.raises(ImportProblem) as caught:
        read_config(values)
    return caught.value


def active(counts) -> list[float]:
    """What publishers call active: with the tables, without the embedding that is looked up, without both tables."""
    return [
        counts["active"],
        counts["active"] - counts["embedding"],
        counts["active"] - counts["embedding"] - counts["head"],
    ]


def test_there_are_enough_architectures():
    assert len(NAMES) >= 25
    assert len({config(name)["architectures"][0] for name in NAMES}) >= 25


@pytest.mark.parametrize("name", [name for name in NAMES if "params" in published(name)["published"]])
def test_parameters_are_within_one_per_cent_of_the_published_total(name):
    quoted = published(name)["published"]
    assert quoted["where"]
    assert memory.parameters(llm(config(name)))["total"] == pytest.approx(quoted["params"], rel=0.01)


@pytest.mark.parametrize("name", [name for name in NAMES if "active" in published(name)["published"]])
def test_active_parameters_are_within_three_per_cent_of_those_published(name):
    quoted = published(name)["published"]["active"]
    counts = memory.parameters(llm(config(name)))
    assert min(abs(each / quoted - 1) for each in active(counts)) <= 0.03


@pytest.mark.parametrize("name", [name for name in NAMES if "counted" in published(name)])
def test_parameters_are_those_of_the_public_implementation(name):
    """To a ten-thousandth: a correction bias of the router is a buffer there and a parameter here."""
    assert memory.parameters(llm(config(name)))["total"] == pytest.approx(published(name)["counted"], rel=1e-4)


@pytest.mark.parametrize("name", [name for name in NAMES if published(name)["kv_bytes_per_token"]])
def test_the_cache_of_a_token_is_the_known_one(name):
    shape = llm(config(name))
    for dtype, size in published(name)["kv_bytes_per_token"].items():
        assert attention.kv_bytes_per_token(shape, dtype_bytes=memory.kv_dtype_bytes(dtype)) == size


@pytest.mark.parametrize(("name", "gib"), [("deepseek-v4-pro", 9.62), ("deepseek-v3.2", 83.9)])
def test_a_million_tokens_take_what_an_engine_publishes(name, gib):
    """vLLM's announcement of DeepSeek-V4: 9.62 GiB a sequence in 16 bits, indexer included, against 83.9 of V3.2."""
    size = attention.request_kv_bytes(llm(config(name)), tokens=2**20, dtype_bytes=2) / 2**30
    assert size == pytest.approx(gib, rel=0.002)


@pytest.mark.parametrize(("name", "slug"), KNOWN, ids=[slug for _, slug in KNOWN])
def test_a_configuration_gives_the_shapes_and_format_of_the_catalog(shipped, name, slug):
    read = read_config(config(name))
    made = {"source": "test", "as_of": "2026-01"}
    entry = shipped.record("llms", slug).content
    assert isinstance(entry, LlmContent)
    shape = ArchitectureContent(**read.shape, **made)
    assert shape.model_copy(update=made) == entry.architecture.model_copy(update=made)
    assert (read.native_dtype, read.family) == (entry.native_dtype, entry.family)


def test_kinds_of_layers_are_told_apart():
    scout, gemma, mimo = (llm(config(name)) for name in ("llama-4-scout", "gemma-4-26b-a4b", "mimo-v2-flash"))
    assert (scout.sliding.layers, scout.sliding.window, scout.sliding.chunked) == (36, 8192, True)
    assert (gemma.sliding.layers, gemma.sliding.kv_heads, gemma.sliding.head_dim) == (25, 8, 256)
    assert (gemma.kv_heads, gemma.head_dim, gemma.shared_kv_projection) == (2, 512, True)
    assert (mimo.sliding.layers, mimo.sliding.kv_heads, mimo.kv_heads, mimo.v_dim) == (39, 8, 4, 128)
    jamba, super_, falcon = (llm(config(name)) for name in ("jamba-1.5-mini", "nemotron-3-super-fp8", "falcon-h1-34b"))
    assert (jamba.linear.layers, moe.expert_layers(jamba)) == (28, 16)
    assert (super_.linear.layers, attention.attention_layers(super_), moe.expert_layers(super_)) == (40, 8, 40)
    assert super_.moe.latent_width == 1024
    assert attention.attention_layers(falcon) == falcon.linear.layers == 72
    assert moe.expert_layers(llm(config("llama-4-maverick"))) == 24


def test_an_indexer_is_read_and_its_keys_are_cached():
    v32, glm = llm(config("deepseek-v3.2")), llm(config("glm-5.2-fp8"))
    assert (v32.sparse_top_k, v32.indexer.heads, v32.indexer.layers) == (2048, 64, 61)
    assert attention.indexer_bytes_per_token(v32, dtype_bytes=2) == 61 * 128 * 2
    assert attention.indexer_bytes_per_token(v32, dtype_bytes=1) == 61 * 132
    assert (glm.indexer.layers, glm.indexer.sparse_layers) == (21, 78)


def test_the_state_of_a_mamba_layer_is_heads_by_width_by_state():
    """Nemotron 3 Nano: 64 heads of 64 with 128 states in 32 bits, and a convolution of 6,144 channels over 3 tokens."""
    assert llm(config("nemotron-3-nano")).linear.state_bytes == 23 * (64 * 64 * 128 * 4 + 6144 * 3 * 2)


def test_draft_layers_are_counted_apart():
    """The checkpoint of DeepSeek-V3 holds 685 G: 671 and a draft layer with tables of its own."""
    counts = memory.parameters(llm(config("deepseek-v3")))
    assert counts["total"] + counts["mtp"] + 2 * counts["embedding"] == pytest.approx(684.5e9, rel=0.001)


def test_an_explicit_head_dim_wins_over_hidden_by_heads():
    values = config("qwen3-32b")
    assert read_config(values).shape["head_dim"] == 128
    assert values["hidden_size"] // values["num_attention_heads"] == 80


def test_a_window_over_all_layers_is_read():
    values = LLAMA | {"architectures": ["MistralForCausalLM"], "max_position_embeddings": 32768, "sliding_window": 4096}
    assert read_config(values).shape["sliding"] == {"window": 4096, "layers": 32}


def test_a_qwen_window_covers_the_layers_past_the_maximum():
    values = LLAMA | {"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True}
    values |= {"max_window_layers": 20, "sliding_window": 8192}
    assert read_config(values).shape["sliding"] == {"window": 8192, "layers": 12}


def test_dense_layers_at_chosen_places_are_counted():
    values = config("qwen3-30b-a3b") | {"mlp_only_layers": [3, 7]}
    assert read_config(values).shape["moe"]["layers"] == 46


@pytest.mark.parametrize("name", ["MyOwnForCausalLM", "DeciLMForCausalLM", "T5ForConditionalGeneration", "x" * 5000])
def test_an_unknown_architecture_is_refused_by_name(name):
    found = problem(LLAMA | {"architectures": [name]})
    assert found.field == "architectures"
    assert name[:60] in found.message
    assert "DeepseekV3ForCausalLM" in found.message
    assert len(found.message) < 3000


def test_a_slip_of_the_name_is_told_the_nearest():
    assert "the nearest are Qwen3MoeForCausalLM" in problem(LLAMA | {"architectures": ["Qwen3MoEForCausalLM"]}).message


@pytest.mark.parametrize("values", [None, [], "text", 7, {}, {"architectures": {}}])
def test_what_is_no_configuration_is_refused(values):
    assert problem(values).field in ("config", "architectures")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"architectures": None}, "architectures"),
        ({"architectures": []}, "architectures"),
        ({"architectures": [7]}, "architectures"),
        ({"hidden_size": None}, "hidden_size"),
        ({"hidden_size": "4096"}, "hidden_size"),
        ({"hidden_size": 4096.0}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"hidden_size": [4096]}, "hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": -1}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"vocab_size": 10**12}, "vocab_size"),
        ({"hidden_size": 4095, "head_dim": None}, "num_attention_heads"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings"),
        ({"torch_dtype": "float8"}, "torch_dtype"),
        ({"torch_dtype": 16}, "torch_dtype"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": ["odd"] * 32}, "layer_types"),
        ({"layer_types": "full"}, "layer_types"),
        ({"text_config": []}, "text_config"),
        ({"vision_config": []}, "vision_config"),
    ],
)
def test_a_bad_key_is_named(change, field):
    assert problem(LLAMA | change).field == field


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("deepseek-v4-flash", {"compress_ratios": [4]}, "compress_ratios"),
        ("deepseek-v4-flash", {"compress_ratios": [1] * 43}, "compress_ratios"),
        ("nemotron-3-nano", {"hybrid_override_pattern": "MX"}, "hybrid_override_pattern"),
        ("nemotron-3-nano", {"mamba_ssm_cache_dtype": "odd"}, "mamba_ssm_cache_dtype"),
        ("kimi-linear-48b-a3b", {"linear_attn_config": None}, "linear_attn_config"),
        ("kimi-linear-48b-a3b", {"linear_attn_config": 3}, "linear_attn_config"),
        ("minimax-m1", {"attn_type_list": [1, 0]}, "attn_type_list"),
        ("mimo-v2-flash", {"hybrid_layer_pattern": "x"}, "hybrid_layer_pattern"),
        ("glm-5.2-fp8", {"indexer_types": ["full"]}, "indexer_types"),
        ("jamba-1.5-mini", {"attn_layer_period": 0}, "attn_layer_period"),
    ],
)
def test_a_bad_key_of_one_family_is_named(name, change, field):
    assert problem(config(name) | change).field == field


def test_layers_that_share_a_cache_are_refused_by_key():
    values = config("gemma-4-26b-a4b")
    text = values["text_config"] | {"num_kv_shared_layers": 20}
    assert problem(values | {"text_config": text}).field == "num_kv_shared_layers"


def test_what_was_not_understood_is_named():
    remarks = read_config(LLAMA | {"sparsity_pattern": [1, 2], "rope_theta": 5e5, "bos_token_id": 1}).remarks
    assert remarks == ["Keys not read: sparsity_pattern."]
    vision = read_config(LLAMA | {"vision_config": {"model_type": "odd_eye", "hidden_size": 8}})
    assert any("odd_eye" in remark for remark in vision.remarks)
    assert "vision_params" not in vision.shape


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**15),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(-2, 10**10), st.text(max_size=4)), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(NAMES), data=st.data())
def test_a_broken_value_is_refused_or_read_never_a_crash(name, data):
    broken = config(name)
    inner = broken.get("text_config", broken)
    key = data.draw(st.sampled_from(sorted(inner)))
    inner[key] = data.draw(values)
    try:
        shape = llm(broken)
    except (ImportProblem, ValidationError):
        return
    counts = memory.parameters(shape)
    assert all(math.isfinite(count) for count in counts.values())
    assert attention.request_kv_bytes(shape, tokens=1000, dtype_bytes=2) >= 0


def test_ten_thousand_layers_are_read_in_a_second():
    values = config("deepseek-v3") | {"num_hidden_layers": 10_000}
    started = time.process_time()
    read_config(values)
    assert time.process_time() - started < 5


def test_every_supported_architecture_is_tried_here():
    tried = {config(name)["architectures"][0] for name in NAMES} | {"MistralForCausalLM", "Qwen2ForCausalLM"}
    like_another = {
        "CohereForCausalLM",
        "Dots1ForCausalLM",
        "Gemma3ForCausalLM",
        "Gemma4ForCausalLM",
        "GraniteForCausalLM",
        "Llama4ForCausalLM",
        "MiMoForCausalLM",
        "MiniMaxM3ForCausalLM",
        "MiniMaxText01ForCausalLM",
        "MinistralForCausalLM",
        "Qwen3VLForConditionalGeneration",
        "Qwen3_5ForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForCausalLM",
        "SeedOssForCausalLM",
        "Step3p5ForCausalLM",
        "Step3p7ForConditionalGeneration",
    }
    assert set(ARCHITECTURES) == tried | like_another
