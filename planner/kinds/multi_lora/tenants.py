"""Who asks how much: tenants by their adapters, limits, and what a noisy one does to the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.formulas.copy_placement import zipf_shares
from planner.kinds.multi_lora.asked import Asked
from planner.kinds.multi_lora.spec import MultiLoraSpec

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Tenants:
    """Shares of the requests by tenant, the requests that pass the limits, and weights."""

    shares: Array
    rates: Array
    """Let through, requests a second."""
    asked_rps: float
    weights: Array

    @property
    def rate_rps(self) -> float:
        return float(self.rates.sum())

    @property
    def refused_share(self) -> float:
        """Of the requests with a tenant that limits refuse."""
        return max(1 - self.rate_rps / self.asked_rps, 0.0) if self.asked_rps > 0 else 0.0

    @property
    def largest(self) -> float:
        return float(self.shares.max())


def adapter_shares(spec: MultiLoraSpec, *, asked: Asked) -> Array:
    """Share of each adapter, the most popular first."""
    if asked.trace is None:
        return zipf_shares(spec.adapters, exponent=spec.zipf_exponent)
    return asked.trace.counts / max(float(asked.trace.counts.sum()), 1.0)


def owners(spec: MultiLoraSpec, *, adapters: int) -> NDArray[np.int64]:
    """The tenant of each adapter: dealt in turn, or in blocks."""
    ranks = np.arange(adapters)
    if spec.tenant_adapters == "dealt":
        return ranks % spec.tenants
    return ranks * spec.tenants // adapters


def tenants_of(spec: MultiLoraSpec, *, asked: Asked) -> Tenants:
    """The tenants of the spec; requests without an adapter are spread as those with one."""
    shares = _shares(spec, asked)
    rates = spec.requests_per_s * shares
    if spec.tenant_limit_rps is not None:
        rates = np.minimum(rates, spec.tenant_limit_rps)
    weights = np.ones(spec.tenants)
    if spec.tenants > 1:
        weights[: round(spec.premium_share * spec.tenants)] = spec.premium_weight
    return Tenants(shares, rates, spec.requests_per_s, weights)


def _shares(spec: MultiLoraSpec, asked: Asked) -> Array:
    if asked.trace is None:
        return _of_law(spec.adapters, spec.zipf_exponent, tenants=spec.tenants, dealt=spec.tenant_adapters == "dealt")
    each = adapter_shares(spec, asked=asked)
    return summed(each, owner=owners(spec, adapters=len(each)), tenants=spec.tenants)


@lru_cache(maxsize=32)
def _of_law(adapters: int, exponent: float, *, tenants: int, dealt: bool) -> Array:
    each, ranks = zipf_shares(adapters, exponent=exponent), np.arange(adapters)
    owner = ranks % tenants if dealt else ranks * tenants // adapters
    shares = summed(each, owner=owner, tenants=tenants)
    shares.setflags(write=False)
    return shares


def summed(values: Array, *, owner: NDArray[np.int64], tenants: int) -> Array:
    """Values of adapters as sums of their tenants."""
    return np.asarray(np.bincount(owner, weights=values, minlength=tenants), dtype=np.float64)
