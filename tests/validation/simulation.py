"""Percentiles of the estimate against those of our own simulation, at the load of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner import kinds
from planner.core.simulation import SimulationRequest
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

# Name, kind, spec, and how long to run: the layouts whose estimate and simulation METHOD.md sets side by side.
REPLICA = {
    "llm": "llama-3-1-70b",
    "gpu": "h100-sxm",
    "topology": "aggregated",
    "rate_mode": "derived",
    "kv_bytes_per_token": 327_680,
    "weight_dtype": "fp8",
    "mtp": "off",
    "engine": "vllm",
    "input_tokens": 1155,
    "output_tokens": 211,
    "prefix_hit_rate": 0,
    "peak_rps": 8.5,
    "prefill_step_tokens": 2048,
    "runtime_bytes": 4e9,
}
SIMULATED_CASES: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("reference", "llm_serving", {}, {"duration_s": 600}),
    ("N+1", "llm_serving", {"spare_decode_units": 1}, {"duration_s": 600}),
    ("derived rates", "llm_serving", {"rate_mode": "derived"}, {"duration_s": 600}),
    ("10 req/s", "llm_serving", {"peak_rps": 10}, {"duration_s": 3600}),
    ("replica of 4 GPUs", "llm_serving", {**REPLICA, "decode_unit_gpus": 4}, {"requests": 40_000}),
    ("replica of 8 GPUs", "llm_serving", {**REPLICA, "decode_unit_gpus": 8}, {"requests": 40_000}),
    ("many ranks", "llm_serving", {"topology": "aggregated"}, {"duration_s": 600}),
)


class Quiet:
    """Hooks of a run that nobody watches."""

    def progress(self, *_: object, **__: object) -> None:
        return None

    def cancelled(self) -> bool:
        return False


@gives("estimate_against_simulation")
def estimate_against_simulation() -> Iterator[Row]:
    for name, slug, spec, wanted in SIMULATED_CASES:
        yield from _case(name, slug, spec, wanted)


def _case(name: str, slug: str, spec: dict[str, Any], wanted: dict[str, Any]) -> Iterator[Row]:
    kind = kinds.get(slug)
    assert kind.simulator is not None
    assert kind.simulator.expected is not None
    parsed, request = kind.spec.model_validate(spec), SimulationRequest(seed=1, **wanted)
    promised = kind.simulator.expected(parsed, catalog(), request)
    found = kind.simulator.run(parsed, catalog(), request, Quiet())
    for latency in ("ttft", "tpot"):
        for rank in ("p50", "p90", "p99"):
            metric = f"{latency}_{rank}_s"
            yield Row(
                quantity="estimate_against_simulation",
                id=f"{name}, {latency} {rank}",
                source=f"Simulation of {kind.label}, seed 1",
                gpu=catalog().gpu(parsed.gpu).slug,
                engine=str(getattr(parsed, "engine", "")),
                llm=catalog().llm(parsed.llm).slug,
                family=catalog().llm(parsed.llm).family,
                group=latency.upper(),
                predicted=promised.value(metric),
                measured=found.value(metric),
                unit="s",
                conditions=f"{name}, {rank.upper()}",
            )
