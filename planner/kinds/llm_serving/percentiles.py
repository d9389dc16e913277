"""Percentiles of TTFT and TPOT of a fleet at one load, also where that load is past what it can serve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.formulas import overload
from planner.kinds.llm_serving import latency
from planner.kinds.llm_serving.fleet import Fleet
from planner.kinds.llm_serving.physics import Physics
from planner.kinds.llm_serving.spec import LlmServingSpec

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_HALVINGS = 20
_JUST_BELOW = 0.999


@dataclass(frozen=True, slots=True)
class Latencies:
    """Quantiles of a fleet at one load and the mean TTFT [s]; None past saturation."""

    ttft_s: dict[str, float | None]
    tpot_s: dict[str, float | None]
    ttft_mean_s: float | None
    running_per_gpu: float | None
    """Sequences on a decode GPU [1]."""
    overloaded: bool = False
    """Whether they are those after an hour of a load that cannot be served."""


@dataclass(frozen=True, slots=True)
class _Load:
    """A fleet at a request rate."""

    spec: LlmServingSpec
    physics: Physics
    fleet: Fleet
    rps: float

    @property
    def decode(self) -> latency.Decode:
        return latency.decode_at(self.spec, physics=self.physics, fleet=self.fleet, rps=self.rps)

    def ttft(self, decode: latency.Decode) -> latency.Ttft:
        return latency.ttft_at(self.spec, physics=self.physics, fleet=self.fleet, rps=self.rps, decode=decode)

    @property
    def is_served(self) -> bool:
        return self.ttft(self.decode).is_stable

    def tpots_s(self, decode: latency.Decode) -> dict[str, float | None]:
        return {
            name: latency.tpot_s(probability, physics=self.physics, fleet=self.fleet, decode=decode)
            if self.spec.output_tokens
            else None
            for name, probability in QUANTILES.items()
        }


def latencies(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float) -> Latencies:
    """Quantiles of TTFT and TPOT of a fleet at a request rate."""
    load = _Load(spec, physics, fleet, rps)
    decode = load.decode
    ttft = load.ttft(decode)
    firsts = latency.ttft_quantiles_s(list(QUANTILES.values()), ttfts=[ttft] * len(QUANTILES))
    mean_s = None
    if ttft.mean_wait_s is not None:
        mean_s = ttft.constant_s + float(ttft.service_s.mean()) + ttft.mean_wait_s
    return Latencies(
        ttft_s=dict(zip(QUANTILES, firsts, strict=True)),
        tpot_s=load.tpots_s(decode),
        ttft_mean_s=mean_s,
        running_per_gpu=decode.batch,
    )


def slow_end(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float) -> Latencies:
    """The upper end of the ranges: where the slower fleet cannot keep up, what an hour of this load leaves.

    Then all places are taken, which gives TPOT, and who arrives waits for the queue that has grown by then.
    """
    found = latencies(spec, physics=physics, fleet=fleet, rps=rps)
    if found.ttft_mean_s is not None or not fleet.decode.gpus:
        return found
    served_rps = _most_served(spec, physics=physics, fleet=fleet, rps=rps)
    if served_rps <= 0:
        return found
    load = _Load(spec, physics, fleet, _JUST_BELOW * served_rps)
    decode = load.decode
    ttft = load.ttft(decode)

    def waited_s(share: float) -> float:
        return overload.wait_quantile_s(share, utilisation=rps / served_rps, lasting_s=overload.PEAK_S)

    service_s = {name: float(np.quantile(ttft.service_s, share)) for name, share in QUANTILES.items()}
    return Latencies(
        ttft_s={name: ttft.constant_s + service_s[name] + waited_s(share) for name, share in QUANTILES.items()},
        tpot_s=load.tpots_s(decode),
        ttft_mean_s=ttft.constant_s + float(ttft.service_s.mean()) + waited_s(0.5),
        running_per_gpu=decode.batch,
        overloaded=True,
    )


def _most_served(spec: LlmServingSpec, *, physics: Physics, fleet: Fleet, rps: float) -> float:
    """The largest rate below this one that the fleet can serve [1/s]."""
    low, high = 0.0, rps
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _Load(spec, physics, fleet, middle).is_served else (low, middle)
    return low
