"""Number formats a fleet may be searched in: those of the design, 8 bits, and what the LLM is published in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from planner.core.catalog import Catalog, Gpu
from planner.kinds.llm_serving.spec import LlmServingSpec


@dataclass(frozen=True, slots=True)
class Formats:
    """Formats and drafting of a fleet; both pools share them."""

    weight_dtype: str
    kv_dtype: str
    mtp: str

    def change(self, spec: LlmServingSpec) -> dict[str, Any]:
        """The fields; a stated cache of a token belongs to the format it is stated for."""
        stated = spec.kv_bytes_per_token if self.kv_dtype == spec.kv_dtype else None
        return {
            "weight_dtype": self.weight_dtype,
            "kv_dtype": self.kv_dtype,
            "kv_bytes_per_token": stated,
            "mtp": self.mtp,
            "rate_mode": "derived",
            "decode_step_fixed_share": None,
        }


def all_formats(spec: LlmServingSpec, *, catalog: Catalog) -> list[Formats]:
    """Narrower than 8 bits only where the LLM comes so or the design has it; drafting on and off where it may be."""
    llm = catalog.llm(spec.llm)
    known = get_args(type(spec).model_fields["weight_dtype"].annotation)
    weights = [name for name in dict.fromkeys((spec.weight_dtype, "fp8", "int8", llm.native_dtype)) if name in known]
    drafting = ("on", "off") if llm.mtp_layers else (spec.mtp,)
    return [
        Formats(weight, kv, mtp)
        for weight in weights
        for kv in dict.fromkeys((spec.kv_dtype, "fp8"))
        for mtp in drafting
    ]


def suits(formats: Formats, gpu: Gpu, *, own: str) -> bool:
    """8-bit integers are for GPUs that compute in them and not in FP8; all other formats are widened where need be."""
    if formats.weight_dtype != "int8" or own == "int8":
        return True
    return gpu.has("int8_ops_per_s") and not gpu.has("fp8_flops_per_s")
