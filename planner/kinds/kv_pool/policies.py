"""Inputs of how the tiers are run: eviction, blocks, writes."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.hardware import HardwareInputs

EVICTION = _("Eviction and tiers")
BLOCKS = _("Blocks and metadata")
WRITES = _("Writes and SSD")


class PolicyInputs(HardwareInputs):
    """What is kept, where, in what pieces, and when it is written."""

    eviction: Literal["lru", "ttl", "value"] = choice(
        "lru",
        label=_("Eviction"),
        group=EVICTION,
        labels={"lru": _("Least recently used"), "ttl": _("After a fixed time"), "value": _("By value")},
        help=_("By value: read-back time saved × chance of return, per byte. All three are shown side by side."),
    )
    ttl_s: float = quantity(
        300.0,
        label=_("Kept after the last use"),
        group=EVICTION,
        unit="s",
        shown="min",
        ge=0,
        le=1e9,
        help=_("Of eviction after a fixed time; a full tier still drops the oldest before."),
        advanced=True,
    )
    relation: Literal["ssd_inclusive", "exclusive", "inclusive"] = choice(
        "ssd_inclusive",
        label=_("What lower tiers hold"),
        group=EVICTION,
        labels={
            "ssd_inclusive": _("DRAM what HBM dropped, SSD all"),
            "exclusive": _("Each what the one above dropped"),
            "inclusive": _("Each all of the one above"),
        },
        help=_("A tier that holds only what was dropped adds its capacity, and is written again at each return."),
    )
    placement: Literal["pool", "affinity", "random"] = choice(
        "pool",
        label=_("Who reads what"),
        group=EVICTION,
        labels={
            "pool": _("One pool, all nodes read all"),
            "affinity": _("Each node its own, sessions return"),
            "random": _("Each node its own, sessions wander"),
        },
    )

    block_tokens: int = quantity(
        256,
        label=_("Block"),
        group=BLOCKS,
        unit="tokens",
        ge=1,
        le=1_000_000,
        help=_("Whole blocks are found again. 256 to 512 in a pool, 16 to 64 in GPU memory."),
    )
    entry_bytes: float = quantity(
        64.0,
        label=_("Metadata of a block"),
        group=BLOCKS,
        unit="bytes",
        shown="B",
        ge=1,
        le=1e6,
        help=_("A chained hash, the place and the time of the last use; 31 B in a compact index, more in a tree."),
        advanced=True,
    )
    state_grain_tokens: int | None = quantity(
        None,
        label=_("Saved state points"),
        group=BLOCKS,
        unit="tokens",
        ge=1,
        le=10_000_000,
        empty=_("any block"),
        help=_("Sliding-window and recurrent layers can be resumed only where their state was saved: every so often."),
        advanced=True,
    )
    state_bytes: float | None = quantity(
        None,
        label=_("State at a point"),
        group=BLOCKS,
        unit="bytes",
        shown="MB",
        ge=0,
        le=1e12,
        empty=_("from the LLM"),
        advanced=True,
    )

    write_mode: Literal["through", "back"] = choice(
        "through",
        label=_("Writes"),
        group=WRITES,
        labels={"through": _("At once (write-through)"), "back": _("When dropped or due (write-back)")},
    )
    written: Literal["new", "context"] = choice(
        "new",
        label=_("A turn writes"),
        group=WRITES,
        labels={"new": _("Its new blocks"), "context": _("Its whole context")},
        help=_("Without deduplication by block hash every turn writes its context again."),
    )
    admitted_share: float = quantity(
        1.0,
        label=_("Admitted to the pool"),
        group=WRITES,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("What an admission filter lets through; the sessions it drops are taken to be those that end."),
        advanced=True,
    )
    flush_s: float = quantity(
        10.0,
        label=_("Write-back at the latest after"),
        group=WRITES,
        unit="s",
        ge=0,
        le=1e6,
        help=_("Of a turn; until then a lost node takes it along and no other node can read it."),
        advanced=True,
    )
    ssd_dwpd: float = quantity(
        1.0,
        label=_("SSD endurance"),
        group=WRITES,
        unit="writes/d",
        ge=0.01,
        le=100,
        help=_("Drive writes a day: 1 of read-intensive TLC, 3 of mixed use, 0.3 to 0.6 of QLC."),
    )
    ssd_rated_years: float = quantity(
        5.0,
        label=_("for so many years"),
        group=WRITES,
        unit="years",
        ge=0.1,
        le=30,
        help=_("The warranty that the rating holds for."),
        advanced=True,
    )
    write_amplification: float = quantity(
        1.0,
        label=_("Writes of a drive over the rated"),
        group=WRITES,
        unit="×",
        ge=0.1,
        le=100,
        help=_(
            "Ratings assume random 4 kB writes; 1 takes them as they are. Sequential extents of a megabyte last about "
            "five times as long on the same drives."
        ),
        advanced=True,
    )
