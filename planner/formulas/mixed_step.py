"""A step of an engine that decodes sequences and fills prompts at once, as the few numbers a simulator takes.

`roofline` says what a decode step and what a prefill take. An engine mixes both in one pass: the GEMMs see all tokens
together, each sequence reads its own cache, each prompt has its own attention. `step_numbers` puts the two into one
step of one rank; `StepNumbers.at` is that step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.formulas import roofline
from planner.formulas.calibration import Coefficients
from planner.formulas.traffic import Amounts

_GROWTH = 1.08
"""Neighbouring points of the table: a straight line between them is off by less than 0.1 %."""
_MIDDLE = (0.5, 1.5)
"""Around the mean context: where layers see a window, a token of context costs what it costs there."""


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """Any step of one rank up to the largest of ``tokens``. Times in seconds.

    ``tokens`` and ``table_s``: launches, weights and GEMMs by tokens in the step, where a prompt token counts as
    ``prompt_token_weight`` decoding ones. ``pooled_share``: of a token, what all ranks of the replica share (experts),
    so that there the ranks' mean counts instead of a rank's own. ``prompt_step_s`` is added to a step with prompt
    tokens in it. ``request_s`` passes outside the steps before a first token.
    """

    tokens: tuple[int, ...]
    table_s: tuple[float, ...]
    sequence_s: float
    kv_token_s: float
    token_pair_s: float
    prompt_step_s: float
    prompt_token_weight: float
    pooled_share: float
    request_s: float

    def at(self, *, sequences: float, kv_tokens: float, prompt_tokens: float = 0.0, token_pairs: float = 0.0) -> float:
        """A step of ``sequences`` that decode, with ``kv_tokens`` of context in all, and chunks of prompts [s].

        Parameters
        ----------
        sequences, kv_tokens, prompt_tokens : of the rank, and of every other one [1], [tokens]
        token_pairs : Σ chunk · (context before it + chunk/2) [tokens²]
        """
        return self.of_rank(
            tokens=sequences + self.prompt_token_weight * prompt_tokens,
            mean_tokens=sequences + self.prompt_token_weight * prompt_tokens,
            own_s=self.sequence_s * sequences
            + self.kv_token_s * kv_tokens
            + self.token_pair_s * token_pairs
            + (self.prompt_step_s if prompt_tokens > 0 else 0.0),
        )

    def of_rank(self, *, tokens: float, mean_tokens: float, own_s: float) -> float:
        """A step of a rank with ``tokens`` where ranks have ``mean_tokens`` on average, and ``own_s`` beside [s]."""
        counted = tokens + self.pooled_share * (mean_tokens - tokens)
        return float(np.interp(counted, self.tokens, self.table_s)) + own_s

    def scaled(self, factor: float, *, request: float = 1.0) -> StepNumbers:
        """All times of steps longer by a factor, what passes outside them by another."""
        return StepNumbers(
            tokens=self.tokens,
            table_s=tuple(factor * each for each in self.table_s),
            sequence_s=factor * self.sequence_s,
            kv_token_s=factor * self.kv_token_s,
            token_pair_s=factor * self.token_pair_s,
            prompt_step_s=factor * self.prompt_step_s,
            prompt_token_weight=self.prompt_token_weight,
            pooled_share=self.pooled_share,
            request_s=request * self.request_s,
        )


def step_numbers(
    replica: roofline.Replica, *, most_tokens: float, context_tokens: float, tokens_per_sequence: float = 1.0
) -> StepNumbers:
    """The steps of one rank of a replica, from what its roofline says of decode and of prefill.

    Parameters
    ----------
    replica : roofline of the replica
    most_tokens : the largest step of a rank, prompts and sequences [tokens]
    context_tokens : mean length of a running sequence [tokens]
    tokens_per_sequence : tokens verified a sequence and step

    Returns
    -------
    StepNumbers
        of a rank of D attention copies, each with the same batch. With pipeline stages a step is a round through all
        of them, in which each works on its share of the rank's tokens.

    Notes
    -----
    With b sequences and n prompt tokens on each rank, ``T = launches + (Tw³ + Tf³)^(1/3) + b·(KV + t_sequence +
    communication) + pairs·attention``, ``Tf = D·(b·g_d + n·g_p)``, where ``g_d`` is what `roofline.step_time` takes for
    a token of a decode step and ``g_p`` what `roofline.prefill_time` takes for a token outside attention. A step
    without prompts is the decode step; one of a whole prompt is its prefill, and reading the weights hides behind it.
    Of the launches of a prefill the share that holds others up, ψ, is in the step, the rest with the request.

    References
    ----------
    Agrawal et al., "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve", OSDI 2024,
    arXiv:2403.02310, section 4 (chunks of prompts ride on decode steps); Williams, Waterman, Patterson, "Roofline",
    2009, doi:10.1145/1498765.1498785; the coefficients are fitted, see ``calibrations/roofline.toml``.
    """
    a, c = replica.amounts, replica.coefficients
    stages, copies = a.pipeline_parallel, a.data_parallel
    decode_s = copies * c.decode_gemm * (a.dense_gemm_s + a.head_gemm_s + a.expert_gemm_s) * tokens_per_sequence
    pooled_s, prompt_s = _prompt_token_s(a, c)
    weight = prompt_s / decode_s
    tokens = _grid(max(most_tokens, 1.0) * max(weight, 1.0))
    sequence_s, kv_token_s = _sequence_s(replica, context_tokens, tokens_per_sequence)
    launches_s = a.layers * c.prefill_layer_s
    return StepNumbers(
        tokens=tokens,
        table_s=tuple(
            roofline.step_overhead_s(a, coefficients=c)
            + _blended_s(a, c, tokens=copies * each * tokens_per_sequence / stages, gemm_s=decode_s * each / stages)
            for each in tokens
        ),
        sequence_s=sequence_s,
        kv_token_s=kv_token_s,
        token_pair_s=_pair_s(replica, prompt_tokens=context_tokens) / stages,
        prompt_step_s=c.interference_launch * launches_s,
        prompt_token_weight=weight,
        pooled_share=pooled_s / prompt_s,
        request_s=c.first_token_s + (1.0 - c.interference_launch) * launches_s,
    )


def _blended_s(a: Amounts, c: Coefficients, *, tokens: float, gemm_s: float) -> float:
    read_s = c.weights_read * (a.dense_read_s + roofline.experts_read_s(a, coefficients=c, tokens=tokens))
    return float((read_s**3 + gemm_s**3) ** (1 / 3))


def _prompt_token_s(a: Amounts, c: Coefficients) -> tuple[float, float]:
    """What a prompt token on each rank takes outside attention: the part that ranks share, and all of it [s]."""
    own_s, experts_s = roofline.prompt_token_parts(a, coefficients=c)
    network_s = a.prefill_network_s / c.network_efficiency
    exposed_s = network_s - c.overlap_prefill * min(network_s, own_s + experts_s)
    pooled_s = a.data_parallel * (experts_s + exposed_s)
    return pooled_s, pooled_s + a.data_parallel * own_s


def _sequence_s(replica: roofline.Replica, context_tokens: float, tokens_per_sequence: float) -> tuple[float, float]:
    """What a sequence adds to a step whatever its context, and each token of its context [s]."""
    a, c = replica.amounts, replica.coefficients
    ends = [max(share * context_tokens, 1.0) for share in _MIDDLE]
    low_s, high_s = (_cache_s(replica, each, tokens_per_sequence) for each in ends)
    token_s = (high_s - low_s) / (ends[1] - ends[0])
    fixed_s = max(_cache_s(replica, context_tokens, tokens_per_sequence) - token_s * context_tokens, 0.0)
    network_s = (1.0 - c.overlap_decode) * a.data_parallel * a.decode_network_s / c.network_efficiency
    messages_s = tokens_per_sequence * (roofline.all_reduces_s(a, coefficients=c) + network_s)
    return (fixed_s + c.sequence_s + messages_s) / a.pipeline_parallel, token_s / a.pipeline_parallel


def _cache_s(replica: roofline.Replica, context_tokens: float, tokens_per_sequence: float) -> float:
    c = replica.coefficients
    work = replica.sequence_work(context_tokens=context_tokens, tokens_per_sequence=tokens_per_sequence)
    return c.kv_read * (work.kv_read_s + c.decode_attention * work.attention_s)


def _pair_s(replica: roofline.Replica, *, prompt_tokens: float) -> float:
    """Attention of a prompt on its rank, for each token and each token before it [s]."""
    whole_s = replica.prefill_attention_s(new_tokens=prompt_tokens, cached_tokens=0.0)
    on_rank_s = replica.coefficients.prefill_attention * whole_s * replica.amounts.data_parallel
    return on_rank_s / (prompt_tokens**2 / 2)


def _grid(most: float) -> tuple[int, ...]:
    """Whole numbers from 1 on, each the next or some per cent more, to the largest step."""
    found = [1, 2]
    while found[-1] < most:
        found.append(max(found[-1] + 1, math.ceil(_GROWTH * found[-1])))
    return tuple(found)
