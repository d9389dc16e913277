"""What generation returns to training: tokens, log-probabilities and, of a mixture of experts, the routing."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import moe, returned_data
from planner.kinds.rl_rollout.base import Base


@dataclass(frozen=True, slots=True)
class Returned:
    token_bytes: float
    routing_bytes: float
    """Of a token."""
    step_bytes: float
    stored_bytes: float


def returned_of(base: Base) -> Returned:
    """Bytes of a token, of a step, of the steps kept."""
    spec, llm = base.spec, base.physics.llm
    routing = 0.0
    if spec.routing_returned == "on" and llm.moe is not None:
        routing = returned_data.routing_bytes_per_token(
            expert_layers=moe.expert_layers(llm), top_k=llm.moe.top_k, index_bytes=spec.routing_index_bytes
        )
    whole = returned_data.returned_bytes(
        base.demand.tokens, routing_bytes_per_token=routing, token_bytes=spec.token_bytes
    )
    return Returned(spec.token_bytes, routing, whole, whole * spec.kept_steps)
