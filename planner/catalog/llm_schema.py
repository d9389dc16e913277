"""What the file of an LLM may hold: the shapes of its layers and the totals its publisher quotes."""

from __future__ import annotations

from typing import Annotated, Literal

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
from planner.core.catalog import LinearAttention, Llm, Mla, Moe, SlidingWindow


class MoeContent(Content):
    experts: Count
    top_k: Count
    expert_width: Count
    shared_experts: CountOrNone = 0
    shared_width: CountOrNone = 0
    first_dense_layers: CountOrNone = 0
    every: Count = 1
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


class LinearContent(Content):
    layers: Count
    state_bytes: Annotated[int, Field(ge=1, le=10**12)]
    layer_params: Annotated[int, Field(ge=0, le=10**12)] = 0


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

    @model_validator(mode="after")
    def _layers_add_up(self) -> ArchitectureContent:
        special = (self.sliding.layers if self.sliding else 0) + (self.linear.layers if self.linear else 0)
        if special > self.layers:
            raise ValueError(f"{special} sliding and recurrent layers, but only {self.layers} layers in all")
        if self.moe and self.moe.first_dense_layers > self.layers:
            raise ValueError("moe.first_dense_layers is above the number of layers")
        return self


class PublishedContent(Content):
    params: Parameters | None = None
    active_params: Parameters | None = None


class LlmContent(NamedContent):
    family: Word
    hf_id: str = ""
    native_dtype: Literal["bf16", "fp16", "fp32", "fp8", "int8", "int4", "mxfp4", "nvfp4"]
    architecture: ArchitectureContent
    published: PublishedContent = PublishedContent()

    @property
    def group(self) -> str:
        return self.family

    def also(self) -> tuple[str, ...]:
        return (self.name, *filter(None, (self.hf_id,)), *self.aliases)

    def plain(self) -> Llm:
        shape = self.architecture
        plain = shape.model_dump(exclude={"moe", "mla", "sliding", "linear", "as_of"})
        return Llm(
            **plain,
            slug=self.slug,
            name=self.name,
            family=self.family,
            native_dtype=self.native_dtype,
            hf_id=self.hf_id,
            moe=Moe(**shape.moe.model_dump()) if shape.moe else None,
            mla=Mla(**shape.mla.model_dump()) if shape.mla else None,
            sliding=SlidingWindow(**shape.sliding.model_dump()) if shape.sliding else None,
            linear=LinearAttention(**shape.linear.model_dump()) if shape.linear else None,
            published_params=self.published.params.value if self.published.params else None,
            published_active_params=self.published.active_params.value if self.published.active_params else None,
            aliases=tuple(self.aliases),
            notes=self.notes,
        )
