"""What writing does: to drives, to links, and to what is lost with a node."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.formulas.endurance import SEQUENTIAL_OPTIMISM
from planner.kinds.kv_pool import writes
from planner.kinds.kv_pool.plan import Plan
from planner.kinds.kv_pool.tiers import DRAM, SSD, exclusive_pays
from planner.kinds.kv_pool.words import percent, times

SHORT_YEARS = 1.0
SMALL_BLOCK_BYTES = 5e5
MIXED_USE_DWPD = 3.0


def findings(plan: Plan) -> Iterator[Finding]:
    """Endurance, bandwidth of writes, arrangements that write more, write-back."""
    if plan.room.stored_bytes[SSD] > 0:
        yield from _endurance(plan)
        yield from _bandwidth(plan)
    yield from _arrangement(plan)
    yield from _modes(plan)


def _endurance(plan: Plan) -> Iterator[Finding]:
    spec, life, per_day = plan.spec, writes.life_years(plan), writes.drive_writes_per_day(plan)
    if life is None or per_day is None:
        yield Finding(
            "nothing_written", "info", "Nothing is written to the drives: they do not wear.", "ssd_life_years"
        )
        return
    told = (
        f"{show(writes.tier_write_bytes_per_s(plan, tier=SSD), 'bytes/s')} are written to SSD, {times(per_day)} its "
        f"capacity a day: drives rated for {spec.ssd_dwpd:g} last {_life(life)}, about "
        f"{_life(SEQUENTIAL_OPTIMISM * life)} with large sequential extents."
    )
    if life >= spec.ssd_rated_years:
        yield Finding("ssd_endures", "info", told, "ssd_life_years")
        return
    better: dict[str, object] | None = None
    suggestion = "More drives, or an admission filter that keeps sessions that will not return out of the pool."
    if spec.written == "context":
        better, suggestion = {"written": "new"}, "Write new blocks only: the rest of a context is there already."
    elif spec.relation == "exclusive":
        better = {"relation": "ssd_inclusive"}
        suggestion = "Let SSD keep its copy of what is read back, so that it is not written again."
    elif spec.ssd_dwpd < MIXED_USE_DWPD:
        better, suggestion = {"ssd_dwpd": MIXED_USE_DWPD}, "Use mixed-use drives, rated for three writes a day."
    yield Finding(
        code="ssd_wears_out",
        severity="error" if life < SHORT_YEARS else "warning",
        message=f"{told} Endurance binds before bandwidth.",
        metric="ssd_life_years",
        suggestion=suggestion,
        change=better,
    )


def _life(years: float) -> str:
    """Years, or days where they are few."""
    return show(years, "years") if years >= 1 else f"{max(years * 365.25, 0.1):,.3g} days"


def _bandwidth(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    written = writes.tier_write_bytes_per_s(plan, tier=SSD)
    can = spec.nodes * spec.ssd_write_bytes_per_s
    if written > can:
        yield Finding(
            code="ssd_write_full",
            severity="error",
            message=f"{show(written, 'bytes/s')} are to be written to SSD; the drives take {show(can, 'bytes/s')}.",
            metric="ssd_write_bytes_per_s",
            suggestion="More drives, new blocks only, or an admission filter.",
            change={"written": "new"} if spec.written == "context" else None,
        )


def _arrangement(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    dram_alone, ssd_alone = exclusive_pays(spec)
    if spec.relation == "exclusive" and plan.room.stored_bytes[SSD] > 0 and not ssd_alone:
        again = writes.tier_write_bytes_per_s(plan, tier=SSD) / max(writes.pool_write_bytes_per_s(plan), 1e-300)
        yield Finding(
            code="ssd_written_again",
            severity="warning",
            message=f"SSD that holds only what DRAM dropped is written {times(again)} as much as new blocks need: a "
            "session that was read back is written again when it is dropped, for a capacity that grows by "
            f"{percent(_added(plan))}.",
            metric="ssd_write_bytes_per_s",
            suggestion="Let SSD hold all; it is many times larger than the tiers above.",
            change={"relation": "ssd_inclusive"},
        )
    if spec.relation == "inclusive" and dram_alone and plan.room.stored_bytes[DRAM] > 0:
        yield Finding(
            code="dram_holds_copies",
            severity="info",
            message="HBM is more than a tenth of DRAM, and DRAM holds a copy of all of it: holding only what HBM "
            "dropped would make the two larger together.",
            metric="dram_hit_share",
            suggestion="Let DRAM hold what HBM dropped.",
            change={"relation": "ssd_inclusive"},
        )


def _added(plan: Plan) -> float:
    hbm, dram, ssd = plan.room.stored_bytes
    return (hbm + dram) / ssd


def _modes(plan: Plan) -> Iterator[Finding]:
    spec = plan.spec
    if spec.written == "context":
        yield Finding(
            code="whole_contexts_written",
            severity="warning",
            message=f"Each turn writes its whole context: {show(writes.turn_write_bytes(plan), 'bytes')}, of which "
            f"only {show(spec.new_tokens * plan.physics.stored_bytes_per_token, 'bytes')} are new.",
            metric="write_bytes_per_s",
            suggestion="Find blocks that are there by their hash.",
            change={"written": "new"},
        )
    if spec.write_mode == "back":
        saved = (
            "" if spec.admitted_share < 1 else " Every session is dropped in the end, so it saves no write by itself."
        )
        yield Finding(
            code="write_back_waits",
            severity="info",
            message=f"Write-back smooths bursts, but a turn is readable elsewhere only after "
            f"{show(writes.shareable_after_s(plan), 's')}, and a lost node takes "
            f"{show(writes.loss_window_bytes(plan), 'bytes')} along.{saved}",
            metric="shareable_after_s",
        )
    share = writes.network_share(plan)
    if share > 0.3:
        yield Finding(
            code="writes_fill_network",
            severity="warning",
            message=f"Writes take {percent(share)} of the network of all nodes.",
            metric="write_network_share",
        )
    block = spec.block_tokens * plan.physics.stored_bytes_per_token
    if block < SMALL_BLOCK_BYTES and any(plan.room.stored_bytes[tier] > 0 for tier in (DRAM, SSD)):
        tokens = 2 ** (int(SMALL_BLOCK_BYTES / plan.physics.stored_bytes_per_token) - 1).bit_length()
        yield Finding(
            code="blocks_small",
            severity="info",
            message=f"A block has {show(block, 'bytes')}: transfers below half a megabyte leave links idle (vLLM "
            "gained four to five times from larger pieces).",
            metric="block_bytes",
            suggestion=f"Blocks of {tokens} tokens.",
            change={"block_tokens": tokens},
        )
