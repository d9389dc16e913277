"""One run from an empty system to an outcome, and several policies on the same stream."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import simpy

from sims.engine.hooks import Hooks
from sims.engine.kernel import warms
from sims.engine.run import COMPLETE
from sims.parts.conversations import Conversations, Source
from sims.parts.course import SAMPLES, Course, follow
from sims.systems.gateway.config import Config, Health
from sims.systems.gateway.control import CanaryStep, Failure, Prober, failing, growing
from sims.systems.gateway.outcome import Outcome
from sims.systems.gateway.plane import GatewayPlane
from sims.systems.gateway.state import make_state
from sims.systems.gateway.timeline import Recorder

MOST_IN_FLIGHT = 1 << 21


def simulate(
    config: Config,
    *,
    source: Source,
    seed: int = 1,
    warmup_s: float = 0.0,
    failures: Sequence[Failure] = (),
    canary: Sequence[CanaryStep] = (),
    hooks: Hooks | None = None,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float = 3600.0,
    samples: int = SAMPLES,
    most_in_flight: int = MOST_IN_FLIGHT,
    log: int = 0,
    check: Callable[[GatewayPlane], None] | None = None,
) -> Outcome:
    """Run the gateway on a source of requests; caches start empty.

    Parameters
    ----------
    config : the fleet, its routers and their policy.
    source : `Conversations`, a `Replay`, or any other `Source`; a finite one is followed until all are done.
    seed : of all random streams; the same seed brings the same requests to every policy.
    warmup_s : dropped from the measurements [s of simulated time].
    failures : instances that are lost, and when they come back.
    canary : steps of a release of version B.
    hooks, clock, budget_s : who waits, by which clock, and how long at most [s of that clock].
    samples : points of the time line; how many there are does not change the rest.
    most_in_flight : request slots; more requests in the system end the run as ``full``.
    log : how many look-ups to write down, for tests.
    check : called at every sample with the plane, for tests.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    """
    course = Course.of(source, warmup_s=warmup_s)
    state = make_state(
        config,
        stems=source.stems(seed, block_tokens=config.block_tokens),
        sessions=source.sessions,
        from_s=course.warmup_s,
        batch_s=course.batch_s,
        seed=seed,
        log=log,
    )
    chunks = source.chunks(seed, block_tokens=config.block_tokens)
    plane = GatewayPlane(state, chunks=chunks, horizon_s=course.horizon_s, most_in_flight=most_in_flight)
    env, recorder = simpy.Environment(), Recorder(plane)
    # Data-plane events of a moment come first, then these in the order of their start.
    start_control(env, plane=plane, config=config, failures=failures, canary=canary, seed=seed)
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
    timeline = recorder.timeline(config.instances)
    return Outcome.of(plane.state, config=config, timeline=timeline, ending=ending, course=course)


def start_control(
    env: simpy.Environment,
    *,
    plane: GatewayPlane,
    config: Config,
    failures: Sequence[Failure],
    canary: Sequence[CanaryStep],
    seed: int,
) -> None:
    """Start the processes of the control plane; probes only where there is something to find."""
    for failure in failures:
        if not 0 <= failure.instance < config.instances:
            raise ValueError(f"a failure names instance {failure.instance} of {config.instances}")
        env.process(failing(env, plane=plane, failure=failure))
    for step in canary:
        if not (0 <= step.weight <= 1 and 0 <= step.instances <= config.instances):
            raise ValueError(f"a canary step gives {step.weight:g} of the requests to {step.instances} instances")
    if canary:
        env.process(growing(env, plane=plane, steps=tuple(canary)))
    health = config.health
    if health.probe_interval_s > 0 and (failures or health.probe_false_rate > 0 or math.isfinite(health.probe_busy_s)):
        Prober(plane, health=health, instances=config.instances, seed=seed).start(env)


def compare(config: Config, *, policies: Iterable[str], source: Source, **options: Any) -> dict[str, Outcome]:
    """The same requests through each policy in turn (common random numbers); ``options`` as for `simulate`."""
    return {policy: simulate(replace(config, policy=policy), source=source, **options) for policy in policies}


@warms
def _warm() -> None:
    health = Health(probe_interval_s=0.05)
    config = Config(instances=2, prefill_s_per_token=1e-5, token_s=0.01, slots=4, cache_blocks=100, health=health)
    source = Conversations(50.0, duration_s=1.0, groups=2, live_sessions=4)
    failures, canary = [Failure(0, at_s=0.2, rejoin_s=0.4)], [CanaryStep(0.9, weight=0.5, instances=1)]
    found = simulate(config, source=source, failures=failures, canary=canary, samples=2)
    assert found.ending == COMPLETE  # noqa: S101 - a tiny run cannot end otherwise
