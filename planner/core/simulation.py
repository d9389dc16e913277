"""What a kind that simulates offers: a run over a workload with hooks, and the charts of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from planner.core.result import Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from planner.core.catalog import Catalog
    from planner.core.chart import Chart


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The prompts of a trace as chains of blocks: equal numbers are equal blocks behind equal prefixes.

    ``ids`` of all requests one after the other, numbered from 0 as they first occur; those of request i stand at
    ``offsets[i]`` to ``offsets[i + 1]``. A block has ``tokens`` tokens; the last of a prompt may hold fewer.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    tokens: int

    @property
    def distinct(self) -> int:
        return int(self.ids.max()) + 1 if len(self.ids) else 0


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Requests of a trace: sorted arrivals [s, from 0], input and output lengths [tokens].

    ``cached_tokens`` is the prefix found in a cache without limit, per request, where the trace tells (else None: the
    spec's hit rate applies), and ``blocks`` what the prompts share. ``adapters`` names the adapter of each request by
    number, counted from 0 as they first occur; -1 asks the base LLM without one. All arrays have the same length.
    Compared by identity, so that what follows from a trace can be kept beside it.
    """

    name: str
    arrival_s: NDArray[np.float64]
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    cached_tokens: NDArray[np.int64] | None = None
    blocks: Blocks | None = None
    adapters: NDArray[np.int64] | None = None
    source: str = ""

    @property
    def requests(self) -> int:
        return len(self.arrival_s)


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """How to run: one of ``workload`` (a trace) or Poisson arrivals at the spec's rate for ``duration_s``.

    ``requests`` caps the number of requests; ``options`` are the kind's own (see its simulator's ``options``).
    """

    seed: int = 1
    duration_s: float | None = None
    requests: int | None = None
    workload: Workload | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Cancelled(Exception):
    """The user asked the run to stop; raised between slices."""


class Hooks(Protocol):
    """How a run speaks to whoever waits for it; called between slices, at least every half second."""

    def progress(
        self, fraction: float, *, simulated_s: float, events: int, partial: Mapping[str, Any] | None = None
    ) -> None:
        """Tell how far the run is (0..1)."""

    def cancelled(self) -> bool:
        """Whether the run should stop now."""


@dataclass(frozen=True, slots=True)
class OptionDef:
    """One option of a simulator, as the form shows it: a number, a choice (``choices``) or a flag.

    ``choice_labels`` say the choices in words, in their order; without them they are shown as they are. Options of
    one ``group`` stand together under its name. ``only_with`` is another option and those of its values with which
    this one means anything, no values standing for whatever is set: ``("arrivals", ("diurnal",))``,
    ``("fail_at_s", ())``. A form shows it only then; a run ignores it otherwise.
    """

    name: str
    label: str
    default: Any
    unit: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False
    choice_labels: tuple[str, ...] = ()
    group: str = ""
    only_with: tuple[str, tuple[str, ...]] | None = None

    @property
    def labelled_choices(self) -> list[tuple[str, str]]:
        """The choices with the words for them."""
        return list(zip(self.choices, self.choice_labels or self.choices, strict=True))


class Trial(Protocol):
    """How a simulation runs in replications; `planner.core.replications` has the one of all kinds."""

    def part(self, spec: Any, catalog: Catalog, request: SimulationRequest, hooks: Hooks, *, place: int) -> bytes:
        """What the replication at ``place`` (from 0) shows; raises as `Simulator.run`."""

    def together(self, spec: Any, catalog: Catalog, request: SimulationRequest, *, parts: Sequence[bytes]) -> Result:
        """The result of the replications, in the order of their places; of one it is that of `Simulator.run`."""


@dataclass(frozen=True, slots=True)
class DrillVariant:
    """A design that a drill puts to the test: the one it starts from with ``changes`` of its spec (none: as it is)."""

    label: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drilled:
    """A variant after its run: its spec, the estimate of its load, and what was simulated."""

    label: str
    spec: Any
    estimate: Result
    simulated: Result


@dataclass(frozen=True, slots=True)
class Drill:
    """A question that only time answers, as a preset: the same event on variants of a design, side by side.

    ``how(spec, catalog)`` says how to run, the same for all variants, by the names of `SimulationRequest`: duration_s,
    requests, seed, options. ``variants(spec, catalog)`` are two to six designs, the one that is asked about first.
    ``answer(drilled)`` is the answer in a sentence or two, from the finished runs in the order of the variants; it may
    mark its claim with ``**bold**``.

    The surface shows three series of the results where they exist: see `planner.core.timeline`.
    """

    name: str
    label: str
    question: str
    how: Callable[[Any, Catalog], Mapping[str, Any]]
    variants: Callable[[Any, Catalog], Sequence[DrillVariant]]
    answer: Callable[[Sequence[Drilled]], str]


@dataclass(frozen=True, slots=True)
class Simulator:
    """``run(spec, catalog, request, hooks) -> Result``; raises `Cancelled`, or ValueError on bad options.

    ``expected(spec, catalog, request) -> Result`` is the estimate of this design at the load that the run brings (a
    trace has a rate and lengths of its own); without it the design's own estimate stands beside the result.

    ``charts(spec, estimate, simulated)`` draws the result beside the estimate. The metric names of the result
    that also exist in the estimate are the ones shown side by side.
    """

    run: Callable[[Any, Catalog, SimulationRequest, Hooks], Result]
    charts: Callable[[Any, Result, Result], Sequence[Chart]]
    expected: Callable[[Any, Catalog, SimulationRequest], Result] | None = None
    options: tuple[OptionDef, ...] = ()
    drills: tuple[Drill, ...] = ()
    default_duration_s: float = 600.0
    max_requests: int = 20_000_000
    warm: Callable[[], None] | None = None
    """Makes the first run of a process start at once (compiles or loads what it needs)."""
    trial: Trial | None = None
    """How it runs in replications; without it there is only ever one."""
