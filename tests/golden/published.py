"""Figures that others published; tests and `make validate` compare with them."""

from __future__ import annotations

# (LLM, tensor parallel) -> bytes a token on each GPU, bf16. Arithmetic of the published architectures:
# 2 (K and V) x layers x KV heads x head dimension x 2 B, KV heads divided by the tensor parallelism;
# DeepSeek-V3: layers x (512 latent + 64 rope) x 2 B on every GPU (arXiv 2412.19437, section 2.1.1).
KV_BYTES_PER_TOKEN = {
    ("llama-3.1-8b", 1): 2 * 32 * 8 * 128 * 2,
    ("llama-3.1-70b", 1): 2 * 80 * 8 * 128 * 2,
    ("qwen3-32b", 1): 2 * 64 * 8 * 128 * 2,
    ("qwen3-32b", 4): 65_536,
    ("deepseek-v3", 1): 61 * 576 * 2,
    ("deepseek-v3", 8): 61 * 576 * 2,
}

# (kind, metric) -> value of the default design. The customer's design notes, sections 1 to 5; exact.
DESIGN_FIGURES = {
    ("llm_serving", "prefill_gpus_needed"): 187.5,
    ("llm_serving", "prefill_units"): 8,
    ("llm_serving", "prefill_gpus"): 256,
    ("llm_serving", "decode_gpus_needed"): 500 * 800 / 1850,
    ("llm_serving", "decode_units"): 2,
    ("llm_serving", "decode_gpus"): 288,
    ("llm_serving", "decode_concurrency_per_gpu"): 92.5,
    ("llm_serving", "decode_kv_bytes_per_gpu"): 22_100_544_000,
    ("llm_serving", "nodes"): 68,
    ("llm_serving", "cost_usd_per_h"): 1088,
    ("llm_serving", "cost_usd_per_m_output_tokens"): 1088 / (500 * 800 * 3600) * 1e6,
    ("kv_pool", "session_kv_bytes"): 8192 * 160e3,
    ("kv_pool", "recompute_s"): 2 * 70.6e9 * 8192 / (8 * 989e12 * 0.5),
    ("kv_pool", "hbm_sessions"): 16 * 8 * 40e9 / (8192 * 160e3),
    ("kv_pool", "dram_sessions"): 16 * 1.5e12 / (8192 * 160e3),
    ("kv_pool", "ssd_sessions"): 16 * 60e12 / (8192 * 160e3),
    ("kv_pool", "dram_read_s"): 8192 * 160e3 / (8 * 50e9),
    ("kv_pool", "ssd_read_s"): 8192 * 160e3 / (8 * 6e9),
    ("gateway", "blocks_per_request"): 64,
    ("gateway", "lookups_per_s_per_instance_probing"): 64_000_000,
    ("gateway", "lookups_per_s_prefix_tree"): 320_000,
    ("gateway", "index_nodes"): 6_250_000,
    ("gateway", "index_bytes"): 400_000_000,
    ("gateway", "requests_lost_before_ejection"): 75,
    ("multi_lora", "adapter_parameters"): 41_943_040,
    ("multi_lora", "adapter_bytes"): 83_886_080,
    ("multi_lora", "all_adapters_bytes"): 83_886_080_000,
    ("multi_lora", "resident_adapters"): 102,
    ("multi_lora", "swap_in_s"): 83_886_080 / 25e9,
    ("multi_lora", "base_flops_per_token"): 16e9,
    ("multi_lora", "lora_flops_per_token"): 83_886_080,
    ("multi_lora", "lora_flops_ratio"): 83_886_080 / 16e9,
    ("rl_rollout", "tokens_per_step"): 128 * 16 * 8000,
    ("rl_rollout", "rollout_gpus_sync_needed"): 128 * 16 * 8000 / (2500 * 0.3 * 300),
    ("rl_rollout", "rollout_gpus_async_needed"): 128 * 16 * 8000 / (2500 * 0.9 * 300),
    ("rl_rollout", "rollout_gpus_sync"): 73,
    ("rl_rollout", "rollout_gpus_async"): 25,
    ("rl_rollout", "weight_sync_s"): 32e9 / (8 * 50e9),
}

