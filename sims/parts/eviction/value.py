"""What saves least per byte and second gives way: rate of return at its idle age × prefill time saved.

Each kind's oldest entry is looked at, as the rate of return falls with age but for the youngest. A shared prefix
returns at the rate at which it was used so far.
"""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END
from sims.engine.sketch import bin_of


@handler
def worth(store, e, kind, now_s):  # type: ignore[no-untyped-def]
    """Prefill seconds a block of this entry saves a second."""
    entry, book = store.entries[e], store.book[0]
    if store.kinds[kind].shared == 1:
        owner = store.owners[entry.owner]
        rate = owner.touches / max(1e-9, now_s - owner.first_s)
    else:
        rate = store.worth[kind, bin_of(now_s - entry.used_s)]
    return rate * (book.save_s + book.save_deeper_s * (entry.depth + entry.hi))


@handler
def choose(store, first, count, over, now_s):  # type: ignore[no-untyped-def]
    """The list whose oldest entry is worth least; of equals the older."""
    best, least, stamp = -1, 0.0, 0
    if over:
        for line in range(first, first + count):
            e = store.lines[line].oldest
            if e == END:
                continue
            value = worth(store, e, line % store.book[0].kinds, now_s)
            if best < 0 or value < least or (value == least and store.entries[e].stamp < stamp):
                best, least, stamp = line, value, store.entries[e].stamp
    return best
