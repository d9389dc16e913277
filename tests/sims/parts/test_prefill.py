from __future__ import annotations

from sims.engine.kernel import from_python
from sims.engine.lists import push
from sims.parts.prefill import fill_rank, fill_step, least_rank
from sims.parts.records import PREFILL_UNIT, queues, records, request_pool

fill_rank = from_python(fill_rank)
fill_step = from_python(fill_step)
least_rank = from_python(least_rank)
push = from_python(push)


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
    unit.ranks, unit.prefill_step_s, unit.prefill_s_per_token = 3, 0.5, 0.01
    for index, todo in enumerate((10, 70)):
        pool[index].todo = pool[index].input = todo
        ranks[index].load = todo
        push(ranks[index], pool, index)
    assert fill_step(unit, ranks, pool, 50) == 0.5 + 0.01 * 50
    assert unit.tokens == 60
    assert least_rank(ranks, unit) == 0
    unit.first_rank, unit.ranks = 1, 2
    assert least_rank(ranks, unit) == 2


def test_attention_of_a_chunk_is_to_all_before_it_and_half_of_itself() -> None:
    pool = request_pool(8)
    queue = queue_of(pool, 0, 30, 100)
    pool[0].input, pool[1].input = 50, 100
    fill_rank(queue, pool, 100)
    assert queue.pairs == 30 * (20 + 15) + 70 * 35
    fill_rank(queue, pool, 100)
    assert queue.pairs == 30 * (70 + 15)
