"""Published results of whole systems: prefill and decode units with experts over many GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner import kinds
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.units import unit
from tests.validation import published_text as text
from tests.validation.published_engines import facts, set_aside
from tests.validation.rows import Row
from tests.validation.shipped import catalog

KIND = kinds.get("llm_serving")
Published = Mapping[str, str]
QUANTITY = "system_throughput"
NODE = 8
DAY = "r0001", "r0002"
"""Rows of DeepSeek's published day."""
_ANSWER = 4989 / (608 / 168 + 0.5)
"""Output tokens a request of that day: 608 G in, 168 G out, context in + out / 2 = 4,989."""
DAY_SPEC: dict[str, Any] = {
    "input_tokens": _ANSWER * 608 / 168,
    "output_tokens": _ANSWER,
    "prefix_hit_rate": 0.563,
    "tpot_slo_s": 1 / 21,
}
_BENCHMARK: dict[str, Any] = {"prefix_hit_rate": 0.0, "input_sigma": 0.0, "output_sigma": 0.0}
"""Runs with prompts of one length and nothing cached."""
_DRAFTED = 0.6
"""Acceptance that the SGLang team assumes for its own run with simulated drafts and for DeepSeek's profile."""


def prefill(row: Published) -> Iterator[Row]:
    """Computed input tokens a second and node."""
    ranks = text.expert_ranks(row["parallelism"])
    spec = _spec(row) | {"prefill_unit_gpus": ranks}
    if row["id"] not in DAY:
        tokens = text.per_gpu(row["concurrency_or_batch"]) if row["concurrency_or_batch"] else 16_384.0
        spec |= {"prefill_step_tokens": int(tokens * ranks)}
    found = physics(KIND.spec.model_validate(spec), catalog=catalog()).derived
    measured = text.tokens_of(row["prefill_tok_s_per_gpu"], what="throughput") * (1 - spec["prefix_hit_rate"])
    yield _compared(row, found.prefill_tokens_per_s_per_gpu, (found.prefill_low, found.prefill_high), measured)


def decode(row: Published) -> Iterator[Row]:
    """Output tokens a second and node, at the published batch of a GPU or at the published speed of a user."""
    ranks = text.expert_ranks(row["parallelism"])
    spec = _spec(row) | {"decode_unit_gpus": ranks}
    if "redundant experts" in row["parallelism"]:
        spec |= {"redundant_experts": 96}
    if "simulated MTP" in row["notes"] or row["engine"] == "DeepSeek profile-data":
        spec |= {"mtp": "on", "mtp_accepted_tokens": _DRAFTED}
    if "no two-batch overlap" in row["parallelism"]:
        spec |= {"overlap": "none"}
    if row["id"] not in DAY:
        batch = text.per_gpu(row["concurrency_or_batch"])
        context = text.tokens_of(row["isl"], what="context")
        spec |= {"input_tokens": context - 50, "output_tokens": 100.0, "runtime_bytes": 1e9, "kv_memory_share": 1.0}
        spec |= {"tpot_slo_s": _token_time_s(spec, batch=batch)}
    found = physics(KIND.spec.model_validate(spec), catalog=catalog()).derived
    measured = text.tokens_of(row["decode_tok_s_per_gpu"], what="throughput")
    yield _compared(row, found.decode_tokens_per_s_per_gpu, (found.decode_low, found.decode_high), measured)


def decode_pool(row: Published) -> Iterator[Row]:
    """Time per token of decode workers that share the load evenly; nothing prefills on them."""
    pools = text.pools_of(row["parallelism"])
    cut, load = pools.decode, text.tokens_of(row["concurrency_or_batch"], what="load")
    spec = _spec(row) | {"engine": text.engine_of(row["engine"]), "decode_unit_gpus": cut.gpus}
    spec |= {"output_tokens": text.tokens_of(row["osl"], what="output"), "overlap": "none"}
    parsed = KIND.spec.model_validate(spec)
    llm, gpu = catalog().llm(parsed.llm), catalog().gpu(parsed.gpu)
    worker = unit(parsed, llm=llm, gpu=gpu, unit_gpus=cut.gpus, rank_gpus=cut.tensor, catalog=catalog())
    step = worker.step(
        per_gpu=load / (pools.decode_workers * cut.gpus),
        context_tokens=parsed.mean_context_tokens,
        tokens_per_sequence=1.0,
    )
    measured = text.tokens_of(row["tpot_ms"], what="time per token") / 1e3
    yield Row(**facts(row), group="TPOT", predicted=step.total_s, measured=measured, unit="s")


def _token_time_s(spec: dict[str, Any], *, batch: float) -> float:
    """The token time at which a GPU runs this batch, by bisection."""
    low, high = 1e-3, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        parsed = KIND.spec.model_validate({**spec, "tpot_slo_s": middle})
        if physics(parsed, catalog=catalog()).derived.decode_batch_per_gpu < batch:
            low = middle
        else:
            high = middle
    return high


def _spec(row: Published) -> dict[str, Any]:
    shared = {
        "llm": text.llm_of(row["model"]).slug,
        "gpu": text.gpu_of(row["gpu"]).slug,
        "gpus_per_node": NODE,
        "rate_mode": "derived",
        "mtp": "off",
        "weight_dtype": text.format_of(row["precision"]),
        "kv_bytes_per_token": None,
    }
    if row["id"] in DAY:
        return shared | DAY_SPEC
    prompt = text.tokens_of(row["isl"], what="input")
    return shared | _BENCHMARK | {"input_tokens": prompt, "output_tokens": 100.0}


def _compared(row: Published, predicted: float, between: tuple[float, float], measured: float) -> Row:
    low, high = between
    return Row(
        **{**facts(row), "quantity": QUANTITY},
        group="prefill" if row["mode"] == "prefill-only" else "decode",
        predicted=predicted * NODE,
        measured=measured * NODE,
        low=low * NODE,
        high=high * NODE,
        unit="tok/s",
    )


def too_little(row: Published, reason: str) -> Row:
    """A system that cannot be said from its row, in its own quantity."""
    made = set_aside(row, reason)
    return Row(**{**facts(row), "quantity": QUANTITY}, status="not expressible", reason=made.reason)
