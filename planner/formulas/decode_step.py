"""Time of one decode step as a straight line in the batch: a fixed part, a part per sequence, a part per cached token.

The line is an instance's: weights are read once a step whatever the batch, everything else comes with the sequences.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecodeStep:
    """T(B) = a + b B + c (tokens in the KV cache of the batch).

    Parameters
    ----------
    fixed_s : a, time of a step whatever the batch [s]
    sequence_s : b, per running sequence [s]
    kv_token_s : c, per token of context of the running sequences [s]
    """

    fixed_s: float
    sequence_s: float
    kv_token_s: float = 0.0

    def with_context(self, context_tokens: float) -> DecodeStep:
        """The same line for sequences of one mean context, whose reading then is a part per sequence."""
        return DecodeStep(self.fixed_s, self.sequence_s + self.kv_token_s * context_tokens)

    def at(self, batch: float, *, context_tokens: float = 0.0) -> float:
        """Time of a step [s]."""
        return self.fixed_s + batch * (self.sequence_s + self.kv_token_s * context_tokens)

    def tokens_per_s(self, batch: float, *, context_tokens: float = 0.0) -> float:
        """Output of the instance at this batch [tokens/s]."""
        return batch / self.at(batch, context_tokens=context_tokens) if batch > 0 else 0.0


def from_quoted_rate(tokens_per_s: float, *, batch: float, fixed_s: float) -> DecodeStep | None:
    """The line through a quoted rate; None when its fixed part alone takes longer than the quoted step.

    Parameters
    ----------
    tokens_per_s : R*, output of the instance [tokens/s]
    batch : B*, running sequences at which the rate is quoted [1]
    fixed_s : a [s]

    Returns
    -------
    DecodeStep

    Notes
    -----
    b = 1 / R* - a / B*.

    References
    ----------
    S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
    Architectures", Communications of the ACM 52(4), 2009, doi:10.1145/1498765.1498785 (traffic that a batch shares and
    traffic that it does not).

    >>> from_quoted_rate(2500.0, batch=128, fixed_s=0.0119).sequence_s
    0.00030703125
    """
    sequence_s = 1 / tokens_per_s - fixed_s / batch
    return DecodeStep(fixed_s, sequence_s) if sequence_s > 0 else None


def from_roofline(
    *,
    weight_bytes: float,
    kv_bytes_per_token: float,
    flops_per_token: float,
    memory_bytes_per_s: float,
    flops_per_s: float,
    overhead_s: float = 0.0,
) -> DecodeStep:
    """The line a roofline gives: weights and KV cache over the bandwidth reached, arithmetic over the FLOP/s reached.

    Parameters
    ----------
    weight_bytes : read once a step, all GPUs of the instance together [bytes]
    kv_bytes_per_token : of one token of context, all layers [bytes]
    flops_per_token : of one output token outside attention [FLOP]
    memory_bytes_per_s : bandwidth reached, all GPUs of the instance together [bytes/s]
    flops_per_s : arithmetic reached, all GPUs of the instance together [FLOP/s]
    overhead_s : launches, sampling, communication of a step [s]

    Returns
    -------
    DecodeStep

    Notes
    -----
    a = W / BW + overhead, b = FLOP / peak, c = KV / BW. Adding arithmetic to traffic instead of taking the larger errs
    to the slow side, most where both are alike.

    References
    ----------
    S. Williams, A. Waterman, D. Patterson, "Roofline", Communications of the ACM 52(4), 2009,
    doi:10.1145/1498765.1498785; R. Pope et al., "Efficiently Scaling Transformer Inference", 2022, arXiv:2211.05102,
    section 2 (weights and KV cache read each step).

    >>> line = from_roofline(weight_bytes=32e9, kv_bytes_per_token=131072, flops_per_token=64e9,
    ...     memory_bytes_per_s=0.8 * 3.35e12, flops_per_s=1e15)
    >>> round(line.fixed_s, 4)
    0.0119
    """
    return DecodeStep(
        fixed_s=weight_bytes / memory_bytes_per_s + overhead_s,
        sequence_s=flops_per_token / flops_per_s,
        kv_token_s=kv_bytes_per_token / memory_bytes_per_s,
    )


def shared_weight(step: DecodeStep, *, batch: float) -> float:
    """How much of a full step comes with its sequences, over what they share: beta.

    Parameters
    ----------
    step : line of an instance, contexts already within its part per sequence
    batch : B*, of the quoted rate [1]

    Returns
    -------
    [1]

    Notes
    -----
    beta = b B* / a. Large: a small batch is nearly as efficient as a large one; small: a decaying batch wastes.

    References
    ----------
    R. Pope et al., "Efficiently Scaling Transformer Inference", 2022, arXiv:2211.05102, section 2.

    >>> round(shared_weight(DecodeStep(0.0119, 0.00030703125), batch=128), 2)
    3.3
    """
    return step.sequence_s * batch / step.fixed_s


def batch_in_memory(kv_tokens: float, *, context_tokens: float) -> float:
    """Sequences whose KV cache fits on average.

    Parameters
    ----------
    kv_tokens : tokens of KV cache the instance has room for [tokens]
    context_tokens : mean context of a running sequence, see `mean_context_tokens` [tokens]

    Returns
    -------
    [1]

    Notes
    -----
    B = KV / (P + L (1 + cv^2) / 2): caches grow with the answer, and long answers are in more steps. Holding it on
    average means preempting some of the time; an engine that reserves the cap holds fewer.

    References
    ----------
    W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023,
    arXiv:2309.06180, section 3.1.

    >>> round(batch_in_memory(150_680, context_tokens=7856), 1)
    19.2
    """
    return kv_tokens / context_tokens
