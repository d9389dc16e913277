"""Pools that a search may take: units of one GPU and size in one format, with what they cost to carry the peak N+1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from planner.core.catalog import Catalog, Gpu, Llm, MissingFigure
from planner.core.offers import Offer
from planner.core.quantities import show
from planner.core.search import lacking
from planner.formulas import lengths
from planner.kinds.llm_serving.derived import DecodeAlone, prefill_rate
from planner.kinds.llm_serving.fleet import Role, role_for
from planner.kinds.llm_serving.physics import Memory, derived_decode, gpu_memory, placement
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.units import is_wide

PREFILL_UNITS = (1, 2, 4, 8, 16, 32, 64)
DECODE_UNITS = (1, 2, 4, 8, 16, 32, 64, 128)
STEP_TOKENS = (16_384, 32_768, 65_536)
_SURE = 0.95
"""Of the P99 of prompts: the estimate stands for their lengths by points, whose P99 is a little lower."""
_MOST_FIXED = 0.95


@dataclass(frozen=True, slots=True)
class Placed:
    """Units of one GPU and size, with ``rank_gpus`` of them on a prompt or a sequence.

    ``step_tokens`` are those that the unit computes at once where it computes prompts.
    """

    gpu: Gpu = field(hash=False)
    unit_gpus: int
    rank_gpus: int
    step_tokens: int


@dataclass(frozen=True, slots=True)
class Option:
    """A pool that may work, or the reason why none of its units does (``rejected``)."""

    at: Placed
    usd_per_h: float = 0.0
    """Of the fewest units that carry the peak with headroom, and with one lost: none of them costs less."""
    spare_units: int = 0
    rejected: str = ""


def unit_sizes(spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, usual: Iterable[int], own: int) -> list[int]:
    """Sizes worth trying: experts may lie on several nodes, all else stays within one.

    More than a node needs the figure of its network.
    """
    wide = llm.moe is not None and gpu.has("nic_bytes_per_s")
    return sorted(
        size for size in {*usual, own} if size <= spec.gpus_per_node or (wide and size % spec.gpus_per_node == 0)
    )


def ranks(spec: LlmServingSpec, *, llm: Llm, unit_gpus: int) -> list[int]:
    """GPUs that a sequence may run on: with latent attention one, with experts also half of what is usual."""
    within = min(unit_gpus, spec.gpus_per_node)
    if llm.mla:
        return sorted({1, within})
    return sorted({within, max(1, within // 2)}) if llm.moe else [within]


def steps(spec: LlmServingSpec, *, llm: Llm, unit_gpus: int) -> list[int]:
    """Tokens of a step: larger ones pay where experts lie on several nodes, else they change no rate."""
    is_on_nodes = is_wide(spec, llm=llm, unit_gpus=unit_gpus)
    return sorted({spec.prefill_step_tokens, *(STEP_TOKENS if is_on_nodes else ())})


def placements(
    spec: LlmServingSpec, *, llm: Llm, gpu: Gpu, usual: Iterable[int], own: int, prompts: bool
) -> Iterator[Placed]:
    """All units of a GPU; ``prompts``: those that compute prompts have steps of several sizes."""
    for size in unit_sizes(spec, llm=llm, gpu=gpu, usual=usual, own=own):
        for rank in ranks(spec, llm=llm, unit_gpus=size):
            for tokens in steps(spec, llm=llm, unit_gpus=size) if prompts else [spec.prefill_step_tokens]:
                yield Placed(gpu, size, rank, tokens)


def prefill_option(spec: LlmServingSpec, at: Placed, *, offer: Offer, catalog: Catalog) -> Option:
    """A prefill pool. ``spec`` has the formats."""
    try:
        return _prefill(spec, at, offer=offer, catalog=catalog)
    except MissingFigure as problem:
        return Option(at, rejected=lacking(problem))


def _prefill(spec: LlmServingSpec, at: Placed, *, offer: Offer, catalog: Catalog) -> Option:
    llm = catalog.llm(spec.llm)
    spec = spec.model_copy(update={"prefill_step_tokens": at.step_tokens})
    tight = _does_not_fit(spec, at, llm=llm, noun="prefill unit")
    if tight:
        return Option(at, rejected=tight)
    rate = prefill_rate(spec, gpu=at.gpu, unit_gpus=at.unit_gpus, rank_gpus=at.rank_gpus, catalog=catalog)
    late = _too_late(spec, at, rate=rate)
    if late:
        return Option(at, rejected=late)
    return _sized(spec, at, name="prefill", needed_gpus=spec.peak_rps * spec.computed_input_tokens / rate, offer=offer)


def decode_option(
    spec: LlmServingSpec, at: Placed, *, offer: Offer, catalog: Catalog, timed: dict[Placed, DecodeAlone]
) -> Option:
    """A decode pool, or replicas where the spec is aggregated.

    ``timed`` keeps what decode does in these formats: in both layouts, whatever the size of a prefill step, the same.
    """
    try:
        return _decode(spec, at, offer=offer, catalog=catalog, timed=timed)
    except MissingFigure as problem:
        return Option(at, rejected=lacking(problem))


def _decode(
    spec: LlmServingSpec, at: Placed, *, offer: Offer, catalog: Catalog, timed: dict[Placed, DecodeAlone]
) -> Option:
    llm, noun = catalog.llm(spec.llm), "replica" if spec.is_aggregated else "decode unit"
    spec = spec.model_copy(update={"prefill_step_tokens": at.step_tokens})
    tight = _does_not_fit(spec, at, llm=llm, noun=noun)
    if tight:
        return Option(at, rejected=tight)
    alone = replace(at, step_tokens=0)
    if alone not in timed:
        timed[alone] = derived_decode(spec.model_copy(update=decode_change(at)), catalog=catalog)
    found = timed[alone]
    if not found.in_reach and spec.output_tokens > 0:
        return Option(
            at,
            rejected=f"A step of a {noun} of {at.unit_gpus} × {at.gpu.name} takes longer than "
            f"{show(spec.tpot_slo_s, 's')} a token with one sequence a rank.",
        )
    needed = spec.peak_rps * spec.output_tokens / found.tokens_per_s
    if spec.is_aggregated:
        rate = prefill_rate(spec, gpu=at.gpu, unit_gpus=at.unit_gpus, rank_gpus=at.rank_gpus, catalog=catalog)
        late = _too_late(spec, at, rate=rate)
        if late:
            return Option(at, rejected=late)
        slower = 1 - min(found.fixed_s / spec.tpot_slo_s, _MOST_FIXED)
        needed += spec.peak_rps * spec.computed_input_tokens / rate / slower
    return _sized(spec, at, name="replica" if spec.is_aggregated else "decode", needed_gpus=needed, offer=offer)


def prefill_change(at: Placed) -> dict[str, Any]:
    return {
        "prefill_unit_gpus": at.unit_gpus,
        "prefill_rank_gpus": at.rank_gpus,
        "prefill_step_tokens": at.step_tokens,
    }


def decode_change(at: Placed) -> dict[str, Any]:
    return {"decode_gpu": at.gpu.slug, "decode_unit_gpus": at.unit_gpus, "decode_rank_gpus": at.rank_gpus}


def _sized(spec: LlmServingSpec, at: Placed, *, name: str, needed_gpus: float, offer: Offer) -> Option:
    role = role_for(spec, name=name, unit_gpus=at.unit_gpus, needed_gpus=needed_gpus, spare=0, price=offer.usd_per_h)
    spare = _spare(role)
    return Option(at, usd_per_h=(role.units + spare) * at.unit_gpus * offer.usd_per_h, spare_units=spare)


def _spare(role: Role) -> int:
    return max(0, role.units_to_survive - role.sized_units) if role.needed_gpus > 0 else 0


def _does_not_fit(spec: LlmServingSpec, at: Placed, *, llm: Llm, noun: str) -> str:
    held = placement(llm, unit_gpus=at.unit_gpus, rank_gpus=at.rank_gpus, spec=spec)
    memory: Memory = gpu_memory(spec, llm=llm, gpu=at.gpu, at=held)
    if memory.kv_pool_bytes > 0:
        return ""
    usable = show(memory.visible_bytes - memory.outside_bytes - memory.runtime_bytes, "bytes")
    return (
        f"{spec.weight_dtype.upper()} weights take {show(memory.weights_bytes, 'bytes')} of each GPU of a {noun} of "
        f"{at.unit_gpus} × {at.gpu.name}, which leaves them {usable}."
    )


def _too_late(spec: LlmServingSpec, at: Placed, *, rate: float) -> str:
    """A long prompt computed at once, with nobody before it, that is later than TTFT may be."""
    lanes = max(1, at.unit_gpus // at.rank_gpus)
    lane_rate, step_tokens = rate * at.unit_gpus / lanes, max(1.0, spec.prefill_step_tokens / lanes)
    token_s = 1 / lane_rate - min(spec.prefill_step_fixed_s, 0.9 * step_tokens / lane_rate) / step_tokens
    alone_s = _SURE * lengths.quantile(0.99, mean=spec.computed_input_tokens, sigma=spec.input_sigma) * token_s
    if alone_s <= spec.ttft_p99_slo_s:
        return ""
    on = "one GPU" if at.rank_gpus == 1 else f"{at.rank_gpus} GPUs"
    return (
        f"A long prompt (P99) takes {show(alone_s, 's')} or more to compute on {on} of {at.gpu.name}, without any "
        f"wait; {show(spec.ttft_p99_slo_s, 's')} are allowed to the first token."
    )
