"""The reasoning around the figures: what to ask first, what else to try, what a reviewer asks."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.kind import FollowUp, Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.formulas.lengths import quantile
from planner.formulas.sizing import units_on_a_node
from planner.kinds.llm_serving.findings import percent
from planner.kinds.llm_serving.spec import LEAST_TOKENS_PER_S, MOST_TOKENS_PER_S, LlmServingSpec

_DEFAULTS = LlmServingSpec()
FAILURE_AT_S = 200.0
"""Of a simulated run of ten minutes: late enough to be steady, early enough to see what follows."""


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
            f"{spec.gpu}{f', decode on {spec.decode_gpu}' if spec.decode_gpu else ''}, {spec.gpus_per_node} a node",
            f"The rates of a GPU: derived {prefill:,.0f} prefill and {decode:,.0f} decode tok/s here.",
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
            + (f", which binds at a mean context of {longest:,.0f} tokens." if longest is not None else "."),
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
            "Measured rates, or figures?",
            "answered" if spec.rate_mode == "derived" else "assumed",
            f"{spec.rate_mode}: {result.value('prefill_tokens_per_s_per_gpu') or 0:,.0f} prefill, "
            f"{result.value('decode_tokens_per_s_per_gpu') or 0:,.0f} decode tok/s a GPU",
            "Every count below, in proportion.",
            "rate_mode",
        ),
        Question(
            "Must the peak survive the loss of a unit?",
            _state(spec, "availability", "spare_decode_units", "spare_prefill_units"),
            f"{100 * spec.availability:.6g} % of the time, a node failing every "
            f"{_years(spec.failures_per_node_h)}, {spec.repair_h * 60:,.0f} min to rejoin",
            "Spare units.",
            "availability",
        ),
    )


def _p99_input(spec: LlmServingSpec) -> float:
    return quantile(0.99, mean=spec.input_tokens, sigma=spec.input_sigma)


def _years(per_h: float) -> str:
    return f"{1 / per_h / 8766:.2g} years" if per_h > 0 else "never"


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
        found.append(Variant(f"Hit rate {better:g} (KV pool)", {"prefix_hit_rate": better}))
    if spec.headroom > 0.1:
        found.append(Variant("Headroom 10 %", {"headroom": 0.1}))
    if result.provenance.get("llm_drafts"):
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
        name = f"EP{gpus}" if _is_wide(spec) else f"{gpus}-GPU"
        found.append(Variant(f"{name} {noun}, {units} of them", change))
    return found


def _is_wide(spec: LlmServingSpec) -> bool:
    return spec.decode_unit_gpus > spec.gpus_per_node


def follow_ups(spec: LlmServingSpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    if spec.peak_rps <= 0 or not result.value("decode_units"):
        return (FollowUp("What does it cost to keep nothing running?", "Nothing: no load, no units."),)
    return (
        _node_dies(spec, result),
        _upgrade(spec, result),
        _gateway(spec),
        _larger_unit(result),
        _night(spec, result),
        _long_contexts(spec, result),
    )


def _node_dies(spec: LlmServingSpec, result: Result) -> FollowUp:
    units, left = result.value("decode_units") or 0.0, result.value("decode_left_after_unit_loss")
    shared = min(units_on_a_node(unit_gpus=spec.decode_unit_gpus, gpus_per_node=spec.gpus_per_node), int(units))
    running = (result.value("decode_running_per_gpu") or 0.0) * spec.decode_unit_gpus * shared
    nodes = -(-spec.decode_unit_gpus // spec.gpus_per_node)
    noun = "replica" if spec.is_aggregated else "decode unit"
    together = (
        f"the all-to-all of all {nodes} nodes of its unit stops, so {spec.decode_unit_gpus} GPUs are lost"
        if nodes > 1
        else (
            f"its {noun} of {spec.decode_unit_gpus} GPUs is lost"
            if shared == 1
            else f"its {shared} {noun}s of {spec.decode_unit_gpus} GPUs are lost"
        )
    )
    waiting = spec.detection_s * spec.peak_rps * shared / units
    verdict = (
        f"{_rest(units - shared)} {percent(left)} of the need at the peak"
        + (": enough." if left >= 1 else ", so requests queue until it is back or load is shed.")
        if left is not None
        else ""
    )
    computed = running * spec.mean_context_tokens
    return FollowUp(
        f"A node of a {noun} dies at the peak. What happens?",
        f"It is noticed after {show(spec.detection_s, 's')}, in which about {waiting:,.0f} requests are sent to it; "
        f"{together}. About {running:,.0f} running answers go on elsewhere from what they have written: their KV, "
        f"{computed / 1e6:,.3g} M tokens, is fetched from the pool or computed again. {verdict} Replacing the "
        f"node, loading weights and warming up take {show(spec.repair_h * 3600, 's')}.",
        {"fail_decode_unit_at_s": FAILURE_AT_S},
    )


def _rest(units: float) -> str:
    if units < 1:
        return "Nothing is left: it carries"
    return "The one left carries" if units == 1 else f"The {units:,.0f} left carry"


def _upgrade(spec: LlmServingSpec, result: Result) -> FollowUp:
    misses = spec.peak_rps * spec.input_tokens / (result.value("prefill_tokens_per_s_per_gpu") or 1.0)
    units = spec.decode_unit_gpus if spec.is_aggregated else spec.prefill_unit_gpus
    noun = "replicas" if spec.is_aggregated else "prefill units"
    now = result.value("decode_gpus" if spec.is_aggregated else "prefill_gpus") or 0.0
    if spec.prefix_hit_rate == 0:
        return FollowUp(
            "The LLM is upgraded. What about the cached prefixes?",
            "This design counts on none, so nothing is lost. Where a cache is added later, its keys must hold the "
            "version of the LLM.",
        )
    return FollowUp(
        "The LLM is upgraded. What about the cached prefixes?",
        "KV depends on the weights: the version belongs into the key, and no old block hits. If all traffic "
        f"switched at once, the hit rate would fall from {percent(spec.prefix_hit_rate)} to 0 and prefill would "
        f"ask for {misses:,.3g} GPUs, {-(-misses // units):,.0f} {noun} without headroom; {now:,.0f} GPUs are there. "
        "Move the traffic in steps no larger than the headroom carries while the new prefixes fill.",
    )


def _gateway(spec: LlmServingSpec) -> FollowUp:
    streams = spec.peak_rps * spec.output_tokens
    return FollowUp(
        "The gateway saturates. What then?",
        f"It routes {spec.peak_rps:,g} decisions and forwards {show(streams, 'tok/s')} of streamed tokens at the peak; "
        "the decisions are cheap, the open connections and TLS are not. It keeps no state that matters: add "
        "copies, each with its own approximate index of cached prefixes. A wrong route only costs a prefill.",
    )


def _larger_unit(result: Result) -> FollowUp:
    table = result.series["unit_sizes"]
    told = [
        f"{gpus:,} GPUs: {rate:,.0f} tok/s a GPU, {units} units with one to spare, {nodes:,} nodes, "
        f"{show(price, 'USD/M')}"
        for gpus, rate, units, _spare, nodes, price in zip(*(c.values for c in table.columns), strict=True)
        if isinstance(rate, int | float) and isinstance(price, int | float)
    ]
    return FollowUp(
        "Why not larger or smaller decode units?",
        "Larger units give each expert more tokens and each GPU fewer experts to hold, but are bought, and lost, "
        "whole. " + "; ".join(told) + ".",
    )


def _night(spec: LlmServingSpec, result: Result) -> FollowUp:
    low = max(0.0, 2 * spec.mean_to_peak - 1)
    need, units = result.value("decode_gpus_needed") or 0.0, result.value("decode_units") or 0.0
    if spec.is_aggregated:
        need += result.value("prefill_gpus_needed") or 0.0
    kept = -(-need * low * (1 + spec.headroom) // spec.decode_unit_gpus)
    freed = max(0.0, units - max(kept, 1))
    worth = freed * spec.decode_unit_gpus * (spec.decode_gpu_price_usd_per_h or spec.gpu_price_usd_per_h)
    if spec.mean_to_peak == 1:
        answer = (
            "Demand is stated as flat, so nothing is idle at night. State the mean as a share of the peak to see it."
        )
    else:
        answer = (
            f"With a mean of {percent(spec.mean_to_peak)} of the peak a sine-shaped day falls to {percent(low)}: "
            f"{freed:,.0f} of {units:,.0f} units are free then and can do batch work or rollouts worth "
            f"{show(worth, 'USD/h')} at the price of the fleet. They must be back before the morning: "
            f"{spec.repair_h:.2g} h with loading and warm-up."
        )
    return FollowUp("Can units do other work at night?", answer)


def _long_contexts(spec: LlmServingSpec, result: Result) -> FollowUp:
    longest, pool = result.value("longest_mean_context_tokens"), result.value("decode_kv_pool_bytes_per_gpu") or 0.0
    per_token = (result.value("decode_kv_bytes_per_gpu") or 0.0) / max(
        (result.value("decode_concurrency_per_gpu") or 1.0) * spec.mean_context_tokens, 1e-9
    )
    one = 128_000 * per_token
    share = f"{percent(one / pool)} of the pool of a GPU" if pool > 0 else "more than there is"
    until = f" At the rate assumed the pool is full at a mean of {longest:,.0f} tokens." if longest is not None else ""
    return FollowUp(
        "Some users bring 128,000 tokens. Do they hurt the others?",
        f"One such sequence keeps {show(one, 'bytes')} of KV, {share}, and lengthens every step of its rank.{until} "
        "Give them units of their own, split their attention over more GPUs, or limit how many run at once.",
    )
