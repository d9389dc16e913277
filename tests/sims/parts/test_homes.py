from __future__ import annotations

import numpy as np
import pytest

from sims.parts.homes import balanced_orders, hashed_orders
from sims.parts.lengths import zipf_shares


def test_orders_name_every_replica_once_and_each_as_often_first() -> None:
    orders = hashed_orders(4000, replicas=8, seed=1)
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert np.bincount(orders[:, 0]) == pytest.approx([500] * 8, abs=110)


def test_when_a_replica_goes_only_its_adapters_move() -> None:
    orders = hashed_orders(500, replicas=6, seed=1)
    left = np.array([[u for u in order if u != 2] for order in orders.tolist()])
    stays = orders[:, 0] != 2
    assert (left[stays, 0] == orders[stays, 0]).all()


@pytest.mark.parametrize("exponent", [0.0, 0.9, 1.2])
def test_placement_by_load_evens_traffic_and_numbers(exponent: float) -> None:
    shares = zipf_shares(1000, exponent=exponent)
    copies = np.clip(np.ceil(32 * shares), 1, 8).astype(np.int64)
    orders = balanced_orders(shares, copies=copies, orders=hashed_orders(1000, replicas=8, seed=1))
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    load, held = np.zeros(8), np.zeros(8)
    for adapter, order in enumerate(orders):
        load[order[: copies[adapter]]] += shares[adapter] / copies[adapter]
        held[order[: copies[adapter]]] += 1
    assert load.max() / load.mean() < 1.01
    assert held.max() - held.min() <= 4
