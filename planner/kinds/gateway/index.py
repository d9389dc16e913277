"""The index of cached prefixes: its size, what it is asked, the events that feed it and how old it is."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import prefix_index
from planner.kinds.gateway.spec import GatewaySpec


@dataclass(frozen=True, slots=True)
class Index:
    """Size and traffic of the index."""

    blocks_per_request: int
    lookups_probing_per_s: float
    lookups_tree_per_s: float
    nodes: float
    bytes: float
    events_per_s_per_instance: float
    events_per_s: float
    """Of the fleet, to each copy of the index."""
    heard_per_s: float
    """Of these, what one copy takes in: none where routers only remember what they decided."""
    intake_share: float
    """The same over what a copy can take."""
    bytes_per_replica: float
    hop_s: float
    lag_s: float

    @property
    def is_inside(self) -> bool:
        """Whether each replica holds a copy."""
        return self.bytes_per_replica > 0


def index_of(spec: GatewaySpec, *, hit_share: float) -> Index:
    """The index of the spec when so much of the prompts is hit."""
    blocks = prefix_index.blocks_per_request(spec.input_tokens, block_tokens=spec.block_tokens)
    nodes = prefix_index.index_nodes(
        spec.instances, cached_tokens=spec.kv_tokens_per_instance, block_tokens=spec.block_tokens
    )
    size = prefix_index.index_bytes(nodes, bytes_per_node=spec.index_bytes_per_node)
    events = prefix_index.events_per_s(
        spec.peak_rps,
        hit_share=hit_share,
        prompt_tokens=spec.input_tokens,
        output_tokens=spec.output_tokens,
        block_tokens=spec.block_tokens,
    )
    heard = 0.0 if spec.index_place == "approximate" else events
    return Index(
        blocks_per_request=blocks,
        lookups_probing_per_s=prefix_index.lookups_probing_per_s(
            spec.peak_rps, blocks=blocks, instances=spec.instances
        ),
        lookups_tree_per_s=prefix_index.lookups_tree_per_s(spec.peak_rps, blocks=blocks),
        nodes=nodes,
        bytes=size,
        events_per_s_per_instance=events / spec.instances,
        events_per_s=events,
        heard_per_s=heard,
        intake_share=heard / spec.index_updates_per_s,
        bytes_per_replica=0.0 if spec.index_place == "service" else size,
        hop_s=spec.index_hop_s if spec.index_place == "service" else 0.0,
        lag_s=0.0 if spec.index_place == "approximate" else spec.event_lag_s,
    )
