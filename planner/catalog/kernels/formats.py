"""Number formats: ours, and the kernels of the package that compute in them, the likeliest of an engine first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from planner.core.catalog import Gpu, Llm
from planner.core.latency import KernelsUnavailable

_GEMM = {
    "bf16": ("bfloat16",),
    "fp16": ("bfloat16",),
    "fp8": ("fp8", "fp8_block", "fp8_static"),
    "int8": ("int8_wo", "sq"),
    "int4": ("int4_wo",),
    "nvfp4": ("nvfp4", "nvfp4_wo"),
}
_EXPERTS = {
    "bf16": ("bfloat16",),
    "fp16": ("bfloat16",),
    "fp8": ("fp8", "fp8_block"),
    "int4": ("int4_wo",),
    "mxfp4": ("w4a16_mxfp4", "w4a8_mxfp4_mxfp8"),
    "nvfp4": ("nvfp4", "nvfp4_wo"),
}
_CACHE = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8", "int8": "int8"}
_EXPERTS_ONLY = ("int4", "mxfp4", "nvfp4")
"""Four-bit checkpoints of an LLM with experts quantise the experts only, as weights are counted elsewhere."""


@dataclass(frozen=True, slots=True)
class Formats:
    """Kernels of one choice: matrix products, experts, the cache and attention arithmetic, in the package's words."""

    gemm: str
    experts: str | None
    cache: str
    attention: str

    @property
    def words(self) -> str:
        experts = f", {self.experts} experts" if self.experts else ""
        return f"{self.gemm} GEMM{experts}, {self.attention} attention on {self.cache} cache"


def choices(llm: Llm, gpu: Gpu, *, engine: str, weight_dtype: str, kv_dtype: str) -> Iterator[Formats]:
    """The kernels that compute in these formats, the likeliest first; raises `KernelsUnavailable` for none."""
    dense = "bf16" if llm.moe and weight_dtype in _EXPERTS_ONLY else weight_dtype
    first = _likeliest(llm, gpu, engine=engine)
    gemms = _likeliest_first(_GEMM.get(dense, ()), first=first)
    experts: tuple[str | None, ...] = (None,)
    if llm.moe:
        experts = tuple(_likeliest_first(_EXPERTS.get(weight_dtype, ()), first=first))
    if not gemms or not experts:
        raise KernelsUnavailable(f"The measured kernels hold no {weight_dtype.upper()} weights.")
    cache = _CACHE.get(kv_dtype)
    if cache is None:
        raise KernelsUnavailable(f"The measured kernels hold no {kv_dtype.upper()} cache.")
    attentions = ("bfloat16",) if cache == "bfloat16" else ("bfloat16", "fp8")
    for gemm, expert, attention in product(gemms, experts, attentions):
        yield Formats(gemm=gemm, experts=expert, cache=cache, attention=attention)


def _likeliest(llm: Llm, gpu: Gpu, *, engine: str) -> tuple[str, ...]:
    """The kernels an engine runs where a format has several.

    Checkpoints published in FP8 are scaled by blocks. FP8 made afterwards is scaled by tensor: as it comes, or by
    factors fixed beforehand where TensorRT-LLM takes the checkpoints of its own tool. MXFP4 experts are multiplied in
    FP8 where the GPU can (Blackwell), else in 16 bits.
    """
    blackwell = ("w4a8_mxfp4_mxfp8",) if "blackwell" in gpu.architecture.lower() else ()
    if llm.native_dtype == "fp8":
        return ("fp8_block", *blackwell)
    return ("fp8_static", *blackwell) if engine == "tensorrt_llm" else blackwell


def _likeliest_first(names: tuple[str, ...], *, first: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: name not in first))
