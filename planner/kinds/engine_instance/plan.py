"""The spec with every blank filled: catalog entries, engine defaults, and which defaults were taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.core import llm_names
from planner.core.catalog import Catalog, Gpu, Llm
from planner.formulas import attention, calibration, engine_memory, memory, roofline
from planner.formulas.memory_terms import Measured, Spread
from planner.kinds.engine_instance import sizes
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.spec_engine import ENGINES

DEFAULT_CONCURRENCY = 32.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One replica, fully stated. ``assumed`` are the fields left out with what was taken for them."""

    spec: EngineInstanceSpec
    llm: Llm
    gpu: Gpu
    layout: roofline.Layout
    settings: Mapping[str, Any]
    memory_rules: Mapping[str, Any]
    coefficients: calibration.Coefficients
    trust: calibration.Trust
    visible: Spread
    gpu_class: str
    weight_dtype: str
    kv_dtype: str
    kv_dtype_bytes: float
    max_model_len: int
    max_num_seqs: int
    batched_tokens: int
    graph_sequences: int
    block_size: int
    hybrid_cache: str
    graph_capture: bool
    concurrency: float
    price_usd_per_h: float | None
    price_source: str
    assumed: tuple[tuple[str, str], ...]
    measured: Measured | None = None
    weights_scale: float | None = None
    """Of the weights counted: what a start-up log names over it."""
    activation_scale: float | None = None

    @property
    def visible_bytes(self) -> float:
        return self.visible.typical

    @property
    def engine_name(self) -> str:
        return ENGINES[self.spec.engine]

    @property
    def takes_free_memory(self) -> bool:
        """Whether the memory fraction is of what is free before the weights are loaded."""
        return bool(self.settings["memory_fraction_of"] == "free_before_load")

    @property
    def is_mixed(self) -> bool:
        """Whether some layers do not keep the whole context."""
        return self.llm.sliding is not None or self.llm.linear is not None

    @property
    def pages_by_kind(self) -> bool:
        if not self.is_mixed:
            return False
        # Where every layer slides there is nothing to unify: the windows stay windows.
        alone = attention.full_layers(self.llm) == 0 and self.llm.linear is None
        return self.hybrid_cache != "unified_pages" or (alone and bool(self.settings.get("windows_alone", False)))


def resolve(spec: EngineInstanceSpec, catalog: Catalog) -> Plan:
    """Fill the blanks; raises `UnknownEntry` and `MissingFigure`."""
    llm, gpu, engine = catalog.llm(spec.llm), catalog.gpu(spec.gpu), catalog.engine(spec.engine)
    layout = _layout(spec, llm)
    rules = catalog.calibration("engine_memory")
    settings = sizes.settings_of(spec, engine.settings, gpu=gpu)
    visible = sizes.visible_memory(spec, gpu, rules=rules)
    by_gpu = engine_memory.gpu_row(settings, visible_bytes=visible.typical, architecture=gpu.architecture)
    table = catalog.calibration("roofline")
    taken = _Taken(spec)
    weight_dtype = taken.of("weight_dtype", _published_format(spec, llm))
    weight_dtype = memory.dtype_name(_four_bit(llm, weight_dtype))
    kv_dtype = taken.of("kv_dtype", "bf16")
    price = catalog.price(gpu.slug)
    taken.note("engine_version", f"{settings['version']} or newer")
    taken.layout(layout, mixture=llm.moe is not None)
    sequences = sizes.sequences(settings, by_gpu=by_gpu, rules=rules)
    graphs = by_gpu.get("graph_sequences_tp4" if layout.stage_gpus >= 4 else "graph_sequences", sequences)
    longest = int(taken.of("max_model_len", llm.max_context_tokens))
    step = sizes.step_tokens(settings, llm=llm, max_model_len=longest, by_gpu=by_gpu)
    concurrency = DEFAULT_CONCURRENCY
    if spec.rate_rps is None:
        concurrency = float(taken.of("concurrency", DEFAULT_CONCURRENCY))
    return Plan(
        spec=spec,
        llm=llm,
        gpu=gpu,
        layout=layout,
        settings=settings,
        memory_rules=rules,
        coefficients=calibration.coefficients(table, gpu=gpu, engine=engine.slug),
        trust=_trust(spec, catalog, llm=llm, gpu=gpu, precision=roofline.precision(gpu, weight_dtype=weight_dtype)),
        visible=visible,
        gpu_class=sizes.gpu_class(gpu, rules=rules),
        weight_dtype=weight_dtype,
        kv_dtype=kv_dtype,
        kv_dtype_bytes=memory.kv_dtype_bytes(kv_dtype),
        max_model_len=longest,
        max_num_seqs=int(taken.of("max_num_seqs", sequences)),
        batched_tokens=int(taken.of("max_num_batched_tokens", step)),
        graph_sequences=int(graphs),
        block_size=int(taken.of("block_size", int(settings["block_size"]))),
        hybrid_cache=_hybrid(spec, settings),
        graph_capture=bool(taken.of("graph_capture", bool(settings["graph_capture"]))),
        concurrency=concurrency,
        price_usd_per_h=_price(spec, price.usd_per_h if price else None),
        price_source=f"{price.provider}, {price.commitment.replace('_', ' ')}" if price else "",
        assumed=tuple(taken.assumed),
    )


