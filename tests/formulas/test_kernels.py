"""A replica whose passes come from tables: shapes asked for, interpolation, copies and stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from planner.catalog import files
from planner.core.latency import KernelPass, KernelsUnavailable
from planner.formulas import calibration, kernels, serving
from planner.formulas.traffic import Layout

CATALOG = files.load()
COEFFICIENTS = calibration.coefficients(
    CATALOG.calibration("roofline"), gpu=CATALOG.gpu("h100-sxm"), engine=CATALOG.engine("vllm").slug
)


@dataclass
class Tables:
    """Kernels of a plain law: 5 ms and 0.1 ms a sequence of GEMM, 1 µs a token of context, 0.2 ms all-reduce."""

    tables: str = "made up"
    asked: list[Any] = field(default_factory=list)
    largest: int = 10**9

    def decode(self, *, sequences: int, context_tokens: int) -> KernelPass:
        self.asked.append(("decode", sequences, context_tokens))
        if sequences > self.largest:
            raise KernelsUnavailable("too many sequences")
        return KernelPass(
            gemm_s=5e-3 + 1e-4 * sequences,
            attention_s=1e-6 * context_tokens * sequences,
            communication_s=2e-4,
            other_s=1e-4,
            measured_share=0.9,
        )

    def prefill(self, *, new_tokens: int, cached_tokens: int) -> KernelPass:
        self.asked.append(("prefill", new_tokens, cached_tokens))
        return KernelPass(
            gemm_s=2e-5 * new_tokens, attention_s=1e-9 * new_tokens * cached_tokens, communication_s=0.0, other_s=0.0
        )


def replica(tables: Tables, **layout: int) -> kernels.KernelReplica:
    return kernels.KernelReplica(
        times=tables, layout=Layout(**{"gpus": 1, **layout}), layer_count=32, coefficients=COEFFICIENTS
    )


def test_whole_batches_are_what_the_tables_say() -> None:
    step = replica(Tables()).decode_step(batch=8, context_tokens=1000)
    assert step.total_s == pytest.approx(5e-3 + 8e-4 + 8e-3 + 2e-4 + 1e-4)
    assert step.kv_s == pytest.approx(8e-3)


@pytest.mark.parametrize("batch", [1.25, 7.5, 63.9])
def test_between_whole_batches_the_line_through_both(batch: float) -> None:
    # The law is linear in the sequences, so interpolation must give it back exactly.
    step = replica(Tables()).decode_step(batch=batch, context_tokens=1000)
    assert step.total_s == pytest.approx(5e-3 + 1e-4 * batch + 1e-3 * batch + 3e-4)


def test_less_than_one_sequence_costs_what_one_costs() -> None:
    one = replica(Tables()).decode_step(batch=1, context_tokens=100)
    assert replica(Tables()).decode_step(batch=0.1, context_tokens=100) == one


def test_copies_and_stages_share_the_batch() -> None:
    tables = Tables()
    replica(tables, gpus=8, data_parallel=2, pipeline_parallel=4).decode_step(batch=64, context_tokens=10)
    assert ("decode", 8, 10) in tables.asked


def test_each_verified_token_is_priced_as_a_sequence() -> None:
    alone = replica(Tables()).decode_step(batch=12, context_tokens=50)
    assert replica(Tables()).decode_step(batch=4, context_tokens=50, tokens_per_sequence=3.0) == alone


def test_prefill_is_one_pass_and_a_share_of_the_replica() -> None:
    made = replica(Tables(), gpus=8, data_parallel=2, pipeline_parallel=4).prefill(new_tokens=1000, cached_tokens=500)
    assert made.latency_s == pytest.approx(2e-2 + 5e-4)
    assert made.busy_s == pytest.approx(made.latency_s / 8)
    assert made.floor_s == pytest.approx(5.1e-3)


def test_a_short_prefill_still_reads_the_weights() -> None:
    assert replica(Tables()).prefill(new_tokens=1).latency_s == pytest.approx(5.1e-3)


def test_what_one_sequence_costs_counts_as_reading() -> None:
    few = replica(Tables()).decode_step(batch=2, context_tokens=10)
    many = replica(Tables()).decode_step(batch=200, context_tokens=10)
    assert (few.bound, many.bound) == ("memory bandwidth", "compute")


def test_the_loop_takes_the_source_as_it_takes_the_roofline() -> None:
    point = serving.closed_loop(
        replica(Tables()), load=serving.Load(new_tokens=1000, output_tokens=100), concurrency=16, capacity=1000
    )
    assert point.concurrency / point.e2e_s == pytest.approx(point.request_rate_rps)
    assert 0 < point.running <= 16
    assert point.step.total_s == pytest.approx(5e-3 + 1e-4 * point.running + 1e-6 * 1050 * point.running + 3e-4)


def test_a_hole_in_the_tables_is_passed_on() -> None:
    with pytest.raises(KernelsUnavailable, match="too many"):
        replica(Tables(largest=4)).decode_step(batch=9, context_tokens=1)
