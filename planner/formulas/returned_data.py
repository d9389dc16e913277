"""What the instances hand back with the answers: token numbers, log-probabilities, the experts that were chosen."""

from __future__ import annotations

TOKEN_BYTES = 8.0
"""A 32-bit token number and a 32-bit log-probability."""


def routing_bytes_per_token(*, expert_layers: int, top_k: int, index_bytes: float) -> float:
    """Bytes that name the experts a token went to, all layers [bytes].

    Parameters
    ----------
    expert_layers : layers with routed experts; none in a dense LLM [1]
    top_k : experts a token goes to in each [1]
    index_bytes : of an expert's number: 1 up to 256 experts, 2 in vLLM, 4 in SGLang [bytes]

    Notes
    -----
    layers k bytes. Training that routes as generation did needs them; more than log-probabilities by far.

    References
    ----------
    W. Ma et al., "Stabilizing MoE Reinforcement Learning by Aligning Training and Inference Routers", 2025,
    arXiv:2510.11370 (rollout routing replay).

    >>> routing_bytes_per_token(expert_layers=48, top_k=8, index_bytes=4)  # Qwen3-30B-A3B
    1536
    """
    return expert_layers * top_k * index_bytes


def returned_bytes(tokens: float, *, routing_bytes_per_token: float = 0.0, token_bytes: float = TOKEN_BYTES) -> float:
    """Bytes returned with these output tokens [bytes].

    Parameters
    ----------
    tokens : of output [tokens]
    routing_bytes_per_token : 0 when choices of experts stay behind [bytes]
    token_bytes : number and log-probability [bytes]

    >>> returned_bytes(16.384e6)
    131072000.0
    """
    return tokens * (token_bytes + routing_bytes_per_token)
