"""What a token costs to keep and to compute: bytes, and seconds of a prefill unit.

A prompt of n tokens behind p cached ones takes ``a n + b ((p + n)² − p²)`` seconds of a unit; ``a`` from the active
parameters, ``b`` from attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Catalog, Gpu, Llm
from planner.formulas import attention, cache_index, memory
from planner.formulas.fetching import Recompute, latent_copies
from planner.formulas.parameters import parameters
from planner.kinds.kv_pool.spec import KvPoolSpec


@dataclass(frozen=True, slots=True)
class Physics:
    """Numbers of one token and one prefill unit."""

    llm: Llm
    gpu: Gpu
    kv_bytes_per_token: float
    state_bytes: float
    """Of recurrent layers, at each saved point of a prefix; 0: there is none."""
    grain_tokens: float
    """A prefix is found again in multiples of this."""
    counted_tokens: float
    """What is reusable is given in multiples of this: of a trace in its blocks."""
    hbm_copies: float
    """Bytes in GPU memory over bytes of one copy."""
    read_copies: int
    """Bytes read from a host over bytes of one copy."""
    recompute: Recompute
    layers: int
    llm_kv_bytes_per_token: float
    llm_attention_width: float
    llm_active_parameters: float

    def compute_s(self, new_tokens: Any, *, cached_tokens: Any = 0.0) -> Any:
        """Time of a unit for so many tokens behind a cached prefix; numbers or arrays [s]."""
        return self.recompute.suffix_s(new_tokens, cached_tokens=cached_tokens)

    @property
    def stored_bytes_per_token(self) -> float:
        """KV of a token and its part of the saved states, one copy."""
        return self.kv_bytes_per_token + self.state_bytes / self.grain_tokens

    @property
    def tail_tokens(self) -> float:
        """Reusable tokens lost behind the last whole block or saved state, on average."""
        return max(
            cache_index.lost_tail_tokens(self.grain_tokens) - cache_index.lost_tail_tokens(self.counted_tokens), 0.0
        )


def physics(spec: KvPoolSpec, *, catalog: Catalog, block_tokens: float = 1.0) -> Physics:
    """The figures stated, and those of the LLM and the GPU where a field is empty; raises `MissingFigure`.

    ``block_tokens`` are those in which a trace tells what is reusable.
    """
    llm, gpu = catalog.llm(spec.llm), catalog.gpu(spec.gpu)
    own_kv, own_width, own_active = _own(llm, spec=spec)
    kv = own_kv if spec.kv_bytes_per_token is None else spec.kv_bytes_per_token
    active = own_active if spec.active_parameters is None else spec.active_parameters
    width = own_width if spec.attention_width is None else spec.attention_width
    peak = gpu.figure("bf16_flops_per_s") if spec.gpu_flops_per_s is None else spec.gpu_flops_per_s
    state = attention.recurrent_state_bytes(llm) if spec.state_bytes is None else spec.state_bytes
    copies = spec.prefill_gpus / (1 if llm.mla else min(spec.prefill_gpus, max(1, llm.kv_heads)))
    return Physics(
        llm=llm,
        gpu=gpu,
        kv_bytes_per_token=kv,
        state_bytes=state if spec.state_grain_tokens is not None else 0.0,
        grain_tokens=float(max(spec.block_tokens, spec.state_grain_tokens or 1)),
        counted_tokens=block_tokens,
        hbm_copies=copies,
        read_copies=latent_copies(
            tensor_parallel=spec.prefill_gpus,
            is_latent=llm.mla is not None,
            is_broadcast=spec.latent_reads == "broadcast",
        ),
        recompute=Recompute.of(
            active_parameters=active, attention_width=width, flops_per_s=spec.prefill_gpus * peak * spec.mfu
        ),
        layers=llm.layers if spec.layers is None else spec.layers,
        llm_kv_bytes_per_token=own_kv,
        llm_attention_width=own_width,
        llm_active_parameters=own_active,
    )


def _own(llm: Llm, *, spec: KvPoolSpec) -> tuple[float, float, float]:
    """KV bytes of a token, attention width and active parameters of the LLM, averaged over a mean context."""
    context = spec.context_tokens
    kv = attention.request_kv_bytes(llm, tokens=context, dtype_bytes=memory.kv_dtype_bytes(spec.kv_dtype))
    kv -= attention.recurrent_state_bytes(llm)
    width = attention.prefill_flops(llm, new_tokens=context) / (2 * context * context)
    active = llm.published_active_params or parameters(llm)["active"]
    return max(kv / context, 1.0), width, active
