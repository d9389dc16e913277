"""vLLM runs that were measured request by request, simulated with the same settings and the same requests."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner import kinds
from planner.catalog.files import DATA
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog
from tests.validation.simulation import Quiet

FOLDER = DATA / "measured" / "llmservingsim"
BLOCKS = "sharegpt-llama-300"
"""The workload with the blocks of the prompts; of the other LLM's run only lengths are published."""
GPUS = {"RTX4090": "rtx-4090", "RTXPRO6000": "rtx-pro-6000-server"}
SOURCE, SOURCE_URL = "LLMServingSim, vLLM runs", "https://github.com/casys-kaist/LLMServingSim"
QUANTITY = "simulated_runs"
PUBLISHED, MEANS = DATA / "measured" / "published_results.csv", "r0372"
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: settings, and moments of its requests from the first arrival on [s]."""

    name: str
    gpu: str
    meta: Mapping[str, Any]
    arrival_s: Array
    queued_s: Array
    scheduled_s: Array
    first_token_s: Array
    last_token_s: Array
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    over_time: Sequence[Mapping[str, float]]

    @property
    def ttft_s(self) -> Array:
        return self.first_token_s - self.arrival_s

    @property
    def tpot_s(self) -> Array:
        return (self.last_token_s - self.first_token_s) / (self.output_tokens - 1)

    @property
    def e2e_s(self) -> Array:
        return self.last_token_s - self.arrival_s

    @property
    def makespan_s(self) -> float:
        return float(self.last_token_s.max() - self.arrival_s.min())

    def spec(self) -> dict[str, Any]:
        """The run as a user would type it."""
        asked, cache = self.meta["engine_kwargs"], self.meta.get("kv_cache", {})
        copies = int(asked["data_parallel_size"])
        found = {
            "llm": self.meta["model"],
            "gpu": self.gpu,
            "engine": "vllm",
            "engine_version": self.meta["vllm_version"],
            "gpus": copies * int(asked["tensor_parallel_size"]),
            "tensor_parallel": asked["tensor_parallel_size"],
            "data_parallel_attention": copies if copies > 1 else None,
            "expert_parallel": copies if asked["enable_expert_parallel"] else None,
            "max_num_seqs": asked["max_num_seqs"],
            "max_num_batched_tokens": asked["max_num_batched_tokens"],
            "max_model_len": asked["max_model_len"],
            "measured_kv_tokens": cache.get("num_kv_tokens"),
        }
        return {name: value for name, value in found.items() if value is not None}

    def workload(self) -> Workload:
        """Its requests as a trace, with the blocks of their prompts where those are published."""
        known = catalog().workload(BLOCKS)
        # Blocks are known of these very prompts, in this order.
        same = np.array_equal(known.input_tokens, self.input_tokens)
        return Workload(
            name=self.name,
            arrival_s=self.arrival_s,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=known.cached_tokens if same else None,
            blocks=known.blocks if same else None,
            source=SOURCE,
        )


@lru_cache(maxsize=1)
def runs() -> tuple[Measured, ...]:
    """All runs of the folder."""
    return tuple(_run(path.parent) for path in sorted(FOLDER.glob("*/*/meta.json")))


def _run(folder: Path) -> Measured:
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    lines = (folder / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    clock = {name: np.array([row[name] for row in rows]) for name in _MOMENTS}
    # Arrivals are told by the client's clock, all else by the engine's: the quickest way between them is taken as 0.
    ahead_s = (clock["queued_ts"] - clock["arrival_time"]).min()
    begin_s = clock["arrival_time"].min() + ahead_s
    with (folder / "timeseries.csv").open(encoding="utf-8", newline="") as file:
        over_time = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return Measured(
        name=f"{folder.parent.name}, {folder.name}",
        gpu=GPUS[folder.parent.name],
        meta=meta,
        arrival_s=clock["arrival_time"] + ahead_s - begin_s,
        queued_s=clock["queued_ts"] - begin_s,
        scheduled_s=clock["scheduled_ts"] - begin_s,
        first_token_s=clock["first_token_ts"] - begin_s,
        last_token_s=clock["last_token_ts"] - begin_s,
        input_tokens=np.array([row["input_toks"] for row in rows], np.int64),
        output_tokens=np.array([row["output_toks"] for row in rows], np.int64),
        over_time=over_time,
    )


@gives(QUANTITY)
def simulated_runs() -> Iterator[Row]:
    """Each run simulated with its settings: steps are those of the shipped calibration, which saw none of these."""
    for run in runs():
        found = simulated(run)
        for group, metric, measured in _figures(run):
            yield _row(run, found, group=group, metric=metric, measured=measured)

    yield from _told_by_means()


def simulated(run: Measured, **changes: Any) -> Result:
    """The run of the same replica under the same requests."""
    kind = kinds.get("engine_instance")
    assert kind.simulator is not None
    request = SimulationRequest(seed=1, workload=run.workload())
    return kind.simulator.run(kind.spec.model_validate({**run.spec(), **changes}), catalog(), request, Quiet())


def _told_by_means() -> Iterator[Row]:
    """A run of which means are published and no requests: those of the other LLM with its tokeniser stand for them."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        told = next(row for row in csv.DictReader(file) if row["id"] == MEANS)
    like = next(run for run in runs() if run.meta["engine_kwargs"]["data_parallel_size"] == 2)
    ranks = {"tensor_parallel": 2, "data_parallel_attention": 1, "expert_parallel": None}
    found = simulated(like, llm="qwen3-32b", **ranks)
    means = {"ttft_mean_s": "ttft_ms", "tpot_mean_s": "tpot_ms", "e2e_mean_s": "value"}
    for metric, column in means.items():
        yield dataclasses.replace(
            _row(like, found, group=f"{metric[:4].strip('_').upper()}, known by its mean", metric=metric, measured=0.0),
            id=f"RTXPRO6000, Qwen3-32B: {found.metrics[metric].definition.label}",
            llm="qwen3-32b",
            measured=float(told[column]) / 1e3,
            conditions="vLLM 0.19.0, two tensor-parallel ranks over PCIe; requests are those of the run of Qwen3-30B",
        )


