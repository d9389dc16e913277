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

FACTORS = (0.25, 0.5, 0.9, 1.1, 2.0, 4.0)
"""Of its value, where an input is looked at: from a quarter to four times."""
CLOSER = (0.7, 0.8, 0.9, 1.1, 1.2, 1.4)
"""Where it is looked at besides, between two of those that differ."""
COUNTS = (1, 2, 4, 8)
"""Where a whole input that is zero is looked at."""
SHARES = (0.1, 0.3, 1.0)
"""Of the most it may be, where another input that is zero is looked at, if it has such a bound."""
PRECISION = 5e-4
"""Of its value, how closely the place is found; of the place itself where it is zero."""
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


@dataclass(frozen=True, slots=True)
class Side:
    """Where an input is looked at to one side of its value, going away from it; ``closer`` where something differs."""

    places: tuple[float, ...]
    closer: tuple[float, ...] = ()

    def between(self, near: float, far: float) -> tuple[float, ...]:
        """Places from one on to the other, that included."""
        low, high = min(near, far), max(near, far)
        return (*(place for place in self.closer if low < place < high), far)

    def beside(self, places: Sequence[float], *, value: float) -> Side:
        """With these looked at as well."""
        return Side(tuple(sorted({*self.places, *places}, key=lambda at: abs(at - value))), self.closer)


def sides(dial: Dial) -> tuple[Side, Side]:
    """Where an input is looked at below its value, and above it."""
    value = float(dial.value)
    closer: list[float] = []
    if value:
        # A whole input is looked at beside its value instead of a tenth away.
        factors = [f for f in FACTORS if not dial.is_whole or abs(f - 1) > 0.2]
        places = [_times(dial, factor) for factor in factors]
        places += [dial.within(value - 1), dial.within(value + 1)] if dial.is_whole else []
        closer = [_times(dial, factor) for factor in CLOSER]
    elif dial.is_whole:
        places = [dial.within(float(count)) for count in COUNTS]
    else:
        places = [dial.within(share * dial.most) for share in SHARES] if dial.most and dial.most <= 1 else []
    return _side(places, closer, value=value, sign=-1), _side(places, closer, value=value, sign=1)


def _times(dial: Dial, factor: float) -> float:
    return dial.within(round(dial.value * factor) if dial.is_whole else float(dial.value) * factor)


def _side(places: Sequence[float], closer: Sequence[float], *, value: float, sign: int) -> Side:
    mine = [
        tuple(sorted({at for at in listed if sign * (at - value) > 0}, key=lambda at: sign * at))
        for listed in (places, closer)
    ]
    return Side(*mine)


def _of_input(judge: Judge, dial: Dial) -> Iterator[Flip]:
    """One flip a place: what turns over there together is told together.

    Of verdicts, of units and of ranks the nearest to either side.
    """
    base = judge.states({}) or {}
    both = sides(dial)
    looked = [judge.probe.at({dial.name: at}) for side in both for at in (*side.places[:1], *side.places[-1:])]
    if all(point.told == judge.probe.at({}).told for point in looked):
        return
    if judge.rival is not None and not _moves_rank(judge, dial, looked=looked):
        judge = replace(judge, rival=None)
    places: dict[tuple[float, float], list[Key]] = {}
    for side in both:
        found: list[tuple[float, float]] = []
        for turns in CLASSES:
            # Where a unit is bought, what its loss means may turn over for a short stretch: look there too.
            there = side.beside([at for place in found for at in place], value=float(dial.value))
            for place, keys in _nearest(judge, dial, side=there, turns=turns, base=base).items():
                places.setdefault(place, []).extend(keys)
                found.append(place)
    for (holds, value), keys in places.items():
        yield _flip(judge, dial, holds=holds, value=value, keys=keys)


def _moves_rank(judge: Judge, dial: Dial, *, looked: Sequence[Point]) -> bool:
    """Whether it can change who is cheaper: the other design is worked out only then."""
    cost = judge.probe.at({}).value(judge.cost)
    return dial.name in (judge.rival.change if judge.rival else ()) or any(
        point.value(judge.cost) != cost for point in looked
    )


def _nearest(
    judge: Judge, dial: Dial, *, side: Side, turns: frozenset[Turn], base: Mapping[Key, State]
) -> dict[tuple[float, float], list[Key]]:
    """The place nearest to the present value at which one of these turns over, and all that do so there."""
    holds, beyond, keys = _step(judge, dial, side=side, turns=turns, base=base)
    if not keys:
        return {}
    place, turned = _narrowed(judge, dial, keys=keys, base=base, holds=holds, beyond=beyond)
    return {place: turned}


