"""Figures of many points by metric name: what `load.figures` says of one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.core.batch import Figures
from planner.formulas import cost
from planner.formulas.many_points import Array, Mask, Points
from planner.kinds.engine_instance.metrics import RATE_NAMES

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def latencies(points: Points, exists: Mask) -> dict[str, Figures]:
    """Times and requests in the system."""
    gaps = exists & points.has_gaps
    found = {
        "ttft_mean_s": Figures(points.ttft_s, exists),
        "tpot_mean_s": Figures(points.gap_s, gaps),
        "itl_p99_s": Figures(points.itl_quantile_s(0.99), gaps),
        "e2e_mean_s": Figures(points.e2e_s, exists),
        "concurrency": Figures(points.concurrency, exists),
        "running_requests": Figures(points.running, exists),
    }
    for name, probability in _QUANTILES.items():
        found[f"ttft_{name}_s"] = Figures(points.ttft_quantile_s(probability), exists)
        found[f"tpot_{name}_s"] = Figures(points.tpot_quantile_s(probability), gaps)
    return found


def rates(points: Points, exists: Mask, *, numbers: Mapping[str, Figures], gpus: Array) -> dict[str, Figures]:
    """Requests and tokens a second, of the replica and of a GPU."""
    requests = points.concurrency / points.e2e_s
    tokens_in, tokens_out = numbers["input_tokens"].values, numbers["output_tokens"].values
    values = dict(
        zip(
            RATE_NAMES,
            (requests, requests * tokens_in, requests * tokens_out, requests * (tokens_in + tokens_out)),
            strict=True,
        )
    )
    values |= {f"{name}_per_gpu": each / gpus for name, each in values.items()}
    return {name: Figures(each, exists) for name, each in values.items()}


def prices(made: Mapping[str, Figures], *, bill: Figures, utilisation: Array, exists: Mask) -> dict[str, Figures]:
    """Price of a million tokens by basis, where there are a price and tokens."""
    found = {}
    for basis in ("output", "input", "total"):
        tokens = made[f"{basis}_tokens_per_s"].values * utilisation
        some = exists & bill.known & (tokens > cost.NO_TOKENS_PER_S)
        values = bill.values / (np.where(some, tokens, 1.0) * 3600) * 1e6
        found[f"cost_usd_per_m_{basis}_tokens"] = Figures(values, some)
    return found
