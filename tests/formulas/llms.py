"""Small architectures for the tests of formulas; figures from the published config.json of each."""

from __future__ import annotations

from planner.core.catalog import Figure, Gpu, LinearAttention, Llm, Mla, Moe, SlidingWindow


def llm(**changes: object) -> Llm:
    """Llama-3.1-8B (meta-llama/Llama-3.1-8B config.json), with changes."""
    facts: dict[str, object] = {
        "slug": "llama-8b",
        "name": "Llama 8B",
        "family": "Llama",
        "layers": 32,
        "hidden": 4096,
        "heads": 32,
        "kv_heads": 8,
        "head_dim": 128,
        "intermediate": 14336,
        "vocab": 128256,
        "tied_embeddings": False,
        "max_context_tokens": 131072,
        "native_dtype": "bf16",
        "source": "config.json",
    }
    return Llm(**{**facts, **changes})  # type: ignore[arg-type]


LLAMA_8B = llm()
LLAMA_70B = llm(slug="llama-70b", layers=80, hidden=8192, heads=64, intermediate=28672)
QWEN3_32B = llm(slug="qwen3-32b", layers=64, hidden=5120, heads=64, intermediate=25600, vocab=151936)
DEEPSEEK_V3 = llm(
    slug="deepseek-v3",
    layers=61,
    hidden=7168,
    heads=128,
    kv_heads=128,
    head_dim=192,
    intermediate=18432,
    vocab=129280,
    max_context_tokens=163840,
    native_dtype="fp8",
    moe=Moe(experts=256, top_k=8, expert_width=2048, shared_experts=1, shared_width=2048, first_dense_layers=3),
    mla=Mla(kv_lora_rank=512, rope_dim=64, q_lora_rank=1536, nope_dim=128, v_dim=128),
    mtp_layers=1,
)
GEMMA_3_27B = llm(
    slug="gemma-3-27b",
    layers=62,
    hidden=5376,
    heads=32,
    kv_heads=16,
    intermediate=21504,
    vocab=262144,
    tied_embeddings=True,
    sliding=SlidingWindow(window=1024, layers=52),
)
HYBRID = llm(slug="hybrid", linear=LinearAttention(layers=24, state_bytes=48 * 2**20))


def gpu(**changes: float) -> Gpu:
    """An H100 SXM by its data sheet, with changes."""
    figures = {
        "memory_bytes": 80e9,
        "visible_memory_bytes": 85.03e9,
        "memory_bytes_per_s": 3.35e12,
        "bf16_flops_per_s": 989e12,
        "fp8_flops_per_s": 1979e12,
        "scaleup_bytes_per_s": 450e9,
        "scaleup_gpus": 8,
        "nic_bytes_per_s": 50e9,
    }
    made = {name: Figure(value, "", "data sheet") for name, value in {**figures, **changes}.items() if value}
    return Gpu(slug="h100-sxm", name="H100", vendor="NVIDIA", architecture="Hopper", figures=made)