def _figures(run: Measured) -> Iterator[tuple[str, str, float]]:
    """What is compared: its group, our metric, and what was measured."""
    for name, values in (("ttft", run.ttft_s), ("tpot", run.tpot_s), ("e2e", run.e2e_s)):
        yield name.upper(), f"{name}_mean_s", float(values.mean())
        for share in (0.5, 0.9, 0.99):
            yield f"{name.upper()}, percentiles", f"{name}_p{round(100 * share)}_s", float(np.quantile(values, share))
    yield "throughput", "output_tokens_per_s", float(run.output_tokens.sum() / run.makespan_s)
    over_time = {name: np.array([each[name] for each in run.over_time]) for name in ("running", "waiting", _POOL)}
    yield "state over time", "running_requests", float(over_time["running"].mean())
    yield "state over time", "waiting_requests", float(over_time["waiting"].mean())
    if over_time[_POOL].any():
        yield "state over time", "kv_used_share", float(over_time[_POOL].mean() / 100)


def _row(run: Measured, found: Result, *, group: str, metric: str, measured: float) -> Row:
    llm, definition = catalog().llm(run.meta["model"]), found.metrics[metric].definition
    asked = run.meta["engine_kwargs"]
    return Row(
        quantity=QUANTITY,
        id=f"{run.name}: {definition.label}",
        source=SOURCE,
        source_url=SOURCE_URL,
        gpu=run.gpu,
        engine="vllm",
        llm=llm.slug,
        family=llm.family,
        group=group,
        predicted=found.value(metric),
        measured=measured,
        unit=definition.unit,
        conditions=(
            f"vLLM {run.meta['vllm_version']}, at most {asked['max_num_seqs']} running and "
            f"{asked['max_num_batched_tokens']:,} tokens a step on each of {asked['data_parallel_size']} copies"
        ),
    )


_POOL = "kv_cache_pct"
_MOMENTS = ("arrival_time", "queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
