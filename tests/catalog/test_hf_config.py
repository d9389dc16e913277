"""Configurations as their publishers wrote them, against the catalog's own entries and published totals."""

from __future__ import annotations

import pytest

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_config import ARCHITECTURES, read_config
from planner.catalog.llm_schema import ArchitectureContent, LlmContent

LLAMA_31_8B = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
QWEN3_32B = {
    "architectures": ["Qwen3ForCausalLM"],
    "head_dim": 128,
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "max_position_embeddings": 40960,
    "max_window_layers": 64,
    "num_attention_heads": 64,
    "num_hidden_layers": 64,
    "num_key_value_heads": 8,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 151936,
}
QWEN3_30B_A3B = {
    **QWEN3_32B,
    "architectures": ["Qwen3MoeForCausalLM"],
    "decoder_sparse_step": 1,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "mlp_only_layers": [],
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
}
QWEN25_7B = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "max_position_embeddings": 131072,
    "max_window_layers": 28,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "sliding_window": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 152064,
}
MIXTRAL_8X7B = {
    "architectures": ["MixtralForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "num_attention_heads": 32,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
}
DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "max_position_embeddings": 163840,
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_group": 8,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
    "tie_word_embeddings": False,
    "topk_group": 4,
    "torch_dtype": "bfloat16",
    "v_head_dim": 128,
    "vocab_size": 129280,
}
DEEPSEEK_V2_LITE = {
    **DEEPSEEK_V3,
    "n_group": 1,
    "topk_group": 1,
    "architectures": ["DeepseekV2ForCausalLM"],
    "first_k_dense_replace": 1,
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_attention_heads": 16,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 27,
    "num_key_value_heads": 16,
    "num_nextn_predict_layers": None,
    "q_lora_rank": None,
    "quantization_config": None,
    "vocab_size": 102400,
}
KIMI_K2 = {
    **DEEPSEEK_V3,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "max_position_embeddings": 131072,
    "model_type": "kimi_k2",
    "n_routed_experts": 384,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "num_nextn_predict_layers": 0,
    "vocab_size": 163840,
}
GEMMA2_9B = {
    "architectures": ["Gemma2ForCausalLM"],
    "head_dim": 256,
    "hidden_size": 3584,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "num_attention_heads": 16,
    "num_hidden_layers": 42,
    "num_key_value_heads": 8,
    "sliding_window": 4096,
    "torch_dtype": "bfloat16",
    "vocab_size": 256000,
}
GEMMA3_27B = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {
        "head_dim": 128,
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "sliding_window": 1024,
        "vocab_size": 262144,
    },
    "torch_dtype": "bfloat16",
}
GPT_OSS_20B = {
    "architectures": ["GptOssForCausalLM"],
    "experts_per_token": 4,
    "head_dim": 64,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072,
    "num_attention_heads": 64,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "num_local_experts": 32,
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
    "sliding_window": 128,
    "tie_word_embeddings": False,
    "vocab_size": 201088,
}
GLM_45_AIR = {
    "architectures": ["Glm4MoeForCausalLM"],
    "first_k_dense_replace": 1,
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 10944,
    "max_position_embeddings": 131072,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 128,
    "n_shared_experts": 1,
    "num_attention_heads": 96,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 46,
    "num_key_value_heads": 8,
    "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 151552,
}
MISTRAL_7B_V01 = {
    **LLAMA_31_8B,
    "architectures": ["MistralForCausalLM"],
    "max_position_embeddings": 32768,
    "sliding_window": 4096,
    "vocab_size": 32000,
}
KNOWN = [
    (LLAMA_31_8B, "llama-3-1-8b"),
    (QWEN3_32B, "qwen3-32b"),
    (QWEN3_30B_A3B, "qwen3-30b-a3b"),
    (QWEN25_7B, "qwen2-5-7b"),
    (MIXTRAL_8X7B, "mixtral-8x7b"),
    (DEEPSEEK_V3, "deepseek-v3"),
    (DEEPSEEK_V2_LITE, "deepseek-v2-lite"),
    (KIMI_K2, "kimi-k2"),
    (GEMMA2_9B, "gemma-2-9b"),
    (GEMMA3_27B, "gemma-3-27b"),
    (GPT_OSS_20B, "gpt-oss-20b"),
    (GLM_45_AIR, "glm-4-5-air"),
]


