"""What a proxy in front of streaming LLMs carries: streams, events, prompts, decisions, handshakes, bytes.

Costs of one operation are defaults of public measurements, each with its source; they differ by an order of magnitude
between a proxy that relays bytes and one that hands bodies and chunks to a process beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

RELAY_S = 5e-6
"""CPU to relay one event: HAProxy forwards 160,000 to 243,000 small requests a core-second (haproxy.com, 2 million
requests per second on one Arm instance, 2021)."""

EXTERNAL_RELAY_S = 150e-6
"""CPU of an event that passes through an external processor, 100 to 200 us: slope derived from the load tests in
github.com/llm-d/llm-d-router, issue 1287, pull requests 1616 and 2072; noisy."""

REQUEST_S = 45e-6
"""CPU to parse one request in the proxy itself, 30 to 60 us for 1 KB (agentgateway's published benchmark)."""

PROMPT_TOKEN_S = 2.5e-6
"""CPU per prompt token where an external processor reads the body, 1.5 to 3.5 us (llm-d-router, as above)."""

DECISION_S = 10e-6
"""CPU of one routing decision in the process: prefix look-up, 2.4 us at the median, 10 us at P99
(github.com/ai-dynamo/dynamo, pull requests 11372, 11432)."""

EXTERNAL_DECISION_S = 170e-6
"""The same in an external scheduler, 0.14 to 0.2 ms at the median (llm-d-router, as above)."""

HANDSHAKES_PER_CORE_S = 2000.0
"""Full TLS handshakes of a core with ECDSA P-256 (NGINX, "Sizing guide for deploying NGINX Plus on bare metal servers",
2016: 33,000 on 16 cores)."""

RSA_HANDSHAKES_PER_CORE_S = 1300.0
RESUMED_PER_CORE_S = 13_000.0
"""HAProxy Enterprise documentation, "Sizing"."""

CONNECTION_BYTES_CLEAR = 50e3
CONNECTION_BYTES_TLS_CLIENT = 125e3
CONNECTION_BYTES_TLS_BOTH = 200e3
"""Memory of one connection through the proxy, 20,000, 8,000 or 5,000 a GB (HAProxy Enterprise, "Sizing")."""

EVENT_BYTES = 300.0
"""Of one server-sent event with one token in JSON, with its TLS record. Estimate: a typical OpenAI-style chunk."""

ENCRYPTED_BYTES_PER_CORE_S = 2.5e9
"""AES-GCM of a recent core with AES instructions, 20 Gbit/s; 4.6 Gbit/s in HAProxy's older figure."""

DESCRIPTORS_PER_STREAM = 2.0
"""One towards the client, one towards the instance."""

ENVOY_DEFAULT_CAP = 1024
"""Connections, pending requests and requests of a cluster in Envoy unless set: "config.cluster.v3.CircuitBreakers"."""

FILL = 0.6
"""Share of a replica's capacity that is planned with."""


def stream_s(ttft_s: float, *, output_tokens: float, tpot_s: float) -> float:
    """How long a request keeps its connection.

    Parameters
    ----------
    ttft_s : [s]
    output_tokens : [tokens]
    tpot_s : [s]

    Returns
    -------
    [s]

    Notes
    -----
    TTFT + output * TPOT: one gap more than there are, which the end of the answer takes.

    References
    ----------
    Definition of TTFT and TPOT, docs/nomenclature.md of this project.

    >>> stream_s(0.5, output_tokens=400, tpot_s=0.03)
    12.5
    """
    return ttft_s + output_tokens * tpot_s


def streams(request_rps: float, *, stream_s: float) -> float:
    """Streams open at once.

    Parameters
    ----------
    request_rps : [1/s]
    stream_s : [s]

    Returns
    -------
    [1]

    Notes
    -----
    L = lambda W.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961, eq. (1).

    >>> streams(5000.0, stream_s=12.5)
    62500.0
    """
    return request_rps * stream_s


def events_per_s(request_rps: float, *, output_tokens: float, tokens_per_event: float = 1.0) -> float:
    """Server-sent events relayed.

    >>> events_per_s(5000.0, output_tokens=400)
    2000000.0
    """
    return request_rps * output_tokens / tokens_per_event


class CoreDemand(NamedTuple):
    """CPU of each part of the work [cores]."""

    relay: float
    requests: float
    prompts: float
    decisions: float
    handshakes: float
    encryption: float

    @property
    def total(self) -> float:
        """All parts together [cores]."""
        return sum(self)


def core_demand(
    request_rps: float,
    *,
    prompt_tokens: float,
    output_tokens: float,
    tokens_per_event: float = 1.0,
    relay_s: float = RELAY_S,
    request_s: float = REQUEST_S,
    prompt_token_s: float = 0.0,
    decision_s: float = DECISION_S,
    new_connection_share: float = 1.0,
    resumed_share: float = 0.0,
    handshakes_per_core_s: float = HANDSHAKES_PER_CORE_S,
    resumed_per_core_s: float = RESUMED_PER_CORE_S,
    event_bytes: float = EVENT_BYTES,
    encrypted_bytes_per_core_s: float = ENCRYPTED_BYTES_PER_CORE_S,
) -> CoreDemand:
    """CPU that the requests take in all replicas together.

    Parameters
    ----------
    request_rps : [1/s]
    prompt_tokens, output_tokens : of one request [tokens]
    tokens_per_event : [tokens]
    relay_s : CPU of one event [s]
    request_s : CPU to parse one request [s]
    prompt_token_s : CPU per prompt token, where the body is read as text [s]
    decision_s : CPU of one routing decision [s]
    new_connection_share : requests that open a connection [1]
    resumed_share : of these, resumed sessions without a full handshake [1]
    handshakes_per_core_s, resumed_per_core_s : [1/s]
    event_bytes : [bytes]
    encrypted_bytes_per_core_s : [bytes/s]

    Returns
    -------
    [cores]

    Notes
    -----
    Utilisation law: cores = rate * CPU time of one, summed over the sorts of work.

    References
    ----------
    P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10(3),
    1978 (utilisation law, U = X S), doi:10.1145/356733.356735.

    >>> core_demand(5000.0, prompt_tokens=4096, output_tokens=400).relay
    10.0
    """
    events = events_per_s(request_rps, output_tokens=output_tokens, tokens_per_event=tokens_per_event)
    connections = request_rps * new_connection_share
    full_s, resumed_s = 1 / handshakes_per_core_s, 1 / resumed_per_core_s
    return CoreDemand(
        relay=events * relay_s,
        requests=request_rps * request_s,
        prompts=request_rps * prompt_tokens * prompt_token_s,
        decisions=request_rps * decision_s,
        handshakes=connections * ((1 - resumed_share) * full_s + resumed_share * resumed_s),
        encryption=events * event_bytes / encrypted_bytes_per_core_s,
    )


class Replicas(NamedTuple):
    """Replicas bought, and why.

    Parameters
    ----------
    needed : that carry the load at the planned fill [1]
    bought : with the spare ones [1]
    binding : the resource that decides; empty without load
    loads : share of each resource in use when all bought replicas work [1]
    survivor_loads : the same when the spare ones are out [1]
    """

    needed: int
    bought: int
    binding: str
    loads: dict[str, float]
    survivor_loads: dict[str, float]


def replicas(
    demands: Mapping[str, float], *, capacities: Mapping[str, float], fill: float = FILL, spare: int = 1
) -> Replicas:
    """Replicas that carry every demand, and the spare ones.

    Parameters
    ----------
    demands : of the whole load by resource, in any units
    capacities : of one replica by resource, in the same units
    fill : share of a capacity that is planned with [1]
    spare : replicas that may be out at once [1]

    Returns
    -------
    [1]

    Notes
    -----
    n = ceil(max_r demand_r / (fill * capacity_r)) + spare, at least one and the spare ones.

    References
    ----------
    B. Beyer et al., "Site Reliability Engineering", 2016, chapter 18 (N + k redundancy).

    >>> replicas({"cores": 30.0, "streams": 100.0}, capacities={"cores": 16.0, "streams": 1000.0}).bought
    5
    """
    shares = {name: demands[name] / capacities[name] for name in capacities}
    binding = max(shares, key=lambda name: shares[name])
    needed = max(1, math.ceil(round(shares[binding] / fill, 9)))
    return Replicas(
        needed=needed,
        bought=needed + spare,
        binding=binding if shares[binding] > 0 else "",
        loads={name: share / (needed + spare) for name, share in shares.items()},
        survivor_loads={name: share / needed for name, share in shares.items()},
    )


def reconnect_storm_cores(
    open_streams: float, *, replicas: int, lost: int, within_s: float, handshakes_per_core_s: float
) -> float:
    """CPU for the handshakes of the streams that come back when replicas fail, in the replicas that are left.

    Parameters
    ----------
    open_streams : at once in all replicas [1]
    replicas : before [1]
    lost : [1]
    within_s : the clients come back evenly within [s]
    handshakes_per_core_s : [1/s]

    Returns
    -------
    [cores]

    Notes
    -----
    streams * lost / n connections within w seconds, at 1 / handshakes CPU seconds each.

    References
    ----------
    P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10(3),
    1978 (utilisation law, U = X S), doi:10.1145/356733.356735.

    >>> reconnect_storm_cores(60_000, replicas=6, lost=1, within_s=1.0, handshakes_per_core_s=2000.0)
    5.0
    """
    if replicas <= 0 or within_s <= 0:
        return 0.0
    return open_streams * lost / replicas / within_s / handshakes_per_core_s
