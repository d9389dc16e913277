"""How long the answers of a step are: a log-normal law cut at the cap, or the outputs of a trace scaled to the mean."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from planner.core.catalog import Catalog
from planner.core.simulation import Workload
from planner.formulas.answer_lengths import AnswerLengths, answer_lengths
from planner.formulas.observed_lengths import ObservedLengths
from planner.kinds.rl_rollout.spec import RlRolloutSpec

NO_SPREAD = 1e-6
"""A coefficient of variation below which all are alike."""
_HALVINGS = 60
_POINTS = 4096
"""Lengths that stand for all of a trace."""


def lengths_of(spec: RlRolloutSpec, *, catalog: Catalog) -> AnswerLengths:
    """The law of a spec."""
    if spec.lengths == "trace":
        workload = catalog.workload(spec.workload or "")
        return scaled(workload, mean_tokens=spec.output_tokens, cap_tokens=spec.max_output_tokens)
    return answer_lengths(
        mean_tokens=spec.output_tokens,
        variation=variation(spec),
        cap_tokens=spec.max_output_tokens,
    )


def variation(spec: RlRolloutSpec) -> float:
    """Spread before the cap; none where floating point would see none."""
    return spec.length_cv if spec.length_cv > NO_SPREAD else 0.0


@lru_cache(maxsize=64)
def scaled(workload: Workload, *, mean_tokens: float, cap_tokens: float) -> ObservedLengths:
    """Outputs of a trace, stretched so that their mean after the cap is the stated one."""
    lengths = np.sort(np.maximum(workload.output_tokens.astype(float), 1.0))
    if len(lengths) > _POINTS:
        lengths = lengths[((np.arange(_POINTS) + 0.5) / _POINTS * len(lengths)).astype(int)]
    low, high = 0.0, cap_tokens / float(lengths[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(np.minimum(middle * lengths, cap_tokens).mean()) < mean_tokens:
            low = middle
        else:
            high = middle
    return ObservedLengths.of(np.minimum(high * lengths, cap_tokens), cap_tokens=cap_tokens)
