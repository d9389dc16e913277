"""Weight synchronisation against published runs: the fit, runs left out of it, and ideal bounds."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import numpy as np
import pytest

from planner.formulas.weight_sync import Published, delta_bytes, published, relay_s, sharded_s, tensors_of
from tests.golden.published import CHECKPOINT_ENGINE

DATA = Path(__file__).parents[2] / "planner" / "catalog" / "data"

TENSORS = {
    "Qwen3-30B-A3B": tensors_of(layers=48, per_layer=9, experts=128),
    "Qwen3-235B-A22B": tensors_of(layers=94, per_layer=9, experts=128),
}
BYTES = {"Qwen3-30B-A3B": 61.06e9, "Qwen3-235B-A22B": 470.2e9}


def methods() -> dict[str, Published]:
    return published(tomllib.loads((DATA / "calibrations" / "weight_sync.toml").read_text()))


def rows() -> list[dict[str, str]]:
    with (DATA / "measured" / "published_results.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["kind"] == "rl-weight-sync"]


def line(sizes: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(np.stack((np.ones_like(sizes), sizes), axis=1), times, rcond=None)[0]


@pytest.mark.parametrize(
    ("method", "column", "fit", "left_out"),
    [("broadcast", 1, (-0.09, 0.14), (-0.14, 0.18)), ("point_to_point", 2, (-0.09, 0.12), (-0.23, 0.16))],
)
def test_a_line_through_six_runs_and_runs_left_out(
    method: str, column: int, fit: tuple[float, float], left_out: tuple[float, float]
) -> None:
    data = np.array([row[1:] for row in CHECKPOINT_ENGINE])
    sizes, times, found = data[:, 0], data[:, column], methods()[method]
    fixed, per_byte = line(sizes, times)
    assert found.fixed_s == pytest.approx(fixed, abs=0.002)
    assert found.bytes_per_s == pytest.approx(1 / per_byte, rel=0.002)
    errors = [found.seconds(size) / seconds - 1 for size, seconds in zip(sizes, times, strict=True)]
    assert (min(errors), max(errors)) == pytest.approx(fit, abs=0.006)
    apart = []
    for one in range(len(sizes)):
        others = np.arange(len(sizes)) != one
        start, slope = line(sizes[others], times[others])
        apart.append((start + slope * sizes[one]) / times[one] - 1)
    assert (min(apart), max(apart)) == pytest.approx(left_out, abs=0.006)
    assert found.low == pytest.approx(1 / (1 + max(apart)), abs=0.01)
    assert found.high == pytest.approx(1 / (1 + min(apart)), abs=0.01)
    assert found.tested


@pytest.mark.parametrize(("method", "engine"), [("bucketed", "True"), ("by_tensor", "False")])
def test_two_runs_of_verl_fix_two_constants(method: str, engine: str) -> None:
    asked = [row for row in rows() if row["model"] in TENSORS and row["parallelism"] == f"checkpoint-engine {engine}"]
    assert len(asked) == 2
    found = methods()[method]
    assert not found.tested
    for row in asked:
        seconds = found.seconds(BYTES[row["model"]], tensors=TENSORS[row["model"]])
        assert seconds == pytest.approx(float(row["value"]), rel=0.005)


def test_the_tensors_of_both_checkpoints() -> None:
    assert TENSORS == {"Qwen3-30B-A3B": 18_867, "Qwen3-235B-A22B": 36_945}


def test_slime_is_a_sixth_off_the_bandwidth_of_verl_without_buckets() -> None:
    [row] = [row for row in rows() if "slime" in row["engine"]]
    plain = float(row["value"].split("/")[0])
    rate = 2 * 355e9 / plain
    assert rate == pytest.approx(14.8e9, rel=0.005)
    assert rate / methods()["by_tensor"].bytes_per_s == pytest.approx(1.17, abs=0.01)


def test_the_row_of_a_fiftieth_of_a_second_is_no_transfer() -> None:
    [row] = [row for row in rows() if "7B" in row["model"]]
    assert 15e9 / float(row["value"]) == pytest.approx(750e9), "more than any link of the machine"


def test_the_ideal_of_the_reference_and_what_to_expect() -> None:
    assert relay_s(32e9, links=8, link_bytes_per_s=50e9, replicas=1, chunks=1) == pytest.approx(0.08)
    expected = [method.seconds(32e9, tensors=64 * 11 + 3) for name, method in methods().items() if name != "by_tensor"]
    assert 0.55 < min(expected) < max(expected) < 1.55


def test_a_relay_fills_its_chain_chunk_by_chunk() -> None:
    """By the clock: chunk j leaves instance i when it has it and its link is free."""
    chunks, replicas, chunk_s = 10, 4, 0.3
    arrived = np.zeros((replicas + 1, chunks))
    for hop in range(1, replicas + 1):
        for chunk in range(chunks):
            free = arrived[hop, chunk - 1] if chunk else 0.0
            arrived[hop, chunk] = max(arrived[hop - 1, chunk], free) + chunk_s
    found = relay_s(chunks * chunk_s, links=1, link_bytes_per_s=1.0, replicas=replicas, chunks=chunks)
    assert found == pytest.approx(arrived[replicas, -1])


def test_a_shard_map_is_bound_by_senders_or_by_receivers() -> None:
    ideal = sharded_s(1.03e12, tensor_parallel=128, replicas=1, train_gpus=256, link_bytes_per_s=50e9)
    assert ideal == pytest.approx(0.16, abs=0.002)
    assert ideal / 1.3 == pytest.approx(0.12, abs=0.005)
    many = sharded_s(1.03e12, tensor_parallel=8, replicas=64, train_gpus=256, link_bytes_per_s=50e9)
    assert many == pytest.approx(64 * 1.03e12 / (256 * 50e9))
    slow = sharded_s(
        1.0e9, tensor_parallel=1, replicas=1, train_gpus=1, link_bytes_per_s=1e9, fixed_s=1, efficiency=0.5
    )
    assert slow == pytest.approx(3.0)


@pytest.mark.parametrize(("index", "less"), [(4, 33.3), (1, 66.7)])
def test_one_per_cent_changed_is_not_a_hundred_times_less(index: float, less: float) -> None:
    assert 2 * 32e9 / delta_bytes(32e9, changed=0.01, index_bytes=index) == pytest.approx(less, abs=0.05)


def test_changes_of_everything_are_sent_whole() -> None:
    assert delta_bytes(1e9, changed=1.0, index_bytes=4) == 2e9
