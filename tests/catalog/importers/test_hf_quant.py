"""Quantised checkpoints: formats, widths, and what stays in 16 bits."""

from __future__ import annotations

import json
import time

import pytest

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_config import read_config
from planner.catalog.importers.hf_modules import Patterns
from planner.formulas import memory
from tests.catalog.importers.published import config, content, llm

LLAMA = config("llama-3.1-8b")
MOE = config("qwen3-30b-a3b")


def parts(values) -> dict[str, dict[str, float]]:
    """Shares of the formats by part."""
    found: dict[str, dict[str, float]] = {}
    for part, dtype, share in llm(values).part_formats:
        found.setdefault(part, {})[dtype] = share
    return found


def group(**weights: object) -> dict[str, object]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
    }


@pytest.mark.parametrize(
    ("scheme", "dtype", "bits"),
    [
        # memory notes, section 2: AWQ and GPTQ by 128 are 4.156 bits, by 32 without a zero point 4.5.
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "int4", 4.156),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128, "sym": False}, "int8", 8.1875),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1, "sym": True}, "int4", 4.0),
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, "int4", 4.125),
        (group(num_bits=4, type="int", group_size=32, symmetric=True), "int4", 4.5),
        (group(num_bits=8, type="float", strategy="channel"), "fp8", 8.0),
        (group(num_bits=8, type="int", strategy="channel"), "int8", 8.0),
        (group(num_bits=4, type="float", group_size=16), "nvfp4", 4.5),
        (group(num_bits=4, type="float", group_size=32), "mxfp4", 4.25),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8.002),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8.0),
        ({"quant_method": "mxfp4"}, "mxfp4", 4.25),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", 4.5),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "int4", 4.127),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8.0),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, "nvfp4", 4.5),
        ({"quant_algo": "FP8"}, "fp8", 8.0),
        ({"quant_method": "torchao", "quant_type": "float8dq"}, "fp8", 8.0),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig"}}}, "int4", 4.156),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, "fp8", 8.0),
        ({"quant_method": "quark", "global_quant_config": {"weight": [{"dtype": "fp4"}]}}, "mxfp4", 4.25),
        (
            {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
            "int4",
            4.3125,
        ),
        ({"quant_method": "eetq"}, "int8", 8.0),
    ],
)
def test_a_scheme_has_its_format_and_width(scheme, dtype, bits):
    shape = llm(LLAMA | {"quantization_config": scheme})
    assert shape.native_dtype == dtype
    counts = memory.parameters(shape)
    linear = counts["attention"] + counts["dense_mlp"]
    expected = linear * bits / 8 + 2 * (counts["total"] - linear)
    assert memory.weight_bytes(shape, dtype=dtype) == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(
    ("scheme", "field"),
    [
        ("fp8", "quantization_config"),
        ({"quant_method": "magic"}, "quantization_config.quant_method"),
        ({"quant_method": ["fp8"]}, "quantization_config.quant_method"),
        ({"quant_method": "gptq", "bits": 3}, "quantization_config.bits"),
        ({"quant_method": "gptq", "bits": True}, "quantization_config.bits"),
        ({"quant_method": "gptq", "bits": 4, "group_size": "x"}, "quantization_config.group_size"),
        ({"quant_method": "modelopt", "quant_algo": ["FP8"]}, "quantization_config.quant_algo"),
        ({"quant_method": "compressed-tensors"}, "quantization_config.config_groups"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": 3}}, "quantization_config.config_groups"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "quantization_config.weight_block_size"),
        ({"quant_method": "fp8", "modules_to_not_convert": "lm_head"}, "quantization_config.modules_to_not_convert"),
        ({"quant_method": "torchao", "quant_type": 3}, "quantization_config.quant_type"),
        ({"quant_method": "quark"}, "quantization_config.global_quant_config"),
        ({"quantized_layers": {"a": {"quant_algo": "ODD"}}}, "quantization_config.quantized_layers"),
    ],
)
def test_a_bad_scheme_is_named(scheme, field):
    with pytest.raises(ImportProblem) as caught:
        read_config(LLAMA | {"quantization_config": scheme})
    assert caught.value.field == field


def test_the_method_refused_is_told_those_known():
    with pytest.raises(ImportProblem, match="compressed-tensors"):
        read_config(LLAMA | {"quantization_config": {"quant_method": "aqlm"}})


def test_experts_alone_are_quantised_where_the_lists_say_so():
    assert parts(config("gpt-oss-120b")) == {"attention": {"bf16": 1.0}, "experts": {"mxfp4": 1.0}}
    kimi = llm(config("kimi-k2.5"))
    assert kimi.native_dtype == "int4"
    assert set(kimi.unquantised_parts) == {"attention", "dense_mlp", "shared_experts"}
    assert memory.part_bytes_per_parameter(kimi, part="experts", dtype="int4") == 4.5 / 8
    assert memory.part_bytes_per_parameter(kimi, part="attention", dtype="int4") == 2.0


def test_the_weights_of_kimi_k2_in_four_bits_are_those_of_its_files():
    """594 GB of safetensors (model page of Kimi-K2-Thinking: the same shapes and scheme)."""
    kimi = llm({**config("kimi-k2"), "quantization_config": config("kimi-k2.5")["text_config"]["quantization_config"]})
    assert memory.weight_bytes(kimi, dtype="int4") == pytest.approx(594e9, rel=0.01)


def test_a_part_may_be_half_quantised():
    """DeepSeek-V3.1 in NVFP4 leaves the query and key-value projections alone and quantises the output."""
    shares = parts(config("deepseek-v3.1-nvfp4"))["attention"]
    output, whole = 128 * 128 * 7168, 187_105_280 - 0
    assert shares["nvfp4"] == pytest.approx(output / whole, rel=0.001)
    assert shares["nvfp4"] + shares["bf16"] == pytest.approx(1)


def test_eight_bits_with_four_bit_experts():
    shape = llm(config("deepseek-v4-flash"))
    assert shape.native_dtype == "mxfp4"
    assert parts(config("deepseek-v4-flash"))["attention"] == {"fp8": 1.0}
    assert memory.part_bytes_per_parameter(shape, part="shared_experts", dtype="mxfp4") == 1.0


def test_an_eight_bit_checkpoint_with_experts_quantised_again():
    layers = {f"layers.{place}.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16} for place in range(43)}
    scheme = {"quant_method": "fp8", "quantized_layers": layers, "ignore": ["*.attn.*"]}
    found = parts(config("deepseek-v4-flash") | {"quantization_config": scheme, "expert_dtype": None})
    assert (found["experts"], found["attention"]) == ({"nvfp4": 1.0}, {"fp8": 1.0})


def test_formats_by_layer_of_a_mixed_checkpoint():
    layers = {
        f"model.layers.{place}.self_attn.{name}_proj": {"quant_algo": "FP8"} for place in range(32) for name in "qkvo"
    }
    layers |= {
        f"model.layers.{place}.mlp.{name}_proj": {"quant_algo": "NVFP4"}
        for place in range(16)
        for name in ("up", "gate", "down")
    }
    layers |= {"lm_head": {"quant_algo": "NVFP4"}}
    shape = content(LLAMA | {"quantization_config": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}})
    found = {(each.part, each.dtype): each.share for each in shape.quantisation.parts}
    assert found == {
        ("attention", "fp8"): 1.0,
        ("dense_mlp", "nvfp4"): 0.5,
        ("dense_mlp", "bf16"): 0.5,
        ("head", "nvfp4"): 1.0,
    }


def test_a_quantisation_beside_the_configuration_counts():
    beside = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    }
    read = read_config(LLAMA, quantised=beside)
    assert (read.native_dtype, read.quantisation["kv_dtype"]) == ("fp8", "fp8")


