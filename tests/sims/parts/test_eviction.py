from __future__ import annotations

import math

import numpy as np

from sims.engine.kernel import from_python
from sims.engine.sketch import BINS, bin_of
from sims.parts.eviction import lru, ttl, value
from sims.parts.eviction.dispatch import CODES, choose
from sims.parts.holdings import Store, add_entry, add_owner, lay_on_top, lift, make_store, resize, with_owners

add_entry = from_python(add_entry)
add_owner = from_python(add_owner)
bin_of = from_python(bin_of)
choose = from_python(choose)
lay_on_top = from_python(lay_on_top)
lift = from_python(lift)
resize = from_python(resize)
choose_lru = from_python(lru.choose)
choose_ttl = from_python(ttl.choose)
choose_value = from_python(value.choose)


def store_of(*ages_s: float, now_s: float = 100.0) -> tuple[Store, list[int]]:
    """A cache with an entry of each of two kinds for each age, the oldest first; kind 1 returns twice as often."""
    worth = np.ones((2, BINS)) * np.array([[1.0], [2.0]])
    store = with_owners(make_store(caches=1, kinds=2, owners=0, entries=16, worth=worth), 8)
    store.kinds.ttl_s, store.kinds.kept = math.inf, 1
    store.book[0].save_s = 1.0
    entries = []
    for index, age_s in enumerate(ages_s):
        owner = add_owner(store, index % 2)
        store.owners[owner].first_s = now_s - age_s
        entry = add_entry(store, owner, 0, 0, 0, 0)
        resize(store, entry, 0, 5)
        store.entries[entry].used_s = now_s - age_s
        entries.append(entry)
    return store, entries


def test_nothing_gives_way_without_need() -> None:
    store, _ = store_of(50.0, 40.0)
    assert [choose(code, store, 0, 4, False, 100.0) for code in CODES.values()] == [-1, -1, -1]


def test_the_least_recently_used_gives_way_whatever_its_kind() -> None:
    store, entries = store_of(50.0, 40.0, 30.0)
    assert choose_lru(store, 0, 4, True, 100.0) == 0
    lift(store, entries[0])
    lay_on_top(store, entries[0])
    assert choose_lru(store, 0, 4, True, 100.0) == 1


def test_what_is_past_its_time_goes_even_without_need() -> None:
    store, _ = store_of(50.0, 40.0)
    store.kinds.ttl_s = [60.0, 30.0]
    assert choose_ttl(store, 0, 4, False, 100.0) == 1
    store.kinds.ttl_s = 60.0
    assert choose_ttl(store, 0, 4, False, 100.0) == -1
    assert choose_ttl(store, 0, 4, True, 100.0) == 0


def test_the_least_rate_of_return_gives_way_and_equals_by_age() -> None:
    store, _ = store_of(10.0, 90.0)
    assert choose_value(store, 0, 4, True, 100.0) == 0
    store.worth[1] = 1.0
    assert choose_value(store, 0, 4, True, 100.0) == 0
    store.worth[1, bin_of(90.0)] = 0.5
    assert choose_value(store, 0, 4, True, 100.0) == 1


def test_deep_blocks_save_more_where_attention_costs() -> None:
    """Kind 1 returns twice as often, but kind 0 lies deeper: each block of it takes three times as long to compute."""
    store, entries = store_of(10.0, 10.0)
    store.book[0].save_deeper_s = 0.1
    store.entries[entries[0]].depth = 100
    assert choose_value(store, 0, 4, True, 100.0) == 1


def test_a_shared_prefix_returns_as_often_as_it_was_used() -> None:
    store, entries = store_of(10.0, 10.0)
    store.kinds[0].shared = 1
    owner = store.owners[store.entries[entries[0]].owner]
    for touches, line in ((5, 0), (50, 1)):
        owner.touches = touches
        assert choose_value(store, 0, 4, True, 100.0) == line


def test_only_the_lists_asked_for_are_looked_at() -> None:
    store, _ = store_of(50.0, 40.0)
    assert choose_lru(store, 1, 1, True, 100.0) == 1
    assert choose_lru(store, 2, 2, True, 100.0) == -1