# Bytes of the weights; seconds of an update by broadcast and point to point. README of checkpoint-engine, vLLM.
CHECKPOINT_ENGINE = (
    ("GLM-4.5-Air, BF16, 8 H800", 214e9, 3.47, 4.12),
    ("Qwen3-235B-A22B, BF16, 8 H800", 470e9, 6.22, 7.10),
    ("DeepSeek-V3.1, FP8, 16 H20", 689e9, 10.19, 11.80),
    ("Kimi-K2, FP8, 16 H20", 1030e9, 14.36, 17.49),
    ("DeepSeek-V3.1, FP8, 256 H20", 689e9, 11.33, 11.81),
    ("Kimi-K2, FP8, 256 H20", 1030e9, 16.04, 16.75),
)

# A synchronous run (name; seconds of step, generation, likelihoods, update), the run it became (name; step), and, where
# told, generation and training of that run. verl documentation, one_step_off.md and fully_async.md, DAPO on H20.
VERL_STEPS = (
    (
        ("co-located, FSDP2", 749.0, 321.0, 88.0, 286.0),
        ("4 + 12 GPUs, one step off, FSDP2", 520.0),
        (458.0, 108.0 + 337.0),
    ),
    (
        ("co-located, Megatron", 699.0, 207.0, 119.0, 344.0),
        ("4 + 12 GPUs, one step off, Megatron", 566.0),
        (501.0, 120.0 + 347.0),
    ),
    (("co-located, 32 GPUs", 790.10, 357.41, 107.71, 313.81), ("16 + 16 GPUs, asynchronous", 294.77), None),
    (("co-located, 64 GPUs", 365.28, 150.72, 70.26, 133.41), ("32 + 32 GPUs, asynchronous", 189.26), None),
    (("co-located, 128 GPUs", 356.30, 177.85, 53.92, 113.81), ("64 + 64 GPUs, asynchronous", 150.63), None),
)

# What adapters made of a step: source, its address, engine, seconds without, seconds with, kernels, launch of one,
# factor of the engine's generation.
# Llama-2-7B, 128 tokens of a batch of 8, no adapter active; Mistral-7B on an L40S, tokens/s of one request (all seven
# projections assumed, launched apart); Qwen2.5-72B-AWQ, eager, vLLM 0.7.0 (80 layers of 8 kernels); Llama-2-7B on an
# A100, requests/s of 1,000 prompts at once, 2,694 tokens/s from at most 256 running.
LORA_ENGINES = (
    (
        "vLLM pull request 25914",
        "https://github.com/vllm-project/vllm/pull/25914",
        "vllm",
        0.8445 / 128,
        1.105 * 0.8445 / 128,
        256,
        2.7e-6,
        1.0,
    ),
    ("LoRAX issue 333", "https://github.com/predibase/lorax/issues/333", "", 1 / 69, 1 / 35, 448, 30e-6, 1.0),
    (
        "vLLM issue 13204",
        "https://github.com/vllm-project/vllm/issues/13204",
        "vllm",
        1 / 17.6,
        1 / 6.5,
        640,
        150e-6,
        1.0,
    ),
    (
        "vLLM pull request 11267",
        "https://github.com/vllm-project/vllm/pull/11267",
        "vllm",
        256 / 2693.62,
        256 / 2693.62 * 11.45 / 7.60,
        256,
        2.7e-6,
        1.5,
    ),
)

# Kimi-K2.5 in NVFP4, adapters of rank 16, 2,048 tokens in and out, TP8 and EP8 (SGLang pull request 28953):
# batch, tokens/s in and out together with an adapter, and without.
LORA_KIMI = ((16, 2519, 3244), (32, 4513, 5294), (64, 7353, 8266), (128, 11628, 13076))
