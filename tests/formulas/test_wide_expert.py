"""Balance, routing and the two schedules: limits, directions, and the kernels that were published."""

from __future__ import annotations

import numpy as np
import pytest

from planner.catalog import files
from planner.core.catalog import Moe
from planner.formulas import balance, routing, two_batch, wide_expert, wide_layer

CATALOG = files.load()
REACH = wide_layer.reach(CATALOG.calibration("wide_expert"))
DEEPSEEK = Moe(experts=256, top_k=8, expert_width=2048, groups=8, groups_chosen=4)


@pytest.mark.parametrize("ranks", [2, 8, 32, 144])
def test_the_busiest_of_many_is_near_the_mean_of_the_largest_normal_draw(ranks: int) -> None:
    drawn = np.random.default_rng(1).standard_normal((40_000, ranks)).max(axis=1).mean()
    assert balance.busiest_of(ranks) == pytest.approx(drawn, rel=0.06)


@pytest.mark.parametrize(("ranks", "measured"), [(32, 1.109), (36, 1.115)])
def test_balanced_experts_are_as_uneven_as_tensorrt_llm_measured(ranks: int, measured: float) -> None:
    found = balance.expert_imbalance(ranks=ranks, assignments=1024, uneven=REACH.uneven_decode)
    assert found == pytest.approx(measured, abs=0.01)


def test_one_rank_waits_for_nobody() -> None:
    assert balance.expert_imbalance(ranks=1, assignments=8, uneven=0.5) == 1.0
    assert balance.longest_wait(ranks=1, squared_variation=1.0, draws=1) == 1.0


def test_many_small_amounts_even_out() -> None:
    waits = [balance.longest_wait(ranks=32, squared_variation=0.3, draws=n) for n in (1, 4, 64)]
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] < 1.05


@pytest.mark.parametrize(("nodes", "reached"), [(1, 1.0), (4, 4 * (1 - 15 / 70)), (8, 4.0)])
def test_groups_limit_the_nodes_of_a_token(nodes: float, reached: float) -> None:
    assert routing.nodes_reached(DEEPSEEK, nodes=nodes) == pytest.approx(reached)


def test_without_groups_a_token_goes_where_its_experts_are() -> None:
    free = Moe(experts=384, top_k=8, expert_width=2048)
    drawn = np.random.default_rng(1).integers(0, 4, (40_000, 8))
    expected = np.mean([len(set(row)) for row in drawn[:5000].tolist()])
    assert routing.nodes_reached(free, nodes=4) == pytest.approx(expected, rel=0.02)


def test_a_schedule_is_never_shorter_than_its_computing_nor_longer_than_all_of_it() -> None:
    for stages in (two_batch.Stages(1, 2, 0.5, 2, 1, 4), two_batch.Stages(1, 2, 0.5, 2, 0.1, 0.1)):
        for schedule in (two_batch.prefill_layer_s, two_batch.decode_layer_s):
            assert 2 * stages.computing_s <= schedule(stages) + 1e-12
            assert schedule(stages) <= 2 * two_batch.serial_layer_s(stages)


@pytest.mark.parametrize(("gpus", "dispatch_us", "combine_us"), [(32, 155, 273), (64, 173, 314), (128, 192, 369)])
def test_low_latency_kernels_take_what_deepep_published(gpus: int, dispatch_us: float, combine_us: float) -> None:
    sent = 128 * 8 * routing.share_elsewhere(places=gpus / 8)
    network = layer(gpus).travel_bytes_per_s(REACH.network_low_latency)
    assert sent * layer(gpus).dispatch_bytes / network * 1e6 == pytest.approx(dispatch_us, rel=0.20)
    assert sent * 7168 * 2 / network * 1e6 == pytest.approx(combine_us, rel=0.20)


@pytest.mark.parametrize(("tokens", "published_us"), [(64, 80.6), (128, 87.7), (4096, 1371)])
def test_projections_take_what_deepgemm_published(tokens: int, published_us: float) -> None:
    """Sum over the four projections of DeepSeek-V3: 2112 x 7168, 24576 x 1536, 32768 x 512, 7168 x 16384."""
    found = layer(32).gemm_s("attention", sum(layer(32).attention_parameters), tokens)
    assert found * 1e6 == pytest.approx(published_us, rel=0.05)


def test_a_faster_nic_is_never_slower() -> None:
    slow, fast = (
        unit("h100-sxm", nic=nic).decode_step(per_gpu=128, context_tokens=2000).total_s for nic in (2.5e10, 1e11)
    )
    assert fast < slow


def unit(gpu: str, *, nic: float) -> wide_expert.Unit:
    made = layer(72, gpu=gpu)
    figure = CATALOG.gpu(gpu).figures["nic_bytes_per_s"]
    figures = {**CATALOG.gpu(gpu).figures, "nic_bytes_per_s": type(figure)(nic, figure.unit, figure.source)}
    changed = type(made.gpu)(made.gpu.slug, made.gpu.name, made.gpu.vendor, made.gpu.architecture, figures)
    return wide_expert.Unit(layer=layer(72, gpu=gpu, instead=changed), may_overlap=True)


def layer(gpus: int, *, gpu: str = "h800-sxm", instead: object = None) -> wide_layer.Layer:
    return wide_layer.Layer(
        llm=CATALOG.llm("deepseek-v3"),
        gpu=instead or CATALOG.gpu(gpu),  # type: ignore[arg-type]
        gpus=gpus,
        rank_gpus=1,
        gpus_per_node=8,
        redundant_experts=32,
        weight_dtype="fp8",
        kv_dtype_bytes=2.0,
        reach=REACH,
    )
