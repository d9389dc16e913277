"""Plain types of the catalog, and the protocol estimators read it through.

Every world figure is a `Figure`: a value with unit, source and date. A missing figure raises `MissingFigure`;
it is never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from planner.core.latency import KernelTimes, Ranks
from planner.core.llm import CompressedKv, Indexer, LinearAttention, Llm, Mla, Moe, SlidingWindow

if TYPE_CHECKING:
    from planner.core.launch import Program
    from planner.core.simulation import Workload

__all__ = [
    "ApiPrice",
    "Catalog",
    "CompressedKv",
    "Currency",
    "Engine",
    "Figure",
    "Gpu",
    "Indexer",
    "LinearAttention",
    "Link",
    "Llm",
    "MissingFigure",
    "Mla",
    "Moe",
    "Price",
    "SlidingWindow",
    "UnknownEntry",
]


class UnknownEntry(LookupError):
    """No catalog entry has this slug or alias."""

    def __init__(self, *, table: str, slug: str, nearest: Sequence[str] = ()) -> None:
        hint = f"; did you mean {', '.join(nearest)}?" if nearest else ""
        super().__init__(f"no entry “{slug}” in the catalog table {table}{hint}")
        self.table, self.slug, self.nearest = table, slug, tuple(nearest)


class MissingFigure(LookupError):
    """The entry exists, but nobody has published this figure of it."""

    def __init__(self, *, table: str, slug: str, figure: str) -> None:
        super().__init__(f"the catalog has no figure “{figure}” for {slug} ({table})")
        self.table, self.slug, self.figure = table, slug, figure


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure about the world. ``source`` starting with ``estimate:`` marks a guess, shown as such."""

    value: float
    unit: str
    source: str
    as_of: str = ""
    note: str = ""

    @property
    def is_estimate(self) -> bool:
        return self.source.startswith("estimate:")


@dataclass(frozen=True, slots=True)
class Gpu:
    """An accelerator. ``figures`` keys (base units):

    memory_bytes (marketed), visible_memory_bytes (what the runtime reports), memory_bytes_per_s,
    bf16_flops_per_s, fp8_flops_per_s, fp4_flops_per_s, int8_ops_per_s (dense), scaleup_bytes_per_s (one
    direction), scaleup_gpus (GPUs in the scale-up domain), nic_bytes_per_s (per GPU), pcie_bytes_per_s, tdp_w.
    """

    slug: str
    name: str
    vendor: str
    architecture: str
    figures: Mapping[str, Figure]
    aliases: tuple[str, ...] = ()
    notes: str = ""

    def figure(self, name: str) -> float:
        """The value of a figure; raises `MissingFigure`."""
        try:
            return self.figures[name].value
        except KeyError:
            raise MissingFigure(table="gpus", slug=self.slug, figure=name) from None

    def has(self, name: str) -> bool:
        return name in self.figures


@dataclass(frozen=True, slots=True)
class Price:
    """Rental price of one GPU-hour."""

    slug: str
    gpu: str
    usd_per_h: float
    provider: str
    commitment: str
    source: str
    as_of: str = ""
    market: str = ""
    """Who offers it: neocloud, hyperscaler, rental, quoted (somebody's assumption) or team."""
    region: str = ""
    """Where it holds; "" for everywhere the provider sells."""
    currency: str = "USD"
    per_h: float | None = None
    """As listed, in its own currency; ``usd_per_h`` is what that was worth at ``as_of``."""
    valid_from: str = ""


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """What a provider asks for a million tokens of an LLM, in US dollars. ``llm`` is a slug, "" for one not here."""

    slug: str
    name: str
    provider: str
    llm: str
    terms: str
    input_usd_per_m: float
    cached_input_usd_per_m: float
    output_usd_per_m: float
    currency: str
    source: str
    as_of: str
    valid_from: str


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency; ``rates`` say what one unit was worth in US dollars, oldest first."""

    slug: str
    name: str
    code: str
    rates: tuple[Figure, ...]

    def rate(self, at: str = "") -> Figure:
        """The newest rate not after a date; the oldest where none is as old, the newest without a date."""
        known = [rate for rate in self.rates if not at or rate.as_of <= at]
        return known[-1] if known else self.rates[0]


@dataclass(frozen=True, slots=True)
class Link:
    """An interconnect: one-direction bandwidth a port and latency."""

    slug: str
    name: str
    scope: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Engine:
    """An inference engine: its defaults and conventions by version (``settings`` is what the file says)."""

    slug: str
    name: str
    settings: Mapping[str, Any]
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows measured by others, read once: ``columns`` by name, all of one length; ``meta`` says how they are used."""

    columns: Mapping[str, Sequence[str]]
    meta: Mapping[str, Any]


class Catalog(Protocol):
    """What an estimator may ask. Lookups accept slugs and aliases and raise `UnknownEntry`."""

    def __hash__(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def as_of(self) -> str: ...
    def gpu(self, slug: str) -> Gpu: ...
    def llm(self, slug: str) -> Llm: ...
    def engine(self, slug: str) -> Engine: ...
    def link(self, slug: str) -> Link: ...
    def price(self, gpu: str) -> Price | None:
        """The price to assume for a GPU: the median on-demand neocloud price, or None."""
        ...

    def gpus(self) -> Sequence[Gpu]: ...
    def llms(self) -> Sequence[Llm]: ...
    def engines(self) -> Sequence[Engine]: ...
    def links(self) -> Sequence[Link]: ...
    def prices(self) -> Sequence[Price]: ...
    def api_prices(self) -> Sequence[ApiPrice]: ...
    def api_price(self, slug: str) -> ApiPrice: ...
    def currency(self, code: str) -> Currency:
        """A currency by its ISO letters; the dollar too."""
        ...

    def calibration(self, name: str) -> Mapping[str, Any]:
        """A table of fitted coefficients (``calibrations/<name>.toml``)."""
        ...

    def table(self, name: str) -> Table:
        """Measured rows (``calibrations/<name>.csv``) and how they are used; the same object at every call."""
        ...

    def program(self, slug: str) -> Program:
        """A program that runs designs, with its documented options."""
        ...

    @property
    def kernel_package(self) -> str | None:
        """The installed package of measured kernels with its version; None: there is none."""
        ...

    def workload(self, name: str) -> Workload:
        """The requests of a trace; the same object at every call. Raises `UnknownEntry` for a profile too."""
        ...

    def kernel_times(
        self, llm: Llm, gpu: Gpu, *, engine: str, ranks: Ranks, weight_dtype: str, kv_dtype: str
    ) -> KernelTimes:
        """Measured kernels for a replica; raises `KernelsUnavailable` with the reason when there are none."""
        ...
