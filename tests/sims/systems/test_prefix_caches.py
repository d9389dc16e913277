"""Prefix caches of prefill units and replicas, against lists of blocks kept by hand, and the router that knows them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Table
from sims.parts.paths import compress
from sims.parts.traces import Chains, Trace
from sims.systems.llm_serving import Failure, Outcome, simulate
from tests.sims.systems.scene import audited, config

BLOCK = 10
REPLICA: dict[str, Any] = {"aggregated": True, "prefill_units": 0, "decode_units": 1, "prefill_ranks": 1}


def replayed(
    prompts: list[list[int]], *, every_s: float = 1.0, failures: Sequence[Failure] = (), **changes: Any
) -> Outcome:
    """Prompts of whole blocks, one after the other, with one token of answer; the last only ends the window."""
    rows = [*prompts, [10**6]]
    sizes = np.array([len(blocks) for blocks in rows])
    offsets = np.append(0, np.cumsum(sizes))
    ids = np.array([block for blocks in rows for block in blocks], np.int64)
    table = Table(np.arange(len(rows), dtype=np.float64) * every_s, sizes * BLOCK, np.ones(len(rows), np.int64))
    chains = Chains(compress(ids, offsets=offsets), BLOCK)
    run = audited if every_s >= 1 else simulate
    return run(config(**changes), arrivals=Trace(table, chains=chains), failures=failures, samples=4)


def hits_of_lists(prompts: list[list[int]], capacity: int) -> int:
    """Blocks found at the start of each prompt: an OrderedDict of chains, the deepest block the oldest of a prompt."""
    held: OrderedDict[tuple[int, ...], None] = OrderedDict()
    hits = 0
    for blocks in prompts:
        chain = [tuple(blocks[: at + 1]) for at in range(len(blocks))]
        found = next((at for at, key in enumerate(chain) if key not in held), len(chain))
        hits += min(found * BLOCK, len(blocks) * BLOCK - 1)
        for key in reversed(chain[:capacity]):
            held[key] = None
            held.move_to_end(key)
        while len(held) > capacity:
            held.popitem(last=False)
    return hits


def random_prompts(seed: int, *, count: int = 60) -> list[list[int]]:
    """Chains that share beginnings: each is an earlier one, cut and gone on with."""
    draw = np.random.default_rng(seed)
    prompts = [[0, 1, 2]]
    for index in range(1, count):
        before = prompts[draw.integers(len(prompts))]
        cut = int(draw.integers(0, len(before) + 1))
        prompts.append([*before[:cut], *(1000 * index + at for at in range(int(draw.integers(1, 4))))])
    return prompts


@pytest.mark.parametrize("blocks", [4, 9, 25, 10_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_unit_finds_what_lists_of_blocks_would(blocks: int, seed: int) -> None:
    prompts = random_prompts(seed)
    expected = hits_of_lists(prompts, blocks)
    for setup in ({"prefill_units": 1}, {**REPLICA, "kv_capacity_tokens": 10**6}):
        found = replayed(prompts, prefix_cache_tokens=blocks * BLOCK, **setup)
        assert found.samples[-1].hit_tokens == expected


def test_what_is_found_is_not_computed() -> None:
    """The same 20 blocks twice: the second time one token is left."""
    prompt = list(range(20))
    found = replayed([prompt, prompt], prefill_units=1, prefix_cache_tokens=1000)
    without = replayed([prompt, prompt], prefill_units=1)
    assert [run.samples[-1].hit_tokens for run in (found, without)] == [199, 0]
    assert [run.samples[-1].prefill_tokens for run in (found, without)] == [201, 400]
    # In the window are the second prompt and the one that ends it.
    assert found.rates["prefix_hit_share"] == pytest.approx(199 / 210)


def test_in_turn_every_unit_computes_what_a_router_that_knows_computes_once() -> None:
    """Two chains in turns over two units, one block more each time: their own cache hits only if they come back."""
    prompts = [[1000 * (at // 2 % 2 + 1) + block for block in range(30)] for at in range(40)]
    setup: dict[str, Any] = {"prefill_units": 2, "prefix_cache_tokens": 10_000}
    hits = {
        router: replayed(prompts, router=router, **setup).samples[-1].hit_tokens
        for router in ("cache_aware", "round_robin")
    }
    # Of 40 prompts each chain is computed in full once, or once on each unit; 299 of 300 tokens are found otherwise.
    assert hits == {"cache_aware": 38 * 299, "round_robin": 36 * 299}


def test_a_loaded_unit_is_left_for_one_that_has_to_compute() -> None:
    """A herd at one moment: what is cached on one unit does not draw all of it there."""
    prompt = list(range(30))
    herd = replayed([prompt] * 30, every_s=1e-6, prefill_units=2, prefix_cache_tokens=10_000, router="cache_aware")
    alone = replayed([prompt] * 30, every_s=1e-6, prefill_units=1, prefix_cache_tokens=10_000, router="cache_aware")
    assert herd.batches.ttft_sum_s.sum() < 0.7 * alone.batches.ttft_sum_s.sum()


def test_a_cache_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="prefix_cache_tokens"):
        config(prefix_cache_tokens=-1)


def test_a_lost_unit_has_lost_its_cache() -> None:
    """The same prompt three times; before the third the only unit is lost and comes back."""
    failures = [Failure(unit=0, at_s=1.5, rejoin_s=0.2, role="prefill")]
    prompt = list(range(20))
    kept, lost = (
        replayed([prompt] * 3, prefill_units=1, prefix_cache_tokens=1000, failures=which) for which in ((), failures)
    )
    assert [run.samples[-1].hit_tokens for run in (kept, lost)] == [2 * 199, 199]
    assert lost.finished == 4


def test_a_replica_keeps_prompts_in_the_blocks_that_no_request_holds() -> None:
    """60 blocks of KV, 10 of them free after A of 20 and B of 30. C of 40 takes A's and the deepest 10 of B's."""
    chains = {name: [1000 * at + block for block in range(size)] for at, (name, size) in enumerate(SIZES.items())}
    setup = {**REPLICA, "kv_capacity_tokens": 600, "block_tokens": BLOCK, "prefix_cache_tokens": 10**6}
    hits = [
        replayed([chains[name] for name in order], **setup).samples[-1].hit_tokens
        for order in ("AB", "ABA", "ABB", "ABC", "ABCA", "ABCB")
    ]
    assert hits == [0, 199, 299, 0, 0, 200]


SIZES = {"A": 20, "B": 30, "C": 40}


def test_a_prompt_is_found_while_another_still_decodes_from_it() -> None:
    prompt = list(range(20))
    setup = {**REPLICA, "kv_capacity_tokens": 10**5, "prefix_cache_tokens": 10**5}
    offsets = np.array([0, 20, 40])
    ids = np.array(prompt + prompt, np.int64)
    table = Table(np.array([0.0, 1.0]), np.array([200, 200]), np.array([500, 1]))
    chains = Chains(compress(ids, offsets=offsets), BLOCK)
    found = audited(config(**setup), arrivals=Trace(table, chains=chains), samples=20)
    assert found.whole_line[-1].hit_tokens == 199
    assert found.whole_line[-1].prefill_tokens == 201


def test_caches_give_way_to_requests_and_all_is_served() -> None:
    """Long answers and shared beginnings in little KV: books are kept at every look, and preempted prompts found."""
    prompts = random_prompts(3, count=80)
    setup = {**REPLICA, "kv_capacity_tokens": 800, "block_tokens": 4, "prefix_cache_tokens": 10**6}
    rows = np.array([len(blocks) for blocks in prompts])
    ids = np.array([block for blocks in prompts for block in blocks], np.int64)
    table = Table(np.arange(len(rows)) * 0.05, rows * BLOCK, np.full(len(rows), 60))
    trace = Trace(table, chains=Chains(compress(ids, offsets=np.append(0, np.cumsum(rows))), BLOCK))
    found = audited(config(**setup), arrivals=trace, samples=100)
    assert found.finished == len(rows)
    assert found.preempted > 0
    assert found.whole_line[-1].hit_tokens > 0
