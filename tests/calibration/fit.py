"""Coefficients of the roofline from measured TPOT and TTFT: a robust fit of logarithms with priors.

Loss: pseudo-Huber of the logarithmic residuals (scale 0.12 for TPOT, 0.30 for TTFT), each row weighted by one over the
square root of the rows of its group, so that one much-measured LLM does not rule; Gaussian priors on the logarithms of
the coefficients. Solved by scipy's trust-region least squares with numeric derivatives.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from planner.formulas.calibration import Coefficients
from tests.calibration.design import Array, Design

SCALE_TPOT = 0.12
SCALE_TTFT = 0.30
PRIOR_WEIGHT = 2.0
"""Of the priors beside the data: rows of one sweep are not independent, so they count for less than their number."""
ENGINES = ("vllm", "sglang", "tensorrt_llm")
GENERATIONS = ("hopper", "blackwell")


@dataclass(frozen=True, slots=True)
class Prior:
    """Where a coefficient starts, how far its logarithm may move (sd), and what it may differ by.

    ``engine`` and ``generation`` are the sd of the logarithm of a factor each engine or generation has of its own; 0:
    none. ``fitted`` False: a constant of the form, or one these rows cannot tell; then ``of_engines`` are those of
    engines with one of their own.
    """

    value: float
    unit: str
    spread: float
    engine: float = 0.0
    generation: float = 0.0
    fitted: bool = True
    of_engines: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


# Physical priors: factors start at what the hardware promises, times at what launches and schedulers are known to take.
PRIORS: Mapping[str, Prior] = {
    "weights_read": Prior(1.0, "1", 0.1, engine=0.1, note="weights over the rated bandwidth; 1 is all of it"),
    "experts_read": Prior(1.1, "1", 0.2, note="extra on the weights of routed experts"),
    "four_bit_read": Prior(0.76, "1", 0.2, note="on the expert weights of 4-bit checkpoints"),
    "decode_gemm": Prior(1.26, "1", 0.25),
    "decode_attention": Prior(
        0.3, "1", 0.3, fitted=False, note="share of the attention arithmetic that the cache read does not hide"
    ),
    "kv_read": Prior(1.08, "1", 0.2, note="hardly identified by these rows: contexts are short"),
    "expert_agreement": Prior(0.95, "1", 0.1, note="tokens of a batch agree on experts more than chance"),
    "layer_s": Prior(49e-6, "s", 0.5, engine=0.1),
    "expert_layer_s": Prior(17e-6, "s", 0.5),
    "latent_layer_s": Prior(35e-6, "s", 0.5, generation=0.25),
    "sparse_layer_s": Prior(73e-6, "s", 0.5),
    "recurrent_layer_s": Prior(30e-6, "s", 0.5),
    "step_s": Prior(0.3e-3, "s", 0.5),
    "sequence_s": Prior(3e-6, "s", 0.5, note="per running request and rank; hardly identified"),
    "all_reduce_s": Prior(4e-6, "s", 0.5, note="latency of one all-reduce inside the scale-up domain"),
    "all_reduce_host_s": Prior(
        20e-6, "s", 0.5, fitted=False, note="through the host, between GPUs without links; no fitted row has it"
    ),
    "all_reduce_across_s": Prior(
        100e-6, "s", 0.5, fitted=False, note="across nodes: seven disaggregated rows of H100 with 16 ranks"
    ),
    "decode_communication": Prior(
        1.5, "1", 0.2, note="on bytes over the scale-up bandwidth; not identified, kept near what collectives reach"
    ),
    "prefill_communication": Prior(0.53, "1", 0.5, note="hardly identified"),
    "prefill_dense": Prior(
        1.3, "1", 0.3, engine=0.2, note="one block with activation, communication and launches: no efficiency by itself"
    ),
    "prefill_experts": Prior(6.7, "1", 0.3),
    "prefill_blackwell": Prior(1.4, "1", 0.25),
    "prefill_fp4": Prior(0.81, "1", 0.25),
    "prefill_bf16": Prior(0.80, "1", 0.25),
    "prefill_attention": Prior(0.86, "1", 0.25),
    "prefill_activation": Prior(3.6, "1", 0.3, note="element-wise traffic of a prefill, not divided by ranks"),
    "first_token_s": Prior(60e-3, "s", 1.0, engine=1.0, note="HTTP, tokeniser, scheduler"),
    "prefill_layer_s": Prior(0.5e-3, "s", 0.5, engine=0.2),
    "queue": Prior(0.12, "1", 1.0, engine=0.8, note="prefills waited for per other request of a closed loop"),
    "interference": Prior(1.0, "1", 0.3, engine=0.1, note="share of a prefill that stops the decode of the others"),
    "interference_launch": Prior(0.14, "1", 0.5),
    "host_efficiency": Prior(
        0.20,
        "1",
        0.5,
        fitted=False,
        of_engines={"tensorrt_llm": 0.8},
        note="of the rated PCIe bandwidth, by all-reduces between GPUs without links; no fitted row has it",
    ),
    "network_efficiency": Prior(0.80, "1", 0.1, fitted=False, note="of the rated NIC bandwidth"),
    "overlap_decode": Prior(0.0, "1", 0.3, fitted=False, note="hidden share of the all-to-all, fixed beforehand"),
    "overlap_prefill": Prior(0.5, "1", 0.3, fitted=False, note="fixed beforehand: two micro-batches hide half"),
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One free number: the logarithm of a coefficient over its prior, or of a factor of an engine or generation."""

    name: str
    axis: str
    level: str
    spread: float