@pytest.mark.parametrize(
    ("pattern", "name", "meant"),
    [
        ("lm_head", "lm_head", True),
        ("gate", "layers.3.mlp.gate", True),
        ("gate", "layers.3.mlp.gate_proj", False),
        ("model.layers.0.mlp.gate", "layers.0.mlp.gate", True),
        ("model.layers.1.mlp", "layers.11.mlp.up_proj", False),
        ("model.layers.*.self_attn", "layers.7.self_attn.q_proj", True),
        ("model.layers.0*", "layers.0.self_attn.q_proj", True),
        ("model.layers.1.*", "layers.10.self_attn.q_proj", False),
        ("*.mlp.shared_expert.*", "layers.3.mlp.shared_experts.up_proj", True),
        ("language_model.model.layers.2.mlp.shared_experts*", "layers.2.mlp.shared_experts.up_proj", True),
        ("backbone.layers.4.mixer.in_proj", "layers.4.linear_attn.in_proj", True),
        ("backbone.layers.5.mixer.q_proj", "layers.5.self_attn.q_proj", True),
        ("model.layers.0.linear_attn.in_proj_qkv", "layers.0.linear_attn.in_proj", True),
        ("model.layers.0.block_sparse_moe.experts.3.w1", "layers.0.mlp.experts.3.gate_proj", True),
        ("re:.*self_attn.*", "layers.0.self_attn.o_proj", True),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "layers.0.mlp.up_proj", True),
        ("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "layers.0.mlp.experts.0.up_proj", False),
        ("re:vision_model.*", "layers.0.self_attn.q_proj", False),
        ("Llama4TextAttention", "layers.0.self_attn.q_proj", True),
    ],
)
def test_a_pattern_means_its_modules(pattern, name, meant):
    assert Patterns([pattern]).match(name) is meant


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:(", "re:(.*)*x", "re:" + "a" * 300, "re:.*.*.*.*.*.*.*x"])
def test_an_expression_that_could_run_away_is_named_and_not_run(pattern):
    read = read_config(LLAMA | {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [pattern]}})
    assert any("not understood" in remark for remark in read.remarks)


def test_tens_of_thousands_of_names_are_read_at_once():
    names = [f"model.layers.{layer}.mlp.experts.{one}.up_proj" for layer in range(48) for one in range(512)]
    started = time.process_time()
    read_config(MOE | {"quantization_config": {"quant_method": "fp8", "ignore": names}})
    assert time.process_time() - started < 5


def test_a_checkpoint_that_quantises_nothing_says_so():
    read = read_config(LLAMA | {"quantization_config": {"quant_method": "fp8", "ignore": ["re:.*"]}})
    assert read.native_dtype == "bf16"
    assert any("16 bits" in remark for remark in read.remarks)


def test_what_is_read_can_be_stored_as_json():
    for name in ("gemma-4-31b-nvfp4", "kimi-k3", "minimax-m3"):
        json.dumps(content(config(name)).model_dump(), allow_nan=False)
