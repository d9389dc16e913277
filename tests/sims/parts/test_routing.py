from __future__ import annotations

import importlib

from sims.engine import dispatch
from sims.engine.kernel import from_python
from sims.parts.records import UNIT, records
from sims.parts.routing import least_loaded, round_robin
from sims.parts.routing.dispatch import CODES, choose

choose = from_python(choose)
choose_least_loaded = from_python(least_loaded.choose)
choose_round_robin = from_python(round_robin.choose)


def stations(*loads: int, dead: tuple[int, ...] = ()):
    made = records(UNIT, count=len(loads))
    made.load = loads
    made.weight = 1.0
    made.alive = [0 if index in dead else 1 for index in range(len(loads))]
    return made


def test_the_generated_dispatch_is_current() -> None:
    for folder, arguments in dispatch.FOLDERS.items():
        written = (dispatch.PARTS / folder / "dispatch.py").read_text(encoding="utf-8")
        assert written == dispatch.source(folder, arguments=arguments), "run python -m sims.engine.dispatch"
        codes = importlib.import_module(f"sims.parts.{folder}.dispatch").CODES
        assert list(codes) == dispatch.policies(folder)


def test_each_code_reaches_its_policy() -> None:
    some = stations(5, 1, 3)
    assert choose(CODES["least_loaded"], some, 2) == 1
    assert choose(CODES["round_robin"], some, 2) == 2


def test_the_least_loaded_that_lives_is_chosen_and_ties_go_to_the_first() -> None:
    assert choose_least_loaded(stations(4, 2, 2), 0) == 1
    assert choose_least_loaded(stations(4, 2, 2, dead=(1,)), 0) == 2


def test_a_slower_station_is_loaded_less() -> None:
    some = stations(10, 6)
    some[1].weight = 2.0
    assert choose_least_loaded(some, 0) == 0
    some[0].load = 12
    assert choose_least_loaded(some, 0) == 0, "a tie goes to the first"
    some[0].load = 13
    assert choose_least_loaded(some, 0) == 1


def test_turns_pass_over_the_dead() -> None:
    assert choose_round_robin(stations(0, 0, 0, dead=(1,)), 1) == 2
    assert choose_round_robin(stations(0, 0, 0, dead=(2,)), 2) == 0


def test_nobody_is_chosen_when_all_are_dead() -> None:
    for policy in CODES.values():
        assert choose(policy, stations(0, 0, dead=(0, 1)), 0) == -1
