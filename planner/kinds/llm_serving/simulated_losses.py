"""What the loss, return and release of units did to a run: figures, sentences, moments and phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.core.quantities import show
from planner.core.result import Column, Finding, Series
from planner.core.timeline import EVENTS, PHASES
from planner.core.wording import counted

if TYPE_CHECKING:
    from planner.kinds.llm_serving.simulated import Run
    from sims.systems.llm_serving import Outcome

PHASE_NAMES = ("before", "during", "after")


def figures(outcome: Outcome) -> Mapping[str, float | None]:
    """Of a run in which units came or went; none of any other run."""
    values: dict[str, float | None] = {}
    if outcome.disturbances:
        values |= _loss_figures(outcome)
    for role, usage in outcome.usage.items():
        if usage.changed:
            values[f"{role}_units_up_mean"] = usage.mean_up
            values[f"{role}_units_up_least"] = float(usage.least_up)
            values[f"{role}_unit_hours_used"] = usage.used_s / 3600
            values[f"{role}_unit_hours_released"] = usage.released_s / 3600
    return values


def _loss_figures(outcome: Outcome) -> dict[str, float | None]:
    from sims.engine.sketch import percentile

    values = {
        f"{name}_p99_{phase}_s": percentile(outcome.phases[name][row], q=0.99)
        for name in ("ttft", "tpot")
        for row, phase in enumerate(PHASE_NAMES)
    }
    values["requests_lost"] = float(outcome.lost)
    values["units_back_after_s"] = _longest([one.joined_s for one in outcome.disturbances], outcome=outcome)
    values["queue_back_after_s"] = _longest([one.queue_back_s for one in outcome.disturbances], outcome=outcome)
    values["longest_gap_s"] = percentile(outcome.pooled("itl"), q=1.0)
    if outcome.fetched_tokens:
        values["kv_fetched_tokens"] = float(outcome.fetched_tokens)
    return values


def _longest(ends_s: Sequence[float | None], *, outcome: Outcome) -> float | None:
    """The longest time from a loss to its end; None when one had not ended with the run."""
    spans = [None if end is None else end - one.at_s for end, one in zip(ends_s, outcome.disturbances, strict=True)]
    return None if any(span is None for span in spans) else max(span for span in spans if span is not None)


def findings(run: Run, *, outcome: Outcome, values: Mapping[str, float | None]) -> Iterator[Finding]:
    """What a loss did to those who waited, and what the units did by load and hour."""
    if outcome.disturbances:
        yield _lost(run, outcome=outcome, values=values)
        yield from _never_back(outcome)
    yield from _released(run, outcome=outcome)


def _lost(run: Run, *, outcome: Outcome, values: Mapping[str, float | None]) -> Finding:
    units = sum(one.units for one in outcome.disturbances)
    what = "replica" if run.spec.is_aggregated else "unit"
    ttft = [values[f"ttft_p99_{phase}_s"] for phase in PHASE_NAMES]
    told = ", ".join(
        f"{show(value, 's')} {phase}" for value, phase in zip(ttft, PHASE_NAMES, strict=True) if value is not None
    )
    kept = "no request was lost" if not outcome.lost else f"{outcome.lost:,} requests were lost"
    again = f", {outcome.restarted:,} went on elsewhere" if outcome.restarted else ""
    back, gap_s = values["queue_back_after_s"], values["longest_gap_s"]
    queue = "" if back is None else f"; the queue was {_as_before(back)}"
    gap = f"; the longest gap in an answer was {show(gap_s, 's')}" if gap_s is not None else ""
    runs = f" in {outcome.replications} runs" if outcome.replications > 1 else ""
    text = f"{counted(units, what)} lost{runs}: TTFT P99 {told}; {kept}{again}{queue}{gap}."
    return Finding("unit_lost", "warning" if outcome.lost else "info", text, "ttft_p99_during_s")


def _as_before(back_s: float) -> str:
    return f"as before after {show(back_s, 's')}" if back_s else "never longer than before"


def _never_back(outcome: Outcome) -> Iterator[Finding]:
    last = outcome.disturbances[-1]
    if last.over_s is not None:
        return
    missing = "a lost unit was still missing" if last.joined_s is None else "more requests waited than before the loss"
    yield Finding(
        "not_recovered",
        "warning",
        f"At the end of the run {missing}, {show(outcome.simulated_s - last.at_s, 's')} after it.",
        suggestion="Simulate a longer time to see the end of it.",
    )


def _released(run: Run, *, outcome: Outcome) -> Iterator[Finding]:
    pools = {"decode": run.fleet.decode, "prefill": run.fleet.prefill}
    for role, usage in outcome.usage.items():
        if usage.released_s <= 0:
            continue
        pool, hours = pools[role], usage.released_s / 3600
        worth = hours * pool.unit_gpus * pool.price_usd_per_h
        yield Finding(
            f"{role}_released",
            "info",
            f"{counted(pool.units, pool.noun)}: {usage.mean_up:.3g} up on average, {usage.least_up} at the least. "
            f"{show(hours, 'unit·h')} were free for other work, worth {show(worth, 'USD')} at the price of the fleet.",
            f"{role}_unit_hours_released",
        )


def tables(outcome: Outcome) -> Iterator[Series]:
    """The moments, if anything happened to units, and the phases around losses."""
    if outcome.notes:
        yield _events(outcome)
    if outcome.disturbances:
        yield _phases(outcome)


def _events(outcome: Outcome) -> Series:
    """The moments worth a mark."""
    nouns = {"decode": "replica" if outcome.config.aggregated else "decode unit", "prefill": "prefill unit"}
    marks = [(note.at_s, f"{nouns[note.role]} {note.what}") for note in outcome.notes]
    ends_s = [one.queue_back_s for one in outcome.disturbances if (one.queue_back_s or 0.0) > one.at_s]
    marks = sorted([*marks, *((end_s, "queue as before") for end_s in ends_s if end_s is not None)])
    return Series(
        EVENTS,
        "What happened to the units",
        (
            Column("at_s", "simulated time", "s", [at_s for at_s, _ in marks]),
            Column("what", "what", "", [what for _, what in marks]),
        ),
    )


def _phases(outcome: Outcome) -> Series:
    """Percentiles before, during and after the losses, by when a request arrived; the times are the outermost ones."""
    from sims.engine.sketch import percentile

    found = outcome.disturbances
    cuts = [outcome.warmup_s, found[0].at_s, found[-1].over_s or outcome.simulated_s, outcome.simulated_s]
    spans = [(cuts[0], cuts[1]), (cuts[1], cuts[2]), (cuts[2], cuts[3])]
    rows = [row for row in range(3) if outcome.phases["ttft"][row].sum() > 0]

    def figures_of(name: str, q: float) -> list[float | str | None]:
        return [percentile(outcome.phases[name][row], q=q) for row in rows]

    return Series(
        PHASES,
        "Before, during and after the loss",
        (
            Column("phase", "phase", "", [PHASE_NAMES[row] for row in rows]),
            Column("from_s", "from", "s", [spans[row][0] for row in rows]),
            Column("to_s", "to", "s", [spans[row][1] for row in rows]),
            Column("requests", "first tokens", "requests", [float(outcome.phases["ttft"][row].sum()) for row in rows]),
            Column("ttft_p50_s", "TTFT P50", "s", figures_of("ttft", 0.5)),
            Column("ttft_p99_s", "TTFT P99", "s", figures_of("ttft", 0.99)),
            Column("tpot_p50_s", "TPOT P50", "s", figures_of("tpot", 0.5)),
            Column("tpot_p99_s", "TPOT P99", "s", figures_of("tpot", 0.99)),
            Column("itl_p99_s", "ITL P99", "s", figures_of("itl", 0.99)),
        ),
    )
