"""The cheapest fleet that meets its objectives: which GPUs, formats, layouts, sizes of units and spares may be taken.

The price of a fleet is that of its prefill pool plus that of its decode pool, so pools are priced alone and put
together from the cheapest pair on.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.core.catalog import Catalog, Gpu
from planner.core.offers import Offer, offers
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space
from planner.core.wording import counted
from planner.formulas import cost
from planner.kinds.llm_serving.derived import DecodeAlone
from planner.kinds.llm_serving.fleet import Fleet, fleet_for
from planner.kinds.llm_serving.formats import Formats, all_formats, suits
from planner.kinds.llm_serving.physics import physics
from planner.kinds.llm_serving.pool_options import (
    DECODE_UNITS,
    PREFILL_UNITS,
    Option,
    Placed,
    decode_change,
    decode_option,
    placements,
    prefill_change,
    prefill_option,
)
from planner.kinds.llm_serving.spec import LlmServingSpec

SPARES = ("spare_prefill_units", "spare_decode_units")
FIELDS = (
    "gpu",
    "decode_gpu",
    "gpu_price_usd_per_h",
    "decode_gpu_price_usd_per_h",
    "weight_dtype",
    "kv_dtype",
    "kv_bytes_per_token",
    "mtp",
    "topology",
    "prefill_unit_gpus",
    "prefill_rank_gpus",
    "prefill_step_tokens",
    "decode_unit_gpus",
    "decode_rank_gpus",
    *SPARES,
    "rate_mode",
    "decode_step_fixed_share",
)
_BUSY = 0.3
"""Utilisation below which more prefill units shorten no wait to speak of."""


@dataclass(frozen=True, slots=True)
class _Pools:
    """Options of one set of formats, the cheapest first."""

    formats: Formats
    prefill: Sequence[Option]
    decode: Sequence[Option]
    replicas: Sequence[Option]


def space(spec: LlmServingSpec, result: Result, catalog: Catalog) -> Space:
    """Every GPU with a price, in the formats that it and the LLM allow, in units of all sizes."""
    del result
    prices, left_out = offers(catalog, own=_own_prices(spec))
    made = _Options(spec, catalog, prices, left_out)
    found = [made.pools(formats) for formats in all_formats(spec, catalog=catalog)]
    streams = [stream for pools in found for stream in (made.pairs(pools), made.alone(pools))]
    return Space(
        fields=FIELDS,
        groups=made.groups(found),
        stream=heapq.merge(*streams, key=lambda one: one.least),
        rejected=made.rejected,
        count=sum(len(one.prefill) * len(one.decode) + len(one.replicas) for one in found) + made.rejected_count,
        left_out=left_out,
        sources={"prices": {gpu: offer.told() for gpu, offer in prices.items() if gpu in made.used}},
    )


def _own_prices(spec: LlmServingSpec) -> dict[str, float | None]:
    decode = spec.decode_gpu_price_usd_per_h
    own: dict[str, float | None] = {spec.gpu: spec.gpu_price_usd_per_h}
    if spec.decode_gpu and spec.decode_gpu != spec.gpu:
        own[spec.decode_gpu] = spec.gpu_price_usd_per_h if decode is None else decode
    return own


@dataclass
class _Options:
    """Pools of all formats, and candidates made of them."""

    spec: LlmServingSpec
    catalog: Catalog
    prices: Mapping[str, Offer]
    left_out: dict[str, str]

    def __post_init__(self) -> None:
        self._rejected: dict[str, tuple[int, Candidate]] = {}
        self.rejected_count = 0
        self.used: set[str] = set()

    def pools(self, formats: Formats) -> _Pools:
        base = self.spec.model_copy(update={**formats.change(self.spec), "topology": "disaggregated"})
        replica = base.model_copy(update={"topology": "aggregated"})
        prefill: list[Option] = []
        decode: list[Option] = []
        replicas: list[Option] = []
        timed: dict[Placed, DecodeAlone] = {}
        for gpu in self.catalog.gpus():
            if gpu.slug not in self.prices or not suits(formats, gpu, own=self.spec.weight_dtype):
                continue
            replicas += self._decode(replica, gpu, formats=formats, timed=timed)
            if gpu.has("nic_bytes_per_s"):
                decode += self._decode(base, gpu, formats=formats, timed=timed)
                prefill += self._prefill(base, gpu, formats=formats)
            self.used.add(gpu.slug)
        return _Pools(formats, *(sorted(some, key=lambda one: one.usd_per_h) for some in (prefill, decode, replicas)))

    def _prefill(self, base: LlmServingSpec, gpu: Gpu, *, formats: Formats) -> Iterator[Option]:
        llm, offer = self.catalog.llm(base.llm), self.prices[gpu.slug]
        for at in placements(base, llm=llm, gpu=gpu, usual=PREFILL_UNITS, own=base.prefill_unit_gpus, prompts=True):
            found = prefill_option(base, at, offer=offer, catalog=self.catalog)
            if not found.rejected:
                yield found
                continue
            self._reject(at, self._pair(formats, found, Option(at), because=found.rejected))

    def _decode(
        self, base: LlmServingSpec, gpu: Gpu, *, formats: Formats, timed: dict[Placed, DecodeAlone]
    ) -> Iterator[Option]:
        llm, offer = self.catalog.llm(base.llm), self.prices[gpu.slug]
        for at in placements(
            base, llm=llm, gpu=gpu, usual=DECODE_UNITS, own=base.decode_unit_gpus, prompts=base.is_aggregated
        ):
            found = decode_option(base, at, offer=offer, catalog=self.catalog, timed=timed)
            if not found.rejected:
                yield found
            elif base.is_aggregated:
                self._reject(at, self._replica(formats, found, because=found.rejected))
            else:
                self._reject(at, self._pair(formats, Option(at), found, because=found.rejected))

    # --- candidates

    def _reject(self, at: Placed, candidate: Candidate) -> None:
        """One of all that are rejected for the same reason, whatever else differs."""
        self.rejected_count += 1
        known = self._rejected.get(candidate.rejected)
        if known is None or known[0] <= at.unit_gpus:
            self._rejected[candidate.rejected] = (at.unit_gpus, candidate)

    @property
    def rejected(self) -> list[Candidate]:
        """The largest units come last: they come nearest to working."""
        return [candidate for _, candidate in sorted(self._rejected.values(), key=lambda row: row[0])]

    def group(self, decode: str, prefill: str = "") -> str:
        name = self.catalog.gpu(decode).name
        return f"{self.catalog.gpu(prefill).name} and {name}" if prefill and prefill != decode else name

    def _least(self, usd_per_h: float) -> float:
        tokens_per_s = self.spec.peak_rps * self.spec.output_tokens
        return cost.usd_per_million_tokens(usd_per_h, tokens_per_s=tokens_per_s) or 0.0

    def _pair(self, formats: Formats, prefill: Option, decode: Option, *, because: str = "") -> Candidate:
        first, then = prefill.at.gpu.slug, decode.at.gpu.slug
        same = first == then
        return Candidate(
            {
                **formats.change(self.spec),
                "topology": "disaggregated",
                "gpu": first,
                "gpu_price_usd_per_h": self.prices[first].usd_per_h,
                **prefill_change(prefill.at),
                **decode_change(decode.at),
                "decode_gpu": None if same else then,
                "decode_gpu_price_usd_per_h": None if same else self.prices[then].usd_per_h,
                "spare_prefill_units": prefill.spare_units,
                "spare_decode_units": decode.spare_units,
            },
            group=self.group(then, first),
            least=self._least(prefill.usd_per_h + decode.usd_per_h),
            rejected=because,
        )

    def _replica(self, formats: Formats, replica: Option, *, because: str = "") -> Candidate:
        slug = replica.at.gpu.slug
        return Candidate(
            {
                **formats.change(self.spec),
                "topology": "aggregated",
                "gpu": slug,
                "gpu_price_usd_per_h": self.prices[slug].usd_per_h,
                **decode_change(replica.at),
                "decode_gpu": None,
                "decode_gpu_price_usd_per_h": None,
                "prefill_unit_gpus": self.spec.prefill_unit_gpus,
                "prefill_rank_gpus": None,
                "prefill_step_tokens": replica.at.step_tokens,
                "spare_prefill_units": 0,
                "spare_decode_units": replica.spare_units,
            },
            group=self.group(slug),
            least=self._least(replica.usd_per_h),
            rejected=because,
        )

    def alone(self, pools: _Pools) -> Iterator[Candidate]:
        """Replicas that do both, the cheapest first."""
        return (self._replica(pools.formats, one) for one in pools.replicas)

    def pairs(self, pools: _Pools) -> Iterator[Candidate]:
        """Every prefill pool with every decode pool of the same vendor, the cheapest pair first."""
        first, then = pools.prefill, pools.decode
        if not first or not then:
            return
        heap = [(first[0].usd_per_h + then[0].usd_per_h, 0, 0)]
        while heap:
            _, i, j = heapq.heappop(heap)
            if first[i].at.gpu.vendor == then[j].at.gpu.vendor:
                yield self._pair(pools.formats, first[i], then[j])
            if j + 1 < len(then):
                heapq.heappush(heap, (first[i].usd_per_h + then[j + 1].usd_per_h, i, j + 1))
            if j == 0 and i + 1 < len(first):
                heapq.heappush(heap, (first[i + 1].usd_per_h + then[0].usd_per_h, i + 1, 0))

    def groups(self, found: Sequence[_Pools]) -> dict[str, Iterator[Candidate]]:
        """Fleets of one GPU each, in either layout."""
        return {self.group(slug): self._of_one(found, slug=slug) for slug in sorted(self.used)}

    def _of_one(self, found: Sequence[_Pools], *, slug: str) -> Iterator[Candidate]:
        streams: list[Iterator[Candidate]] = []
        for pools in found:
            own = _Pools(pools.formats, *([one for one in some if one.at.gpu.slug == slug] for some in _lists(pools)))
            streams += [self.pairs(own), self.alone(own)]
        return heapq.merge(*streams, key=lambda one: one.least)


def _lists(pools: _Pools) -> tuple[Sequence[Option], ...]:
    return pools.prefill, pools.decode, pools.replicas


def mend(spec: LlmServingSpec, result: Result) -> Mapping[str, Any]:
    """Another prefill unit, or replica, where a first token is late and it is not the prompt alone that takes long."""
    if result.metrics["ttft_p99_s"].met is not False or (result.value("prefill_utilisation") or 0.0) < _BUSY:
        return {}
    name = "spare_decode_units" if spec.is_aggregated else "spare_prefill_units"
    return {name: getattr(spec, name) + 1}


def words(spec: LlmServingSpec, result: Result, catalog: Catalog) -> str:
    """Pools with their units and GPUs, and the formats."""
    del result
    fleet = fleet_for(spec, physics=physics(spec, catalog=catalog), rps=spec.peak_rps)
    formats = f"{spec.weight_dtype.upper()} weights, {spec.kv_dtype.upper()} KV"
    return f"{_pools_in_words(spec, fleet, catalog=catalog)}; {formats}"


def _pools_in_words(spec: LlmServingSpec, fleet: Fleet, *, catalog: Catalog) -> str:
    gpus = {"prefill": catalog.gpu(spec.gpu).name}
    decode = catalog.gpu(spec.decode_gpu or spec.gpu).name
    return " and ".join(
        f"{counted(role.units, role.noun)} of {role.unit_gpus} × {gpus.get(role.name, decode)}" for role in fleet.roles
    )


SEARCH = Search(objective="cost_usd_per_m_output_tokens", space=space, words=words, mends=SPARES, mend=mend)
