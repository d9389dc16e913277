"""Replay keeps the order and the prefix structure of a trace, however it is scaled, stretched and repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.engine.streams import CHUNK
from sims.parts import traces
from sims.parts.arrivals import Table
from sims.parts.paths import compress
from sims.parts.trace_plan import INSTANT_S
from sims.parts.traces import Chains, Trace

BLOCK = 16
Prompt = tuple[int, ...]


def rows(trace: Trace) -> np.ndarray:
    from sims.parts.records import ARRIVAL

    return np.concatenate([*trace.chunks(1), np.empty(0, ARRIVAL)])


def table(count: int = 10, *, gap_s: float = 2.0) -> Table:
    numbers = np.arange(count)
    return Table(at_s=100.0 + gap_s * numbers, input=10 + numbers, output=1 + numbers)


def chained(prompts: list[Prompt]) -> tuple[Table, Chains]:
    """Requests a second apart whose prompts are these blocks; equal ids are equal blocks after equal blocks."""
    known: dict[Prompt, int] = {}
    ids = [[known.setdefault(each[: end + 1], len(known)) for end in range(len(each))] for each in prompts]
    offsets = np.append(0, np.cumsum([len(each) for each in ids])).astype(np.int64)
    flat = np.array([one for each in ids for one in each], np.int64)
    lengths = np.array([BLOCK * len(each) for each in ids], np.int64)
    made = Table(at_s=np.arange(len(prompts), dtype=float), input=lengths, output=np.ones(len(prompts), np.int64))
    return made, Chains(compress(flat, offsets=offsets), BLOCK)


def shared_blocks(trace: Trace) -> list[int]:
    """Of each request of a replay, the leading blocks that earlier ones have: walked through the stems it names."""
    stems, seen, found = trace.prefixes.stems, set(), []
    for row in rows(trace):
        path, node = [], int(row["stem"])
        while node >= 0:
            path = [(node, depth) for depth in range(stems[node].depth, stems[node].end)] + path
            node = int(stems[node].parent)
        path = path[: int(row["blocks"])]
        hits = next((place for place, block in enumerate(path) if block not in seen), len(path))
        assert [depth for _, depth in path] == list(range(len(path)))
        found.append(hits)
        seen.update(path)
    return found


def known_prefix(prompts: list[Prompt]) -> list[int]:
    """The same by comparing prompts, plainly."""
    found = []
    for index, prompt in enumerate(prompts):
        lengths = [0]
        for other in prompts[:index]:
            same = [a == b for a, b in zip(prompt, other, strict=False)]
            lengths.append(same.index(False) if False in same else len(same))
        found.append(max(lengths))
    return found


prompts_of = st.lists(st.lists(st.integers(0, 2), max_size=5).map(tuple), min_size=1, max_size=12)


@given(prompts_of, st.integers(1, 3))
def test_each_round_finds_the_prefixes_of_the_trace_and_no_others(prompts: list[Prompt], rounds: int) -> None:
    made, chains = chained(prompts)
    assert shared_blocks(Trace(made, chains=chains, rounds=rounds)) == known_prefix(prompts) * rounds


@given(prompts_of, st.floats(0.3, 4.0))
def test_each_copy_of_a_stretched_trace_is_a_trace_in_its_own_order(prompts: list[Prompt], times: float) -> None:
    """Requests of one copy, told apart by their stems, come in the order of the trace and share what they did."""
    made, chains = chained(prompts)
    length_s = len(prompts) if len(prompts) > 1 else INSTANT_S
    trace = Trace(made, chains=chains, warp_to_s=length_s * times, keep_rate=True)
    found = rows(trace)
    stems = max(1, len(chains.paths.stems))
    copies = {int(stem) // stems for stem in found["stem"] if stem >= 0}
    assert (np.diff(found["at_s"]) >= 0).all()
    for copy in copies:
        mine = found[(found["stem"] >= 0) & (found["stem"] // stems == copy)]
        wanted = iter(chains.paths.stem[chains.paths.stem >= 0].tolist())
        assert all(any(int(stem) % stems == each for each in wanted) for stem in mine["stem"])
    assert len(found) == int(np.floor(len(prompts) * times + 1e-9))


@given(st.integers(1, 40), st.floats(0.1, 10.0), st.integers(1, 4), st.integers(0, 50))
def test_scaling_keeps_the_order_and_every_request(count: int, scale: float, rounds: int, start: int) -> None:
    trace = Trace(table(count), rate_scale=scale, rounds=rounds, start_s=float(start))
    found = rows(trace)
    first = min(count, -(-start // 2))
    assert found["input"].tolist() == list(range(10 + first, 10 + count)) * rounds
    assert (np.diff(found["at_s"]) >= 0).all()
    assert len(found) == trace.plan.count


def test_a_warped_trace_has_the_same_requests_over_another_length() -> None:
    """Ten requests two seconds apart last twenty seconds; over 200 s they come twenty seconds apart."""
    found = rows(Trace(table(), warp_to_s=200.0))
    assert found["at_s"] == pytest.approx(20.0 * np.arange(10))
    assert found["input"].tolist() == list(range(10, 20))


def test_a_warped_trace_keeps_the_shape_of_its_rate() -> None:
    at_s = np.sort(np.concatenate([np.linspace(0, 50, 100), np.linspace(50, 100, 400)]))
    uneven = Table(at_s=at_s, input=np.full(500, 9), output=np.ones(500, np.int64))
    for warped in (Trace(uneven, warp_to_s=1000.0), Trace(uneven, warp_to_s=1000.0, keep_rate=True)):
        moments = rows(warped)["at_s"]
        assert (moments < 500).mean() == pytest.approx(0.2, abs=0.01)


def test_a_stretched_trace_keeps_its_rate_at_each_moment() -> None:
    found = rows(Trace(table(), warp_to_s=60.0, keep_rate=True))
    assert len(found) == 30
    assert found["at_s"] == pytest.approx(2.0 * np.arange(30))
    assert found["input"].tolist() == [10 + number // 3 for number in range(30)]
    halved = rows(Trace(table(), warp_to_s=60.0, keep_rate=True, rate_scale=0.5))
    assert len(halved) == 15
    assert np.diff(halved["at_s"]).mean() == pytest.approx(4.0, rel=0.1)


def test_a_shrunk_trace_keeps_its_rate_by_leaving_requests_out_evenly() -> None:
    found = rows(Trace(table(100), warp_to_s=50.0, keep_rate=True))
    assert len(found) == 25
    assert set(np.diff(found["input"])) == {4}


def test_rounds_follow_each_other_after_a_mean_gap() -> None:
    found = rows(Trace(table(), rounds=3))
    assert np.diff(found["at_s"]) == pytest.approx(2.0 * np.ones(29))
    assert Trace(table(), rounds=3, duration_s=25.0).plan.count == 13
    assert Trace(table(), rounds=3, requests=17).plan.count == 17


def test_requests_at_one_moment_and_none_at_all() -> None:
    instant = Table(at_s=np.zeros(3), input=np.arange(3), output=np.arange(3))
    assert rows(Trace(instant, rounds=2))["at_s"].tolist() == [0, 0, 0, INSTANT_S, INSTANT_S, INSTANT_S]
    for empty in (Trace(table(0)), Trace(table(), start_s=1e9), Trace(table(), warp_to_s=0.1, keep_rate=True)):
        assert (empty.plan.count, empty.horizon_s, len(rows(empty))) == (0, 0.0, 0)


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_a_replay_does_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    made, chains = chained([(1, 2), (1, 2, 3), (1,), (1, 2, 3)] * 5)
    trace = Trace(made, chains=chains, rounds=2, warp_to_s=33.0, keep_rate=True)
    whole = rows(trace)
    monkeypatch.setattr(traces, "CHUNK", chunk)
    assert np.array_equal(rows(trace), whole)


def test_a_long_replay_comes_in_chunks() -> None:
    sizes = [len(chunk) for chunk in Trace(table(CHUNK), rounds=3, requests=2 * CHUNK + 5).chunks(1)]
    assert sizes == [CHUNK, CHUNK, 5]


def test_blocks_decide_instead_of_what_the_trace_found() -> None:
    made, chains = chained([(1, 2), (1, 2)])
    told = Table(at_s=made.at_s, input=made.input, output=made.output, cached=np.array([0, 31]))
    assert rows(Trace(told))["cached"].tolist() == [0, 31]
    own = rows(Trace(told, chains=chains))
    assert own["cached"].tolist() == [0, 0]
    assert own["blocks"].tolist() == [2, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"rate_scale": 0.0},
        {"warp_to_s": 0.0},
        {"keep_rate": True},
        {"warp_to_s": 5.0, "rate_scale": 2.0},
    ],
)
def test_an_impossible_replay_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"must be|give"):
        Trace(table(), **wrong)


def test_more_shared_prefixes_than_memory_is_meant_for_are_refused() -> None:
    made, chains = chained([(1,), (1,)])
    with pytest.raises(ValueError, match="shared prefixes"):
        _ = Trace(made, chains=chains, rounds=traces.MOST_STEMS + 1).prefixes
