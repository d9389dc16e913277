"""Fitted coefficients of the roofline, read from the catalog: which apply, how far they are trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from planner.core.catalog import Gpu, Llm


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients for one engine and GPU generation; meanings in ``calibrations/roofline.toml``.

    Names ending in ``_s`` are times, the others factors.
    """

    weights_read: float
    experts_read: float
    four_bit_read: float
    decode_gemm: float
    decode_attention: float
    kv_read: float
    expert_agreement: float
    layer_s: float
    expert_layer_s: float
    latent_layer_s: float
    sparse_layer_s: float
    recurrent_layer_s: float
    step_s: float
    sequence_s: float
    all_reduce_s: float
    all_reduce_host_s: float
    all_reduce_across_s: float
    decode_communication: float
    prefill_communication: float
    prefill_dense: float
    prefill_experts: float
    prefill_blackwell: float
    prefill_fp4: float
    prefill_bf16: float
    prefill_attention: float
    prefill_activation: float
    first_token_s: float
    prefill_layer_s: float
    queue: float
    interference: float
    interference_launch: float
    host_efficiency: float
    network_efficiency: float
    overlap_decode: float
    overlap_prefill: float


@dataclass(frozen=True, slots=True)
class Trust:
    """How well a prediction is founded: half-widths of the 80 % interval as factors, and the rows behind it."""

    calibrated: bool
    tpot: float
    ttft: float
    throughput: float
    rows: int = 0


def generation(gpu: Gpu) -> str:
    """``blackwell`` or ``hopper``: the two generations with their own coefficients; older ones take Hopper's."""
    return "blackwell" if "blackwell" in gpu.architecture.lower() else "hopper"


def _engine_name(engine: str) -> str:
    return engine.replace("-", "_")


def coefficients(table: Mapping[str, Any], *, gpu: Gpu, engine: str) -> Coefficients:
    """The coefficients for an engine on a GPU; an engine without its own takes the common value."""
    rows = table["coefficient"]
    return Coefficients(
        **{field.name: _pick(rows[field.name], _engine_name(engine), generation(gpu)) for field in fields(Coefficients)}
    )


def _pick(row: Mapping[str, Any], engine: str, gpu_generation: str) -> float:
    by_engine: Mapping[str, float] = row.get("engine", {})
    by_generation: Mapping[str, float] = row.get("generation", {})
    return float(by_engine.get(engine, by_generation.get(gpu_generation, row["value"])))


def trust(table: Mapping[str, Any], *, llm: Llm, gpu: Gpu, engine: str, precision: str) -> Trust:
    """Whether this LLM was measured on this GPU, engine and precision, and the interval that follows.

    Parameters
    ----------
    table : ``calibrations/roofline.toml``
    precision : the number format computed in, as `roofline.precision` names it
    """
    for cell in table["cell"]:
        if (cell["gpu"], cell["engine"], cell["precision"]) == (
            gpu.slug,
            _engine_name(engine),
            precision,
        ) and llm.slug in cell["llms"]:
            return Trust(calibrated=True, rows=int(cell["rows"]), **table["interval"]["seen"])
    return Trust(calibrated=False, **table["interval"]["unseen"])
