from __future__ import annotations

import numpy as np
import pytest

from sims.engine.kernel import from_python
from sims.parts.node_links import EGRESS, INGRESS, LINK, PCIE_IN, SSD_READ, SSD_WRITE, read_route, transfer, write_route
from sims.parts.records import records

read_route = from_python(read_route)
transfer = from_python(transfer)
write_route = from_python(write_route)

SPEEDS = np.array([100.0, 100.0, 50.0, 50.0, 10.0, 5.0])


def test_routes_of_reads_and_writes() -> None:
    assert read_route(2, 2, False) == (-1, 12 + PCIE_IN, -1)
    assert read_route(0, 1, True) == (6 + SSD_READ, 6 + EGRESS, INGRESS)
    assert write_route(0, 1, True) == (6 + SSD_WRITE, EGRESS, 6 + INGRESS)


def test_a_transfer_lasts_as_its_slowest_link_and_holds_each_for_its_own_time() -> None:
    links = records(LINK, count=12)
    assert transfer(links, SPEEDS, read_route(0, 1, True), 100.0, 5.0) == (5.0, 10.0)
    assert links[6 + SSD_READ].free_s == 15.0
    assert links[INGRESS].free_s == links[6 + EGRESS].free_s == 7.0


def test_transfers_wait_for_whichever_link_is_busy() -> None:
    links = records(LINK, count=12)
    transfer(links, SPEEDS, read_route(0, 1, True), 100.0, 0.0)
    assert transfer(links, SPEEDS, read_route(0, 1, False), 100.0, 1.0) == (2.0, 2.0)
    assert transfer(links, SPEEDS, read_route(1, 1, True), 10.0, 1.0) == (10.0, 1.0)
    assert transfer(links, SPEEDS, read_route(1, 1, False), 100.0, 1.0)[0] == 11.0 - 1.0 + 0.1


def test_what_a_link_carried_is_counted() -> None:
    links = records(LINK, count=6)
    for at_s in (0.0, 0.0, 100.0):
        transfer(links, SPEEDS, read_route(0, 0, False), 50.0, at_s)
    link = links[PCIE_IN]
    assert (link.transfers, link.bytes) == (3, 150.0)
    assert link.busy_s == pytest.approx(1.5)
    assert link.free_s == pytest.approx(100.5)