def _step(
    judge: Judge, dial: Dial, *, side: Side, turns: frozenset[Turn], base: Mapping[Key, State]
) -> tuple[float, float, list[Key]]:
    """The first step of the grid, going away from the present value, in which some of these turn over; no further."""
    mine = [key for key in base if key[0] in turns and not _is_itself(judge, dial, key=key)]
    before, was, ranked = float(dial.value), base, "rival" in turns
    for place in side.places if mine else ():
        states = judge.states({dial.name: place}, with_rival=ranked)
        if states is None:
            break
        # Where units step, what the loss of one means may turn over and back; ranks are asked for themselves.
        differs = any(states.get(key, state) != state for key, state in was.items() if key in mine or not ranked)
        for at in side.between(before, place) if differs else (place,):
            if crossed := _turned(judge.states({dial.name: at}, with_rival=ranked), keys=mine, base=base):
                return before, at, crossed
            before = at
        was = states
    return before, before, []


def _is_itself(judge: Judge, dial: Dial, *, key: Key) -> bool:
    """Whether the input is the count of those units, or of the spare ones among them."""
    if key[0] != "units" or judge.fleet is None or not dial.is_whole:
        return False
    pool = next(pool for pool in judge.pools if pool.name == key[1])
    return dial.name == pool.spare_field or (dial.value == pool.units and dial.unit == f"{pool.noun}s")


def _narrowed(
    judge: Judge, dial: Dial, *, keys: list[Key], base: Mapping[Key, State], holds: float, beyond: float
) -> tuple[tuple[float, float], list[Key]]:
    """The last value at which all these states are as at present, the first at which some are not, and those."""
    aim = _Aim(judge, dial, base=base)
    for _turn in range(_HALVINGS):
        if _is_close(dial, holds, beyond):
            break
        middle = float(int((holds + beyond) / 2)) if dial.is_whole else aim(holds, beyond, keys=keys)
        states = judge.states({dial.name: dial.within(middle)}, with_rival=_is_ranked(keys))
        if turned := _turned(states, keys=keys, base=base):
            beyond, keys = middle, turned
        else:
            holds = middle
    return (holds, beyond), keys


def _is_ranked(keys: Sequence[Key]) -> bool:
    return any(turn == "rival" for turn, _name in keys)


class _Aim:
    """Where to look next between two places: at the nearest root of the lines between them, a little to one side and
    then to the other, so that both come close; every third time in the middle, whatever the lines say."""

    def __init__(self, judge: Judge, dial: Dial, *, base: Mapping[Key, State]) -> None:
        self._judge, self._dial, self._base, self._looks = judge, dial, base, 0

    def __call__(self, holds: float, beyond: float, *, keys: Sequence[Key]) -> float:
        self._looks += 1
        middle = (holds + beyond) / 2
        roots = [root for key in keys if (root := self._root(key, holds, beyond)) is not None]
        if self._looks % 3 == 0 or not roots:
            return middle
        nudge = 0.4 * _close(self._dial, holds, beyond) * (1 if beyond > holds else -1)
        root = min(roots, key=lambda at: abs(at - holds)) + (-nudge if self._looks % 3 == 1 else nudge)
        return root if min(holds, beyond) < root < max(holds, beyond) else middle

    def _root(self, key: Key, holds: float, beyond: float) -> float | None:
        first, second = (self._margin(key, place, beyond=beyond) for place in (holds, beyond))
        if first is None or second is None or first * second >= 0:
            return None
        return holds + (beyond - holds) * first / (first - second)

    def _margin(self, key: Key, place: float, *, beyond: float) -> float | None:
        change = {self._dial.name: self._dial.within(place)} if place != float(self._dial.value) else {}
        far = {self._dial.name: self._dial.within(beyond)}
        then = (self._judge.states(far, with_rival=_is_ranked([key])) or {}).get(key, self._base[key])
        return self._judge.margin(key, change, grows=then > self._base[key])


def _is_close(dial: Dial, holds: float, beyond: float) -> bool:
    """Near enough for the digits that are told: of a share near one, for those of what is missing to it."""
    return abs(beyond - holds) <= (1 if dial.is_whole else _close(dial, holds, beyond))


def _close(dial: Dial, holds: float, beyond: float) -> float:
    missing = [abs(1 - holds)] if dial.unit == "ratio" and dial.most is not None and 0.5 < holds < 1 else []
    return PRECISION * min([abs(float(dial.value)) or max(abs(holds), abs(beyond)), *missing])


def _turned(states: Mapping[Key, State] | None, *, keys: Sequence[Key], base: Mapping[Key, State]) -> list[Key]:
    return [key for key in keys if states is not None and states.get(key, base[key]) != base[key]]


def _flip(judge: Judge, dial: Dial, *, holds: float, value: float, keys: Sequence[Key]) -> Flip:
    change = {dial.name: dial.within(value)}
    before, after = judge.probe.at({}), judge.probe.at(change)
    pools = {pool.name: pool for pool in judge.fleet(after).pools} if judge.fleet else {}
    becomes = judge.states(change, with_rival=_is_ranked(keys)) or {}
    seen = Seen(before, after, was=judge.states({}) or {}, becomes=becomes, pools=pools)
    events = tuple(events_of(seen, keys=keys, cost=judge.cost))
    relative = (value - float(dial.value)) / abs(float(dial.value)) if dial.value else None
    said = sentence(dial, holds=holds, value=value, relative=relative, events=events)
    return Flip(dial, holds, value, relative, events, said)
