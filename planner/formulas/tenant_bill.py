"""The bill of shared GPUs by tenant: base steps, adapter kernels, slots, loads; and what no tenant has used.

Arrays have one entry a tenant, everything else is of the fleet. Lines sum to the bill to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NOTHING = 1e-9
"""Share of a bill below which a line is a residue of arithmetic."""


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """What tenants use, on average.

    Parameters
    ----------
    tokens_per_s : weighted tokens [1/s]
    adapter_tokens_per_s : those of them that use an adapter [1/s]
    slots : held, whether requests run in them or not [1]
    loaded_bytes_per_s : adapters copied to GPUs for the tenant [bytes/s]
    """

    tokens_per_s: Array
    adapter_tokens_per_s: Array
    slots: Array
    loaded_bytes_per_s: Array


@dataclass(frozen=True, slots=True)
class FleetTime:
    """What the fleet's GPUs do and hold: shares of their time and memory [1].

    Parameters
    ----------
    busy : of the time of the GPUs the load needs, in steps
    adapter_kernels : of the time of a step, in adapter kernels
    loading : of the time, in which copies of adapters keep steps waiting
    slot_memory : of a GPU's memory, one slot
    slots : on all GPUs
    gpus : that the load needs
    spare : of all GPUs, those bought above the need
    """

    busy: float
    adapter_kernels: float
    loading: float
    slot_memory: float
    slots: float
    gpus: float
    spare: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TenantBill:
    """Lines of the bill [USD/h].

    Parameters
    ----------
    base, adapters, slots, loads : of each tenant
    empty_slots : memory of slots that nobody holds
    idle : time of the GPUs the load needs in which nothing runs, and kernels and copies that nobody asked for
    spare : GPUs above the need
    """

    base: Array
    adapters: Array
    slots: Array
    loads: Array
    empty_slots: float
    idle: float
    spare: float

    @property
    def tenants(self) -> Array:
        """Of each tenant, all lines [USD/h]."""
        found: Array = self.base + self.adapters + self.slots + self.loads
        return found

    @property
    def unallocated(self) -> float:
        """Of no tenant [USD/h]."""
        return self.empty_slots + self.idle + self.spare


def tenant_bill(usage: Usage, *, usd_per_h: float, fleet: FleetTime) -> TenantBill:
    """Split the bill of a fleet over its tenants and what none of them used.

    Parameters
    ----------
    usage : of the tenants
    usd_per_h : of the fleet [USD/h]
    fleet : its time and memory

    Notes
    -----
    Spare GPUs first. Of the rest slots pay for the share of memory they take, each its own; what remains is for time:
    steps over weighted tokens, the part of adapter kernels over those that use an adapter, loads over bytes, and idle.
    Every line is rounded down to a multiple of the bill's last place; idle takes what is left, so that sums are exact;
    less than a billionth of the bill is not left but part of the largest line.

    References
    ----------
    Y. Sheng et al., "Fairness in Serving Large Language Models", 2024, arXiv:2401.00588, section 3.1 (weighted tokens
    as the cost of service); P. H. Sterbenz, "Floating-Point Computation", 1974, section 4.3 (exact subtraction).

    >>> one = Usage(np.array([3.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.zeros(2))
    >>> fleet = FleetTime(busy=0.5, adapter_kernels=0.2, loading=0.0, slot_memory=0.01, slots=10.0, gpus=1.0)
    >>> bill = tenant_bill(one, usd_per_h=2.0, fleet=fleet)
    >>> bill.base.round(3).tolist(), bill.adapters.round(3).tolist(), bill.slots.round(3).tolist()
    ([0.54, 0.18], [0.0, 0.18], [0.0, 0.02])
    """
    grain = math.ulp(usd_per_h) if usd_per_h > 0 else 1.0
    spare = _floored(usd_per_h * fleet.spare, grain)
    needed = usd_per_h - spare
    slot_usd = needed * fleet.slot_memory / max(fleet.gpus, 1e-12)
    timed = max(needed - slot_usd * fleet.slots, 0.0)
    steps = timed * fleet.busy
    parts = (
        _over(steps * (1.0 - fleet.adapter_kernels), usage.tokens_per_s, grain),
        _over(steps * fleet.adapter_kernels, usage.adapter_tokens_per_s, grain),
        np.floor(slot_usd * usage.slots / grain) * grain,
        _over(timed * fleet.loading, usage.loaded_bytes_per_s, grain),
    )
    empty = _floored(slot_usd * max(fleet.slots - float(usage.slots.sum()), 0.0), grain)
    idle = needed - empty - float(sum(part.sum() for part in parts))
    if 0 < idle <= NOTHING * usd_per_h and parts[0].any():
        # Less than a residue of the rounding is no line: it goes where most does.
        parts[0][np.argmax(parts[0])] += idle
        idle = 0.0
    return TenantBill(*parts, empty_slots=empty, idle=idle, spare=spare)


def _floored(usd_per_h: float, grain: float) -> float:
    return math.floor(usd_per_h / grain) * grain


def _over(usd_per_h: float, used: Array, grain: float) -> Array:
    """A sum split over what tenants used of it; nothing if none did."""
    total = float(used.sum())
    answer: Array = np.floor(usd_per_h * used / total / grain) * grain if total > 0 else np.zeros_like(used)
    return answer
