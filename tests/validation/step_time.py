"""TPOT, TTFT and throughput of measured serving runs, each predicted by a calibration that has not seen it.

Two conditions: the whole group (LLM, GPU, engine) left out, and the sweep over concurrency left out while others of its
group are seen. The interval of a row takes its width from the other folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from planner.catalog import files
from planner.catalog.files import FileCatalog
from planner.core.validation import Status
from tests.calibration import folds, run
from tests.calibration.rows import MeasuredRow
from tests.validation.rows import SEEN, UNSEEN, Row, gives

SOURCE = "InferenceX dumps and vendor runs, as published with AIConfigurator"
SOURCE_URL = "https://github.com/ai-dynamo/aiconfigurator"
UNITS = {"tpot": "s", "ttft": "s", "throughput": "tok/s"}
GROUPS = {"unseen": UNSEEN, "seen": SEEN}
_DRAFTED = "Its release drafted tokens without saying so: twins without drafts take up to twice as long."
_REFUSED = "The estimate says that this replica does not start."


@lru_cache(maxsize=1)
def _catalog() -> FileCatalog:
    return files.load()


@lru_cache(maxsize=1)
def _run() -> run.Run:
    return run.run(_catalog(), kernels=run.stored_kernels(_catalog()))


def _sample(count: int) -> Iterator[Row]:
    """Rows of one fold of the seen condition."""
    way = next(way for way in folds.WAYS if way.name == "seen")
    out = _run().left_out(way, only=0)
    chosen = np.flatnonzero(out.fold == 0)[:: max(1, len(out.fold) // (len(UNITS) * count))]
    for index in chosen:
        yield from _compared(int(index), out, width=None)


@gives("tpot", "ttft", "throughput", sample=_sample)
def step_time() -> Iterator[Row]:
    """Every row of the file: compared in two conditions, set aside or not expressible."""
    found = _run()
    for way in folds.WAYS:
        if way.name in GROUPS:
            out = found.left_out(way)
            widths = {number: run.widths(found.design, out, rows=out.fold != number) for number in np.unique(out.fold)}
            for index in range(len(found.design.rows)):
                yield from _compared(index, out, width=widths[out.fold[index]])
    for row in found.all_rows:
        if row.reasons:
            yield from _left(row)


def _compared(index: int, out: folds.LeftOut, *, width: dict[str, float] | None) -> Iterator[Row]:
    design = _run().design
    row = design.rows[index]
    group = GROUPS[out.way.name]
    if not design.served[index]:
        yield from _told(row, group=group, status="not expressible", reason=_REFUSED)
        return
    if row.has_drafts and not out.way.seen:
        yield from _told(row, group=group, status="set aside", reason=_DRAFTED)
        return
    ours = run.throughputs(design, out)
    for quantity, predicted, measured, spread in (
        ("tpot", out.tpot_s, design.tpot_s, out.tpot_sd),
        ("ttft", out.ttft_s, design.ttft_s, out.ttft_sd),
        ("throughput", ours, design.throughput, out.tpot_sd),
    ):
        factor = None if width is None else float(np.exp(width[quantity] * spread[index]))
        value = float(predicted[index])
        yield Row(
            **_facts(row, quantity),
            group=group,
            predicted=value,
            measured=float(measured[index]),
            low=None if factor is None else value / factor,
            high=None if factor is None else value * factor,
            unit=UNITS[quantity],
        )


def _left(row: MeasuredRow) -> Iterator[Row]:
    status: Status = "not expressible" if row.mode != "agg" else "set aside"
    reason = "; ".join(row.reasons)
    yield from _told(row, group="", status=status, reason=f"{reason[0].upper()}{reason[1:]}.")


def _told(row: MeasuredRow, *, group: str, status: Status, reason: str) -> Iterator[Row]:
    for quantity, unit in UNITS.items():
        yield Row(**_facts(row, quantity), group=group, unit=unit, status=status, reason=reason)


def _facts(row: MeasuredRow, quantity: str) -> dict[str, str]:
    return {
        "quantity": quantity,
        "id": row.id,
        "source": SOURCE,
        "source_url": SOURCE_URL,
        "gpu": row.gpu,
        "engine": row.engine,
        "llm": row.llm,
        "family": _family(row.llm),
        "conditions": _conditions(row),
    }


@lru_cache(maxsize=64)
def _family(llm: str) -> str:
    known = {each.slug: each.family for each in _catalog().llms()}
    return known.get(llm, "")


def _conditions(row: MeasuredRow) -> str:
    lengths = f"{row.input_tokens:,.0f} in, {row.output_tokens:,.0f} out"
    load = f"{row.concurrency:,.0f} at once" if row.concurrency else "load not stated"
    if row.layout is None:
        return f"{row.weight_dtype}, {lengths}, {load}"
    one = row.layout
    return (
        f"{row.weight_dtype}, {one.gpus} GPUs (TP{one.tensor_parallel} DP{one.data_parallel} "
        f"EP{one.expert_parallel}), {row.version or 'version not stated'}, {lengths}, {load}"
    )
