"""What an experienced reviewer asks of a fleet, answered with its own figures."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.kind import FollowUp
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.wording import counted
from planner.formulas.sizing import units_on_a_node
from planner.kinds.llm_serving.spec import LlmServingSpec
from planner.kinds.llm_serving.words import needed, percent

FAILURE_AT_S = 200.0
"""Of a simulated run of ten minutes: late enough to be steady, early enough to see what follows."""


def follow_ups(spec: LlmServingSpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    if spec.peak_rps <= 0 or not result.value("decode_units"):
        return (FollowUp("What does it cost to keep nothing running?", "Nothing: no load, no units."),)
    if not result.value("decode_kv_pool_bytes_per_gpu"):
        return (
            FollowUp(
                "What would make it fit?",
                "Units of more GPUs, so that each holds less of the weights; a narrower weight format; GPUs with more "
                "memory. Until one of them is chosen, no count of units means anything.",
            ),
        )
    return (
        _node_dies(spec, result),
        _upgrade(spec, result),
        _gateway(spec),
        *_larger_unit(spec, result),
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
        else f"{counted(shared, noun)} of {show(spec.decode_unit_gpus, 'GPUs')}{' is' if shared == 1 else ' each are'} "
        "lost"
    )
    waiting = spec.detection_s * spec.peak_rps * shared / units
    rest = units - shared
    kept = show(running * spec.mean_context_tokens, "tokens")
    answers = (
        f"About {running:,.0f} running answers go on elsewhere from what they have written: their KV, {kept}, is "
        "fetched from the pool or computed again."
        if rest >= 1
        else f"About {running:,.0f} running answers are cut off, and nothing is left to take them over."
    )
    return FollowUp(
        f"A node of a {noun} dies at the peak. What happens?",
        f"It is noticed after {show(spec.detection_s, 's')}, in which about {waiting:,.0f} requests are sent to it; "
        f"{together}. {answers} {_rest(rest, left=left)}Replacing the node, loading weights and warming up take "
        f"{show(spec.repair_h * 3600, 's')}.",
        {"fail_decode_unit_at_s": FAILURE_AT_S},
        drill="lose-decode-unit",
    )


def _rest(units: float, *, left: float | None) -> str:
    """What the remaining units carry, as a sentence with a space behind it."""
    if left is None:
        return ""
    if units < 1:
        return "No request is served until it is back. "
    who = "The one left carries" if units == 1 else f"The {units:,.0f} left carry"
    end = ": enough. " if left >= 1 else ", so requests queue until it is back or load is shed. "
    return f"{who} {percent(left)} of the need at the peak{end}"


def _upgrade(spec: LlmServingSpec, result: Result) -> FollowUp:
    misses = spec.peak_rps * spec.input_tokens / (result.value("prefill_tokens_per_s_per_gpu") or 1.0)
    units = spec.decode_unit_gpus if spec.is_aggregated else spec.prefill_unit_gpus
    noun = "replica" if spec.is_aggregated else "prefill unit"
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
        f"ask for {needed(misses)}, {counted(-(-misses // units), noun)} without headroom; there are {now:,.0f}. "
        "Move the traffic in steps no larger than the headroom carries while the new prefixes fill.",
    )


def _gateway(spec: LlmServingSpec) -> FollowUp:
    streams = spec.peak_rps * spec.output_tokens
    return FollowUp(
        "The gateway saturates. What then?",
        f"At the peak it routes {show(spec.peak_rps, 'req/s')} and streams {show(streams, 'tok/s')} to those who wait; "
        "the decisions are cheap, the open connections and TLS are not. It keeps no state that "
        "matters: add copies, each with its own approximate index of cached prefixes. A wrong route only costs a "
        "prefill.",
    )


def _larger_unit(spec: LlmServingSpec, result: Result) -> Sequence[FollowUp]:
    """The sizes beside this one; nothing where there is no other to tell of."""
    table, noun = result.series["unit_sizes"], "replica" if spec.is_aggregated else "unit"
    told = [
        f"{show(gpus, 'GPUs')}: {rate:,.0f} tok/s a GPU, {counted(units, noun)} with one to spare, "
        f"{counted(nodes, 'node')}, {show(price, 'USD/M')}"
        for gpus, rate, units, _spare, nodes, price in zip(*(c.values for c in table.columns), strict=True)
        if all(isinstance(figure, int | float) for figure in (gpus, rate, units, nodes, price))
    ]
    if len(told) < 2:
        return ()
    why = (
        "Larger units give each expert more tokens and each GPU fewer experts to hold"
        if result.value("decode_units") and spec.is_wide
        else "More GPUs share the weights and leave more memory for KV, but talk more"
    )
    question = f"Why not larger or smaller {'replicas' if spec.is_aggregated else 'decode units'}?"
    return (FollowUp(question, f"{why}; and units are bought, and lost, whole. {'; '.join(told)}."),)


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
            f"{freed:,.0f} of {counted(units, 'replica' if spec.is_aggregated else 'decode unit')} could do batch work "
            f"or rollouts worth {show(worth, 'USD/h')} then, at the price of the fleet. Before the morning it takes "
            f"{show(spec.repair_h * 3600, 's')} to bring one back, with loading and warm-up."
        )
    return FollowUp("Can units do other work at night?", answer)


def _long_contexts(spec: LlmServingSpec, result: Result) -> FollowUp:
    longest, pool = result.value("longest_mean_context_tokens"), result.value("decode_kv_pool_bytes_per_gpu") or 0.0
    per_token = (result.value("decode_kv_bytes_per_gpu") or 0.0) / max(
        (result.value("decode_concurrency_per_gpu") or 1.0) * spec.mean_context_tokens, 1e-9
    )
    one = 128_000 * per_token
    share = f"{percent(one / pool)} of the pool of a GPU" if pool > 0 else "more than there is"
    until = f" At the rate of the design the pool is full at a mean of {longest:,.0f} tokens." if longest else ""
    return FollowUp(
        "Some users bring 128,000 tokens. Do they hurt the others?",
        f"One such sequence keeps {show(one, 'bytes')} of KV, {share}, and lengthens every step of its rank.{until} "
        "Give them units of their own, split their attention over more GPUs, or limit how many run at once.",
    )
