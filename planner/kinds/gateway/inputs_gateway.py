"""Inputs of the gateway replicas: what they do for a request, what they cost, what one machine has."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.inputs import Inputs

REPLICAS = _("Gateway replicas")
WORK = _("Work a request")
PRICES = _("Prices")


class GatewayInputs(Inputs):
    """Replicas, the work they do and prices; health, canary and overload are added by `spec`."""

    gateway_replicas: int | None = quantity(
        None,
        label=_("Replicas"),
        group=REPLICAS,
        unit="replicas",
        ge=1,
        le=100_000,
        empty=_("as many as it takes"),
    )
    spare_replicas: int = quantity(
        1,
        label=_("Spare replicas"),
        group=REPLICAS,
        unit="replicas",
        ge=0,
        le=10_000,
        help=_("Bought beyond the need, so that one may fail at the peak."),
    )
    cores_per_replica: int = quantity(16, label=_("Cores"), group=REPLICAS, unit="cores", ge=1, le=4096)
    memory_per_replica_bytes: float = quantity(
        32e9, label=_("Memory"), group=REPLICAS, unit="bytes", shown="GB", gt=0, le=1e15
    )
    nic_bytes_per_s: float = quantity(
        1.5625e9,
        label=_("Network out"),
        group=REPLICAS,
        unit="bytes/s",
        shown="Gbit/s",
        gt=0,
        le=1e13,
        help=_("12.5 Gbit/s, usual of a machine of 16 cores."),
    )
    file_descriptors: int = quantity(
        65_536,
        label=_("Open files allowed"),
        group=REPLICAS,
        unit="files",
        ge=2,
        le=1_000_000_000,
        help=_("ulimit -n of the gateway: a stream takes two, client and instance."),
    )
    usable_share: float = quantity(
        0.6,
        label=_("Filled up to"),
        group=REPLICAS,
        unit="ratio",
        shown="%",
        ge=0.05,
        le=1,
        help=_("Share of each resource of a replica that the peak may take."),
    )
    reconnect_s: float = quantity(
        5.0,
        label=_("Cut clients are back within"),
        group=REPLICAS,
        unit="s",
        gt=0,
        le=3600,
        advanced=True,
        help=_("When a replica is lost, all its clients shake hands again in this time."),
    )
    requests_in_flight_cap: int | None = quantity(
        None,
        label=_("Cap on requests in flight"),
        group=REPLICAS,
        unit="requests",
        ge=1,
        le=1_000_000_000,
        empty=_("none"),
        advanced=True,
        help=_("Of one replica. Envoy's circuit breakers stop at 1,024 unless told otherwise."),
    )

    processing: Literal["proxy", "external"] = choice(
        "proxy",
        label=_("Bodies and chunks go through"),
        group=WORK,
        labels={"proxy": _("The proxy alone"), "external": _("An external processor")},
        help=_("The proxy relays and hashes itself, or hands each body and chunk to another process."),
    )
    request_cpu_s: float = quantity(
        45e-6,
        label=_("A request, fixed part"),
        group=WORK,
        unit="s",
        shown="µs",
        ge=0,
        le=1,
        advanced=True,
        help=_("30 to 60 µs of a proxy in Rust (agentgateway)."),
    )
    prompt_token_cpu_s: float | None = quantity(
        None,
        label=_("A prompt token"),
        group=WORK,
        unit="s",
        shown="µs",
        ge=0,
        le=0.01,
        empty=_("0.02 µs, or 2.5 µs external"),
        advanced=True,
        help=_("Hashing in the proxy (an estimate), or 1.5 to 3.5 µs of an external processor in Go (llm-d-router)."),
    )
    event_cpu_s: float | None = quantity(
        None,
        label=_("An event of a stream"),
        group=WORK,
        unit="s",
        shown="µs",
        ge=0,
        le=1,
        empty=_("5 µs, or 150 µs external"),
        advanced=True,
        help=_("160 to 243 thousand events a core and second relayed by HAProxy; 100 to 200 µs if each is processed."),
    )
    decision_cpu_s: float | None = quantity(
        None,
        label=_("A routing decision"),
        group=WORK,
        unit="s",
        shown="µs",
        ge=0,
        le=1,
        empty=_("10 µs, or 170 µs external"),
        advanced=True,
        help=_("P99 of an index in process 10 µs (dynamo); the scheduler of llm-d takes 140 to 200."),
    )
    tokens_per_event: float = quantity(
        1.0, label=_("Tokens an event"), group=WORK, unit="tokens", ge=0.01, le=10_000, advanced=True
    )
    bytes_per_event: float = quantity(
        300.0,
        label=_("Bytes an event"),
        group=WORK,
        unit="bytes",
        shown="B",
        ge=1,
        le=1e6,
        advanced=True,
        help=_("A chunk of JSON with its frame; an estimate."),
    )
    encrypted_bytes_per_core_s: float = quantity(
        2.5e9,
        label=_("Encryption of a core"),
        group=WORK,
        unit="bytes/s/core",
        shown="Gbit/s/core",
        gt=0,
        le=1e13,
        advanced=True,
        help=_("20 Gbit/s of AES today; 4.6 on machines of ten years ago (HAProxy)."),
    )
    tls: Literal["both", "client", "none"] = choice(
        "client",
        label=_("TLS"),
        group=WORK,
        labels={"both": _("Both sides"), "client": _("To clients"), "none": _("None")},
    )
    requests_per_connection: float = quantity(
        1.0,
        label=_("Requests a connection"),
        group=WORK,
        unit="requests",
        ge=1,
        le=1e6,
        help=_("1: each request comes on a new connection, the worst case."),
    )
    resumed_share: float = quantity(
        0.5,
        label=_("Handshakes resumed"),
        group=WORK,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        advanced=True,
        help=_("Resumed ones cost a sixth or less of full ones."),
    )
    full_handshakes_per_core: float = quantity(
        2000.0,
        label=_("Full handshakes"),
        group=WORK,
        unit="1/s/core",
        gt=0,
        le=1e7,
        advanced=True,
        help=_("2,000 a core with ECDSA, 1,300 with RSA-2048 (NGINX, HAProxy)."),
    )
    resumed_handshakes_per_core: float = quantity(
        13_000.0, label=_("Resumed handshakes"), group=WORK, unit="1/s/core", gt=0, le=1e7, advanced=True
    )
    connection_bytes: float | None = quantity(
        None,
        label=_("Memory of a stream"),
        group=WORK,
        unit="bytes",
        shown="kB",
        ge=0,
        le=1e9,
        empty=_("by TLS: 200, 125 or 50 kB"),
        advanced=True,
        help=_("HAProxy: 5,000 streams a GB with TLS on both sides, 8,000 on one, 20,000 in clear."),
    )

    replica_usd_per_h: float = quantity(
        0.71,
        label=_("Gateway replica"),
        group=PRICES,
        unit="USD/h",
        ge=0,
        le=1e5,
        help=_("About what clouds ask for 16 cores and 32 GB on demand; an estimate."),
    )
    instance_usd_per_h: float | None = quantity(
        None,
        label=_("Instance"),
        group=PRICES,
        unit="USD/h",
        ge=0,
        le=1e6,
        empty=_("not in this bill"),
        help=_("Given, the instances are in the bill too, and routing can be weighed against them."),
    )
    egress_usd_per_gb: float = quantity(
        0.0,
        label=_("Traffic out"),
        group=PRICES,
        unit="USD/GB",
        ge=0,
        le=10,
        help=_("0: clients in the same network. Clouds ask for up to $0.09/GB to the internet."),
    )
