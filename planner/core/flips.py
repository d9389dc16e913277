"""What would change the decision: of each input the nearest value at which an objective, a unit or a rank turns over.

Nothing is taken to be monotone: each input is looked at on a grid first, and only the step in which something turns
over is halved until the place is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.core.dials import Dial, dials
from planner.core.flip_judge import Judge
from planner.core.flip_words import Event, Key, Seen, State, Turn, events_of, sentence
from planner.core.probing import Point

FACTORS = (0.25, 0.5, 0.7, 0.8, 0.9, 1.1, 1.2, 1.4, 2.0, 4.0)
"""Of its value, where an input is looked at: from a quarter to four times."""
COUNTS = (1, 2, 4, 8)
"""Where a whole input that is zero is looked at."""
SHARES = (0.1, 0.3, 1.0)
"""Of the most it may be, where another input that is zero is looked at, if it has such a bound."""
PRECISION = 5e-4
"""Of its value, how closely the place is found."""
CLASSES: tuple[frozenset[Turn], ...] = (frozenset({"units"}), frozenset({"objective", "loss"}), frozenset({"rival"}))
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Flip:
    """The nearest value of an input at which something turns over.

    ``holds`` is the last value found at which nothing has, ``value`` the first at which it has; ``relative`` how far
    that is from the present value, as a share of it, None from zero.
    """

    dial: Dial
    holds: float
    value: float
    relative: float | None
    events: tuple[Event, ...]
    said: str


@dataclass(frozen=True, slots=True)
class Flips:
    """Flips, the nearest first; ``steady`` inputs turn nothing over where they were looked at."""

    found: tuple[Flip, ...]
    steady: tuple[Dial, ...]


def flips(judge: Judge, *, only: Sequence[str] | None = None) -> Flips:
    """Look at every number among the inputs from a quarter to four times its value, within its bounds."""
    known = [dial for dial in dials(judge.probe.base)[0] if not dial.is_choice]
    known = [dial for dial in known if only is None or dial.name in only]
    found: list[Flip] = []
    steady = []
    for dial in known:
        mine = list(_of_input(judge, dial))
        found += mine
        if not mine:
            steady.append(dial)
    return Flips(tuple(sorted(found, key=_nearness)), tuple(steady))


def _nearness(flip: Flip) -> tuple[float, str]:
    return (abs(flip.relative) if flip.relative is not None else 1.0, flip.dial.label)


def grid(dial: Dial) -> tuple[list[float], list[float]]:
    """Where an input is looked at below and above its value, going away from it."""
    value = float(dial.value)
    if value:
        wanted = [dial.within(round(value * f) if dial.is_whole else value * f) for f in FACTORS]
        wanted += [dial.value - 1, dial.value + 1] if dial.is_whole else []
    elif dial.is_whole:
        wanted = [float(count) for count in COUNTS]
    else:
        wanted = [share * dial.most for share in SHARES] if dial.most and dial.most <= 1 else []
    places = sorted({dial.within(place) for place in wanted} - {dial.value})
    return [place for place in reversed(places) if place < value], [place for place in places if place > value]


def _of_input(judge: Judge, dial: Dial) -> Iterator[Flip]:
    """One flip a place: what turns over there together is told together.

    Of verdicts, of units and of ranks the nearest to either side.
    """
    base = judge.states({}) or {}
    below, above = grid(dial)
    looked = [judge.probe.at({dial.name: place}) for place in (*below[:1], *below[-1:], *above[:1], *above[-1:])]
    if all(point.told() == judge.probe.at({}).told() for point in looked):
        return
    if judge.rival is not None and not _moves_rank(judge, dial, looked=looked):
        judge = replace(judge, rival=None)
    places: dict[tuple[float, float], list[Key]] = {}
    for coarse in (below, above):
        side = list(coarse)
        for turns in CLASSES:
            for place, keys in _nearest(judge, dial, side=side, turns=turns, base=base).items():
                places.setdefault(place, []).extend(keys)
                # Where a unit is bought, what its loss means may turn over for a short stretch: look there too.
                side = sorted({*side, *place}, key=lambda at: abs(at - float(dial.value)))
    for (holds, value), keys in places.items():
        yield _flip(judge, dial, holds=holds, value=value, keys=keys)


def _moves_rank(judge: Judge, dial: Dial, *, looked: Sequence[Point]) -> bool:
    """Whether it can change who is cheaper: the other design is worked out only then."""
    cost = judge.probe.at({}).value(judge.cost)
    return dial.name in (judge.rival.change if judge.rival else ()) or any(
        point.value(judge.cost) != cost for point in looked
    )


def _nearest(
    judge: Judge, dial: Dial, *, side: Sequence[float], turns: frozenset[Turn], base: Mapping[Key, State]
) -> dict[tuple[float, float], list[Key]]:
    """The place nearest to the present value at which one of these turns over, and all that do so there."""
    holds, beyond, keys = _step(judge, dial, side=side, turns=turns, base=base)
    if not keys:
        return {}
    place = _narrowed(judge, dial, keys=keys, base=base, holds=holds, beyond=beyond)
    return {place: _turned(judge.states({dial.name: dial.within(place[1])}), keys=keys, base=base)}


def _step(
    judge: Judge, dial: Dial, *, side: Sequence[float], turns: frozenset[Turn], base: Mapping[Key, State]
) -> tuple[float, float, list[Key]]:
    """The first step of the grid, going away from the present value, in which some of these turn over; no further."""
    before = float(dial.value)
    mine = [key for key in base if key[0] in turns and not _is_itself(judge, dial, key=key)]
    for place in side if mine else ():
        states = judge.states({dial.name: place}, with_rival="rival" in turns)
        if states is None:
            break
        if crossed := _turned(states, keys=mine, base=base):
            return before, place, crossed
        before = place
    return before, before, []


def _is_itself(judge: Judge, dial: Dial, *, key: Key) -> bool:
    """Whether the input is the count of those units, or of the spare ones among them."""
    if key[0] != "units" or judge.fleet is None or not dial.is_whole:
        return False
    pool = next(pool for pool in judge.pools if pool.name == key[1])
    return dial.name == pool.spare_field or (dial.value == pool.units and dial.unit == f"{pool.noun}s")


def _narrowed(
    judge: Judge, dial: Dial, *, keys: Sequence[Key], base: Mapping[Key, State], holds: float, beyond: float
) -> tuple[float, float]:
    """The last value at which all these states are as at present, and the first at which one is not."""
    ranked = any(turn == "rival" for turn, _name in keys)
    aim = _Aim(judge, dial, key=keys[0], base=base)
    for _turn in range(_HALVINGS):
        if _is_close(dial, holds, beyond):
            break
        middle = float(int((holds + beyond) / 2)) if dial.is_whole else aim(holds, beyond)
        states = judge.states({dial.name: dial.within(middle)}, with_rival=ranked)
        holds, beyond = (holds, middle) if _turned(states, keys=keys, base=base) else (middle, beyond)
    return holds, beyond


class _Aim:
    """Where to look next between two places: at the root of the line between them, a little to one side and then to
    the other, so that both come close; every third time in the middle, whatever the line says."""

    def __init__(self, judge: Judge, dial: Dial, *, key: Key, base: Mapping[Key, State]) -> None:
        self._judge, self._dial, self._key, self._was, self._looks = judge, dial, key, base[key], 0

    def __call__(self, holds: float, beyond: float) -> float:
        self._looks += 1
        ends = [self._margin(place, beyond=beyond) for place in (holds, beyond)]
        middle = (holds + beyond) / 2
        first, second = ends
        if self._looks % 3 == 0 or first is None or second is None or first * second >= 0:
            return middle
        root = holds + (beyond - holds) * first / (first - second)
        nudge = 0.4 * _close(self._dial, holds, beyond) * (1 if beyond > holds else -1)
        root += -nudge if self._looks % 3 == 1 else nudge
        return root if min(holds, beyond) < root < max(holds, beyond) else middle

    def _margin(self, place: float, *, beyond: float) -> float | None:
        change = {self._dial.name: self._dial.within(place)} if place != float(self._dial.value) else {}
        then = (self._judge.states({self._dial.name: self._dial.within(beyond)}) or {}).get(self._key, self._was)
        return self._judge.margin(self._key, change, grows=then > self._was)


def _is_close(dial: Dial, holds: float, beyond: float) -> bool:
    """Near enough for the digits that are told: of a share near one, for those of what is missing to it."""
    return abs(beyond - holds) <= (1 if dial.is_whole else _close(dial, holds, beyond))


def _close(dial: Dial, holds: float, beyond: float) -> float:
    missing = [abs(1 - holds)] if dial.unit == "ratio" and dial.most is not None and 0.5 < holds < 1 else []
    return PRECISION * min([abs(float(dial.value)) or abs(beyond - holds), *missing])


def _turned(states: Mapping[Key, State] | None, *, keys: Sequence[Key], base: Mapping[Key, State]) -> list[Key]:
    return [key for key in keys if states is not None and states.get(key, base[key]) != base[key]]


def _flip(judge: Judge, dial: Dial, *, holds: float, value: float, keys: Sequence[Key]) -> Flip:
    change = {dial.name: dial.within(value)}
    before, after = judge.probe.at({}), judge.probe.at(change)
    pools = {pool.name: pool for pool in judge.fleet(after).pools} if judge.fleet else {}
    seen = Seen(before, after, was=judge.states({}) or {}, becomes=judge.states(change) or {}, pools=pools)
    events = tuple(events_of(seen, keys=keys, cost=judge.cost))
    relative = (value - float(dial.value)) / abs(float(dial.value)) if dial.value else None
    said = sentence(dial, holds=holds, value=value, relative=relative, events=events)
    return Flip(dial, holds, value, relative, events, said)
