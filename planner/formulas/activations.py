"""Peak of activations while an engine profiles its largest step, term by term."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.catalog import Llm
from planner.formulas.parameters import dense_layers, shared_expert_parameters

_LATENT_WORKSPACE_TOKENS = 65536
_LATENT_WORKSPACE_REQUESTS = 8
_LATENT_WORKSPACE_BLOCKS = 4
_SPARSE_WORKSPACE_REQUESTS = 5


@dataclass(frozen=True, slots=True)
class Step:
    """The largest step an engine profiles: ``batched_tokens`` in all, of ``sequences`` that are sampled at once."""

    batched_tokens: int
    sequences: int
    max_model_len: int
    block_size: int
    tensor_parallel: int
    hidden_factor: float
    """Residual-width buffers alive at the peak."""
    logit_bytes: float
    """Bytes of a sampled logit over the whole vocabulary, which every rank gathers."""
    profiles_latent_prefill: bool = False


def peak_bytes(llm: Llm, *, step: Step) -> float:
    """Peak of activations while the largest batch is profiled [bytes].

    Parameters
    ----------
    llm : architecture
    step : the largest step

    Notes
    -----
    ``max(2N(m·I/TP + c·h), 2N·h + b·S·V) + 6·N·k·I_expert/TP``: the peak of an MLP of m matrices or the sampler's, and
    the experts' work space; latent attention adds its own (`latent_workspace_bytes`). Against 16 start-up logs of vLLM
    0.19 on H100: median error 2 %, worst 8 %.

    References
    ----------
    Fitted on the start-up logs named in ``calibrations/engine_memory.toml``.
    """
    tokens, rows = step.batched_tokens, min(step.sequences, step.batched_tokens)
    mlp = 2.0 * tokens * (llm.mlp_matrices * widest_mlp(llm) / step.tensor_parallel + step.hidden_factor * llm.hidden)
    sampler = 2.0 * tokens * llm.hidden + step.logit_bytes * rows * llm.vocab
    experts = 6.0 * tokens * llm.moe.top_k * llm.moe.expert_width / step.tensor_parallel if llm.moe else 0.0
    latent = latent_workspace_bytes(llm, step=step) if step.profiles_latent_prefill else 0.0
    return max(mlp, sampler) + experts + latent


def widest_mlp(llm: Llm) -> float:
    """Width of the dense MLP, or of the shared one where every layer has experts."""
    dense = llm.intermediate if dense_layers(llm) else 0
    return max(float(dense), shared_expert_parameters(llm) / (llm.mlp_matrices * llm.hidden))


def latent_workspace_bytes(llm: Llm, *, step: Step) -> float:
    """Work space of latent attention for the prefill of long contexts, on a rank [bytes].

    Parameters
    ----------
    llm : architecture
    step : the largest step

    Notes
    -----
    Dense: the up-projected keys and values of ``min(max(8·L, 4·S·B), 65,536)`` cached tokens and their latent
    vectors. Sparse: latent vectors of ``5·L`` tokens in 16 bits.

    References
    ----------
    vLLM source, latent attention back ends: workspace size of the chunked prefill, and of sparse prefill.
    """
    if llm.mla is None:
        return 0.0
    latent = 2.0 * (llm.mla.kv_lora_rank + llm.mla.rope_dim)
    if llm.sparse_top_k:
        return _SPARSE_WORKSPACE_REQUESTS * step.max_model_len * latent
    wanted = max(
        _LATENT_WORKSPACE_REQUESTS * step.max_model_len,
        _LATENT_WORKSPACE_BLOCKS * step.sequences * step.block_size,
    )
    heads = llm.heads / step.tensor_parallel
    return min(wanted, _LATENT_WORKSPACE_TOKENS) * (latent + 2.0 * heads * (llm.mla.nope_dim + llm.mla.v_dim))
