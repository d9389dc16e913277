"""The serving system: the reference hour, replicas under load, scaling, memory, and how long starting takes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sims.engine.hooks import Cancelled, NoHooks
from sims.parts.arrivals import Lengths, Poisson
from sims.systems.llm_serving import Config, simulate

ROOT = Path(__file__).resolve().parents[2]

REFERENCE = Config(
    prefill_units=8,
    decode_units=2,
    prefill_ranks=32,
    decode_ranks=144,
    prefill_budget_tokens=512,
    prefill_step_s=0.005,
    prefill_s_per_token=1 / 4000 - 0.005 / 512,
    step_s=0.016,
    step_s_per_sequence=1.5e-6,
    step_s_per_kv_token=5e-10,
    kv_capacity_tokens=120_000_000,
    egress_s_per_token=70_272 / 40e9,
    ingress_s_per_token=70_272 / 40e9,
    hand_over_s=0.003,
    gateway_s=0.01,
)
REPLICAS = Config(
    aggregated=True,
    decode_units=200,
    max_running=64,
    prefill_budget_tokens=2048,
    prefill_s_per_token=1 / 60_000,
    step_s=0.012,
    step_s_per_sequence=5e-5,
    step_s_per_kv_token=2e-8,
    kv_capacity_tokens=200_000,
)
LONG = Lengths(input_tokens=3000, output_tokens=800, input_sigma=0.5, output_sigma=0.8, prefix_hit_rate=0.5)
SHORT = Lengths(input_tokens=1000, output_tokens=400, input_sigma=0.5, output_sigma=0.8)


def reference_hour() -> float:
    """1.8 M requests, 500 a second, on 8 prefill and 2 decode units."""
    return float(simulate(REFERENCE, arrivals=Poisson(500.0, LONG, duration_s=3600.0), warmup_s=200.0).arrived)


def replicas() -> float:
    """200 aggregated replicas at 900 requests a second."""
    return float(simulate(REPLICAS, arrivals=Poisson(900.0, SHORT, requests=400_000), warmup_s=30.0).arrived)


def scaling_exponent() -> float:
    """Slope of log CPU time over log requests, 10⁴ … 10⁷: 1 is linear. Short runs are repeated."""
    points = []
    for requests, repeats in ((10_000, 50), (100_000, 10), (1_000_000, 3), (10_000_000, 1)):
        begun_s = time.process_time()
        for _ in range(repeats):
            simulate(REFERENCE, arrivals=Poisson(500.0, LONG, requests=requests), samples=2)
        points.append((math.log(requests), math.log((time.process_time() - begun_s) / repeats)))
    mean_x, mean_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points)


def peak_bytes() -> float:
    """Most memory that a process ever uses which does nothing but the reference hour and the replicas."""
    code = (
        "from tests.benchmarks import serving\n"
        "serving.reference_hour(), serving.replicas()\n"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    return float(told(code, env={**os.environ, "PYTHONPATH": str(ROOT)}))


def told(code: str, *, env: dict[str, str]) -> str:
    """What a fresh process prints that runs this."""
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout


class Leaving(NoHooks):
    """Somebody who wants to stop ``after_s`` from now on [s of wall clock]."""

    def __init__(self, after_s: float) -> None:
        self.wish_s = time.monotonic() + after_s

    def cancelled(self) -> bool:
        return time.monotonic() >= self.wish_s


def cancel_s() -> float:
    """The longest time from a wish to cancel to the end of the run, of ten wishes in the midst of a long loop."""
    waits = []
    for config, rate, lengths in ((REFERENCE, 500.0, LONG), (REPLICAS, 900.0, SHORT)):
        for turn in range(5):
            hooks = Leaving(0.4 + 0.13 * turn)
            try:
                simulate(config, arrivals=Poisson(rate, lengths, duration_s=1e9), hooks=hooks)
            except Cancelled:
                waits.append(time.monotonic() - hooks.wish_s)
    if len(waits) < 10:
        raise RuntimeError("a run that nobody waits for went on to its end")
    return max(waits)


def start_s(*, cache: Path, system: str) -> float:
    """CPU time of a fresh process to import a simulator and compile or load its kernels."""
    code = (
        "import time; begun = time.process_time()\n"
        f"import sims.systems.{system}\n"
        "from sims.engine import kernel\n"
        "kernel.warm(); print(time.process_time() - begun)"
    )
    environment = {"SIMS_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return float(told(code, env=environment))


def first_and_later_start_s(system: str) -> tuple[float, float]:
    """With an empty cache, and with the cache that this has left."""
    with tempfile.TemporaryDirectory() as folder:
        return start_s(cache=Path(folder), system=system), start_s(cache=Path(folder), system=system)
