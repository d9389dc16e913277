"""One run from the first batch to the last training step, and several designs on the same answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import simpy

from sims.engine.hooks import Hooks, NoHooks
from sims.engine.kernel import warms
from sims.engine.run import COMPLETE, drive
from sims.parts.answers import Lengths, Problems
from sims.parts.course import Process
from sims.systems.rl_rollout.config import Config, Scoring
from sims.systems.rl_rollout.control import Failure, failing
from sims.systems.rl_rollout.outcome import Outcome
from sims.systems.rl_rollout.plane import RolloutPlane
from sims.systems.rl_rollout.state import make_state

STUCK = "stuck"
MOST_S = 1e12
"""Simulated seconds after which no run is of interest."""
DRAWN_STEPS = 3


class _Fitted:
    """Answers no longer than an instance's KV can hold behind their prompt; counts those it cuts."""

    def __init__(self, chunks: Iterator[np.recarray], *, kv_tokens: float) -> None:
        self._chunks, self._kv_tokens = chunks, kv_tokens
        self.drawn = self.cut = 0

    def __iter__(self) -> Iterator[np.recarray]:
        for chunk in self._chunks:
            if np.isfinite(self._kv_tokens):
                most = int(self._kv_tokens) - chunk.prompt
                if most.min() < 1:
                    raise ValueError(f"kv_tokens of {self._kv_tokens:g} cannot hold a prompt of {chunk.prompt.max()}")
                self.cut += int((chunk.length > most).sum())
                chunk.length = np.minimum(chunk.length, most)
            self.drawn += len(chunk)
            yield chunk

    @property
    def cut_share(self) -> float:
        return self.cut / self.drawn if self.drawn else 0.0


def simulate(
    config: Config,
    *,
    problems: Problems,
    steps: int = 20,
    warmup_steps: int = 2,
    seed: int = 1,
    failures: Sequence[Failure] = (),
    drawn: tuple[int, int] | None = None,
    hooks: Hooks | None = None,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float = 3600.0,
    check: Callable[[RolloutPlane], None] | None = None,
    check_every_s: float = 60.0,
) -> Outcome:
    """Run ``steps`` training steps from an empty system.

    Parameters
    ----------
    config : instances, batch, mode, scoring.
    problems : what answers there will be; the same seed brings the same answers to every config.
    steps, warmup_steps : training steps in all, and those of them that are not measured.
    seed : of all random streams.
    failures : instances that are lost, and when they come back.
    drawn : the steps whose spans are kept for a Gantt chart, [first, last); None: three after the warm-up.
    hooks, clock, budget_s : who waits, by which clock, and how long at most [s of that clock].
    check, check_every_s : called with the plane every so many simulated seconds, for tests.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    ValueError
        When there is nothing to measure, or an answer's prompt does not fit into an instance.
    """
    if not 0 <= warmup_steps < steps:
        raise ValueError(f"warmup_steps must be from 0 to below the {steps} steps, is {warmup_steps}")
    for failure in failures:
        if not 0 <= failure.instance < config.instances:
            raise ValueError(f"a failure names instance {failure.instance} of {config.instances}")
    chunk = config.problems * config.answers
    state = make_state(
        config,
        longest=int(min(problems.lengths.longest, config.kv_tokens)),
        chunk=chunk,
        steps=steps,
        measured_from=warmup_steps,
        drawn=drawn or (warmup_steps, min(steps, warmup_steps + DRAWN_STEPS)),
    )
    fitted = _Fitted(
        problems.chunks(
            seed,
            groups=config.problems,
            answers=config.answers,
            score_mean_s=config.scoring.mean_s,
            score_cv=config.scoring.cv,
        ),
        kv_tokens=config.kv_tokens,
    )
    plane, env = RolloutPlane(state, chunks=iter(fitted)), simpy.Environment()
    for failure in failures:
        env.process(failing(env, plane=plane, failure=failure))
    if check is not None:
        env.process(_checks(env, plane=plane, check=check, every_s=check_every_s))
    ending = drive(plane, env=env, end_s=MOST_S, hooks=hooks or NoHooks(), clock=clock, budget_s=budget_s)
    if ending == COMPLETE and not plane.is_done():
        ending = STUCK
    return Outcome.of(plane.state, config=config, ending=ending, cut_share=fitted.cut_share)


def _checks(
    env: simpy.Environment, *, plane: RolloutPlane, check: Callable[[RolloutPlane], None], every_s: float
) -> Process:
    while not plane.is_done():
        yield env.timeout(every_s)
        check(plane)


def compare(configs: Mapping[str, Config], *, problems: Problems, **options: Any) -> dict[str, Outcome]:
    """The same answers through each design in turn (common random numbers); ``options`` as for `simulate`."""
    return {name: simulate(config, problems=problems, **options) for name, config in configs.items()}


@warms
def _warm() -> None:
    config = Config(
        problems=2,
        answers=2,
        instances=2,
        slots=2,
        step_s=0.01,
        train_s=1.0,
        prefill_tokens_per_s=1e4,
        scoring=Scoring(servers=1, mean_s=0.1, cv=1.0),
    )
    problems = Problems(Lengths(20.0, cap_tokens=50), prompt_tokens=10.0)
    found = simulate(config, problems=problems, steps=2, warmup_steps=0, failures=[Failure(0, at_s=0.1, rejoin_s=0.2)])
    assert found.ending == COMPLETE  # noqa: S101 - a tiny run cannot end otherwise
