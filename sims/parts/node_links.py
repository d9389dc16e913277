"""Links and drives of nodes: transfers first come first served; one that needs several holds each for its bytes.

A transfer starts when all it needs are free and ends with the slowest of them. Its end is known when it starts, so it
needs no event. Reading and writing of a drive, and the directions of PCIe and network, are links of their own.
"""

from __future__ import annotations

import numpy as np

from sims.engine.kernel import handler

PCIE_IN, PCIE_OUT, INGRESS, EGRESS, SSD_READ, SSD_WRITE = 0, 1, 2, 3, 4, 5
KINDS = ("pcie_in", "pcie_out", "ingress", "egress", "ssd_read", "ssd_write")
LINK = np.dtype([("free_s", "f8"), ("busy_s", "f8"), ("bytes", "f8"), ("transfers", "i8")])


@handler
def wait_s(links, at, now_s):  # type: ignore[no-untyped-def]
    """How long a transfer that needs this link waits for it; none for −1."""
    return max(0.0, links[at].free_s - now_s) if at >= 0 else 0.0


@handler
def hold(links, speeds, at, size, start_s):  # type: ignore[no-untyped-def]
    """Occupy a link for ``size`` bytes from ``start_s`` on; how long. Nothing for −1."""
    if at < 0:
        return 0.0
    link = links[at]
    span_s = size / speeds[at % 6]
    link.free_s = start_s + span_s
    link.busy_s += span_s
    link.bytes += size
    link.transfers += 1
    return span_s


@handler
def transfer(links, speeds, route, size, now_s):  # type: ignore[no-untyped-def]
    """Book a transfer over the links of ``route`` (−1: none); when it starts and how long it takes."""
    start_s = now_s + max(
        wait_s(links, route[0], now_s), wait_s(links, route[1], now_s), wait_s(links, route[2], now_s)
    )
    span_s = 0.0
    for step in range(3):
        span_s = max(span_s, hold(links, speeds, route[step], size, start_s))
    return start_s, span_s


@handler
def read_route(reader, home, from_drive):  # type: ignore[no-untyped-def]
    """Links that a read by node ``reader`` from node ``home`` goes over."""
    drive = home * 6 + SSD_READ if from_drive else -1
    if reader == home:
        return drive, reader * 6 + PCIE_IN, -1
    return drive, home * 6 + EGRESS, reader * 6 + INGRESS


@handler
def write_route(writer, home, to_drive):  # type: ignore[no-untyped-def]
    """Links that a write by node ``writer`` to node ``home`` goes over."""
    drive = home * 6 + SSD_WRITE if to_drive else -1
    if writer == home:
        return drive, writer * 6 + PCIE_OUT, -1
    return drive, writer * 6 + EGRESS, home * 6 + INGRESS
