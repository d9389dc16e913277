"""What each role does over two steps, for each mode on the same GPUs: the rows of a Gantt chart."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.result import Series
from planner.core.table import table
from planner.kinds.rl_rollout.plan import Plan
from planner.kinds.rl_rollout.turn import MODES, Turn

ACTIVITIES = ("weight sync", "generation", "longest answers", "scoring", "training", "role switch", "waiting")
"""Weight sync first, because both roles of a mode have one: rows come in the order of the first activity."""
COLOURS = {"generation": 0, "longest answers": 1, "scoring": 2, "training": 3, "weight sync": 4, "role switch": 5}
STEPS = 2
_LEAST = 1e-6
Stretch = tuple[str, str, float, float]


def timeline(plan: Plan) -> Series:
    """Steady steps of each mode, as mean times make them."""
    compared = plan.comparison
    rows: list[Stretch] = []
    for mode in MODES:
        turn = compared.turn(mode)
        for step in range(STEPS):
            rows += [
                (
                    f"{turn.label}: {'both roles' if mode == 'colocated' else role}",
                    what,
                    start + step * turn.step_s,
                    end + step * turn.step_s,
                )
                for role, what, start, end in _step(plan, turn)
                if end - start > _LEAST * turn.step_s
            ]
    return table(
        "timeline",
        "Two steps of each mode",
        ("role", "role", "", [row[0] for row in rows]),
        ("activity", "activity", "", [row[1] for row in rows]),
        ("start_s", "from", "s", [row[2] for row in rows]),
        ("end_s", "to", "s", [row[3] for row in rows]),
    )


def _step(plan: Plan, turn: Turn) -> Iterator[Stretch]:
    if turn.mode == "asynchronous":
        yield from _overlapped(turn)
    elif turn.mode == "one_step_off":
        yield from _beside(plan, turn)
    else:
        yield from _in_turns(plan, turn)


def _tail_from_s(plan: Plan, turn: Turn) -> float:
    """When only the last tenth of the answers still runs, by the longest answers' share of the time."""
    law, step = plan.base.law, plan.base.physics.step
    late = max(plan.base.longest_tokens - float(law.quantile(0.9)), 0.0)
    return max(turn.generation_s - late * step.fixed_s, 0.0)


def _in_turns(plan: Plan, turn: Turn) -> Iterator[Stretch]:
    makes, scored = turn.generation_s, turn.generation_s + turn.parts["scoring"]
    trained = scored + turn.parts["training"]
    switched = trained + turn.parts["switch"]
    tail = _tail_from_s(plan, turn)
    yield "rollout", "generation", 0.0, tail
    yield "rollout", "longest answers", tail, makes
    yield "rollout", "scoring", makes, scored
    if turn.mode == "colocated":
        yield "rollout", "training", scored, trained
        yield "rollout", "role switch", trained, switched
        return
    yield "rollout", "waiting", scored, trained
    yield "rollout", "weight sync", switched, turn.step_s
    yield "training", "waiting", 0.0, scored
    yield "training", "training", scored, trained
    yield "training", "weight sync", switched, turn.step_s


def _beside(plan: Plan, turn: Turn) -> Iterator[Stretch]:
    synced = turn.parts["weight_sync"]
    made, tail = synced + turn.generation_s, synced + _tail_from_s(plan, turn)
    trained = synced + turn.parts["training"]
    yield "rollout", "weight sync", 0.0, synced
    yield "rollout", "generation", synced, tail
    yield "rollout", "longest answers", tail, min(made, turn.step_s)
    yield "rollout", "waiting", made, turn.step_s
    yield "training", "weight sync", 0.0, synced
    yield "training", "training", synced, trained
    yield "training", "waiting", trained, turn.step_s


def _overlapped(turn: Turn) -> Iterator[Stretch]:
    synced = turn.parts["weight_sync"]
    trained = synced + turn.parts["training"]
    yield "rollout", "weight sync", 0.0, synced + turn.recompute_s
    yield "rollout", "generation", synced + turn.recompute_s, turn.step_s
    yield "training", "weight sync", 0.0, synced
    yield "training", "training", synced, trained
    yield "training", "waiting", trained, turn.step_s
