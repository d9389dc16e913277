"""What an instance can do: bytes it holds, answers it runs at once, and the time of a decode step.

A step of a batch B takes ``a + b B`` and reads what its contexts have cached. Both ends are right, a step of one answer
and one of the full batch; between them a mixture of experts reads up to as many experts more as the straight line says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.catalog import Catalog, Gpu, Llm
from planner.formulas import attention, calibration, memory, roofline
from planner.formulas.answer_lengths import AnswerLengths, mean_context_tokens
from planner.formulas.decode_step import DecodeStep
from planner.formulas.fetching import latent_copies
from planner.formulas.parameters import parameters
from planner.formulas.running_answers import context_variation, running_answers
from planner.formulas.traffic import Layout
from planner.kinds.rl_rollout.spec import RlRolloutSpec

ENGINE = "vllm"
"""Whose coefficients a rate from the roofline takes."""
_LEAST_S = 1e-9


@dataclass(frozen=True, slots=True)
class Physics:
    """Numbers of one instance."""

    llm: Llm
    gpu: Gpu
    gpus: int
    weight_bytes: float
    own_weight_bytes: float
    own_active_parameters: float
    """Of the LLM that was chosen, whatever is stated."""
    touched_bytes: float
    """Weights that one token reads: all, or with the experts it chooses."""
    parameters: float
    active_parameters: float
    kv_bytes_per_token: float
    """All copies within an instance."""
    kv_bytes: float
    """Pool of an instance; negative where the weights do not fit."""
    context_tokens: float
    """Of a running answer, mean over steps."""
    memory_batch: float
    """Answers of mean context that the pool holds."""
    running: float
    """Answers an instance runs at once on average: as many as fit, and as the engine allows."""
    decode: DecodeStep
    step: DecodeStep
    """With the prefill of each answer spread over its tokens: what a token costs an instance."""
    full_batch: float
    """Of an instance: where the rate is quoted."""
    full_rate: float
    """Tokens a second of a GPU at that batch: what utilisation is measured against."""
    prefill_tokens_per_s: float
    """Of an instance."""

    @property
    def fits(self) -> bool:
        return self.memory_batch >= 1

    def rate(self, batch: float) -> float:
        """Tokens a second of a GPU at a batch of the instance, contexts as they are on average."""
        return self.step.tokens_per_s(batch, context_tokens=self.context_tokens) / self.gpus


def physics(spec: RlRolloutSpec, *, catalog: Catalog, law: AnswerLengths) -> Physics:
    """The figures stated, and those of LLM and GPU where a field is empty; raises `MissingFigure`."""
    llm, gpu = catalog.llm(spec.llm), catalog.gpu(spec.gpu)
    counts = parameters(llm)
    own_weights = memory.weight_bytes(llm, dtype=spec.weight_dtype)
    weights = own_weights if spec.weight_bytes is None else spec.weight_bytes
    own_active = llm.published_active_params or counts["active"]
    active = own_active if spec.active_parameters is None else spec.active_parameters
    context = mean_context_tokens(law, prompt_tokens=spec.prompt_tokens)
    kv = _kv_bytes_per_token(spec, llm=llm, context_tokens=context)
    pool = _pool_bytes(spec, gpu=gpu, weight_bytes=weights)
    held = max(pool, 0.0) / (kv * context)
    spread = context_variation(law, prompt_tokens=spec.prompt_tokens)
    running = max(running_answers(held, variation=spread, limit=spec.running_cap), 1.0)
    prefill = _prefill_rate(spec, gpu=gpu, active_parameters=active)
    touched = weights * counts["active"] / (counts["total"] - counts["vision"])
    decode, full = _step(
        spec, gpu=gpu, llm=llm, touched_bytes=touched, running=running, context_tokens=context, catalog=catalog
    )
    return Physics(
        llm=llm,
        gpu=gpu,
        gpus=spec.instance_gpus,
        weight_bytes=weights,
        own_weight_bytes=own_weights,
        own_active_parameters=own_active,
        touched_bytes=touched,
        parameters=weights / memory.kv_dtype_bytes(spec.weight_dtype),
        active_parameters=active,
        kv_bytes_per_token=kv,
        kv_bytes=pool,
        context_tokens=context,
        memory_batch=held,
        running=running,
        decode=decode,
        step=replace(decode, sequence_s=decode.sequence_s + spec.prompt_tokens / prefill / law.mean_tokens),
        full_batch=full,
        full_rate=decode.tokens_per_s(full, context_tokens=context) / spec.instance_gpus,
        prefill_tokens_per_s=prefill,
    )


def _kv_bytes_per_token(spec: RlRolloutSpec, *, llm: Llm, context_tokens: float) -> float:
    """As stated, or averaged over a mean context, because windows and states bend it; heads are copied over ranks."""
    if spec.kv_bytes_per_token is not None:
        return spec.kv_bytes_per_token
    width = memory.kv_dtype_bytes(spec.kv_dtype)
    one = attention.request_kv_bytes(llm, tokens=context_tokens, dtype_bytes=width) / context_tokens
    if llm.mla:
        return one * latent_copies(tensor_parallel=spec.instance_gpus, is_latent=True, is_broadcast=False)
    return one * spec.instance_gpus / min(spec.instance_gpus, max(llm.kv_heads, 1))


def _pool_bytes(spec: RlRolloutSpec, *, gpu: Gpu, weight_bytes: float) -> float:
    if spec.kv_memory_bytes_per_gpu is not None:
        return spec.kv_memory_bytes_per_gpu * spec.instance_gpus
    usable = spec.memory_share * gpu.figure("memory_bytes") - spec.reserve_bytes
    return usable * spec.instance_gpus - weight_bytes


def _prefill_rate(spec: RlRolloutSpec, *, gpu: Gpu, active_parameters: float) -> float:
    native = spec.weight_dtype == "fp8" and gpu.has("fp8_flops_per_s")
    peak = gpu.figure("fp8_flops_per_s" if native else "bf16_flops_per_s")
    return peak * spec.mfu * spec.instance_gpus / (2 * active_parameters)


def _step(
    spec: RlRolloutSpec,
    *,
    gpu: Gpu,
    llm: Llm,
    touched_bytes: float,
    running: float,
    context_tokens: float,
    catalog: Catalog,
) -> tuple[DecodeStep, float]:
    """The line of a step, and the batch of an instance that counts as full."""
    gpus = spec.instance_gpus
    if spec.rate_source == "roofline":
        return _calibrated(
            spec, llm=llm, gpu=gpu, batch=running, context_tokens=context_tokens, catalog=catalog
        ), running
    full = spec.rate_batch * gpus
    whole_s = spec.rate_batch / spec.rate_tokens_per_s
    read_s = touched_bytes / (gpus * gpu.figure("memory_bytes_per_s") * spec.memory_efficiency)
    # A rate beyond what the weights can be read at leaves no time for anything else: it stands, and a finding says so.
    fixed_s = min(read_s + (spec.step_overhead_s if gpus > 1 else 0.0), whole_s * (1 - 1e-6))
    return DecodeStep(fixed_s, (whole_s - fixed_s) / full), full


def _calibrated(
    spec: RlRolloutSpec, *, llm: Llm, gpu: Gpu, batch: float, context_tokens: float, catalog: Catalog
) -> DecodeStep:
    """The line through a step of one answer and one of the full batch, by the roofline fitted on measurements."""
    gpus = spec.instance_gpus
    made = roofline.replica(
        llm,
        gpu,
        layout=Layout(gpus=gpus, tensor_parallel=gpus, expert_parallel=gpus if llm.moe else 1),
        weight_dtype=spec.weight_dtype,
        coefficients=calibration.coefficients(catalog.calibration("roofline"), gpu=gpu, engine=ENGINE),
        kv_dtype_bytes=memory.kv_dtype_bytes(spec.kv_dtype),
    )
    one, full = (
        made.decode_step(batch=size, context_tokens=context_tokens, tokens_per_sequence=1.0) for size in (1.0, batch)
    )
    kv_token_s = full.kv_s / (batch * context_tokens)
    more_s = max(full.total_s - full.kv_s - (one.total_s - one.kv_s), 0.0) / max(batch - 1, 1.0)
    return DecodeStep(max(one.total_s - one.kv_s - more_s, _LEAST_S), max(more_s, _LEAST_S), kv_token_s)
