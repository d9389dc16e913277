"""Memory of one rank as named terms, each with its range, and what a start-up log settles of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A size with the range it is expected in [bytes]."""

    typical: float
    low: float
    high: float

    @classmethod
    def exact(cls, size: float) -> Spread:
        return cls(size, size, size)

    @classmethod
    def within(cls, size: float, *, down: float, up: float) -> Spread:
        """A size known within shares of itself."""
        return cls(size, size * (1.0 - down), size * (1.0 + up))

    def plus(self, more: Spread) -> Spread:
        return Spread(self.typical + more.typical, self.low + more.low, self.high + more.high)

    def kept(self, share: float) -> Spread:
        """The same size with its range narrowed to a share: only that much of an error reaches the pool."""
        return Spread(
            self.typical,
            self.typical - share * (self.typical - self.low),
            self.typical + share * (self.high - self.typical),
        )


NOTHING = Spread.exact(0.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a start-up log settles [bytes]; None where it does not say.

    ``context`` replaces the model's own figure; ``rest_shift`` is how much smaller the pool was than the model makes
    it, when only the sum of the other terms is known. ``rounding`` is how far that sum may be off because the log
    prints few digits.
    """

    context: float | None = None
    graph: float | None = None
    rest_shift: float | None = None
    rounding: float = 0.0


@dataclass(frozen=True, slots=True)
class Rank:
    """What the rules ask about one rank: its share of the LLM and the sizes it was started with."""

    visible: Spread
    weights: Spread
    activation: Spread
    extra_bytes: float
    """Adapter slots."""
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    graph_capture: bool
    gpu_class: str = "nvlink"
    """How the GPUs talk: nvlink, pcie or rocm."""
    draft_bytes: float = 0.0
    """Weights of a draft layer; engines differ on whether they are loaded before or after the pool is cut."""
    unexplained: float = 0.0
    """How far the pool may be off for reasons that no term has [bytes]."""
    dispatch: Spread = NOTHING
    """Buffers of an all-to-all library between experts."""
    measured: Measured | None = None

    @property
    def ranks(self) -> int:
        return self.tensor_parallel * self.data_parallel


@dataclass(frozen=True, slots=True)
class Terms:
    """Memory of one rank [bytes]; whole numbers, so that sums are exact.

    ``kv_room`` is negative when the rest does not leave room. ``outside`` is what the engine takes beyond its budget.
    ``spreads`` are the ranges of the terms; ``pool_low`` and ``pool_high`` put them together as independent ones.
    """

    budget: float
    weights: float
    activation: float
    graph: float
    context: float
    other: float
    outside: float
    memory_fraction: float
    spreads: Mapping[str, Spread]
    pool_down: float
    pool_up: float

    @property
    def kv_room(self) -> float:
        return self.budget - self.weights - self.activation - self.graph - self.context - self.other

    @property
    def pool_low(self) -> float:
        return self.kv_room - self.pool_down

    @property
    def pool_high(self) -> float:
        return self.kv_room + self.pool_up


def settled(rank: Rank, *, context: Spread, graph: Spread, pool_share: float = 1.0) -> tuple[Spread, Spread, Spread]:
    """Activation, context and graphs of a rank, as a start-up log corrects them if there is one.

    A known sum of the three goes to the context, which the model knows least; what it cannot take (nothing is below
    zero) comes off the activations. ``pool_share`` is what the pool gets of a byte they leave.
    """
    measured, activation = rank.measured, rank.activation
    if measured is None:
        return activation, context, graph
    if measured.context is not None:
        context = Spread.exact(measured.context)
    if measured.graph is not None and graph.high > 0:
        graph = Spread.exact(measured.graph)
    if measured.rest_shift is None:
        return activation, context, graph
    wanted = context.typical + measured.rest_shift / pool_share
    size = max(wanted, 0.0)
    peak = max(activation.typical + min(wanted, 0.0), 0.0)
    known = Spread(size, size - measured.rounding, size + measured.rounding)
    return Spread.exact(peak), known, Spread.exact(graph.typical)


def assemble(
    rank: Rank,
    taken: tuple[Spread, Spread, Spread],
    *,
    budget: float,
    other: float,
    outside: float,
    memory_fraction: float,
    visible_share: float,
    pool_share: float = 1.0,
) -> Terms:
    """The terms of a rank in whole bytes.

    Parameters
    ----------
    rank : what the rank holds
    taken : activation, context and graphs
    budget : what the engine divides [bytes]
    other : what is left aside, adapters and draft included [bytes]
    outside : what it takes beyond the budget [bytes]
    memory_fraction : the fraction that was applied [1]
    visible_share : of an error in the visible memory, what reaches the pool [1]
    pool_share : of a byte that the other terms leave, what the pool gets [1]

    Notes
    -----
    ``KV = budget − Σ terms``; its range adds the ranges of the terms as independent errors, ``√(Σ d²)``.

    References
    ----------
    JCGM 100:2008, "Guide to the expression of uncertainty in measurement", section 5.1.2 (equation 10).
    """
    activation, context, graph = taken
    spreads = {"weights": rank.weights, "activation": activation, "graph": graph, "context": context}
    visible, more = rank.visible.kept(visible_share), rank.unexplained
    down = (*(spread.high - spread.typical for spread in spreads.values()), visible.typical - visible.low, more)
    up = (*(spread.typical - spread.low for spread in spreads.values()), visible.high - visible.typical, more)
    return Terms(
        budget=float(round(budget)),
        weights=float(round(rank.weights.typical)),
        activation=float(round(activation.typical)),
        graph=float(round(graph.typical)),
        context=float(round(context.typical)),
        other=float(round(other)),
        outside=float(round(outside)),
        memory_fraction=memory_fraction,
        spreads=spreads,
        pool_down=pool_share * math.hypot(*down),
        pool_up=pool_share * math.hypot(*up),
    )
