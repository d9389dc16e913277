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

# (kind, metric) -> value of the default design. The customer's design notes, sections 1 to 3; exact.
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
}
