"""What the file of an LLM may hold: the shapes of its layers and the totals its publisher quotes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from planner.catalog.figure_schema import (
    Content,
    Count,
    CountOrNone,
    Date,
    NamedContent,
    Parameters,
    Source,
    Word,
)
from planner.core.catalog import CompressedKv, Indexer, LinearAttention, Llm, Mla, Moe, SlidingWindow

Many = Annotated[int, Field(ge=0, le=10**13)]
Remark = Annotated[str, Field(max_length=1000)]
Format = Literal["bf16", "fp16", "fp32", "fp8", "int8", "int4", "mxfp4", "nvfp4"]


class MoeContent(Content):
    experts: Count
    top_k: Count
    expert_width: Count
    shared_experts: CountOrNone = 0
    shared_width: CountOrNone = 0
    first_dense_layers: CountOrNone = 0
    every: Count = 1
    layers: CountOrNone = 0
    latent_width: CountOrNone = 0
    groups: CountOrNone = 0
    groups_chosen: CountOrNone = 0

    @model_validator(mode="after")
    def _chosen_experts_exist(self) -> MoeContent:
        if self.top_k > self.experts:
            raise ValueError(f"top_k is {self.top_k}, but there are only {self.experts} experts")
        return self


class MlaContent(Content):
    kv_lora_rank: Count
    rope_dim: Count
    q_lora_rank: CountOrNone
    nope_dim: Count
    v_dim: Count


class SlidingContent(Content):
    window: Count
    layers: Count
    heads: CountOrNone = 0
    kv_heads: CountOrNone = 0
    head_dim: CountOrNone = 0
    v_dim: CountOrNone = 0
    chunked: bool = False


class LinearContent(Content):
    layers: Count
    state_bytes: Annotated[int, Field(ge=1, le=10**12)]
    layer_params: Many = 0
    kind: Annotated[str, Field(max_length=40)] = ""
    beside_attention: bool = False


class IndexerContent(Content):
    heads: Count
    head_dim: Count
    layers: Count
    layer_params: Many = 0
    sparse_layers: CountOrNone = 0


class RatioContent(Content):
    ratio: Annotated[int, Field(ge=0, le=10**6)]
    layers: Count

    @model_validator(mode="after")
    def _compresses(self) -> RatioContent:
        if self.ratio == 1:
            raise ValueError("a ratio of 1 compresses nothing; 0 means the window alone")
        return self


class CompressedContent(Content):
    window: Count
    ratios: Annotated[list[RatioContent], Field(min_length=1)]
    q_lora_rank: Count
    o_groups: Count
    o_lora_rank: Count
    rope_dim: Count = 64
    sparse_ratio: CountOrNone = 4

    def plain(self) -> CompressedKv:
        ratios = tuple((each.ratio, each.layers) for each in self.ratios)
        return CompressedKv(**(self.model_dump(exclude={"ratios"}) | {"ratios": ratios}))


class ArchitectureContent(Content):
    layers: Count
    hidden: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    intermediate: CountOrNone
    vocab: Count
    tied_embeddings: bool
    max_context_tokens: Count
    source: Source
    as_of: Date
    mtp_layers: CountOrNone = 0
    gated_attention: bool = False
    sparse_top_k: CountOrNone = 0
    moe: MoeContent | None = None
    mla: MlaContent | None = None
    sliding: SlidingContent | None = None
    linear: LinearContent | None = None
    indexer: IndexerContent | None = None
    compressed: CompressedContent | None = None
    v_dim: CountOrNone = 0
    shared_kv_projection: bool = False
    mlp_matrices: Literal[2, 3] = 3
    dense_layers: CountOrNone | None = None
    plain_layers: CountOrNone = 0
    small_params: Annotated[int, Field(ge=-(10**12), le=10**13)] = 0
    vision_params: Many = 0
    rotary_positions: CountOrNone = 0

    @model_validator(mode="after")
    def _layers_add_up(self) -> ArchitectureContent:
        beside = self.linear is not None and self.linear.beside_attention
        recurrent = self.linear.layers if self.linear and not beside else 0
        special = (self.sliding.layers if self.sliding else 0) + recurrent + self.plain_layers
        if special > self.layers:
            raise ValueError(f"{special} sliding, recurrent and plain layers, but only {self.layers} layers in all")
        counts = {"dense_layers": self.dense_layers or 0, "linear.layers": self.linear.layers if self.linear else 0}
        if self.moe:
            counts |= {"moe.first_dense_layers": self.moe.first_dense_layers, "moe.layers": self.moe.layers}
        if self.indexer:
            counts |= {"indexer.layers": self.indexer.layers, "indexer.sparse_layers": self.indexer.sparse_layers}
        if self.compressed:
            counts["compressed.ratios"] = sum(each.layers for each in self.compressed.ratios)
        for name, count in counts.items():
            if count > self.layers:
                raise ValueError(f"{name} is above the number of layers")
        return self


class PublishedContent(Content):
    params: Parameters | None = None
    active_params: Parameters | None = None


class PartContent(Content):
    """A share of a part of the checkpoint in one format; the shares of a part sum to one."""

    part: Literal[
        "embedding", "head", "attention", "indexer", "dense_mlp", "experts", "shared_experts", "router", "vision"
    ]
    dtype: Format
    share: Annotated[float, Field(gt=0, le=1)] = 1.0


class QuantisationContent(Content):
    """How a checkpoint is quantised. ``bits`` is the width of ``native_dtype`` with its scales; 0: the usual one."""

    method: Annotated[str, Field(max_length=40)] = ""
    bits: Annotated[float, Field(ge=0, le=32)] = 0.0
    group_size: CountOrNone = 0
    kv_dtype: Annotated[str, Field(max_length=10)] = ""
    parts: Annotated[list[PartContent], Field(max_length=100)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _shares_are_whole(self) -> QuantisationContent:
        for part in {each.part for each in self.parts}:
            whole = sum(each.share for each in self.parts if each.part == part)
            if abs(whole - 1) > 1e-6:
                raise ValueError(f"the shares of {part} sum to {whole:g}, not to 1")
        return self


_TYPES: Mapping[str, Callable[..., Any]] = {
    "moe": Moe,
    "mla": Mla,
    "sliding": SlidingWindow,
    "linear": LinearAttention,
    "indexer": Indexer,
}


class LlmContent(NamedContent):
    family: Word
    hf_id: str = ""
    native_dtype: Format
    architecture: ArchitectureContent
    quantisation: QuantisationContent | None = None
    remarks: Annotated[list[Remark], Field(max_length=50)] = Field(default_factory=list)
    """What the importer could not take from a configuration, or took otherwise than written."""
    published: PublishedContent = PublishedContent()

    @property
    def group(self) -> str:
        return self.family

    def also(self) -> tuple[str, ...]:
        return (self.name, *filter(None, (self.hf_id,)), *self.aliases)

    def plain(self) -> Llm:
        shape = self.architecture
        plain = shape.model_dump(exclude={*_TYPES, "compressed", "as_of"})
        parts = {name: made(**part.model_dump()) for name, made in _TYPES.items() if (part := getattr(shape, name))}
        quantised = self.quantisation or QuantisationContent()
        return Llm(
            **plain,
            slug=self.slug,
            name=self.name,
            family=self.family,
            native_dtype=self.native_dtype,
            hf_id=self.hf_id,
            **parts,
            compressed=shape.compressed.plain() if shape.compressed else None,
            part_formats=tuple((each.part, each.dtype, each.share) for each in quantised.parts),
            quant_bits=quantised.bits,
            quant_group_size=quantised.group_size,
            quant_method=quantised.method,
            published_params=self.published.params.value if self.published.params else None,
            published_active_params=self.published.active_params.value if self.published.active_params else None,
            aliases=tuple(self.aliases),
            notes=self.notes,
        )
