"""Measured rows as the kind sees them: the replica, its places and its lengths, as arrays that the formulas take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.core.catalog import Catalog
from planner.formulas import neighbours, roofline, serving
from planner.formulas.calibration import Coefficients, generation
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import lean, load, sources
from planner.kinds.engine_instance.plan import resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from tests.calibration.rows import MeasuredRow, with_reason

Array = NDArray[np.float64]
_MOST_BANDWIDTH = 0.95
_MOST_FLOPS = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Rows with everything the formulas ask of them; arrays of shape (rows,)."""

    rows: Sequence[MeasuredRow]
    work: roofline.Work
    load: serving.Load
    concurrency: Array
    capacity: Array
    ttft_s: Array
    tpot_s: Array
    configurations: Sequence[neighbours.Configuration]
    generations: Sequence[str]
    served: Sequence[bool]
    """Whether the product gives times at all."""

    @property
    def throughput(self) -> Array:
        """Output tokens a second that the measured times mean in a closed loop."""
        return throughput(self, ttft_s=self.ttft_s, tpot_s=self.tpot_s)

    def predict(self, coefficients: Coefficients) -> tuple[Array, Array]:
        """TPOT and TTFT of every row [s]."""
        point = serving.closed_loop(
            replace(self.work, coefficients=coefficients),
            load=self.load,
            concurrency=self.concurrency,  # type: ignore[arg-type]
            capacity=self.capacity,  # type: ignore[arg-type]
        )
        return np.asarray(point.decode_s + point.interference_s), np.asarray(point.ttft_s)


def throughput(design: Design, *, ttft_s: Array, tpot_s: Array) -> Array:
    """Closed loop: each of the requests gives its output in TTFT and the gaps after it [tok/s]."""
    output = np.asarray(design.load.output_tokens)
    found: Array = design.concurrency * output / (ttft_s + (output - 1) * tpot_s)
    return found


def design(rows: Sequence[MeasuredRow], *, catalog: Catalog) -> Design:
    """Put rows through the kind: its placement, its memory, its places."""
    ready = [_Ready(row, catalog) for row in rows]
    new = np.array([row.input_tokens for row in rows])
    output = np.array([row.output_tokens for row in rows])
    base = {
        field.name: np.array([getattr(one.replica.coefficients, field.name) for one in ready])
        for field in fields(Coefficients)
    }
    work = roofline.work(
        [one.replica for one in ready],
        context_tokens=list(new + output / 2),
        new_tokens=list(new),
        coefficients=Coefficients(**base),  # type: ignore[arg-type]
    )
    return Design(
        rows=rows,
        work=work,
        load=serving.Load(new_tokens=new, output_tokens=output),  # type: ignore[arg-type]
        concurrency=np.array([row.concurrency for row in rows]),
        capacity=np.array([one.capacity for one in ready]),
        ttft_s=np.array([row.ttft_s for row in rows]),
        tpot_s=np.array([row.tpot_s for row in rows]),
        configurations=[one.configuration for one in ready],
        generations=[generation(one.plan.gpu) for one in ready],
        served=[load.is_served(one.plan, one.fitted) for one in ready],
    )


class _Ready:
    """One row resolved."""

    def __init__(self, row: MeasuredRow, catalog: Catalog) -> None:
        self.plan = resolve(EngineInstanceSpec.model_validate(row.spec()), catalog)
        self._catalog = catalog

    @cached_property
    def replica(self) -> roofline.Replica:
        return sources.calibrated(self.plan)

    @cached_property
    def capacity(self) -> float:
        """Places as served; one where the memory model leaves none, because the row did run."""
        return max(load.places(self.plan, self.fitted), 1.0)

    @cached_property
    def fitted(self) -> fits.Fit:
        return fits.fit(self.plan)

    @cached_property
    def configuration(self) -> neighbours.Configuration:
        return lean.configuration(self.plan)


def sorted_out(rows: Sequence[MeasuredRow], made: Design) -> list[MeasuredRow]:
    """Rows again, those that contradict the hardware or themselves with the reason why.

    Faster than the memory can be read, more arithmetic than 0.6 of the peak, or a wait for the first token that no
    shortage of cache explains: then a limit on running requests was set that the row does not tell.
    """
    a: Any = made.work.amounts
    output = np.asarray(made.load.output_tokens)
    new = np.asarray(made.load.new_tokens)
    read_s = np.asarray(a.dense_read_s)
    requests = made.throughput / output
    arithmetic_s = np.asarray(a.dense_gemm_s + a.expert_gemm_s) * (new + output)
    waits = (made.ttft_s > 2.0 * output * made.tpot_s) & (made.concurrency < made.capacity)
    reasons = (
        (read_s > _MOST_BANDWIDTH * made.tpot_s, "faster than its weights can be read"),
        (requests * arithmetic_s > _MOST_FLOPS, "more arithmetic than six tenths of the rated peak"),
        (waits, "waits for the first token though the cache has room: a limit on running requests is not stated"),
    )
    found = list(rows)
    for wrong, reason in reasons:
        for index in np.flatnonzero(wrong):
            found[index] = with_reason(found[index], reason)
    return found
