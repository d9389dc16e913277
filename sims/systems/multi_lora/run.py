"""One run from an empty system to an outcome, and several policies on the same requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from sims.engine.hooks import Hooks
from sims.engine.kernel import warms
from sims.engine.run import COMPLETE
from sims.parts.adapter_requests import AdapterRequests
from sims.parts.arrivals import Lengths, Poisson
from sims.parts.course import SAMPLES, Course, follow
from sims.parts.course import Recorder as Window
from sims.parts.popularity import Popularity
from sims.systems.multi_lora.config import Config, Tenants
from sims.systems.multi_lora.control import Failure, failing, placing
from sims.systems.multi_lora.outcome import Outcome
from sims.systems.multi_lora.plane import LoraPlane
from sims.systems.multi_lora.state import make_state
from sims.systems.multi_lora.timeline import Recorder, Sample, sample

MOST_IN_FLIGHT = 1 << 20


def simulate(
    config: Config,
    *,
    source: AdapterRequests,
    tenants: Tenants | None = None,
    sizes_bytes: NDArray[np.float64] | None = None,
    seed: int = 1,
    warmup_s: float = 0.0,
    failures: Sequence[Failure] = (),
    hooks: Hooks | None = None,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float = 3600.0,
    samples: int = SAMPLES,
    most_in_flight: int = MOST_IN_FLIGHT,
    log: int = 0,
    check: Callable[[LoraPlane], None] | None = None,
) -> Outcome:
    """Run the fleet on a source of requests.

    Parameters
    ----------
    config : the fleet, its steps and its policies.
    source : requests that name adapters; a finite one is followed until its last request is finished.
    tenants : whose adapters they are, with weights and limits; None: each adapter has a tenant of its own.
    sizes_bytes : what a copy of each adapter moves [bytes]; None: ``adapter_bytes`` for all.
    seed : of all random streams; the same seed brings the same requests to every policy.
    warmup_s : dropped from the measurements [s of simulated time].
    failures : replicas that are lost, and when they come back.
    hooks, clock, budget_s : who waits, by which clock, and how long at most [s of that clock].
    samples : points of the time line; how many there are does not change the rest.
    most_in_flight : request slots; more requests in the system end the run as ``full``.
    log : how many finished requests to write down, for tests.
    check : called at every sample with the plane, for tests.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    """
    course = Course.of(source, warmup_s=warmup_s)
    state = make_state(
        config,
        tenants=_tenants(config, tenants),
        sizes=np.full(config.adapters, config.adapter_bytes) if sizes_bytes is None else sizes_bytes,
        shares=source.shares(config.adapters),
        from_s=course.warmup_s,
        batch_s=course.batch_s,
        seed=seed,
        log=log,
    )
    plane = LoraPlane(
        config,
        state=state,
        chunks=source.chunks(seed),
        horizon_s=course.horizon_s,
        most_in_flight=most_in_flight,
        seed=seed,
    )
    env, recorder = simpy.Environment(), Recorder()
    window: Window[Sample] = Window(lambda at_s: sample(plane, at_s))
    # Data-plane events of a moment come first, then these in the order of their start.
    env.process(window.window(env, course=course))
    start_control(env, plane=plane, config=config, failures=failures)
    ending = follow(
        plane,
        env=env,
        course=course,
        look=lambda at_s: recorder.keep(sample(plane, at_s)),
        samples=samples,
        check=check,
        hooks=hooks,
        clock=clock,
        budget_s=budget_s,
    )
    return Outcome.of(
        plane.state,
        config=config,
        timeline=recorder.timeline(config.replicas),
        window=window,
        final=sample(plane, max(float(env.now), plane.simulated_s())),
        ending=ending,
        course=course,
    )


def _tenants(config: Config, tenants: Tenants | None) -> Tenants:
    found = tenants or Tenants.evenly(config.adapters, tenants=config.adapters)
    if len(found.of_adapter) != config.adapters:
        raise ValueError(f"tenants name {len(found.of_adapter)} adapters, the fleet has {config.adapters}")
    return found


def start_control(env: simpy.Environment, *, plane: LoraPlane, config: Config, failures: Sequence[Failure]) -> None:
    """Start the processes of the control plane."""
    for failure in failures:
        if not 0 <= failure.replica < config.replicas:
            raise ValueError(f"a failure names replica {failure.replica} of {config.replicas}")
        env.process(failing(env, plane=plane, failure=failure))
    if config.replace_every_s > 0 and config.policy == "load_aware":
        env.process(placing(env, plane=plane, every_s=config.replace_every_s))


def compare(config: Config, *, policies: Iterable[str], source: AdapterRequests, **options: Any) -> dict[str, Outcome]:
    """The same requests through each routing policy in turn; ``options`` as for `simulate`."""
    return {policy: simulate(replace(config, policy=policy), source=source, **options) for policy in policies}


@warms
def _warm() -> None:
    config = Config(
        replicas=2,
        adapters=4,
        slots=2,
        host_adapters=3,
        step_s=0.01,
        step_s_per_sequence=1e-4,
        step_s_per_kv_token=1e-8,
        prefill_s_per_token=1e-5,
        kv_capacity_tokens=100_000,
    )
    lengths = Lengths(input_tokens=8, output_tokens=4)
    source = AdapterRequests(Poisson(50.0, lengths, duration_s=1.0), Popularity.zipf(4, exponent=1.0))
    done = simulate(config, source=source, failures=[Failure(replica=0, at_s=0.5, rejoin_s=0.1)], samples=2)
    assert done.ending == COMPLETE  # noqa: S101 - a tiny run cannot end otherwise
