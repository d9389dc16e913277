"""The estimate against our own simulation, at the load of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner import kinds
from planner.core.simulation import SimulationRequest
from tests.sims.test_pool_against_estimate import SMALL
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

# A layout whose estimate and simulation METHOD.md sets side by side.
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
LATENCIES = tuple(f"{latency}_{rank}_s" for latency in ("ttft", "tpot") for rank in ("p50", "p90", "p99"))
TIERS = ("hbm_hit_share", "dram_hit_share", "ssd_hit_share", "hit_share", "ttft_p50_s", "ttft_p99_s")
ROUTED = ("hit_share", "ttft_mean_s", "ttft_p99_s", "instance_utilisation")
FEW = {"policies": "chosen"}
ADAPTED = ("gpu_hit_share", "distinct_in_batch", "tpot_s", "ttft_p50_s", "ttft_p99_s", "swaps_per_s")
CLIFF = {"slots": 32, "replicas": 4, "routing": "random", "fairness": "first_come"}


@dataclass(frozen=True)
class Case:
    """One design, one run, and the metrics that are held side by side."""

    name: str
    kind: str
    spec: Mapping[str, Any]
    wanted: Mapping[str, Any]
    metrics: tuple[str, ...] = LATENCIES


ROLLOUT = ("step_s", "utilisation", "rollout_idle", "trainer_idle", "scorers_busy", "staleness_mean")
WASTEFUL = (*ROLLOUT, "wasted_tokens")
OWN = {"options": {"modes": "chosen"}}
FLEET = {"rollout_gpus": 36}
FOURS = {"mode": "synchronous", "instance_gpus": 4, "rollout_gpus": 48}
ROLLOUT_CASES = (
    Case("rollout, reference", "rl_rollout", {}, OWN, ROLLOUT),
    Case("rollout, synchronous", "rl_rollout", {**FLEET, "mode": "synchronous"}, OWN, ROLLOUT),
    Case("rollout, one step off", "rl_rollout", {**FLEET, "mode": "one_step_off"}, OWN, ROLLOUT),
    Case("rollout, co-located", "rl_rollout", {"mode": "colocated", "training_gpus": 100}, OWN, ROLLOUT),
    Case("rollout, bound of one", "rl_rollout", {"rollout_gpus": 40, "staleness_bound": 1}, OWN, ROLLOUT),
    Case("rollout, bound of four", "rl_rollout", {"rollout_gpus": 40}, OWN, ROLLOUT),
    Case(
        "rollout, discard",
        "rl_rollout",
        {"rollout_gpus": 40, "staleness_bound": 2, "enforcement": "discard"},
        OWN,
        (*WASTEFUL, "discarded_share"),
    ),
    Case(
        "rollout, partial rollouts", "rl_rollout", {**FOURS, "oversampling": 0.5, "enforcement": "carry"}, OWN, ROLLOUT
    ),
    Case("rollout, over-sampling", "rl_rollout", {**FOURS, "oversampling": 0.2}, OWN, WASTEFUL),
)

SIMULATED_CASES = (
    Case("reference", "llm_serving", {}, {"duration_s": 600}),
    Case("N+1", "llm_serving", {"spare_decode_units": 1}, {"duration_s": 600}),
    Case("derived rates", "llm_serving", {"rate_mode": "derived"}, {"duration_s": 600}),
    Case("10 req/s", "llm_serving", {"peak_rps": 10}, {"duration_s": 3600}),
    Case("replica of 4 GPUs", "llm_serving", {**REPLICA, "decode_unit_gpus": 4}, {"requests": 40_000}),
    Case("replica of 8 GPUs", "llm_serving", {**REPLICA, "decode_unit_gpus": 8}, {"requests": 40_000}),
    Case("many ranks", "llm_serving", {"topology": "aggregated"}, {"duration_s": 600}),
    Case("pool, reference", "kv_pool", {}, {"options": FEW}, TIERS),
    Case("pool, small tiers, exponential", "kv_pool", SMALL, {"options": FEW}, TIERS),
    Case(
        "pool, small tiers, log-normal",
        "kv_pool",
        {**SMALL, "gap_law": "lognormal", "gap_s": 40.0},
        {"options": FEW},
        TIERS,
    ),
    Case("gateway, reference", "gateway", {}, {"options": FEW}, ROUTED),
    Case("gateway, 8,000 req/s", "gateway", {"peak_rps": 8000}, {"options": FEW}, ROUTED),
    Case("gateway, round robin", "gateway", {"policy": "round_robin"}, {"options": FEW}, ROUTED),
    Case("gateway, random", "gateway", {"policy": "random"}, {"options": FEW}, ROUTED),
    Case("adapters, reference", "multi_lora", {}, {"duration_s": 600, "options": FEW}, ADAPTED),
    Case(
        "adapters, a fifth of the load",
        "multi_lora",
        {},
        {"duration_s": 600, "options": {**FEW, "rate_scale": 0.2}},
        ADAPTED,
    ),
    Case(
        "adapters, 32 slots first come",
        "multi_lora",
        CLIFF,
        {"duration_s": 3600, "options": FEW},
        (*ADAPTED, "slot_wait_s", "slot_wait_p99_s"),
    ),
    Case("adapters, any replica", "multi_lora", {"routing": "random"}, {"duration_s": 600, "options": FEW}, ADAPTED),
    Case(
        "adapters in pages of KV",
        "multi_lora",
        {"engine": "slora", "kernels": "gather"},
        {"duration_s": 600, "options": FEW},
        ADAPTED,
    ),
    *ROLLOUT_CASES,
)


class Quiet:
    """Hooks of a run that nobody watches."""

    def progress(self, *_: object, **__: object) -> None:
        return None

    def cancelled(self) -> bool:
        return False


@gives("estimate_against_simulation")
def estimate_against_simulation() -> Iterator[Row]:
    for case in SIMULATED_CASES:
        yield from _rows(case)


def _rows(case: Case) -> Iterator[Row]:
    kind = kinds.get(case.kind)
    assert kind.simulator is not None
    assert kind.simulator.expected is not None
    parsed, request = kind.spec.model_validate(case.spec), SimulationRequest(seed=1, **case.wanted)
    promised = kind.simulator.expected(parsed, catalog(), request)
    found = kind.simulator.run(parsed, catalog(), request, Quiet())
    for metric in case.metrics:
        definition = found.metrics[metric].definition
        measured = found.value(metric)
        # Of a tier that is not there nothing is hit, by either.
        if measured:
            yield Row(
                quantity="estimate_against_simulation",
                id=f"{case.name}, {definition.label}",
                source=f"Simulation of {kind.label}, seed 1",
                **_hardware(parsed),
                group=_group(metric),
                predicted=promised.value(metric),
                measured=measured,
                unit=definition.unit,
                conditions=f"{case.name}, {definition.label}",
            )


def _group(metric: str) -> str:
    """What the figures of a group have in common: TTFT, TPOT, a training step, staleness, hits, or load."""
    first = metric.split("_", maxsplit=1)[0]
    if first in ("ttft", "tpot"):
        return first.upper()
    if first in ("step", "staleness"):
        return first
    return "hits" if "hit" in metric else "load"


def _hardware(spec: Any) -> dict[str, str]:
    """GPU, engine and LLM of a design, as far as it has them."""
    found = {"engine": str(getattr(spec, "engine", ""))}
    if getattr(spec, "gpu", None):
        found["gpu"] = catalog().gpu(spec.gpu).slug
    if getattr(spec, "llm", None):
        llm = catalog().llm(spec.llm)
        found |= {"llm": llm.slug, "family": llm.family}
    return found
