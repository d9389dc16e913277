"""What would change the decision: of each input the nearest value at which an objective, a unit or a rank turns over.

Nothing is taken to be monotone: each input is looked at on a grid first, and only the step in which something turns
over is halved until the place is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.core.dials import Dial, dials
from planner.core.fleet import Fleet, Pool
from planner.core.flip_words import Event, Key, Seen, State, Turn, events_of, sentence
from planner.core.probing import Point, Probe

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
class Rival:
    """Another design that this one is held against by its cost: a variant, or the same inputs compared.

    ``change`` makes it of the design at hand, so that both move together.
    """

    label: str
    change: Mapping[str, object]


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


@dataclass(frozen=True, slots=True)
class Judge:
    """Reads a point as states that may turn over. ``fleet`` counts the units, ``rival`` is held against by ``cost``."""

    probe: Probe
    fleet: Callable[[Point], Fleet] | None = None
    cost: str = ""
    rival: Rival | None = None
    _known: dict[int, dict[Key, State]] = field(default_factory=dict, repr=False, compare=False)
    """States by point, which the probe keeps."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Those of the design as it is."""
        base = self.probe.at({})
        return self.fleet(base).pools if self.fleet is not None and base.result is not None else ()

    def states(self, change: Mapping[str, object], *, with_rival: bool = True) -> dict[Key, State] | None:
        """None for inputs that make no design."""
        point = self.probe.at(change)
        if point.result is None:
            return None
        base = self.probe.at({})
        if point is not base and point.told() == base.told():
            # What counts the units works the design out once more: not for an input that moves nothing.
            return self.states({}, with_rival=False)
        if id(point) not in self._known:
            self._known[id(point)] = {
                **{("objective", name): met for name, met in _held(point)},
                **(_units(self.fleet(point)) if self.fleet is not None else {}),
            }
        found = self._known[id(point)]
        if self.rival is None or not with_rival:
            return found
        mine, other = point.value(self.cost), self.probe.at({**change, **self.rival.change}).value(self.cost)
        if mine is None or other is None:
            return found
        return {**found, ("rival", self.rival.label): mine <= other * (1 + 1e-9)}


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
            crossed = _steps(judge, dial, side=side, base=base)
            mine = {key: step for key, step in crossed.items() if key[0] in turns}
            for place, keys in _nearest(judge, dial, crossed=mine, base=base).items():
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
    judge: Judge, dial: Dial, *, crossed: Mapping[Key, tuple[float, float]], base: Mapping[Key, State]
) -> dict[tuple[float, float], list[Key]]:
    """The place nearest to the present value at which one of these turns over, and all that do so there."""
    if not crossed:
        return {}
    first = min(crossed.values(), key=lambda step: abs(step[0] - float(dial.value)))
    keys = [key for key, step in crossed.items() if step == first]
    place = _narrowed(judge, dial, keys=keys, base=base, holds=first[0], beyond=first[1])
    return {place: _turned(judge.states({dial.name: dial.within(place[1])}), keys=keys, base=base)}


def _steps(
    judge: Judge, dial: Dial, *, side: Sequence[float], base: Mapping[Key, State]
) -> dict[Key, tuple[float, float]]:
    """Of each state the first step of the grid in which it turns over, going away from the present value."""
    found: dict[Key, tuple[float, float]] = {}
    before = float(dial.value)
    for place in side:
        states = judge.states({dial.name: place})
        if states is None:
            break
        for key, state in base.items():
            if key not in found and states.get(key, state) != state and not _is_itself(judge, dial, key=key):
                found[key] = (before, place)
        before = place
    return found


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
    for _turn in range(_HALVINGS):
        if _is_close(dial, holds, beyond):
            break
        middle = (holds + beyond) / 2
        middle = float(int(middle)) if dial.is_whole else middle
        states = judge.states({dial.name: dial.within(middle)}, with_rival=ranked)
        holds, beyond = (holds, middle) if _turned(states, keys=keys, base=base) else (middle, beyond)
    return holds, beyond


def _is_close(dial: Dial, holds: float, beyond: float) -> bool:
    """Near enough for the digits that are told: of a share near one, for those of what is missing to it."""
    if dial.is_whole:
        return abs(beyond - holds) <= 1
    missing = [abs(1 - holds)] if dial.unit == "ratio" and dial.most is not None and 0.5 < holds < 1 else []
    size = min([abs(float(dial.value)) or abs(beyond - holds), *missing])
    return abs(beyond - holds) <= PRECISION * size


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


def _held(point: Point) -> Iterator[tuple[str, bool]]:
    """Objectives with their verdicts; one whose figure does not exist is missed."""
    if point.result is None:
        return
    for name, metric in point.result.metrics.items():
        if metric.objective is not None:
            yield name, bool(metric.met)


def _units(fleet: Fleet) -> dict[Key, State]:
    """Units of each pool, and whether the rest carries the peak when a node is lost."""
    found: dict[Key, State] = {}
    for pool in fleet.pools:
        found["units", pool.name] = pool.units
        if pool.needed_units:
            found["loss", pool.name] = pool.units - pool.units_per_node >= pool.needed_units * (1 - 1e-9)
    return found
