"""Bills that sum to the last bit, lines by hand, and replicas of their own."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from planner.formulas import merged_replica, tenant_bill
from planner.formulas.merged_replica import break_even_traffic, merged_replicas
from planner.formulas.tenant_bill import FleetTime, TenantBill, Usage


def drawn(tenants: int, seed: int) -> tuple[Usage, FleetTime, float]:
    rng = np.random.default_rng(seed)
    tokens = rng.pareto(1.2, tenants) * 1e3
    usage = Usage(tokens, tokens * rng.random(tenants), rng.random(tenants) * 90 / tenants, rng.random(tenants) * 1e8)
    busy = float(rng.random()) * 0.95
    fleet = FleetTime(
        busy=busy,
        adapter_kernels=float(rng.random()) * 0.3,
        loading=(1 - busy) * float(rng.random()),
        slot_memory=0.001,
        slots=102.0,
        gpus=float(rng.integers(1, 9)),
        spare=float(rng.random()) * 0.4,
    )
    return usage, fleet, float(rng.random()) * 1e3


@pytest.mark.parametrize("seed", range(12))
def test_lines_sum_to_the_bill(seed: int) -> None:
    usage, fleet, usd = drawn(1 + 97 * seed, seed)
    bill = tenant_bill.tenant_bill(usage, usd_per_h=usd, fleet=fleet)
    assert float(bill.tenants.sum()) + bill.unallocated == usd
    lines = [*bill.base, *bill.adapters, *bill.slots, *bill.loads, bill.empty_slots, bill.idle, bill.spare]
    assert math.fsum(lines) == usd
    assert min(lines) >= 0


def two_tenants() -> tuple[TenantBill, float]:
    """The first runs the base only; the second has an adapter, two slots and all loads."""
    usage = Usage(np.array([6000.0, 2000.0]), np.array([0.0, 2000.0]), np.array([0.0, 2.0]), np.array([0.0, 5e6]))
    fleet = FleetTime(busy=0.6, adapter_kernels=0.15, loading=0.05, slot_memory=0.002, slots=50.0, gpus=4.0, spare=0.2)
    return tenant_bill.tenant_bill(usage, usd_per_h=10.0, fleet=fleet), 10.0


def test_lines_by_hand() -> None:
    bill, _ = two_tenants()
    slot = 8.0 * 0.002 / 4
    timed = 8.0 - 50 * slot
    assert bill.spare == pytest.approx(2.0)
    assert bill.slots == pytest.approx([0.0, 2 * slot])
    assert bill.empty_slots == pytest.approx(48 * slot)
    assert bill.base == pytest.approx([timed * 0.6 * 0.85 * 0.75, timed * 0.6 * 0.85 * 0.25])
    assert bill.adapters == pytest.approx([0.0, timed * 0.6 * 0.15])
    assert bill.loads == pytest.approx([0.0, timed * 0.05])
    assert bill.idle == pytest.approx(timed * 0.35)


def test_what_nobody_uses_is_nobodys() -> None:
    nothing = np.zeros(3)
    fleet = FleetTime(busy=0.0, adapter_kernels=0.2, loading=0.1, slot_memory=0.0, slots=0.0, gpus=0.0)
    bill = tenant_bill.tenant_bill(Usage(nothing, nothing, nothing, nothing), usd_per_h=7.0, fleet=fleet)
    assert (float(bill.tenants.sum()), bill.idle, bill.unallocated) == (0, 7, 7)
    free = tenant_bill.tenant_bill(Usage(nothing, nothing, nothing, nothing), usd_per_h=0.0, fleet=fleet)
    assert free.unallocated == 0


@pytest.mark.parametrize(("factor", "share"), [(1.174, 0.852), (1.024, 0.977)])
def test_a_replica_of_its_own_pays_from(factor: float, share: float) -> None:
    assert break_even_traffic(factor) == pytest.approx(share, abs=6e-4)
    assert merged_replicas(break_even_traffic(factor) + 1e-6, lora_factor=factor).pays
    assert not merged_replicas(break_even_traffic(factor) - 1e-3, lora_factor=factor).pays


def test_whole_replicas_waste_what_they_round_up() -> None:
    found = merged_replicas(1.1, lora_factor=1.15, rest=4.0)
    assert found.own == 2
    assert found.saved == pytest.approx(1.1 * 1.15 - 2)
    # the others' steps become shorter as well: 4 (1.15 - 1.05)
    assert merged_replicas(1.1, lora_factor=1.15, rest=8.0, rest_factor=1.05).saved == pytest.approx(0.065)
    assert merged_replicas(2.0, lora_factor=1.0).saved == 0
    assert merged_replicas(0.0, lora_factor=1.3).saved == 0


@pytest.mark.parametrize("module", [merged_replica, tenant_bill])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
