"""Pictures of reliability: what a failure leaves of the need by N + k, and how long the rest falls short."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.reliability import Level, PoolReliability
from planner.core.wording import percent
from planner.formulas.cost import HOURS_PER_MONTH

MOST_BARS = 4
"""Rows of N + k in the bars: the first, what is bought, what the promise takes, and what is between."""
_LEAST_MIN = 1e-3
"""A month below the need that is drawn; less is nothing."""
_MONTH_MIN = HOURS_PER_MONTH * 60


def charts(pool: PoolReliability) -> Iterator[Chart]:
    """What there is to see of a pool with a need."""
    if not pool.needed or not pool.levels:
        return
    yield _bars(pool)
    if any(level.below_min_per_month >= _LEAST_MIN for level in pool.levels):
        yield _minutes(pool)


def _shown(pool: PoolReliability) -> list[Level]:
    """Rows a picture can hold: what is bought, what the promise takes, and no more units beyond the need than in it."""
    most = max(pool.needed or 0, pool.spares or 0, pool.spares_for_target or 0)
    return [level for level in pool.levels if level.spares <= most]


def _told(pool: PoolReliability) -> list[Level]:
    wanted = [0, pool.spares, pool.spares_for_target, *(each.spares_to_carry for each in pool.domains)]
    shown = {level.spares: level for level in _shown(pool)}
    chosen = [shown[spares] for spares in dict.fromkeys(wanted) if spares in shown][:MOST_BARS]
    return sorted(chosen, key=lambda level: level.spares)


def _bars(pool: PoolReliability) -> Chart:
    """Domains that take as much as the one before are told with it."""
    cases: list[str] = []
    shares: list[float] = []
    for level in _told(pool):
        seen: dict[float, list[str]] = {}
        for domain in pool.domains:
            left = level.left[domain.name]
            if left is not None:
                seen.setdefault(left, []).append(_short(domain.label))
        cases += [f"N + {level.spares:,}, {_joined(names, of=len(level.left))} lost" for names in seen.values()]
        shares += list(seen)
    return Chart(
        name=f"left_{pool.name}",
        title=f"{pool.label}: does it survive?",
        subtitle=f"What is left of the need after one failure, by units beyond the need.{_bought(pool)}",
        form="bars",
        x=Axis("capacity", unit="ratio", shown="%"),
        y=Axis("failure"),
        traces=(
            Trace("enough", x=cases, y=[share if share >= 1 else None for share in shares]),
            Trace("short of the need", x=cases, y=[None if share >= 1 else share for share in shares], order=1),
        ),
        limits=(Limit(1.0, "need at the peak", axis="x"),),
        summary="; ".join(f"{case}: {percent(share)}" for case, share in zip(cases, shares, strict=True)) + ".",
    )


def _bought(pool: PoolReliability) -> str:
    return "" if pool.bought is None else f" N + {pool.bought.spares:,} is bought."


def _joined(names: list[str], *, of: int) -> str:
    if len(names) == of > 2:
        return "any one"
    return names[0] if len(names) == 1 else f"{names[0]} {'or' if len(names) == 2 else 'to'} {names[-1]}"


def _short(label: str) -> str:
    """The thing in a word."""
    return label.rsplit(" ", 1)[-1]


def _drawn(minutes: list[float]) -> list[float | None]:
    return [each if each >= _LEAST_MIN else None for each in minutes]


def _minutes(pool: PoolReliability) -> Chart:
    levels = _shown(pool)
    spares = [float(level.spares) for level in levels]
    together = [level.below_min_per_month for level in levels]
    apart = [(1 - level.carried_apart) * _MONTH_MIN for level in levels]
    allowed = (1 - pool.target) * _MONTH_MIN
    return Chart(
        name=f"below_{pool.name}",
        title=f"{pool.label}: what does one more buy?",
        subtitle=f"Minutes a month below the need, beside what it were if each unit failed alone.{_bought(pool)}",
        form="line",
        x=Axis("units beyond the need"),
        y=Axis("below the need", unit="min/month", log=True, start_at_zero=False),
        traces=(
            Trace("as they stand", x=spares, y=_drawn(together)),
            Trace("if each failed alone", x=spares, y=_drawn(apart), order=1),
        ),
        limits=(Limit(allowed, f"promised: {show(60 * allowed, 's')}"),),
        summary="; ".join(
            f"N + {level.spares:,}: {show(60 * level.below_min_per_month, 's')} a month" for level in levels
        )
        + ".",
    )
