"""The reasoning around a replica: what to ask first, what else to try, what a reviewer asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.core.kind import FollowUp, Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.engine_instance.findings import placed
from planner.kinds.engine_instance.fit import held_tokens
from planner.kinds.engine_instance.plan import DEFAULT_CONCURRENCY
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from planner.kinds.engine_instance.spec_start_up import unmeasured

_OTHER_GPUS = (("h100-sxm", "H100"), ("h200-sxm", "H200"), ("b200-sxm", "B200"))
_MOST_RANKS = 1024
_MOST_LOAD = 1e6
_ALL = 0.995
_MEASURED_ON = {"gpu", "gpus", "engine", "weight_dtype"}
_WIDE = ("fp32", "bf16", "fp16")


def questions(spec: EngineInstanceSpec, result: Result) -> Sequence[Question]:
    """Questions whose answers would change the design."""
    given = spec.model_fields_set
    load = spec.concurrency if spec.rate_rps is None else spec.rate_rps
    return (
        Question(
            "How many requests at once, or how many a second?",
            "answered" if load is not None else "assumed",
            _load_words(spec),
            "Batch, latency and price per token; beyond the cache, requests wait.",
            "concurrency" if spec.rate_rps is None else "rate_rps",
        ),
        Question(
            "How long are prompts and answers?",
            "answered" if given & {"input_tokens", "output_tokens"} else "assumed",
            f"{spec.input_tokens:,.0f} in, {spec.output_tokens:,.0f} out",
            "Input sets prefill work and TTFT, both set the cache a request holds.",
            "input_tokens",
        ),
        Question(
            "How long may the longest request be?",
            "answered" if spec.max_model_len else "assumed",
            f"{spec.max_model_len:,} tokens" if spec.max_model_len else "the LLM's whole context",
            "vLLM starts only if one such request fits."
            if spec.engine == "vllm"
            else "The pool has to hold it; the engine refuses what is longer.",
            "max_model_len",
        ),
        Question(
            "How much of the input repeats an earlier prefix?",
            "answered" if "prefix_hit_rate" in given else "assumed",
            show(spec.prefix_hit_rate, "ratio"),
            "A hit costs no prefill: TTFT and price fall, the cache holds the prefix once more.",
            "prefix_hit_rate",
        ),
        _precision_question(spec, result),
        Question(
            "Which latency must hold?",
            "answered" if given & {"ttft_p99_slo_s", "tpot_slo_s"} else "assumed",
            _objective_words(spec),
            "The objectives cap the batch and with it tokens per GPU.",
            "tpot_slo_s",
        ),
        Question(
            "How full will the replica be over a day?",
            "answered" if "utilisation" in given else "assumed",
            show(spec.utilisation, "ratio"),
            "Idle hours are paid: the price per token is divided by this share.",
            "utilisation",
        ),
    )


def _precision_question(spec: EngineInstanceSpec, result: Result) -> Question:
    dtype, weights = _weight_dtype(result), show(result.value("weights_bytes"), "bytes")
    narrow = dtype not in _WIDE
    return Question(
        f"Are {dtype.upper()} weights good enough for this task?"
        if narrow
        else "Is FP8 good enough for this LLM and task?",
        "answered" if spec.weight_dtype else "open",
        f"{dtype.upper()}{'' if spec.weight_dtype else ', as published'}: {weights} a GPU",
        "A wider format takes more bytes: less cache, or more GPUs."
        if narrow
        else "Half the bytes of BF16: more cache, or fewer GPUs.",
        "weight_dtype",
    )


def _weight_dtype(result: Result) -> str:
    """The format of the weights, stated or as the LLM was published."""
    return str(result.provenance["weight_format"])


def _load_words(spec: EngineInstanceSpec) -> str:
    if spec.rate_rps is not None:
        return show(spec.rate_rps, "req/s")
    return f"{show(spec.concurrency or DEFAULT_CONCURRENCY, 'requests')} at once"


def _objective_words(spec: EngineInstanceSpec) -> str:
    ttft = f"TTFT P99 {show(spec.ttft_p99_slo_s, 's')}" if spec.ttft_p99_slo_s else "no TTFT"
    tpot = f"TPOT P99 {show(spec.tpot_slo_s, 's')}" if spec.tpot_slo_s else "no TPOT"
    return f"{ttft}, {tpot}"


def variants(spec: EngineInstanceSpec, result: Result) -> Sequence[Variant]:
    """One change each, offered as a click."""
    return tuple(_without_measurements(spec, each) for each in _variants(spec, result))


def _without_measurements(spec: EngineInstanceSpec, variant: Variant) -> Variant:
    """Another GPU, engine, placement or format of the weights is not what the start-up was measured on."""
    if not _MEASURED_ON & set(variant.change):
        return variant
    return Variant(variant.label, {**variant.change, **unmeasured(spec)})


def _variants(spec: EngineInstanceSpec, result: Result) -> Iterator[Variant]:
    gpus, ranks, copies, stages = spec.cut()
    if copies == stages == 1:
        if 2 * ranks <= _MOST_RANKS:
            yield Variant(f"{show(2 * ranks, 'GPUs')}, tensor parallel", placed(2 * ranks))
        if ranks > 1:
            yield Variant(f"{show(ranks // 2, 'GPUs')}, tensor parallel", placed(ranks // 2))
    elif stages == 1 and gpus <= _MOST_RANKS:
        yield Variant("Tensor parallel only", placed(gpus))
    if _weight_dtype(result) in _WIDE:
        yield Variant("FP8 weights", {"weight_dtype": "fp8", "checkpoint_bytes": None})
    if spec.kv_dtype != "fp8":
        yield Variant("FP8 cache", {"kv_dtype": "fp8"})
    for slug, name in _OTHER_GPUS:
        if spec.gpu != slug:
            yield Variant(f"On {name}", {"gpu": slug, "gpu_price_usd_per_h": None})
    yield from _load_variant(spec, result)
    if spec.engine == "vllm":
        yield Variant("SGLang", {"engine": "sglang", "engine_version": None, "memory_fraction": None})
    else:
        yield Variant("vLLM", {"engine": "vllm", "engine_version": None, "memory_fraction": None})


def _load_variant(spec: EngineInstanceSpec, result: Result) -> Iterator[Variant]:
    if spec.rate_rps:
        if 2 * spec.rate_rps <= _MOST_LOAD:
            yield Variant("Twice the rate", {"rate_rps": 2 * spec.rate_rps, "concurrency": None})
        return
    at_once = result.value("concurrency") or spec.concurrency or DEFAULT_CONCURRENCY
    if 2 * at_once <= _MOST_LOAD:
        yield Variant("Twice the requests at once", {"concurrency": 2 * at_once, "rate_rps": None})


def follow_ups(spec: EngineInstanceSpec, result: Result) -> Sequence[FollowUp]:
    """What-ifs with this design's figures."""
    return tuple(_follow_ups(spec, result))


