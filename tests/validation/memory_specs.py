"""Each row of kv_logs.csv as a spec of an engine instance, as far as the row says what ran.

``SPECS`` holds what the columns of the table do not say by themselves: the catalog's names, the settings that the row's
notes mention, and what was inferred. ``SET_ASIDE`` are rows whose figures cannot be compared, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GIB = 2**30
A80 = {"gpu": "a100-sxm-80gb"}
H100 = {"gpu": "h100-sxm"}
H200 = {"gpu": "h200-sxm"}
V0 = {"engine_core": "v0"}

SPECS: Mapping[str, dict[str, Any]] = {
    "kv001": {"llm": "gemma-3-27b", "gpu": "a100-sxm-40gb", **V0},
    "kv002": {"llm": "e5-mistral-7b", **H100, "visible_memory_bytes": 79.19 * GIB, "weight_dtype": "nf4"},
    "kv003": {"llm": "qwen2-audio-7b", **H100, **V0},
    "kv004": {"llm": "llama-3-1-70b", **H200},
    "kv005": {"llm": "qwen2-5-7b", "gpu": "rtx-4090"},
    "kv006": {"llm": "llama-3-8b", "gpu": "t4", "weight_dtype": "nf4_double"},
    "kv008": {"llm": "llama-3-1-70b", **H100},
    "kv010": {"llm": "opt-125m", "gpu": "l4", **V0},
    "kv011": {"llm": "opt-125m", **H100},
    "kv012": {"llm": "starcoder2-15b", "gpu": "v100-sxm-32gb"},
    "kv014": {"llm": "qwen2-5-32b", "gpu": "rtx-3090", "weight_dtype": "q4_k_m", **V0},
    "kv017": {"llm": "gemma-3-27b", "gpu": "t4"},
    "kv019": {"llm": "mistral-large-2407", **H100, "weight_dtype": "fp8"},
    "kv021": {"llm": "mistral-7b-v0-1", "gpu": "rtx-3090"},
    "kv022": {"llm": "opt-125m", **H200, **V0},
    "kv025": {"llm": "mistral-7b-v0-1", "gpu": "rtx-4090"},
    "kv027": {"llm": "phi-3-mini-4k", "gpu": "gh200-96gb", "engine_version": "0.2.13"},
    "kv028": {"llm": "qwen2-5-7b", "gpu": "a100-sxm-40gb"},
    "kv029": {"llm": "mistral-7b-v0-1", "gpu": "rtx-4090", "engine_version": "0.4.0"},
    "kv030": {"llm": "qwen2-72b", **H100},
    "kv032": {"llm": "llama-3-1-8b", **H100, "visible_memory_bytes": 95.04 * GIB},
    "kv033": {"llm": "deepseek-r1", "gpu": "h800-sxm", "draft": 1},
    "kv034": {"llm": "deepseek-r1", "gpu": "mi300x", "draft": 1},
    "kv038": {"llm": "mixtral-8x7b", "gpu": "l4"},
    "kv041": {"llm": "llama-3-1-70b", "gpu": "l40s", "weight_dtype": "int4"},
    "kv044": {"llm": "qwen2-7b", **A80, "weight_dtype": "int8"},
    "kv045": {"llm": "deepseek-r1", "gpu": "mi300x", "max_total_tokens": 131072},
    "kv046": {"llm": "qwen3-0-6b", **H100, "weight_dtype": "fp8"},
    "kv047": {"llm": "gpt-oss-120b", **H200, "max_num_seqs": 4, "max_num_batched_tokens": 8192},
    "kv049": {"llm": "gpt-oss-120b", **H200, "max_num_seqs": 4, "max_num_batched_tokens": 8192},
    "kv050": {"llm": "gpt-oss-120b", **H200, "max_num_seqs": 64, "max_num_batched_tokens": 8192},
    "kv057": {"llm": "gemma-4-31b", **A80, "weight_dtype": "int4"},
    "kv058": {"llm": "gemma-4-31b", **A80, "weight_dtype": "int4"},
    "kv060": {"llm": "qwen3-32b", "gpu": "rtx-a6000"},
    "kv061": {"llm": "qwen2-7b", "gpu": "rtx-3090", "graph_capture": False},
    "kv063": {"llm": "gpt-oss-120b", **H100, "engine_version": "0.10.1"},
    "kv064": {"llm": "gpt-oss-120b", **H100, "engine_version": "0.11.0", "max_num_batched_tokens": 1024},
    "kv065": {"llm": "qwen2-5-14b", "gpu": "rtx-4090", "engine_version": "0.7.2"},
    "kv067": {"llm": "llama-2-70b", **A80, "engine_version": "0.2.4"},
    "kv068": {"llm": "llama-3-1-8b", "gpu": "rtx-3090", "engine_version": "0.7.0"},
    "kv069": {"llm": "llama-3-1-8b", "gpu": "rtx-3090", "engine_version": "0.7.0"},
    "kv071": {"llm": "mimo-v2-flash", **H200, "engine_version": "0.5.7"},
    "kv072": {"llm": "glm-5-2", **H200, "weight_dtype": "fp8"},
    "kv073": {"llm": "glm-5-2", **H200, "weight_dtype": "fp8", "all_to_all": "deepep", "data_parallel_attention": 16},
    "kv074": {"llm": "glm-5-2", **H200, "weight_dtype": "fp8", "all_to_all": "deepep", "data_parallel_attention": 16},
    "kv075": {"llm": "glm-5-2", **H200, "weight_dtype": "fp8", "all_to_all": "deepep", "data_parallel_attention": 8},
    "kv078": {
        "llm": "qwen3-6-35b-a3b",
        "gpu": "rtx-5090",
        "weight_dtype": "nvfp4",
        "max_num_seqs": 1,
        "max_num_batched_tokens": 8192,
    },
    "kv079": {"llm": "qwen3-6-27b", "gpu": "rtx-3090", "weight_dtype": "int4", "draft": 3},
    "kv081": {"llm": "gemma-3-27b", "gpu": "mi300x", "engine_version": "0.11.0"},
    "kv082": {"llm": "llama-3-1-8b", "gpu": "a100-sxm-40gb", "engine_version": "0.15.0", "graph_capture": False},
    "kv084": {"llm": "qwen3-235b-a22b", "gpu": "l40s", "weight_dtype": "fp8", "expert_parallel": 8},
    "kv085": {"llm": "qwen3-235b-a22b", "gpu": "l40s", "weight_dtype": "int4", "expert_parallel": 8},
    "kv087": {"llm": "qwen3-5-9b", "gpu": "rtx-3090", "engine_version": "0.5.9"},
    "kv088": {"llm": "kimi-k2-5", "gpu": "mi355x", "engine_version": "0.5.9"},
}

UNSTATED_GPU = "the row does not say which GPU it was; the class only fits a guess"
CONFIGURED_ASIDE: Mapping[str, str] = {
    "kv002": "the batch of a pooling LLM and the memory fraction are not stated",
    "kv029": "the memory fraction is not stated",
    "kv045": "the pool was capped at 131,072 tokens; what would have fitted is not said",
    "kv057": "approximate figures as a reporter wrote them",
    "kv058": "approximate figures as a reporter wrote them",
    "kv060": UNSTATED_GPU,
    "kv061": UNSTATED_GPU,
    "kv065": "the run contradicts itself: 8.69 GiB of cache give 114,000 tokens, the error names 81,536",
    "kv071": "the GPU and the weights are not stated",
    "kv072": "the longest request, batch and memory terms are not stated; figures are rounded",
    "kv073": "the longest request, batch and memory terms are not stated; figures are rounded",
    "kv074": "the longest request, batch and memory terms are not stated; figures are rounded",
    "kv075": "the memory fraction is not stated; the tokens are a range over two runs",
    "kv078": "the memory fraction is not stated",
    "kv079": "the memory fraction and the GPU pair's settings are not stated",
    "kv084": UNSTATED_GPU,
    "kv085": UNSTATED_GPU,
    "kv088": "the memory fraction is not stated",
}
"""Rows that do not say enough to be computed from the configuration alone."""

POOL_ASIDE: Mapping[str, str] = {
    "kv001": "the bytes are of the rank that printed them, the blocks of the smallest rank: 0.6 % apart",
    "kv004": "the bytes are of the rank that printed them, the blocks of the smallest rank: 3 % apart",
    "kv022": "the log mixes the blocks of the V0 core with the concurrency of V1",
    "kv071": "the bytes are of the pool of windows alone, the tokens too; the pool of full layers is not stated",
    "kv073": "figures rounded to the GiB and to a thousand tokens",
}
"""Rows whose bytes and tokens are not of one pool."""