def slots() -> list[Slot]:
    """All free numbers of the fit."""
    found = [Slot(name, "", "", prior.spread) for name, prior in PRIORS.items() if prior.fitted]
    for name, prior in PRIORS.items():
        found += [Slot(name, "engine", level, prior.engine) for level in ENGINES if prior.engine]
        found += [Slot(name, "generation", level, prior.generation) for level in GENERATIONS if prior.generation]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Free numbers in the order of `slots`, and their posterior standard deviations (Laplace)."""

    values: Array
    spreads: Array


class Fitter:
    """Fits coefficients on a subset of the rows of one design."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self.slots = slots()
        self._spread = np.array([slot.spread for slot in self.slots])
        levels = {"engine": [row.engine for row in design.rows], "generation": list(design.generations)}
        self._masks = [
            np.ones(len(design.rows)) if not slot.axis else (np.array(levels[slot.axis]) == slot.level).astype(float)
            for slot in self.slots
        ]

    def coefficients(self, values: Array) -> Coefficients:
        """Coefficients of every row, as arrays."""
        rows = len(self._design.rows)
        logs = {name: np.zeros(rows) for name in PRIORS}
        for value, slot, mask in zip(values, self.slots, self._masks, strict=True):
            logs[slot.name] += value * mask
        return Coefficients(
            **{field.name: PRIORS[field.name].value * np.exp(logs[field.name]) for field in fields(Coefficients)}
        )

    def predict(self, values: Array) -> tuple[Array, Array]:
        """TPOT and TTFT of every row [s]."""
        return self._design.predict(self.coefficients(values))

    def fit(self, train: NDArray[np.bool_]) -> Fit:
        """Fit on the rows of a mask."""
        design = self._design
        weight = np.sqrt(row_weights([group(design, index) for index in np.flatnonzero(train)]))

        def residuals(values: Array) -> Array:
            tpot, ttft = self.predict(values)
            return np.concatenate(
                [
                    weight * pseudo_huber(np.log(design.tpot_s / tpot)[train] / SCALE_TPOT),
                    weight * pseudo_huber(np.log(design.ttft_s / ttft)[train] / SCALE_TTFT),
                    PRIOR_WEIGHT * values / self._spread,
                ]
            )

        found = least_squares(residuals, np.zeros(len(self.slots)), method="trf", x_scale=self._spread, max_nfev=40)
        posterior = np.linalg.inv(found.jac.T @ found.jac)
        return Fit(values=found.x, spreads=np.sqrt(np.diag(posterior)) * PRIOR_WEIGHT)


def pseudo_huber(residual: Array) -> Array:
    """Square root of twice the pseudo-Huber loss, with the residual's sign: what least squares squares again."""
    found: Array = np.sign(residual) * np.sqrt(2.0 * (np.sqrt(1.0 + residual * residual) - 1.0))
    return found


def group(design: Design, index: int) -> tuple[object, ...]:
    """LLM by its shape, GPU and engine: what a fit never sees of a replica that is left out."""
    one = design.configurations[index]
    return one.shape, one.gpu, one.engine


def row_weights(groups: Sequence[object]) -> Array:
    """One over the square root of the rows of a group, mean 1; shape (rows,)."""
    counts = Counter(groups)
    weights = np.array([1.0 / math.sqrt(counts[each]) for each in groups])
    found: Array = weights / weights.mean()
    return found
