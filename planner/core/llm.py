"""Architecture facts of a neural network: what the catalog holds of an LLM and what formulas count with."""

from __future__ import annotations

from dataclasses import dataclass

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Moe:
    """Mixture of experts: routed experts, experts chosen a token, shared experts and the FFN widths."""

    experts: int
    top_k: int
    expert_width: int
    shared_experts: int = 0
    shared_width: int = 0
    first_dense_layers: int = 0
    every: int = 1
    """1: every layer after the dense ones has experts; 2: every second one …"""
    layers: int = 0
    """Layers with experts where a configuration lists them; 0: as ``first_dense_layers`` and ``every`` say."""
    latent_width: int = 0
    """Routed experts work at this width, behind one projection down and before one up; 0: at the hidden width."""
    groups: int = 0
    """Groups of experts of which a token first chooses ``groups_chosen`` (node-limited routing); 0: none."""
    groups_chosen: int = 0


@dataclass(frozen=True, slots=True)
class Mla:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434)."""

    kv_lora_rank: int
    rope_dim: int
    q_lora_rank: int = 0
    nope_dim: int = 128
    v_dim: int = 128


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Layers that see only the last ``window`` tokens: ``layers`` of them; the rest are full attention.

    Shapes that differ from those of the full layers (Gemma 4, MiMo-V2) stand here; 0: the same.
    """

    window: int
    layers: int
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    v_dim: int = 0
    chunked: bool = False
    """The context is cut into chunks of ``window`` tokens and a token sees its own chunk only (Llama 4)."""


@dataclass(frozen=True, slots=True)
class LinearAttention:
    """Layers with a recurrent state of ``state_bytes`` a request instead of a KV cache."""

    layers: int
    state_bytes: int
    """State of one request over all these layers together."""
    layer_params: int = 0
    """Parameters of the mixer of one such layer; 0: counted like an attention layer."""
    kind: str = ""
    """What the state is of: mamba, mamba2, gated delta net, …"""
    beside_attention: bool = False
    """These layers keep their attention as well, side by side (Falcon-H1)."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """A small attention that chooses which tokens the main one reads (DeepSeek-V3.2, GLM-5, MiniMax-M3).

    ``layers`` have an indexer and cache its keys, one of ``head_dim`` numbers a token; ``sparse_layers`` read only what
    an indexer chose, be it their own or that of a layer before (0: as many as have one).
    """

    heads: int
    head_dim: int
    layers: int
    layer_params: int = 0
    sparse_layers: int = 0


@dataclass(frozen=True, slots=True)
class CompressedKv:
    """Attention over compressed entries (DeepSeek-V4): one latent of ``head_dim`` serves as key and value.

    Each layer keeps the last ``window`` tokens and one entry for ``ratio`` older tokens. Queries go through
    ``q_lora_rank``, outputs in ``o_groups`` groups through ``o_lora_rank``.
    """

    window: int
    ratios: tuple[tuple[int, int], ...]
    """Pairs of (ratio, layers); ratio 0: the window alone."""
    q_lora_rank: int
    o_groups: int
    o_lora_rank: int
    rope_dim: int = 64
    sparse_ratio: int = 4
    """Layers of this ratio choose entries by an indexer and compress by overlapping blocks."""


@dataclass(frozen=True, slots=True)
class Llm:
    """Architecture facts of a neural network. ``published_params``/``published_active_params`` are quoted totals."""

    slug: str
    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied_embeddings: bool
    max_context_tokens: int
    native_dtype: str
    source: str
    hf_id: str = ""
    moe: Moe | None = None
    mla: Mla | None = None
    sliding: SlidingWindow | None = None
    linear: LinearAttention | None = None
    mtp_layers: int = 0
    published_params: float | None = None
    published_active_params: float | None = None
    aliases: tuple[str, ...] = ()
    notes: str = ""
    gated_attention: bool = False
    """The query projection also makes an output gate (Qwen3-Next, Qwen3.5; Kimi-K3 beside its latent attention)."""
    sparse_top_k: int = 0
    """Tokens a sparse-attention indexer keeps a query (DeepSeek-V3.2, GLM-5); 0: none."""
    indexer: Indexer | None = None
    compressed: CompressedKv | None = None
    v_dim: int = 0
    """Width of a value head where it is not that of a key (MiMo-V2); 0: ``head_dim``."""
    shared_kv_projection: bool = False
    """Full-attention layers make keys and values by one projection (Gemma 4)."""
    mlp_matrices: int = 3
    """3: gate, up and down; 2: up and down (Nemotron-H)."""
    dense_layers: int | None = None
    """Layers with a dense MLP where they are not those without experts (Gemma 4 has both, Nemotron-H neither)."""
    plain_layers: int = 0
    """Layers without attention or recurrent state: an MLP or experts only (Nemotron-H)."""
    small_params: int = 0
    """Biases, norms of queries and keys, sinks and the like, over all layers."""
    vision_params: int = 0
    """Vision tower with its projector."""
    rotary_positions: int = 0
    """Positions of the rotary tables together where they are not those of the context; 0: the context's."""
    part_formats: tuple[tuple[str, str, float], ...] = ()
    """(part, number format, share) of the published checkpoint; empty: as `planner.formulas.memory` assumes."""
    quant_bits: float = 0.0
    """Bits of a quantised parameter with its scales, where the configuration says; 0: usual of ``native_dtype``."""
    quant_group_size: int = 0
    quant_method: str = ""

    def __hash__(self) -> int:
        """Of the few figures that tell LLMs apart: formulas remember what they counted of one, and ask often."""
        return hash((self.slug, self.layers, self.hidden, self.max_context_tokens))

    @property
    def unquantised_parts(self) -> tuple[str, ...]:
        """Parts of which the published checkpoint leaves at least half in 16 bits."""
        return tuple(part for part, dtype, share in self.part_formats if dtype == "bf16" and share >= HALF)
