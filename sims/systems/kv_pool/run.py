"""One run from empty caches to an outcome, and several designs on the same stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from sims.engine.hooks import Hooks
from sims.engine.kernel import warms
from sims.engine.run import COMPLETE
from sims.parts.course import SAMPLES, Course, Process, Recorder, follow
from sims.parts.sessions import Prefixes, SessionClass, Sessions
from sims.systems.kv_pool.config import Config, Tier
from sims.systems.kv_pool.outcome import Outcome
from sims.systems.kv_pool.plane import PoolPlane
from sims.systems.kv_pool.source import TraceSource, source_of
from sims.systems.kv_pool.state import make_state
from sims.systems.kv_pool.timeline import sample

MOST_IN_FLIGHT = 1 << 20
MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, slots=True)
class Loss:
    """A node is lost at ``at_s`` with all it holds and comes back empty ``rejoin_s`` later."""

    node: int
    at_s: float
    rejoin_s: float


@dataclass(frozen=True, slots=True)
class Switch:
    """From ``at_s`` on, ``share`` of the turns are served by the new LLM version, whose KV has other keys.

    Attributes
    ----------
    by_request : draw the version for each request; else for each session, which then moves over once.
    quota : share of every cache for the new version, the rest for the old; None: whoever is used stays.
    purge : delete what the old version has left at that moment.
    """

    at_s: float
    share: float = 1.0
    by_request: bool = False
    quota: float | None = None
    purge: bool = False


def warm_up_s(config: Config, *, source: Sessions | TraceSource) -> float:
    """The part that is cut [s]: until the caches that can fill in the first half have filled twice, and one mean life.

    At most half of the run; the life of a session counts only as far as the source's lead does not cover it. A tier
    fills in its capacity over the new tokens' bytes a second. Nothing is cut from a trace: it is what it is.
    """
    if not isinstance(source, Sessions):
        return 0.0
    half_s = source.duration_s / 2
    new_bytes_per_s = source.new_tokens_per_s * config.kv_bytes_per_token
    fills_s = [
        2 * size * config.nodes / new_bytes_per_s if new_bytes_per_s > 0 else 0.0 for size in config.tier_bytes()
    ]
    settling_s = max(source.mean_life_s, 3 * source.mean_life_s - source.lead_s)
    return min(half_s, max([settling_s, *(one for one in fills_s if one <= half_s)]))


def simulate(
    config: Config,
    *,
    source: Sessions | TraceSource,
    seed: int = 1,
    warmup_s: float | None = None,
    losses: Sequence[Loss] = (),
    switches: Sequence[Switch] = (),
    hooks: Hooks | None = None,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float = 3600.0,
    samples: int = SAMPLES,
    most_in_flight: int = MOST_IN_FLIGHT,
    most_entries: int = MOST_ENTRIES,
    check: Callable[[PoolPlane], None] | None = None,
) -> Outcome:
    """Run the pool on a stream of requests.

    Parameters
    ----------
    config : nodes, tiers, links, prefill and policies.
    source : sessions for a time, or a trace that is followed until its last request is finished.
    seed : of all random streams; the stream of requests depends on nothing else.
    warmup_s : dropped from the measurements [s of simulated time]; None: by the rule of `warm_up_s`.
    losses : nodes that are lost and come back.
    switches : changes of the LLM's version, in order.
    hooks, clock, budget_s : who waits, by which clock, and how long at most [s of that clock].
    samples : points of the time line; how many there are does not change the rest.
    most_in_flight, most_entries : records of requests and of cached runs; needing more ends the run as ``full``.
    check : called at every sample with the plane, for tests.

    Raises
    ------
    Cancelled
        When the hooks ask for it.
    """
    stream = source_of(source)
    for loss in losses:
        if not 0 <= loss.node < config.nodes:
            raise ValueError(f"a loss names node {loss.node} of {config.nodes}")
    course = Course.of(stream, warmup_s=warm_up_s(config, source=source) if warmup_s is None else warmup_s)
    plane = PoolPlane(
        state=make_state(config, source=stream, from_s=course.warmup_s, batch_s=course.batch_s),
        chunks=stream.chunks(seed),
        horizon_s=course.horizon_s,
        most_in_flight=most_in_flight,
        most_entries=most_entries,
    )
    env, recorder = simpy.Environment(), Recorder(lambda at_s: sample(plane.state, at_s=at_s))
    # Data-plane events of a moment come first, then these in the order of their start.
    env.process(recorder.window(env, course=course))
    for loss in losses:
        env.process(_lose(env, plane=plane, loss=loss))
    env.process(_switch(env, plane=plane, switches=sorted(switches, key=lambda one: one.at_s)))
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
    return Outcome.of(
        plane.state,
        config=config,
        classes=[one.name for one in stream.kinds() if one is not None] or ["requests"],
        recorder=recorder,
        ending=ending,
        course=course,
    )


def side_by_side(
    configs: Mapping[str, Config], *, source: Sessions | TraceSource, seed: int = 1, **options: Any
) -> dict[str, Outcome]:
    """Several designs on exactly the same requests; ``options`` as of `simulate`."""
    return {name: simulate(config, source=source, seed=seed, **options) for name, config in configs.items()}


def _lose(env: simpy.Environment, *, plane: PoolPlane, loss: Loss) -> Process:
    yield env.timeout(loss.at_s)
    plane.lose(loss.node, now_s=env.now)
    yield env.timeout(loss.rejoin_s)
    plane.rejoin(loss.node, now_s=env.now)


def _switch(env: simpy.Environment, *, plane: PoolPlane, switches: Sequence[Switch]) -> Process:
    for one in switches:
        yield env.timeout(max(0.0, one.at_s - env.now))
        if one.purge:
            plane.purge_old()
        plane.switch(new_share=one.share, by_request=one.by_request, quota=one.quota, now_s=env.now)


@warms
def _warm() -> None:
    config = Config(
        nodes=2,
        kv_bytes_per_token=1.0,
        block_tokens=4,
        prefill_s_per_token=1e-3,
        hbm_bytes_per_node=400.0,
        dram=Tier(bytes_per_node=800.0, holds="dropped"),
    )
    few = SessionClass(name="few", user_tokens=30.0, answer_tokens=10.0, shared=True)
    source = Sessions(sessions_per_s=5.0, duration_s=2.0, classes=(few,), prefixes=Prefixes(groups=2, tokens=8))
    done = simulate(
        config,
        source=source,
        samples=2,
        losses=[Loss(node=0, at_s=0.5, rejoin_s=0.2)],
        switches=[Switch(at_s=1.0, purge=True)],
    )
    assert done.ending == COMPLETE  # noqa: S101 - a tiny run cannot end otherwise
