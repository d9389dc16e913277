"""What reliability figures mean: the sentence of the answer, and the findings with the change that mends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planner.core.quantities import show
from planner.core.reliability import Domain, Placement, PoolReliability, Reliability
from planner.core.result import Finding, order_findings
from planner.core.wording import counted, percent

_FELT = 2.0
"""Times as long below the need with failures in common as without, from which on it is told."""
_NEAR = ("gpu", "engine", "node")
_DEALT = 4
"""Racks or zones that units are dealt over in a suggestion."""


def sentence(found: Reliability) -> str:
    """The answer: how much of the time, against what is promised, and what reaches it."""
    if not found.pools:
        return "**Nothing is bought** at this load: there is nothing to lose."
    if found.carried is None or found.below_min_per_month is None:
        return "**No number of units carries the peak**: the design itself has to change first."
    share, promised = show(found.carried, "ratio"), show(found.target, "ratio")
    below = show(60 * found.below_min_per_month, "s")
    if found.carried >= found.target:
        return (
            f"What is up carries the peak for **{share}** of the time, {promised} is promised: {below} a month below."
        )
    return (
        f"What is up carries the peak for **only {share}** of the time, not {promised}: {below} a month below. "
        f"{_how(found)}"
    )


def _how(found: Reliability) -> str:
    """The cheapest change, and a placement that does it for less."""
    words = "No input of the design reaches the promise."
    if found.change is not None:
        labels = [way.label for pool in found.pools for way in pool.ways if way.is_cheapest]
        price = found.change_usd_per_h
        words = f"Cheapest: {' and '.join(labels)}" + ("." if price is None else f", {_grows(price)}.")
    better = _better(found)
    return words if better is None else f"{words} {_dealt(better)}"


def _better(found: Reliability) -> Placement | None:
    """The placement over the fewest zones that reaches the promise for less."""
    now = found.change_usd_per_h if found.change is not None else None
    lesser = [
        each
        for each in found.placements
        if each.change is not None
        and (found.change is None or (each.usd_per_h is not None and now is not None and each.usd_per_h < now))
    ]
    return min(lesser, key=lambda each: (each.usd_per_h or 0.0, each.zones), default=None)


def _dealt(placement: Placement) -> str:
    where = "In one power zone" if placement.zones == 1 else f"Dealt over {placement.zones:,} power zones"
    if not placement.change:
        return f"{where}, what is bought is enough."
    return f"{where}, it takes {'less' if placement.usd_per_h is None else _grows(placement.usd_per_h)}."


def _grows(usd_per_h: float) -> str:
    """By how much the bill changes."""
    return f"{show(abs(usd_per_h), 'USD/h')} {'more' if usd_per_h >= 0 else 'less'}"


def findings(found: Reliability) -> tuple[Finding, ...]:
    """Worst first."""
    return order_findings([*_promise(found), *(each for pool in found.pools for each in _of_pool(pool))])


def _promise(found: Reliability) -> Iterator[Finding]:
    if found.carried is None or found.carried >= found.target:
        return
    cautions = [text for pool in found.pools for way in pool.ways if way.is_cheapest for text in way.cautions]
    yield Finding(
        "availability_missed",
        "error",
        f"The peak is carried for {show(found.carried, 'ratio')} of the time; "
        f"{show(found.target, 'ratio')} is promised.",
        suggestion=" ".join([_how(found), *cautions]),
        change=found.change,
    )


def _of_pool(pool: PoolReliability) -> Iterator[Finding]:
    if pool.needed is None:
        yield Finding(
            "not_worked_out",
            "error",
            f"{pool.label}: no number of units carries the peak, or they are more than can be worked out.",
        )
    elif pool.needed:
        yield from _losses(pool)
        yield from _in_common(pool)
        yield from _more_than_promised(pool)


def _losses(pool: PoolReliability) -> Iterator[Finding]:
    """One finding for all domains that take as many units."""
    lacking = [each for each in pool.domains if not each.carries]
    for lost in sorted({each.units_lost for each in lacking}):
        yield _loss(pool, [each for each in lacking if each.units_lost == lost])


def _loss(pool: PoolReliability, alike: Sequence[Domain]) -> Finding:
    first = alike[0]
    goes = "goes" if first.units_lost == 1 else "go"
    left = "nothing" if not first.left else percent(first.left)
    whose = "" if pool.units == 1 else f"{first.units_lost:,} of "
    return Finding(
        f"not_n_plus_{first.name}",
        "warning" if first.name in _NEAR else "info",
        f"{pool.label}: the loss of {_either([_lower(each.label) for each in alike])} leaves {left} of what the peak "
        f"takes; {whose}{counted(pool.units, pool.noun)} {goes}.",
        suggestion=_against(pool, alike),
        change=_change(pool, first.spares_to_carry),
    )


def _against(pool: PoolReliability, alike: Sequence[Domain]) -> str:
    """N + k against each of the domains; the first is what the button buys."""
    spares = alike[0].spares_to_carry
    words = [f"N + {spares:,}, {counted((pool.needed or 0) + spares, pool.noun)} in all{_priced(pool, spares)}"]
    more = {each.spares_to_carry: each for each in reversed(alike) if each.spares_to_carry > spares}
    words += [f"N + {count:,} against {_lower(more[count].label)}" for count in sorted(more)]
    dealt = -(-_DEALT * (pool.needed or 0) // (_DEALT - 1)) - (pool.needed or 0)
    end = ""
    if alike[0].name != "gpu" and dealt < spares:
        end = f" Dealt over {_DEALT} of them, N + {dealt:,}."
    return "; ".join(words) + "." + end


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _change(pool: PoolReliability, spares: int) -> Mapping[str, Any] | None:
    level = pool.level(spares)
    return None if level is None else level.change


def _priced(pool: PoolReliability, spares: int) -> str:
    level, now = pool.level(spares), pool.bought
    if level is None or now is None or level.spares_usd_per_h is None or now.spares_usd_per_h is None:
        return ""
    return f", {_grows(level.spares_usd_per_h - now.spares_usd_per_h)}"


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:]


def _in_common(pool: PoolReliability) -> Iterator[Finding]:
    now = pool.bought
    if now is None:
        return
    together, apart = 1 - now.carried, 1 - now.carried_apart
    if together > _FELT * apart and now.below_min_per_month >= 1:
        apart_s = 60 * now.below_min_per_month * apart / together
        yield Finding(
            "failures_in_common",
            "info",
            f"{pool.label}: {show(60 * now.below_min_per_month, 's')} a month below the need, for nodes, racks and "
            f"zones take several units at once; were each to fail alone, {show(apart_s, 's')}.",
        )


def _more_than_promised(pool: PoolReliability) -> Iterator[Finding]:
    """Spare units beyond both the promise and the loss of a node."""
    wanted, spares = pool.spares_for_target, pool.spares
    node = next((each.spares_to_carry for each in pool.domains if each.name == "node"), 0)
    if wanted is None or spares is None or spares <= max(wanted, node):
        return
    enough = max(wanted, node)
    if (change := _change(pool, enough)) is None or spares - enough > pool.spare_units:
        return
    yield Finding(
        "more_than_promised",
        "info",
        f"{pool.label}: N + {enough:,} keeps the promise and survives a node, N + {spares:,} is bought.",
        suggestion=f"N + {enough:,}{_priced(pool, enough)}.",
        change=change,
    )
