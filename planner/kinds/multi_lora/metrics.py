"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import Basis, Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora.metrics_fleet import (
    FLEET_METRICS,
    LATENCY_METRICS,
    MONEY_METRICS,
    TENANT_METRICS,
    seconds,
    share,
)

ADAPTER = _("Adapter")
MEMORY = _("Slots and memory")
HITS = _("Popularity and hits")
STEP = _("Step")

ADAPTER_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "adapter_parameters",
        _("Parameters of an adapter"),
        "parameters",
        "lower",
        ADAPTER,
        formula="Σ rank × (inputs + outputs)",
    ),
    MetricDef("adapter_bytes", _("Size of an adapter"), "bytes", "lower", ADAPTER, formula="parameters × width"),
    MetricDef("all_adapters_bytes", _("All adapters"), "bytes", "lower", ADAPTER, formula="adapters × size"),
    seconds("swap_in_s", _("Swap-in, bytes alone"), group=ADAPTER, formula="size / host link"),
    MetricDef("base_flops_per_token", _("Base, a token"), "FLOP", "none", ADAPTER, formula="2 × parameters of a token"),
    MetricDef(
        "lora_flops_per_token", _("Adapter, a token"), "FLOP", "lower", ADAPTER, formula="2 × parameters a token uses"
    ),
    share("lora_flops_ratio", _("Adapter over base, FLOP"), group=ADAPTER),
)

MEMORY_METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "resident_adapters",
        _("Adapters that fit on the GPU"),
        "adapters",
        "higher",
        MEMORY,
        formula="⌊memory for adapters / slot⌋",
        whole=True,
    ),
    MetricDef("slot_bytes", _("A slot, on each GPU"), "bytes", "lower", MEMORY, help=_("At the largest rank.")),
    share("slot_wasted_share", _("Left empty in a slot"), group=MEMORY),
    MetricDef(
        "gpu_slots",
        _("Slots in use"),
        "slots",
        "higher",
        MEMORY,
        help=_("Of S-LoRA: adapters in pages when as many run as can."),
        whole=True,
    ),
    MetricDef("host_adapters", _("Adapters in host memory"), "adapters", "higher", MEMORY, whole=True),
    MetricDef("kv_tokens", _("KV cache of a replica"), "tokens", "higher", MEMORY),
    MetricDef("kv_tokens_lost", _("KV tokens that slots take"), "tokens", "lower", MEMORY),
    share("kv_share_lost", _("Of slots and KV, slots"), group=MEMORY),
    MetricDef("memory_bytes", _("Memory the engine uses, a GPU"), "bytes", "none", MEMORY, help=_("The parts sum.")),
    MetricDef("memory_weights_bytes", _("Memory: weights"), "bytes", "lower", MEMORY),
    MetricDef("memory_slots_bytes", _("Memory: adapters"), "bytes", "lower", MEMORY),
    MetricDef("memory_reserved_bytes", _("Memory: buffers and graphs"), "bytes", "lower", MEMORY),
    MetricDef("memory_kv_bytes", _("Memory: KV cache"), "bytes", "higher", MEMORY),
)

HIT_METRICS: tuple[MetricDef, ...] = (
    share("gpu_hit_share", _("Adapter in a slot"), group=HITS, direction="higher"),
    share("host_hit_share", _("Adapter in host memory"), group=HITS, direction="none"),
    share("store_share", _("Adapter in neither"), group=HITS),
    MetricDef("adapters_per_replica", _("Adapters a replica serves"), "adapters", "lower", HITS),
    MetricDef(
        "distinct_in_batch",
        _("Different adapters in a batch"),
        "adapters",
        "lower",
        HITS,
        help=_("Never more than slots: who waits for one does not run."),
        formula="Σ 1 − e^(−share × running)",
    ),
    MetricDef("distinct_anywhere", _("The same without affinity"), "adapters", "lower", HITS),
    MetricDef("distinct_deviation", _("Standard deviation of it"), "adapters", "lower", HITS),
    MetricDef("safe_slots", _("Slots for all that run at once"), "slots", "lower", HITS, formula="mean + 2 σ"),
    MetricDef("slot_pressure", _("Running adapters over slots"), "ratio", "lower", HITS),
    share(
        "prefix_hit_share",
        _("Prompt tokens from the prefix cache"),
        group=HITS,
        direction="higher",
        help=_("The key holds the adapter, so a prefix is found only behind its own."),
    ),
    MetricDef("zipf_exponent", _("Zipf exponent"), "", "none", HITS, help=_("Fitted where a trace tells.")),
)

STEP_METRICS: tuple[MetricDef, ...] = (
    seconds("step_s", _("Decode step"), group=STEP, help=_("Parts: base, fixed cost of kernels, reading of adapters.")),
    seconds("step_base_s", _("Step: base"), group=STEP),
    seconds("step_launch_s", _("Step: kernels of adapters"), group=STEP, formula="kernels × launch"),
    seconds("step_read_s", _("Step: reading adapters"), group=STEP, formula="distinct × slot / bandwidth"),
    MetricDef("step_factor", _("Step with adapters over without"), "×", "lower", STEP),
    MetricDef("step_factor_one", _("The same for one request alone"), "×", "lower", STEP),
    MetricDef("step_factor_full", _("The same at all places taken"), "×", "lower", STEP),
    MetricDef("kernels_per_step", _("Kernels that adapters add"), "kernels", "lower", STEP, whole=True),
)

METRICS: tuple[MetricDef, ...] = (
    *ADAPTER_METRICS,
    *MEMORY_METRICS,
    *HIT_METRICS,
    *STEP_METRICS,
    *FLEET_METRICS,
    *LATENCY_METRICS,
    *TENANT_METRICS,
    *MONEY_METRICS,
)
BY_NAME = {definition.name: definition for definition in METRICS}
EXACT = frozenset(
    {
        *(each.name for each in ADAPTER_METRICS),
        *("resident_adapters", "slot_bytes", "slot_wasted_share", "gpu_slots", "kv_tokens_lost", "swap_copies"),
        *("kernels_per_step", "hottest_share", "largest_tenant_share", "fairness_bound_tokens"),
    }
)
"""Arithmetic of the inputs; all else rests on rates, laws and shares that are assumed until measured."""


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis | None = None,
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name; what rests on assumed rates and laws says so."""
    known: Basis = basis or ("exact" if name in EXACT else "assumed")
    return Metric(BY_NAME[name], value, basis=known, objective=objective, working=working)
