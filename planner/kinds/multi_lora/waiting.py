"""Waits for a slot of one replica, at its own number of slots and at others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.formulas import lengths
from planner.formulas.busy_periods import ResidenceLaw, law_of
from planner.formulas.distinct import without_hottest
from planner.formulas.popularity import Popularity
from planner.formulas.slot_cliff import slot_waits, waits_by_slots
from planner.formulas.slot_wait_law import SlotWaits
from planner.kinds.multi_lora.replica import Replica

PLENTY = 6.0
"""Standard deviations above the running adapters from which slots are never all taken."""


def slot_waits_of(replica: Replica, *, running: float, residence_s: float) -> SlotWaits | None:
    """Waits for a slot; None where some adapters never get one."""
    rest, share = unpinned(replica)
    known = _no_waits(replica, replica.free_slots, running=running, residence_s=residence_s)
    if known is not None:
        return known
    load = running * replica.adapted * (1 - share)
    law = law_of_residence(replica)
    found = slot_waits(rest, running=load, slots=replica.free_slots, residence_s=residence_s, law=law)
    return found if found is None or share <= 0 else _thinned(found, share=share)


def slot_waits_by(
    replica: Replica, slots: Sequence[int], *, running: float, residence_s: float
) -> list[SlotWaits | None]:
    """The same with other numbers of slots."""
    pinned = replica.spec.pinned_adapters
    rest, share = without_hottest(replica.seen.popularity, pinned=pinned)
    free = [max(each - pinned, 0) for each in slots]
    known = [_no_waits(replica, each, running=running, residence_s=residence_s) for each in free]
    asked = [each for each, one in zip(free, known, strict=True) if one is None]
    load = running * replica.adapted * (1 - share)
    found = waits_by_slots(rest, running=load, slots=asked, residence_s=residence_s, law=law_of_residence(replica))
    thinned = (one if one is None or share <= 0 else _thinned(one, share=share) for one in found)
    return [next(thinned) if one is None else one for one in known]


def _no_waits(replica: Replica, slots: int, *, running: float, residence_s: float) -> SlotWaits | None:
    """Where nobody waits; None where somebody may."""
    different = replica.distinct(running)
    plenty = different.mean + PLENTY * different.deviation <= slots or replica.spec.paged
    if not replica.adapter.exists or running * replica.adapted <= 0 or residence_s <= 0 or plenty:
        return SlotWaits(0.0, 0.0, 0.0, 0.0, 0.0, different, 0.0)
    return None


def unpinned(replica: Replica) -> tuple[Popularity, float]:
    """Popularity of the adapters that are not pinned, and the share of the requests that asks for pinned ones."""
    return without_hottest(replica.seen.popularity, pinned=replica.pinned)


def law_of_residence(replica: Replica) -> ResidenceLaw:
    """How unlike the times are that requests run: as their answers."""
    return law_of(math.sqrt(lengths.squared_variation(replica.spec.output_sigma)))


def _thinned(waits: SlotWaits, *, share: float) -> SlotWaits:
    """Waits over all requests, of which a share asks for pinned adapters and never waits."""
    left = 1 - share

    def at(probability: float) -> float:
        inner = 1 - (1 - probability) / left if left > 0 else 0.0
        known = ((0.5, waits.p50_s), (0.9, waits.p90_s), (0.99, waits.p99_s))
        return max((wait for level, wait in known if level <= inner), default=0.0)

    return SlotWaits(waits.mean_s * left, waits.waiting * left, at(0.5), at(0.9), at(0.99), waits.different, waits.full)
