"""What this kind tells of decisions: see `planner.core.planning`."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.planning import Planning, Uncertain
from planner.kinds.llm_serving import bought, levers
from planner.kinds.llm_serving.launch import LAUNCHER
from planner.kinds.llm_serving.ports import PORTS
from planner.kinds.llm_serving.spec import LlmServingSpec


def _stated_rates(spec: LlmServingSpec) -> Mapping[str, float]:
    """Assumed rates with their ±; derived ones bring the spread of the calibration instead."""
    if spec.rate_mode != "assumed":
        return {}
    return dict.fromkeys(("prefill_tokens_per_s_per_gpu", "decode_tokens_per_s_per_gpu"), 1 + spec.rate_uncertainty)


PLANNING = Planning(
    fleet=bought.fleet,
    launch=LAUNCHER,
    search=levers.SEARCH,
    uncertain=Uncertain(
        ("peak_rps", "input_tokens", "output_tokens", "prefix_hit_rate", "input_sigma", "output_sigma"),
        own=_stated_rates,
    ),
    ports=PORTS,
)
