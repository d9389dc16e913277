from __future__ import annotations

from sims.engine.lists import push
from sims.parts.prefill import fill_rank, fill_step, least_rank
from sims.parts.records import PREFILL_UNIT, queues, records, request_pool


def queue_of(pool, first: int, *todos: int):
    queue = queues(1)[0]
    for slot, todo in enumerate(todos, start=first):
        pool[slot].todo = todo
        queue.load += todo
        push(queue, pool, slot)
    return queue


def test_a_step_takes_prompts_in_order_and_splits_the_last() -> None:
    pool = request_pool(8)
    queue = queue_of(pool, 0, 30, 50, 40)
    assert fill_rank(queue, pool, 100) == 100
    assert queue.finishing == 2
    assert [pool[slot].todo for slot in range(3)] == [0, 0, 20]
    assert queue.load == 20


def test_a_prompt_longer_than_the_budget_takes_several_steps() -> None:
    pool = request_pool(8)
    queue = queue_of(pool, 0, 250)
    taken = [fill_rank(queue, pool, 100) for _ in range(3)]
    assert taken == [100, 100, 50]
    assert queue.finishing == 1


def test_ranks_step_together_as_long_as_the_fullest_needs() -> None:
    pool, unit, ranks = request_pool(8), records(PREFILL_UNIT, count=1)[0], queues(3)
    for index, todo in enumerate((10, 70)):
        pool[index].todo = todo
        ranks[index].load = todo
        push(ranks[index], pool, index)
    assert fill_step(unit, ranks, 0, 3, pool, 50) == 50
    assert unit.tokens == 60
    assert least_rank(ranks, 0, 3) == 0
    assert least_rank(ranks, 1, 2) == 2