def _trust(spec: EngineInstanceSpec, catalog: Catalog, *, llm: Llm, gpu: Gpu, precision: str) -> calibration.Trust:
    """The spread of the source of step times asked for."""
    if spec.latency_source == "measured_kernels":
        table = catalog.calibration("kernels")
        return calibration.Trust(calibrated=False, rows=int(table["rows"]), **table["interval"])
    return calibration.trust(catalog.calibration("roofline"), llm=llm, gpu=gpu, engine=spec.engine, precision=precision)


def _published_format(spec: EngineInstanceSpec, llm: Llm) -> str:
    """The LLM's own format, or that of the copy named: ``nvidia/X-NVFP4`` is X in NVFP4."""
    named = llm_names.number_format(spec.llm)
    if named is None or spec.llm in (llm.slug, llm.hf_id) or llm.native_dtype.startswith(named):
        return llm.native_dtype
    return _four_bit(llm, named)


def _four_bit(llm: Llm, name: str) -> str:
    """FP4 alone is MXFP4 for an LLM published so, else NVFP4."""
    if name != "fp4":
        return name
    return "mxfp4" if llm.native_dtype == "mxfp4" else "nvfp4"


def _layout(spec: EngineInstanceSpec, llm: Llm) -> roofline.Layout:
    gpus, ranks, copies, stages = spec.cut()
    stage = ranks * copies
    # More expert ranks than GPUs are all of them: tables write ranks as products.
    experts = min(spec.expert_parallel or (stage if copies > 1 else 1), stage) if llm.moe else 1
    return roofline.Layout(
        gpus=gpus,
        tensor_parallel=ranks,
        data_parallel=copies,
        pipeline_parallel=stages,
        expert_parallel=experts,
        context_parallel=spec.context_parallel or 1,
        redundant_experts=spec.redundant_experts,
    )


def _hybrid(spec: EngineInstanceSpec, settings: Mapping[str, Any]) -> str:
    own = str(settings.get("hybrid_cache", "unified_pages"))
    # SGLang has two pools or, before them, one page: never a manager.
    if spec.hybrid_cache == "hybrid_manager" and "state_block_step" not in settings:
        return own
    return spec.hybrid_cache or own


def _price(spec: EngineInstanceSpec, catalog_price: float | None) -> float | None:
    return spec.gpu_price_usd_per_h if spec.gpu_price_usd_per_h is not None else catalog_price


class _Taken:
    """Reads a field or its default, and remembers the defaults taken."""

    def __init__(self, spec: EngineInstanceSpec) -> None:
        self._spec = spec
        self.assumed: list[tuple[str, str]] = []

    def of(self, name: str, default: Any) -> Any:
        given = getattr(self._spec, name)
        if given is not None:
            return given
        self.assumed.append((name, _words(default)))
        return default

    def note(self, name: str, words: str) -> None:
        if getattr(self._spec, name) is None:
            self.assumed.append((name, words))

    def layout(self, layout: roofline.Layout, *, mixture: bool) -> None:
        self.note("gpus", f"{layout.gpus}")
        self.note("tensor_parallel", f"{layout.tensor_parallel}")
        if layout.data_parallel > 1:
            self.note("data_parallel_attention", f"{layout.data_parallel}")
        if mixture:
            self.note("expert_parallel", f"{layout.expert_parallel}")


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value).upper()
