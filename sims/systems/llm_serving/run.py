"""One run from an empty system to an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import simpy

from sims.engine.hooks import Hooks
from sims.engine.kernel import warms
from sims.engine.run import COMPLETE
from sims.engine.streams import stream
from sims.parts.arrivals import Arrivals, Lengths, Poisson
from sims.parts.clients import ClosedLoop
from sims.parts.course import SAMPLES, Course, Recorder, follow, until_done
from sims.systems.llm_serving.config import Config
from sims.systems.llm_serving.control import Control, Failure, Operator
from sims.systems.llm_serving.outcome import Outcome, Told
from sims.systems.llm_serving.plane import ServingPlane
from sims.systems.llm_serving.recovery import Recovery
from sims.systems.llm_serving.state import make_state
from sims.systems.llm_serving.timeline import sample
from sims.systems.llm_serving.watch import LOOKS, Watch

MOST_IN_FLIGHT = 1 << 20


def warm_up_s(*, horizon_s: float, residence_s: float) -> float:
    """The part that is cut: five mean stays of a request, at most a quarter of the run."""
    return min(horizon_s / 4, 5 * residence_s)


def simulate(
    config: Config,
    *,
    arrivals: Arrivals,
    seed: int = 1,
    warmup_s: float = 0.0,
    failures: Sequence[Failure] = (),
    control: Control | None = None,
    hooks: Hooks | None = None,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float = 3600.0,
    samples: int = SAMPLES,
    most_in_flight: int = MOST_IN_FLIGHT,
    check: Callable[[ServingPlane], None] | None = None,
) -> Outcome:
    """Run the system on ``arrivals``.

    Parameters
    ----------
    config : step-time coefficients, counts and limits.
    arrivals : requests; a finite source is followed until its last request is finished.
    seed : of all random streams.
    warmup_s : dropped from the measurements [s of simulated time].
    failures : units that are lost and come back; as those of ``control``, for short.
    control : what else happens to the units.
    hooks, clock, budget_s : who waits, by which clock, and how long at most [s of that clock].
    samples : points of the time line; how many there are does not change the rest.
    most_in_flight : request slots; more requests in the system end the run as ``full``.
    check : called at every sample with the plane, for tests.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    """
    plan = control or Control()
    plan = replace(plan, failures=(*plan.failures, *failures))
    plan.check(_counts(config))
    course = Course.of(arrivals, warmup_s=warmup_s)
    plane = ServingPlane(
        config,
        state=make_state(
            config,
            from_s=course.warmup_s,
            batch_s=course.batch_s,
            prefixes=arrivals.prefixes,
            loop=arrivals if isinstance(arrivals, ClosedLoop) else None,
        ),
        chunks=arrivals.chunks(seed),
        horizon_s=course.horizon_s,
        most_in_flight=most_in_flight,
        drafts=stream(seed, name="accepted drafts"),
    )
    env, recorder = simpy.Environment(), Recorder(lambda at_s: sample(plane.state, at_s=at_s))
    # Data-plane events of a moment come first, then these in the order of their start.
    env.process(recorder.window(env, course=course))
    operator = Operator(env, plane=plane, control=plan, counts=_counts(config), seed=seed)
    watch = Watch(plane, env, course.warmup_s, look_s=course.horizon_s / LOOKS)
    if plan.loses:
        env.process(watch.looking())
    operator.start(watch)
    env.process(operator.reads_usage(course.horizon_s))
    if course.finite:
        env.process(until_done(env, course=course, count=samples, look=recorder.drain, done=plane.is_done))
    ending = follow(
        plane,
        env=env,
        course=course,
        look=recorder.sample,
        samples=samples,
        check=check,
        hooks=hooks,
        clock=clock,
        budget_s=budget_s,
    )
    told = Told(watch.close(), tuple(operator.notes), operator.usage or operator.usage_now())
    return Outcome.of(plane.state, config=config, recorder=recorder, ending=ending, course=course, told=told)


def _counts(config: Config) -> dict[str, int]:
    return {"decode": config.decode_units, **({} if config.aggregated else {"prefill": config.prefill_units})}


@warms
def _warm() -> None:
    lengths = Lengths(input_tokens=8, output_tokens=4)
    for aggregated in (False, True):
        config = Config(
            aggregated=aggregated,
            prefill_units=0 if aggregated else 1,
            decode_units=1,
            step_s=0.01,
            step_s_per_sequence=1e-4,
            step_s_per_kv_token=1e-8,
            prefill_s_per_token=1e-4,
            prefill_budget_tokens=64,
            kv_capacity_tokens=1_000_000,
            recovery=Recovery(pool_holds="answers", pool_block_tokens=4),
        )
        roles = ("decode",) if aggregated else ("decode", "prefill")
        failures = [Failure(unit=0, at_s=0.5, rejoin_s=0.1, role=role) for role in roles]
        done = simulate(config, arrivals=Poisson(50.0, lengths, duration_s=1.0), failures=failures, samples=2)
        assert done.ending == COMPLETE  # noqa: S101 - a tiny run cannot end otherwise