def _follow_ups(spec: EngineInstanceSpec, result: Result) -> Iterator[FollowUp]:
    tokens, per_token = result.value("kv_pool_tokens"), result.value("kv_bytes_per_token")
    longest = result.value("longest_request_tokens")
    if tokens is None or longest is None:
        yield FollowUp("What would make it fit?", _fit_answer(result))
        return
    held = held_tokens(input_tokens=spec.input_tokens, output_tokens=spec.output_tokens)
    longer = held_tokens(input_tokens=4 * spec.input_tokens, output_tokens=spec.output_tokens)
    yield FollowUp(
        "What if prompts grow to four times the length?",
        f"A request then holds {longer:,.0f} tokens on average instead of {held:,.0f}: the {show(tokens, 'tokens')} of "
        f"a pool hold {show(tokens / longer, 'requests')} instead of {show(tokens / held)}. The longest request that "
        f"fits at all has {show(longest, 'tokens')}.",
    )
    pool = result.metrics["kv_pool_bytes"]
    if pool.basis == "measured":
        yield FollowUp(
            "How sure is the size of the pool?",
            f"{show(pool.value, 'bytes')} a GPU, as the start-up of this replica has it; the "
            f"{show(per_token, 'bytes/token')} follow from the LLM.",
        )
        yield from _load_follow_ups(spec, result)
        return
    yield FollowUp(
        "How sure is the size of the pool?",
        f"{show(pool.value, 'bytes')} a GPU, give or take {show((pool.high or 0.0) - (pool.value or 0.0), 'bytes')}: "
        "what the engine takes beside the weights changes with its version. The start-up line of the engine that names "
        f"its KV cache settles it; the {show(per_token, 'bytes/token')} do not change.",
    )
    yield from _load_follow_ups(spec, result)


def _fit_answer(result: Result) -> str:
    smallest, weights = result.value("smallest_gpus"), result.value("weights_bytes")
    now = f"with the GPUs chosen, {show(weights, 'bytes')} of weights fall on each"
    if smallest is None:
        return f"No number of these GPUs up to 64 does with these settings; {now}."
    return f"{show(smallest, 'GPUs')} of this kind by tensor parallelism; {now}."


def _load_follow_ups(spec: EngineInstanceSpec, result: Result) -> Iterator[FollowUp]:
    most, rate = result.value("max_request_rate_rps"), result.value("request_rate_rps")
    if most is None or rate is None:
        return
    full = f"It serves {show(rate, 'req/s')}, all it can: every place is taken all the time."
    yield FollowUp(
        "How much more can it take?",
        full
        if rate >= _ALL * most
        else f"It serves {show(rate, 'req/s')} now and {show(most, 'req/s')} with every place taken all the time. Past "
        "that queues grow without end, and from about 80 % of it waits grow steeply.",
    )
    bill = result.value("cost_usd_per_h")
    if bill is not None and most > 0:
        yield FollowUp(
            "What is the lowest price it can reach?",
            f"{show(bill / (most * spec.output_tokens * 3600) * 1e6, 'USD/M output tokens')} with every place taken, "
            "whatever the latency; idle hours come on top.",
        )
