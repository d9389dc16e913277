"""What was measured of units like these: the nearest published measurement of each pool, and the badge that follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Catalog, Gpu, Llm
from planner.core.result import Basis, Evidence, Finding, Series
from planner.formulas import measurements, neighbours
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.units import is_wide, placed

_SERIES = {"decode": measurements.SERIES, "replica": measurements.SERIES, "prefill": "nearest_prefill"}
_FIGURES = {"decode": ("tpot", "throughput"), "replica": ("tpot", "throughput"), "prefill": ("ttft",)}


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool's unit held against the measurements. ``seen``: those of its LLM, GPU, engine and format."""

    name: str
    unit_gpus: int
    gpu: Gpu
    subject: measurements.Subject
    lean: neighbours.Lean
    seen: int
    nearest: measurements.Nearest | None

    @property
    def noun(self) -> str:
        return "replica" if self.name == "replica" else f"{self.name} unit"

    @property
    def basis(self) -> Basis:
        """Rates are those of the fitted formula and lean on no single measurement, so none is itself measured."""
        found = measurements.badge(self.nearest, seen=self.seen)
        return "calibrated" if found == "measured" else found


def pool(
    spec: LlmServingSpec,
    *,
    name: str,
    llm: Llm,
    gpu: Gpu,
    unit_gpus: int,
    rank_gpus: int,
    held: float,
    most: float,
    catalog: Catalog,
) -> Pool:
    """A unit with ``held`` sequences at once, of at most ``most``."""
    layout = placed(spec, llm=llm, unit_gpus=unit_gpus, rank_gpus=rank_gpus)
    computed = max(1.0, spec.computed_input_tokens)
    subject = measurements.Subject(
        configuration=neighbours.configuration(
            llm,
            gpu,
            engine=catalog.engine(spec.engine).slug,
            version=None,
            weight_dtype=spec.weight_dtype,
            layout=layout,
            input_tokens=computed,
            output_tokens=max(1.0, spec.output_tokens),
        ),
        layout=layout,
        input_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        concurrency=max(held, 1.0),
        capacity=max(most, 1.0),
        also=tuple(_unusual(spec, llm=llm)),
    )
    lean = measurements.library(catalog.table(measurements.TABLE)).seen_from(subject.configuration)
    near = measurements.nearest(subject, lean=lean, catalog=catalog, count=1)
    # Drafts and experts across nodes are in no measurement: what they add is formula alone.
    unlike = _drafts(spec, llm=llm) or is_wide(spec, llm=llm, unit_gpus=unit_gpus)
    return Pool(
        name=name,
        unit_gpus=unit_gpus,
        gpu=gpu,
        subject=subject,
        lean=lean,
        seen=0 if unlike else lean.seen,
        nearest=near[0] if near else None,
    )


def _drafts(spec: LlmServingSpec, *, llm: Llm) -> bool:
    return spec.mtp == "on" and llm.mtp_layers > 0


def _unusual(spec: LlmServingSpec, *, llm: Llm) -> Iterator[str]:
    """What none of the measurements has."""
    if not spec.is_aggregated:
        yield "pools apart"
    if spec.prefix_hit_rate:
        yield "prefix cache"
    if _drafts(spec, llm=llm):
        yield "drafts"


def worst(pools: tuple[Pool, ...]) -> Basis:
    """The badge of what depends on all pools."""
    return "extrapolated" if any(each.basis == "extrapolated" for each in pools) else "calibrated"


def evidence(
    spec: LlmServingSpec,
    pools: tuple[Pool, ...],
    *,
    tpot_s: float | None,
    tokens_per_s_per_gpu: float,
    ttft_s: float | None,
    catalog: Catalog,
) -> tuple[Evidence, ...]:
    """The nearest measurement of each pool: of decode with the TPOT [s] and output [tok/s/GPU] at its derived limit,
    of prefill with the mean TTFT [s] of the design.
    """
    table = catalog.table(measurements.TABLE)
    return tuple(
        measurements.evidence(
            each.nearest,
            table=table,
            said=_said(spec, each),
            tpot_s=tpot_s,
            ttft_s=ttft_s,
            output_per_gpu=tokens_per_s_per_gpu,
            subject=each.noun,
            series=_SERIES[each.name],
            names=_FIGURES[each.name],
        )
        for each in pools
        if each.nearest is not None
    )


def _said(spec: LlmServingSpec, one: Pool) -> str:
    rates = "The rates in use are assumed; the derived ones are" if spec.rate_mode == "assumed" else "Rates are"
    many = "1 measurement" if one.seen == 1 else f"{one.seen:,} measurements"
    fitted = f", fitted on {many} of this LLM, GPU and engine among others" if one.seen else ""
    far = "" if one.basis == "calibrated" else " No such unit was measured: they are extrapolated."
    return f"{rates} those of the calibrated roofline{fitted}; they do not lean on this one measurement.{far}"


def findings(spec: LlmServingSpec, pools: tuple[Pool, ...], *, spread: float) -> Iterator[Finding]:
    """How derived rates are founded, in a sentence for each pool."""
    if spec.rate_mode != "derived":
        return
    for each in pools:
        if each.nearest is None:
            continue
        one = each.nearest
        if each.basis == "extrapolated":
            claim = f"No {each.noun} like this one of {each.unit_gpus} × {each.gpu.name} was measured and published"
            range_of = f"; derived rates are extrapolated, in four of five cases within a factor of {spread:.2f}"
        else:
            claim, range_of = f"The rates of the {each.noun} are calibrated on its LLM, GPU and engine", ""
        yield Finding(
            code=f"{each.name}_nearest_measurement",
            severity="info",
            message=(
                f"{claim}{range_of}. The nearest measurement, {one.words}, is at a distance of {one.distance:.2f} "
                "(0: the same)."
            ),
            metric="ttft_p99_s" if each.name == "prefill" else "tpot_p99_s",
        )


def provenance(pools: tuple[Pool, ...], *, catalog: Catalog) -> dict[str, Any]:
    """The nearest measurement of decode, for scripts."""
    first = pools[0]
    if first.nearest is None:
        return {}
    one = measurements.provenance(first.nearest, table=catalog.table(measurements.TABLE))
    return {"nearest_measurement": one, "measurements_behind": first.seen}


def series(pools: tuple[Pool, ...], *, catalog: Catalog) -> Iterator[Series]:
    """The measurements most like each pool."""
    for each in pools:
        near = measurements.nearest(each.subject, lean=each.lean, catalog=catalog)
        if near:
            label = f"Published measurements nearest to a {each.noun}"
            yield measurements.series(near, name=_SERIES[each.name], label=label)
