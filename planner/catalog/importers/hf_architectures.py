"""The architectures that can be read: family, reader, and what a configuration may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.catalog.importers import hf_dense as dense
from planner.catalog.importers import hf_hybrid as hybrid
from planner.catalog.importers import hf_latent as latent
from planner.catalog.importers import hf_mamba as mamba
from planner.catalog.importers import hf_recent as recent
from planner.catalog.importers.hf_layers import Shape
from planner.catalog.importers.hf_reader import Config

_GEMMA3 = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "sliding_window": 4096,
}
"""What a Gemma 3 configuration may leave out (defaults of transformers' Gemma3TextConfig)."""
_GEMMA2 = {"head_dim": 256, "sliding_window": 4096}
_MISTRAL = {"head_dim": 128}

FAMILY_BY_TYPE = {"kimi_k2": "Kimi", "kimi_k25": "Kimi", "kimi_linear": "Kimi", "mistral_large_3": "Mistral"}
"""Families that publish under the architecture of another."""

ARCHITECTURES: Mapping[str, tuple[str, Callable[[Config], Shape], Mapping[str, Any]]] = {
    "CohereForCausalLM": ("Command", dense.tied, {}),
    "Cohere2ForCausalLM": ("Command", dense.tied, {}),
    "DeepseekV2ForCausalLM": ("DeepSeek", latent.deepseek, {}),
    "DeepseekV3ForCausalLM": ("DeepSeek", latent.deepseek, {}),
    "DeepseekV32ForCausalLM": ("DeepSeek", latent.deepseek, {}),
    "DeepseekV4ForCausalLM": ("DeepSeek", latent.deepseek_v4, {}),
    "Dots1ForCausalLM": ("dots", dense.glm4_moe, {"use_qk_norm": True}),
    "FalconH1ForCausalLM": ("Falcon", mamba.falcon_h1, {}),
    "Gemma2ForCausalLM": ("Gemma", dense.gemma2, _GEMMA2),
    "Gemma3ForCausalLM": ("Gemma", dense.gemma3, _GEMMA3),
    "Gemma3ForConditionalGeneration": ("Gemma", dense.gemma3, _GEMMA3),
    "Gemma4ForCausalLM": ("Gemma", dense.gemma4, {}),
    "Gemma4ForConditionalGeneration": ("Gemma", dense.gemma4, {}),
    "Glm4MoeForCausalLM": ("GLM", dense.glm4_moe, {}),
    "GlmMoeDsaForCausalLM": ("GLM", latent.deepseek, {}),
    "GptOssForCausalLM": ("gpt-oss", dense.gpt_oss, {}),
    "GraniteForCausalLM": ("Granite", dense.dense, {}),
    "GraniteMoeHybridForCausalLM": ("Granite", mamba.granite, {}),
    "JambaForCausalLM": ("Jamba", mamba.jamba, {}),
    "KimiK25ForConditionalGeneration": ("Kimi", latent.deepseek, {}),
    "KimiK3ForConditionalGeneration": ("Kimi", hybrid.kimi_linear, {}),
    "KimiLinearForCausalLM": ("Kimi", hybrid.kimi_linear, {}),
    "Llama4ForCausalLM": ("Llama", dense.llama4, {}),
    "Llama4ForConditionalGeneration": ("Llama", dense.llama4, {}),
    "LlamaForCausalLM": ("Llama", dense.dense, {}),
    "MiMoForCausalLM": ("MiMo", recent.mimo, {}),
    "MiMoV2FlashForCausalLM": ("MiMo", recent.mimo_v2, {}),
    "MiniMaxM1ForCausalLM": ("MiniMax", hybrid.minimax_lightning, {}),
    "MiniMaxM2ForCausalLM": ("MiniMax", recent.minimax_m2, {}),
    "MiniMaxM3ForCausalLM": ("MiniMax", recent.minimax_m3, {}),
    "MiniMaxM3SparseForConditionalGeneration": ("MiniMax", recent.minimax_m3, {}),
    "MiniMaxText01ForCausalLM": ("MiniMax", hybrid.minimax_lightning, {}),
    "MinistralForCausalLM": ("Mistral", dense.mistral, {}),
    "Mistral3ForConditionalGeneration": ("Mistral", dense.mistral, _MISTRAL),
    "MistralForCausalLM": ("Mistral", dense.mistral, {}),
    "MistralLarge3ForCausalLM": ("Mistral", latent.deepseek, {}),
    "MixtralForCausalLM": ("Mistral", dense.mixtral, {}),
    "NemotronForCausalLM": ("Nemotron", dense.two_matrices, {}),
    "NemotronHForCausalLM": ("Nemotron", mamba.nemotron_h, {}),
    "Phi3ForCausalLM": ("Phi", dense.mistral, {}),
    "PhiMoEForCausalLM": ("Phi", dense.phi_moe, {}),
    "Qwen2ForCausalLM": ("Qwen", dense.qwen2, {}),
    "Qwen2MoeForCausalLM": ("Qwen", dense.qwen2_moe, {}),
    "Qwen3ForCausalLM": ("Qwen", dense.qwen3, {}),
    "Qwen3MoeForCausalLM": ("Qwen", dense.qwen3_moe, {}),
    "Qwen3NextForCausalLM": ("Qwen", hybrid.qwen_hybrid, {}),
    "Qwen3VLForConditionalGeneration": ("Qwen", dense.qwen3, {}),
    "Qwen3VLMoeForConditionalGeneration": ("Qwen", dense.qwen3_moe, {}),
    "Qwen3_5ForCausalLM": ("Qwen", hybrid.qwen_hybrid, {}),
    "Qwen3_5ForConditionalGeneration": ("Qwen", hybrid.qwen_hybrid, {}),
    "Qwen3_5MoeForCausalLM": ("Qwen", hybrid.qwen_hybrid, {}),
    "Qwen3_5MoeForConditionalGeneration": ("Qwen", hybrid.qwen_hybrid, {}),
    "SeedOssForCausalLM": ("Seed", dense.dense, {}),
    "Step3p5ForCausalLM": ("Step", recent.step, {}),
    "Step3p7FlashForCausalLM": ("Step", recent.step, {}),
    "Step3p7ForConditionalGeneration": ("Step", recent.step, {}),
}
