"""What the load asks for: streams, events, bytes and tokens a second."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import proxying
from planner.kinds.gateway.spec import GatewaySpec


@dataclass(frozen=True, slots=True)
class Load:
    """Demand on the whole gateway at the peak."""

    rps: float
    instance_rps: float
    stream_s: float
    """How long a stream stays open: TTFT and the answer at its TPOT."""
    streams: float
    """Open at once, by Little's law."""
    events_per_s: float
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    egress_bytes_per_s: float


def load_of(spec: GatewaySpec) -> Load:
    """The demand of the spec at its peak."""
    stream_s = proxying.stream_s(spec.ttft_s, output_tokens=spec.output_tokens, tpot_s=spec.tpot_s)
    events = proxying.events_per_s(
        spec.peak_rps, output_tokens=spec.output_tokens, tokens_per_event=spec.tokens_per_event
    )
    return Load(
        rps=spec.peak_rps,
        instance_rps=spec.peak_rps / spec.instances,
        stream_s=stream_s,
        streams=proxying.streams(spec.peak_rps, stream_s=stream_s),
        events_per_s=events,
        prompt_tokens_per_s=spec.peak_rps * spec.input_tokens,
        output_tokens_per_s=spec.peak_rps * spec.output_tokens,
        egress_bytes_per_s=events * spec.bytes_per_event,
    )
