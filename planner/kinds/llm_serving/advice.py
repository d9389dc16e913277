"""The reasoning around the figures: what to ask first and what else to try; what a reviewer asks is `follow_ups`."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.kind import Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.formulas.lengths import quantile
from planner.kinds.llm_serving.follow_ups import follow_ups
from planner.kinds.llm_serving.inputs import LEAST_TOKENS_PER_S, MOST_TOKENS_PER_S
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.words import percent

__all__ = ["follow_ups", "questions", "variants"]

_DEFAULTS = LlmServingSpec()
YEAR_S = 8766 * 3600.0


def _state(spec: LlmServingSpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: LlmServingSpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    prefill, decode = (result.value(f"derived_{role}_tokens_per_s_per_gpu") or 0.0 for role in ("prefill", "decode"))
    longest = result.value("longest_mean_context_tokens")
    day = "flat" if spec.mean_to_peak == 1 else f"mean {percent(spec.mean_to_peak)} of the peak"
    return (
        Question(
            "Which GPUs, and what network between the nodes?",
            _state(spec, "gpu", "decode_gpu"),
            f"{result.provenance['hardware']}; {spec.gpus_per_node} a node",
            f"The rates of a GPU: by its figures {prefill:,.0f} tok/s of prefill and {decode:,.0f} of decode here.",
            "gpu",
        ),
        Question(
            "May weights and KV cache be 8-bit?",
            _state(spec, "weight_dtype", "kv_dtype"),
            f"weights {spec.weight_dtype.upper()}, KV {spec.kv_dtype.upper()}",
            "Memory of a unit and its rates; 8-bit KV also halves the hand-over.",
            "weight_dtype",
        ),
        Question(
            "How does demand swing over the day?",
            _state(spec, "mean_to_peak"),
            day,
            "The price at mean demand, and how many units can work elsewhere at night.",
            "mean_to_peak",
        ),
        Question(
            "Are there very long contexts?",
            "open" if _state(spec, "input_tokens", "input_sigma") == "assumed" else "answered",
            f"{spec.input_tokens:,g} tokens on average, P99 {_p99_input(spec):,.0f}",
            "The tail of TTFT, and KV memory"
            + (f", which binds at a mean context of {longest:,.0f} tokens." if longest else "."),
            "input_tokens",
        ),
        Question(
            "Where does the hit rate come from?",
            _state(spec, "prefix_hit_rate"),
            f"{percent(spec.prefix_hit_rate)} of the input tokens",
            "Prefill units, in proportion to the part that misses; size the KV pool for it.",
            "prefix_hit_rate",
        ),
        Question(
            "Are the rates measured, or derived from figures?",
            "answered" if spec.rate_mode == "derived" else "assumed",
            f"{spec.rate_mode}: {result.value('prefill_tokens_per_s_per_gpu') or 0:,.0f} prefill, "
            f"{result.value('decode_tokens_per_s_per_gpu') or 0:,.0f} decode tok/s a GPU",
            "Every count below, in proportion.",
            "rate_mode",
        ),
        Question(
            "Must the peak survive the loss of a unit?",
            _state(spec, "availability", "spare_decode_units", "spare_prefill_units"),
            f"{100 * spec.availability:.6g} % of the time; {_failures(spec)}",
            "How many spare units to buy.",
            "availability",
        ),
    )


def _p99_input(spec: LlmServingSpec) -> float:
    return quantile(0.99, mean=spec.input_tokens, sigma=spec.input_sigma)


def _failures(spec: LlmServingSpec) -> str:
    if spec.failures_per_node_h <= 0:
        return "nodes do not fail"
    between_s, rejoin_s = 3600 / spec.failures_per_node_h, spec.repair_h * 3600
    between = f"{between_s / YEAR_S:.2g} years" if between_s >= YEAR_S else show(between_s, "s")
    return f"a node fails every {between} and takes {show(rejoin_s, 's')} to rejoin"


def variants(spec: LlmServingSpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each."""
    found = [
        Variant(
            "One more replica" if spec.is_aggregated else "One more decode unit",
            {"spare_decode_units": spec.spare_decode_units + 1},
        ),
        *_other_sizes(spec, result),
    ]
    if spec.prefix_hit_rate < 0.95:
        better = round(min(0.95, spec.prefix_hit_rate + 0.12), 4)
        found.append(Variant(f"Hit rate {percent(better)} (KV pool)", {"prefix_hit_rate": better}))
    if spec.headroom > 0.1:
        found.append(Variant("Headroom 10 %", {"headroom": 0.1}))
    if result.provenance["draft_layers"]:
        mtp = "off" if spec.mtp == "on" else "on"
        found.append(Variant(f"MTP {mtp}", {"mtp": mtp}))
    if spec.kv_dtype == "bf16" and not spec.llm.startswith("deepseek-v3-2"):
        found.append(Variant("8-bit KV cache", {"kv_dtype": "fp8", "kv_bytes_per_token": None}))
    found.append(
        Variant("Rates derived", {"rate_mode": "derived"})
        if spec.rate_mode == "assumed"
        else Variant("Rates assumed", {"rate_mode": "assumed"})
    )
    if not spec.is_aggregated:
        found.append(Variant("Aggregated", {"topology": "aggregated"}))
    if spec.gpu_price_usd_per_h > 0:
        reserved = round(0.75 * spec.gpu_price_usd_per_h, 2)
        found.append(Variant(f"Reserved 1 y, ${reserved:.2f}", {"gpu_price_usd_per_h": reserved}))
    return tuple(found)


def _other_sizes(spec: LlmServingSpec, result: Result) -> list[Variant]:
    """Units of half and twice the size, N+1, at the rate that the roofline gives them relative to this one."""
    if spec.peak_rps <= 0:
        return []
    table = result.series["unit_sizes"]
    rows = zip(*(column.values for column in table.columns), strict=True)
    noun = "replicas" if spec.is_aggregated else "units"
    found = []
    for gpus, rate, units, spare, _nodes, _price in rows:
        if gpus == spec.decode_unit_gpus or not isinstance(rate, int | float) or not units:
            continue
        change: dict[str, object] = {"decode_unit_gpus": gpus, "spare_decode_units": spare}
        if spec.rate_mode == "assumed":
            factor = rate / (result.value("decode_tokens_per_s_per_gpu") or 1.0)
            changed = float(f"{factor * spec.decode_tokens_per_s_per_gpu:.5g}")
            change["decode_tokens_per_s_per_gpu"] = min(max(changed, LEAST_TOKENS_PER_S), MOST_TOKENS_PER_S)
        if spec.decode_rank_gpus is not None and isinstance(gpus, int):
            change["decode_rank_gpus"] = min(spec.decode_rank_gpus, gpus)
        name = f"EP{gpus}" if spec.is_wide else f"{gpus}-GPU"
        found.append(Variant(f"{name} {noun}, {units} of them", change))
    return found
