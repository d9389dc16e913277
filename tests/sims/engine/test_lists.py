from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import lists
from sims.engine.kernel import from_python
from sims.parts.records import TOTALS, queues, records, request_pool

give_slot = from_python(lists.give_slot)
has_slot = from_python(lists.has_slot)
insert_by_ready = from_python(lists.insert_by_ready)
pop = from_python(lists.pop)
push = from_python(lists.push)
take_slot = from_python(lists.take_slot)


def drain(queue, pool) -> list[int]:
    return [pop(queue, pool) for _ in range(queue.queued)]


@settings(deadline=None)  # the first call compiles
@given(st.permutations(range(12)))
def test_a_queue_gives_back_in_the_order_of_pushing(slots: list[int]) -> None:
    pool, queue = request_pool(12), queues(1)[0]
    for slot in slots:
        push(queue, pool, slot)
    assert drain(queue, pool) == slots
    assert queue.head == queue.tail == lists.END


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_insertion_keeps_the_order_of_readiness_and_of_insertion(ready: list[int]) -> None:
    pool, queue = request_pool(len(ready)), queues(1)[0]
    for slot, at_s in enumerate(ready):
        pool[slot].ready_s = at_s
        insert_by_ready(queue, pool, slot)
    assert drain(queue, pool) == sorted(range(len(ready)), key=lambda slot: (ready[slot], slot))


def test_the_free_list_hands_out_each_slot_once() -> None:
    pool, totals = request_pool(3), records(TOTALS, count=1)[0]
    taken = {take_slot(totals, pool) for _ in range(3)}
    assert taken == {0, 1, 2}
    assert not has_slot(totals)
    give_slot(totals, pool, 1)
    assert has_slot(totals)
    assert take_slot(totals, pool) == 1
    assert totals.in_flight == 3


class Counted(list):
    """A pool that counts how often a slot is looked at."""

    looks = 0

    def __getitem__(self, slot):
        Counted.looks += 1
        return super().__getitem__(slot)


def test_a_long_queue_is_not_walked_for_one_that_overtakes_few(monkeypatch) -> None:
    insert, push = (getattr(each, "py_func", each) for each in (lists.insert_by_ready, lists.push))
    monkeypatch.setattr(lists, "push", push)  # what is called must be Python as well
    pool = Counted(SimpleNamespace(ready_s=0.0, next=lists.END, before=lists.END) for _ in range(1000))
    queue = SimpleNamespace(head=lists.END, tail=lists.END, queued=0)
    for slot in range(1000):
        pool[slot].ready_s = slot + 2.5 * (slot % 2)
    Counted.looks = 0
    for slot in range(1000):
        insert(queue, pool, slot)
    assert Counted.looks < 20 * 1000
    walked = [slot := queue.head] + [slot := pool[slot].next for _ in range(999)]
    assert walked == sorted(range(1000), key=lambda slot: (slot + 2.5 * (slot % 2), slot))