def problem(config) -> ImportProblem:
    with pytest.raises(ImportProblem) as caught:
        read_config(config)
    return caught.value


@pytest.mark.parametrize(("config", "slug"), KNOWN, ids=[slug for _, slug in KNOWN])
def test_a_configuration_gives_the_shapes_and_format_of_the_catalog(shipped, config, slug):
    """The catalog's shapes come from other places (planner tools, frameworks): two readings must agree."""
    shape, dtype, family = read_config(config)
    made = {"source": "test", "as_of": "2026-01"}
    content = shipped.record("llms", slug).content
    assert isinstance(content, LlmContent)
    read = ArchitectureContent(**shape, **made)
    assert read.model_copy(update=made) == content.architecture.model_copy(update=made)
    assert (dtype, family) == (content.native_dtype, content.family)


def test_a_window_over_all_layers_is_read():
    assert read_config(MISTRAL_7B_V01)[0]["sliding"] == {"window": 4096, "layers": 32}


def test_an_explicit_head_dim_wins_over_hidden_by_heads():
    assert read_config(QWEN3_32B)[0]["head_dim"] == 128
    assert QWEN3_32B["hidden_size"] // QWEN3_32B["num_attention_heads"] == 80


def test_a_qwen_window_covers_the_layers_past_the_maximum():
    config = QWEN25_7B | {"use_sliding_window": True, "max_window_layers": 20, "sliding_window": 8192}
    assert read_config(config)[0]["sliding"] == {"window": 8192, "layers": 8}


@pytest.mark.parametrize("name", ["JambaForCausalLM", "Llama4ForConditionalGeneration", "MyOwnForCausalLM"])
def test_an_unknown_architecture_is_refused_by_name(name):
    found = problem(LLAMA_31_8B | {"architectures": [name]})
    assert found.field == "architectures"
    assert name in found.message
    assert "DeepseekV3ForCausalLM" in found.message


@pytest.mark.parametrize("config", [None, [], "text", 7])
def test_what_is_no_configuration_is_refused(config):
    assert problem(config).field == "config"


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
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": -1}, "num_hidden_layers"),
        ({"vocab_size": 10**12}, "vocab_size"),
        ({"hidden_size": 4095}, "num_attention_heads"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings"),
        ({"torch_dtype": "float8"}, "torch_dtype"),
        ({"torch_dtype": 16}, "torch_dtype"),
        ({"quantization_config": "fp8"}, "quantization_config"),
        ({"quantization_config": {"quant_method": "magic"}}, "quantization_config.quant_method"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "quantization_config.bits"),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": ["FP8"]}},
            "quantization_config.quant_algo",
        ),
        ({"quantization_config": {"quant_method": "compressed-tensors"}}, "quantization_config.config_groups"),
        ({"text_config": []}, "text_config"),
    ],
)
def test_a_bad_key_is_named(change, field):
    assert problem(LLAMA_31_8B | change).field == field


def test_dense_layers_at_chosen_places_are_refused_not_miscounted():
    assert problem(QWEN3_30B_A3B | {"mlp_only_layers": [3]}).field == "mlp_only_layers"


@pytest.mark.parametrize(
    ("scheme", "dtype"),
    [
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}},
            },
            "int4",
        ),
    ],
)
def test_the_format_of_a_quantised_checkpoint_is_read(scheme, dtype):
    assert read_config(LLAMA_31_8B | {"quantization_config": scheme})[1] == dtype


def test_every_supported_architecture_is_tried_here():
    tried = {config["architectures"][0] for config, _ in KNOWN} | {"MistralForCausalLM"}
    like_another = {"DeepseekV32ForCausalLM", "Gemma3ForCausalLM"}
    assert set(ARCHITECTURES) == tried | like_another
