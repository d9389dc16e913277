"""Rows as arrays: what one replica gives for each, and rows that contradict the hardware."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from planner.core.catalog import Catalog
from planner.formulas import serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import load, sources
from planner.kinds.engine_instance.plan import resolve
from planner.kinds.engine_instance.spec import EngineInstanceSpec
from tests.calibration import design as designs
from tests.calibration.design import Design
from tests.calibration.rows import MeasuredRow


def test_arrays_give_each_row_what_its_replica_gives(some: Design, catalog: Catalog) -> None:
    tpot, ttft = some.predict(some.work.coefficients)
    for index, row in enumerate(some.rows):
        plan = resolve(EngineInstanceSpec.model_validate(row.spec()), catalog)
        places = max(load.places(plan, fits.fit(plan)), 1.0)
        point = serving.closed_loop(
            sources.calibrated(plan),
            load=serving.Load(new_tokens=row.input_tokens, output_tokens=row.output_tokens),
            concurrency=row.concurrency,
            capacity=places,
        )
        # Both stop when no batch moves by a millionth more; arrays stop together.
        assert tpot[index] == pytest.approx(point.decode_s + point.interference_s, rel=1e-4), row.id
        assert ttft[index] == pytest.approx(point.ttft_s, rel=1e-3), row.id
        assert some.capacity[index] == places


@pytest.mark.parametrize("batch", [0.5, 1.0, 37.0, 900.0])
def test_a_step_and_a_prefill_of_many_are_those_of_each(some: Design, catalog: Catalog, batch: float) -> None:
    together = some.work.decode_step(batch=np.full(len(some.rows), batch), context_tokens=0.0)  # type: ignore[arg-type]
    prefills = some.work.prefill(new_tokens=0.0)
    for index, row in enumerate(some.rows[::5]):
        unit = sources.calibrated(resolve(EngineInstanceSpec.model_validate(row.spec()), catalog))
        alone = unit.decode_step(batch=batch, context_tokens=row.input_tokens + row.output_tokens / 2)
        for field in fields(alone):
            column = np.asarray(getattr(together, field.name))[5 * index]
            assert column == pytest.approx(getattr(alone, field.name), rel=1e-12), (row.id, field.name)
        prefill = unit.prefill(new_tokens=row.input_tokens)
        for field in fields(prefill):
            column = np.asarray(getattr(prefills, field.name))[5 * index]
            assert column == pytest.approx(getattr(prefill, field.name), rel=1e-12), (row.id, field.name)


def test_throughput_is_littles_law_of_a_closed_loop(some: Design) -> None:
    for index, row in enumerate(some.rows[:20]):
        request_s = row.ttft_s + (row.output_tokens - 1) * row.tpot_s
        assert some.throughput[index] == pytest.approx(row.concurrency * row.output_tokens / request_s)


def test_rows_that_contradict_the_hardware_are_named_with_the_reason(some: Design, catalog: Catalog) -> None:
    good = [row for row in some.rows if row.llm == "llama-3-1-70b" and row.concurrency <= 64][:4]
    assert len(good) == 4
    # 70 G parameters of half a byte take 0.55 ms from eight times 8 TB/s; the batch of a million is no GPU's.
    quick = replace(good[0], tpot_s=1e-4)
    burning = replace(good[1], concurrency=1e6, ttft_s=0.01)
    waiting = replace(good[2], concurrency=1.0, ttft_s=3 * good[2].output_tokens * good[2].tpot_s)
    changed = [quick, burning, waiting, good[3]]
    made = designs.design(changed, catalog=catalog)
    reasons = [row.reasons for row in designs.sorted_out(changed, made)]
    assert any("faster than its weights can be read" in reason for reason in reasons[0])
    assert any("more arithmetic than six tenths" in reason for reason in reasons[1])
    assert reasons[2] == (
        "waits for the first token though the cache has room: a limit on running requests is not stated",
    )
    assert reasons[3] == ()


def test_all_rows_are_checked_and_few_are_set_aside(read: list[MeasuredRow], catalog: Catalog) -> None:
    candidates = [row for row in read if not row.reasons]
    made = designs.design(candidates, catalog=catalog)
    found = designs.sorted_out(candidates, made)
    assert [row.id for row in found] == [row.id for row in candidates]
    aside = [row for row in found if row.reasons]
    # 4 in 100 is what a screen may take before it is a choice of rows; each of these is against physics or itself.
    assert 0 < len(aside) < 0.04 * len(candidates)
    read_s = np.asarray(made.work.amounts.dense_read_s)
    kept = np.array([not row.reasons for row in found])
    assert np.all(read_s[kept] < made.tpot_s[kept])
