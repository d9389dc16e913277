"""S-LoRA's published runs as designs: settings of its benchmark scripts, and a replica worked out at one run."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from planner.catalog.files import DATA
from planner.core.catalog import MissingFigure
from planner.formulas.memory import weight_bytes
from planner.kinds.multi_lora.plan import plan
from planner.kinds.multi_lora.replica import Replica
from planner.kinds.multi_lora.spec import MultiLoraSpec
from tests.validation.shipped import catalog

TABLE = DATA / "measured" / "slora_paper_results.csv"
RANKS = {"S1": (8,), "S2": (64, 32, 16, 8), "S4": (64, 32, 16)}
"""Of the adapters of a setting, in turn (benchmarks/exp_suite.py)."""
LLMS = {"S1": "llama-2-7b", "S2": "llama-2-7b", "S4": "llama-2-13b"}
"""Llama 1 in their runs, whose shapes those of Llama 2 are."""
GPUS = {"a10g": "a10g", "a100-40": "a100-sxm-40gb", "a100-80": "a100-sxm-80gb"}
POOL_TOKENS = {"a10g": 14_500, "a100-40": 14_000, "a100-80 7B": 125_000, "a100-80 13B": 65_000}
"""Tokens that keys, values and adapters share (--num-token of the scripts beside the results)."""
SHORTEST, LONGEST = 8, 511
MEAN_TOKENS = (SHORTEST + LONGEST) / 2
VARIATION = ((LONGEST - SHORTEST + 1) ** 2 - 1) / 12 / MEAN_TOKENS**2
"""Squared, of lengths that are uniform from 8 to 511."""
GROWING, STEADY_S, SOON = 0.03, 0.1, 0.005
"""Of the length of a run: mean TTFT above which a queue grew, latency below which it was steady, TTFT of no queue."""


@dataclass(frozen=True)
class Run:
    """One line of the table."""

    file: str
    gpu: str
    setting: str
    adapters: int
    rate_rps: float
    burstiness: float
    duration_s: float
    throughput_rps: float
    latency_s: float
    ttft_s: float

    @property
    def name(self) -> str:
        return f"{self.file}, {self.adapters} adapters, {self.rate_rps:g}/s"

    @property
    def is_saturated(self) -> bool:
        """Whether its queue grew from beginning to end, so that its throughput is what the replica can do."""
        return self.ttft_s > GROWING * self.duration_s

    @property
    def is_below(self) -> bool:
        """Whether it had no queue, for long enough to be steady."""
        return self.ttft_s < SOON * self.duration_s and self.latency_s < STEADY_S * self.duration_s

    @property
    def tpot_s(self) -> float:
        return (self.latency_s - self.ttft_s) / (MEAN_TOKENS - 1)

    @property
    def series(self) -> tuple[str, str, float, float]:
        """Runs that differ by their adapters alone."""
        return self.gpu, self.setting, self.rate_rps, self.duration_s

    @property
    def pool_tokens(self) -> int:
        size = "13B" if self.setting == "S4" else "7B"
        return POOL_TOKENS.get(self.gpu) or POOL_TOKENS[f"{self.gpu} {size}"]

    @property
    def mean_rank(self) -> float:
        """Requests ask for all adapters alike: alpha of the scripts is that of numpy's power law, uniform at 1."""
        ranks = RANKS[self.setting]
        return sum(ranks[each % len(ranks)] for each in range(self.adapters)) / max(self.adapters, 1)


def run_of(line: Mapping[str, str]) -> Run:
    return Run(
        file=line["file"].rpartition("/")[2].removesuffix(".jsonl"),
        gpu=next(name for name in GPUS if line["gpu"].replace("_", "-").startswith(name)),
        setting=line["setting"],
        adapters=int(line["num_adapters"]),
        rate_rps=float(line["req_rate"]),
        burstiness=float(line["cv"]),
        duration_s=float(line["duration"]),
        throughput_rps=float(line["throughput"]),
        latency_s=float(line["avg_latency"]),
        ttft_s=float(line["avg_first_token_latency"]),
    )


@lru_cache(maxsize=1)
def lines() -> tuple[dict[str, str], ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def replica_of(run: Run, *, overhead_s: float | None = None, running: float | None = None) -> Replica:
    """The replica of a run with so many running; None: as many as the pool holds beside their adapters."""
    return replace(_replica(run, overhead_s=overhead_s), batch=running)


@lru_cache(maxsize=1024)
def _replica(run: Run, *, overhead_s: float | None) -> Replica:
    llm, gpu = catalog().llm(LLMS[run.setting]), catalog().gpu(GPUS[run.gpu])
    cell_bytes = 2 * llm.layers * llm.kv_heads * llm.head_dim * 2
    total = gpu.figure("visible_memory_bytes" if gpu.has("visible_memory_bytes") else "memory_bytes")
    pool_bytes = run.pool_tokens * cell_bytes
    sigma = math.sqrt(math.log1p(VARIATION))
    given = {
        "llm": llm.slug,
        "gpu": gpu.slug,
        "base_parameters": None,
        "engine": "slora",
        "kernels": "gather",
        "launches": "eager",
        "targets": "attention",
        "adapters": max(run.adapters, 1),
        "rank": max(round(run.mean_rank), 1),
        "zipf_exponent": 0.0,
        "base_share": 0.0 if run.adapters else 1.0,
        "specialised_graphs": "on",
        "tenants": 1,
        "requests_per_s": run.rate_rps,
        "input_tokens": MEAN_TOKENS,
        "output_tokens": MEAN_TOKENS,
        "input_sigma": sigma,
        "output_sigma": sigma,
        "prefix_share": 0.0,
        "replicas": 1,
        "routing": "random",
        "max_batch": 1000,
        "memory_share": 1.0,
        "reserved_bytes": total - pool_bytes - weight_bytes(llm, dtype="bf16"),
        "host_adapters": max(run.adapters, 1),
        "tpot_slo_s": 10.0,
    }
    if overhead_s is not None:
        given["step_overhead_s"] = overhead_s
    return plan(MultiLoraSpec.model_validate(given), catalog=catalog()).replica


def capacity_rps(run: Run, *, overhead_s: float | None = None) -> float:
    """Requests a second with the pool full."""
    found = replica_of(run, overhead_s=overhead_s)
    return found.rate_rps(found.memory.places)


def overhead_of(run: Run) -> float:
    """Fixed part of a step at which the capacity of a saturated run comes out."""
    found = replica_of(run, overhead_s=0.0)
    batch = found.memory.places
    step_s = (batch / run.throughput_rps - batch * found.held_s(0.0)) / MEAN_TOKENS
    return max(step_s - found.step(batch).total_s, 0.0)


def tpot_s(run: Run, *, overhead_s: float) -> float:
    """Time of a token at the load of a run below capacity."""
    running = run.rate_rps * run.latency_s
    for _ in range(5):
        found = replica_of(run, overhead_s=overhead_s, running=running)
        at_load = found.running(run.rate_rps)
        if at_load is None:
            raise MissingFigure(table="runs", slug=run.name, figure="a steady state at its load")
        running = at_load[0]
    return found.tpot_s(running, held_s=found.held_s(0.0))
