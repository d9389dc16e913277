"""`make validate`: our figures beside those that others published; writes build/validation.json.

``{quantity: {slice: {n, median, p90, coverage}}}`` with absolute relative errors in per cent; ``coverage`` is null
where a figure carries no interval.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from planner import kinds
from planner.catalog import files
from planner.catalog.derived import published_totals
from planner.core.simulation import SimulationRequest
from planner.formulas import attention
from tests.golden.published import DESIGN_FIGURES, KV_BYTES_PER_TOKEN

ROOT = Path(__file__).resolve().parents[1]
CATALOG = files.load()
Pair = tuple[str, float, float]

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


def parameters() -> Iterator[Pair]:
    """Parameters counted from the architecture against the published total."""
    for row in published_totals(CATALOG):
        yield row["llm"].family, row["counted"], row["published"]


def kv_per_token() -> Iterator[Pair]:
    """KV bytes per token against the engines' own arithmetic."""
    for (slug, tensor_parallel), published in KV_BYTES_PER_TOKEN.items():
        llm = CATALOG.llm(slug)
        yield llm.family, attention.kv_bytes_per_token(llm, dtype_bytes=2, tensor_parallel=tensor_parallel), published


def reference_designs() -> Iterator[Pair]:
    """The figures of the customer's design notes against our answer to the default spec."""
    for (slug, name), published in DESIGN_FIGURES.items():
        kind = kinds.get(slug)
        value = kind.estimate(kind.spec(), CATALOG).value(name)
        yield slug, float("nan") if value is None else value, published


class Quiet:
    """Hooks of a run that nobody watches."""

    def progress(self, *_: object, **__: object) -> None:
        return None

    def cancelled(self) -> bool:
        return False


def estimate_against_simulation() -> Iterator[Pair]:
    """Percentiles of the estimate against those of the simulation, at the load of the run."""
    for name, slug, spec, wanted in SIMULATED_CASES:
        kind = kinds.get(slug)
        assert kind.simulator is not None
        assert kind.simulator.expected is not None
        parsed, request = kind.spec.model_validate(spec), SimulationRequest(seed=1, **wanted)
        promised = kind.simulator.expected(parsed, CATALOG, request)
        found = kind.simulator.run(parsed, CATALOG, request, Quiet())
        for quantity in ("ttft", "tpot"):
            for rank in ("p50", "p90", "p99"):
                ours, simulated = promised.value(f"{quantity}_{rank}_s"), found.value(f"{quantity}_{rank}_s")
                assert ours
                assert simulated
                yield f"{name}, {quantity}", ours, simulated


QUANTITIES: dict[str, Callable[[], Iterator[Pair]]] = {
    "parameters": parameters,
    "kv_bytes_per_token": kv_per_token,
    "reference_designs": reference_designs,
    "estimate_against_simulation": estimate_against_simulation,
}


def errors_by_slice(pairs: Iterator[Pair]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"all": []}
    for name, ours, published in pairs:
        error = abs(ours / published - 1) * 100
        found["all"].append(error)
        found.setdefault(name, []).append(error)
    return found


def summary(errors: list[float]) -> dict[str, float | int | None]:
    ordered = sorted(errors)
    p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return {"n": len(ordered), "median": round(statistics.median(ordered), 4), "p90": round(p90, 4), "coverage": None}


def main() -> int:
    report = {
        name: {part: summary(errors) for part, errors in errors_by_slice(pairs()).items()}
        for name, pairs in QUANTITIES.items()
    }
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    (folder / "validation.json").write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    print(f"{'quantity':<28} {'slice':<26} {'n':>4} {'median %':>9} {'p90 %':>9}")
    for quantity, slices in report.items():
        for part, figures in slices.items():
            print(f"{quantity:<28} {part:<26} {figures['n']:>4} {figures['median']:>9} {figures['p90']:>9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
