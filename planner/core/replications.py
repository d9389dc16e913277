"""Runs of one simulation with seeds of their own, and the one result of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.core.catalog import Catalog
from planner.core.result import Answer, Result
from planner.core.simulation import Hooks, SimulationRequest

MOST_REPLICATIONS = 64


@dataclass(frozen=True, slots=True)
class Repeated:
    """How a kind runs once, and what it concludes from one run or from several put together.

    ``observe(spec, catalog, request, hooks)`` gives what a run has shown by name, the design's own first; nothing
    where there is nothing to run. ``conclude(spec, catalog, request, observed)`` makes the result of it. ``outcome``
    names the class of what is observed. Both raise what `Simulator.run` raises.
    """

    observe: Callable[[Any, Catalog, SimulationRequest, Hooks], Mapping[str, Any]]
    conclude: Callable[[Any, Catalog, SimulationRequest, Mapping[str, Any]], Result]
    outcome: Callable[[], type]

    def run(self, spec: Any, catalog: Catalog, request: SimulationRequest, hooks: Hooks) -> Result:
        """Once, with the seed of the request."""
        return self.conclude(spec, catalog, request, self.observe(spec, catalog, request, hooks))

    def part(self, spec: Any, catalog: Catalog, request: SimulationRequest, hooks: Hooks, *, place: int) -> bytes:
        """What the replication at ``place`` (from 0) shows, as bytes for `together`."""
        from sims.engine.packing import pack

        return pack(self.observe(spec, catalog, seeded(request, place=place), hooks))

    def together(self, spec: Any, catalog: Catalog, request: SimulationRequest, *, parts: Sequence[bytes]) -> Result:
        """The result of all replications, in the order of their places; of one it is that of `run`."""
        from sims.engine.merge import merged
        from sims.engine.packing import unpack

        observed: list[dict[str, Any]] = [unpack(part, of=self.outcome()) for part in parts]
        whole = {name: merged([each[name] for each in observed]) for name in observed[0]}
        found = self.conclude(spec, catalog, request, whole)
        return _described(found, seeds=seeds(request.seed, count=len(parts))) if len(parts) > 1 else found


def seeds(seed: int, *, count: int) -> list[int]:
    """The seeds of all replications: they depend on the seed alone, so designs meet the same requests in each."""
    from sims.engine.streams import replication_seed

    return [replication_seed(seed, place=place) for place in range(count)]


def seeded(request: SimulationRequest, *, place: int) -> SimulationRequest:
    """The request of one replication."""
    return replace(request, seed=seeds(request.seed, count=place + 1)[place])


def _described(found: Result, *, seeds: Sequence[int]) -> Result:
    """With how it was made in the answer's note and the provenance."""
    note = f"{len(seeds)} replications, all counts together. {found.answer.note}"
    answer: Answer = replace(found.answer, note=note)
    made = {
        "replications": len(seeds),
        "seeds": [str(seed) for seed in seeds],
        "interval": f"95 %, {len(seeds)} replications",
    }
    return replace(found, answer=answer, provenance={**found.provenance, **made})
