"""A closed loop: so many clients, each of which sends its next request a pause after its last answer ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.core.run_options import check_length
from planner.core.simulation import SimulationRequest
from planner.kinds.llm_serving import latency
from planner.kinds.llm_serving.arrival_options import ArrivalOptions
from planner.kinds.llm_serving.arriving import DEFAULT_DURATION_S, MAX_REQUESTS, table_of
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.spec import LlmServingSpec

if TYPE_CHECKING:
    from sims.parts.arrivals import Lengths
    from sims.parts.clients import ClosedLoop

_HALVINGS = 40
LEAST_PAUSE_S = 1e-3
"""Where neither gateway nor client take time: one that is refused at once would else ask for ever at one moment."""


def response_s(spec: LlmServingSpec, *, facts: Physics, fleet: Fleet, rps: float) -> float | None:
    """Mean time from a request to the end of its answer [s] as the estimate has it; None past saturation."""
    decode = latency.decode_at(spec, physics=facts, fleet=fleet, rps=rps)
    ttft = latency.ttft_at(spec, physics=facts, fleet=fleet, rps=rps, decode=decode)
    if decode.step_s is None or ttft.mean_wait_s is None:
        return None
    first_s = ttft.constant_s + float(ttft.service_s.mean()) + ttft.mean_wait_s
    return first_s + max(0.0, spec.output_tokens - 1) * decode.step_s * decode.stretch


def rate_rps(spec: LlmServingSpec, *, facts: Physics, fleet: Fleet, chosen: ArrivalOptions) -> float:
    """The rate that the clients reach [req/s] by the estimate: X = N / (R(X) + Z), R growing with X.

    Notes
    -----
    N clients are each either in the system, for R, or pausing, for Z (Little's law). R is that of an open queue,
    which knows no limit on who waits: near saturation it is too long, and the rate a little too low.
    """
    if not fleet.decode.units:
        return 0.0
    alone_s = response_s(spec, facts=facts, fleet=fleet, rps=0.0)
    if alone_s is None:
        return 0.0
    clients, pause_s = chosen.clients, pause_of(spec, chosen=chosen)
    low, high = 0.0, clients / (alone_s + pause_s)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        stay_s = response_s(spec, facts=facts, fleet=fleet, rps=middle)
        if stay_s is not None and middle * (stay_s + pause_s) <= clients:
            low = middle
        else:
            high = middle
    return low


def pause_of(spec: LlmServingSpec, *, chosen: ArrivalOptions) -> float:
    """The pause of a client [s]."""
    return chosen.think_s if spec.gateway_s >= LEAST_PAUSE_S else max(chosen.think_s, LEAST_PAUSE_S)


def length_of(request: SimulationRequest) -> tuple[float | None, int | None]:
    """How long the clients go on [s], and how many requests they send; of a trace once all, where nobody says."""
    if request.duration_s is not None or request.requests is not None:
        return request.duration_s, request.requests
    return (DEFAULT_DURATION_S, None) if request.workload is None else (None, request.workload.requests)


def check(request: SimulationRequest, *, rps: float) -> None:
    """Refuse a run that is far too long; raises ValueError that names what."""
    duration_s, requests = length_of(request)
    known = rps if requests is None and duration_s is not None else None
    check_length(request, most_requests=MAX_REQUESTS, rate_rps=known, usual_s=DEFAULT_DURATION_S)


def loop_for(
    spec: LlmServingSpec, *, request: SimulationRequest, chosen: ArrivalOptions, lengths: Lengths, rps: float
) -> ClosedLoop:
    """The clients of a run; of a trace they send the requests in its order, again and again."""
    from sims.parts.clients import ClosedLoop

    duration_s, requests = length_of(request)
    return ClosedLoop(
        clients=int(chosen.clients),
        lengths=lengths,
        about_s=requests / rps if requests is not None and rps > 0 else DEFAULT_DURATION_S,
        # Refused requests cost no time: the clients of a fleet that can hold none would send without end.
        requests=MAX_REQUESTS if requests is None else requests,
        duration_s=duration_s,
        think_s=pause_of(spec, chosen=chosen),
        sample=None if request.workload is None else table_of(request.workload),
    )
