"""What a kind tells of decisions, beside its figures: all of it optional, and found in its folder as `planning.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.core.batch import Batch
    from planner.core.catalog import Catalog
    from planner.core.fleet import Fleet
    from planner.core.launch import Launcher
    from planner.core.ports import Ports
    from planner.core.result import Result
    from planner.core.search import Search


@dataclass(frozen=True, slots=True)
class Uncertain:
    """What a kind knows of how sure its inputs are.

    ``fields`` are guesses by nature, as demand is. ``own(spec)`` are rates of the machine that the spec states instead
    of a calibration, with the factor of their 80 % range: the ranges of the figures hold it already.
    """

    fields: tuple[str, ...] = ()
    own: Callable[[Any], Mapping[str, float]] = lambda _spec: {}


@dataclass(frozen=True, slots=True)
class Planning:
    """A surface shows what is there.

    ``fleet(spec, result, catalog)`` is what the design buys, in the words that all kinds share. ``batch(base, columns,
    catalog)`` is the figures of many specs at once: the base with the fields of ``columns`` replaced, a value a point;
    `planner.core.batch.one_by_one` does it for a kind that has none. ``search`` are the levers of the cheapest design
    that meets its objectives. ``uncertain`` says which inputs are guesses.
    ``launch`` is how a design is started: commands and manifests. ``ports`` are what it gives to other designs of a
    fleet plan, and takes from them.
    """

    fleet: Callable[[Any, Result, Catalog], Fleet] | None = None
    batch: Batch | None = None
    search: Search | None = None
    uncertain: Uncertain = Uncertain()
    launch: Launcher | None = None
    ports: Ports | None = None
