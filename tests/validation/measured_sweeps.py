"""Sweeps over concurrency, simulated as the benchmark's clients in a closed loop, beside what was measured.

Of each LLM, GPU and engine the sweep with the most rows, all of it. Steps lean on measurements that these rows are
among: what the comparison tells is whether scheduler and queue make of right steps the TTFT that was measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from planner import kinds
from planner.core.result import Result
from planner.core.simulation import SimulationRequest
from tests.calibration import run as calibration
from tests.calibration.rows import MeasuredRow
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog
from tests.validation.simulation import Quiet
from tests.validation.step_time import SOURCE, SOURCE_URL

QUANTITY = "simulated_sweeps"
SIMULATED, ESTIMATED = "simulated", "estimated"
FEWEST = 3
"""Rows that make a sweep."""
_LONGEST = 1.5
MOST_TOKENS = 4e6
"""Of one run, so that all of them take a minute: longer ones are counted, not run."""


def _sample(count: int) -> Iterator[Row]:
    rows = [row for sweep in sweeps() for row in sweep if not _is_long(row)]
    for row in rows[:: max(1, len(rows) * 6 // count)]:
        yield from _compared(row)


@gives(QUANTITY, sample=_sample)
def simulated_sweeps() -> Iterator[Row]:
    """Every row of the sweeps: simulated, and estimated."""
    for sweep in sweeps():
        for row in sweep:
            if _is_long(row):
                yield from _set_aside(row)
            else:
                yield from _compared(row)


@lru_cache(maxsize=1)
def sweeps() -> tuple[Sequence[MeasuredRow], ...]:
    """The longest sweep of each LLM, GPU and engine without drafts."""
    every, _design = calibration.measured_rows(catalog())
    found: dict[tuple[object, ...], dict[tuple[object, ...], list[MeasuredRow]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in every:
        if not row.reasons and not row.has_drafts:
            alike = (row.version, row.weight_dtype, row.layout, row.input_tokens, row.output_tokens, row.day)
            found[row.llm, row.gpu, row.engine][alike].append(row)
    longest = [max(groups.values(), key=len) for groups in found.values()]
    return tuple(sorted(each, key=lambda row: row.concurrency) for each in longest if len(each) >= FEWEST)


def _is_long(row: MeasuredRow) -> bool:
    return 10 * row.concurrency * row.output_tokens > MOST_TOKENS


def _compared(row: MeasuredRow) -> Iterator[Row]:
    done, told = _both(row)
    gaps = (row.output_tokens - 1) * row.tpot_s
    for quantity, metric, measured in (
        ("TTFT", "ttft_mean_s", row.ttft_s),
        ("TPOT", "tpot_mean_s", row.tpot_s),
        ("throughput", "output_tokens_per_s", row.concurrency * row.output_tokens / (row.ttft_s + gaps)),
    ):
        for way, result in ((SIMULATED, done), (ESTIMATED, told)):
            yield Row(
                **_facts(row),
                group=f"{quantity}, {way}",
                predicted=result.value(metric),
                measured=measured,
                unit=result.metrics[metric].definition.unit,
            )


def _both(row: MeasuredRow) -> tuple[Result, Result]:
    kind = kinds.get("engine_instance")
    assert kind.simulator is not None
    assert kind.simulator.expected is not None
    # Nobody starts a benchmark's engine for requests much longer than the benchmark's.
    longest = math.ceil(_LONGEST * (row.input_tokens + row.output_tokens))
    spec = kind.spec.model_validate({**row.spec(), "max_model_len": longest})
    request = SimulationRequest(seed=1)
    done = kind.simulator.run(spec, catalog(), request, Quiet())
    return done, kind.simulator.expected(spec, catalog(), request)


def _set_aside(row: MeasuredRow) -> Iterator[Row]:
    for quantity in ("TTFT", "TPOT", "throughput"):
        yield Row(
            **_facts(row),
            group=f"{quantity}, {SIMULATED}",
            status="set aside",
            reason=f"Ten requests a client are {10 * row.concurrency * row.output_tokens:,.0f} tokens: not run.",
        )


def _facts(row: MeasuredRow) -> dict[str, str]:
    return {
        "quantity": QUANTITY,
        "id": row.id,
        "source": SOURCE,
        "source_url": SOURCE_URL,
        "gpu": row.gpu,
        "engine": row.engine,
        "llm": row.llm,
        "family": catalog().llm(row.llm).family,
        "conditions": f"{row.input_tokens:,.0f} in, {row.output_tokens:,.0f} out, {row.concurrency:,.0f} at once",
    }
