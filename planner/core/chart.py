"""A neutral figure: data, axes, units. Plotly (page), SVG (report, cards) and a table (twin) draw it.

It names no colour and no library: series carry their order of use, adapters know the palette.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from planner.core.result import Series

Form = Literal["line", "step", "bars", "stacked", "scatter", "cdf", "heat", "gantt"]
Value = float | str | None


@dataclass(frozen=True, slots=True)
class Axis:
    """``unit`` is the unit of the data (a base unit); adapters show it in ``shown`` units if given."""

    label: str
    unit: str = ""
    shown: str = ""
    log: bool = False
    start_at_zero: bool = True


@dataclass(frozen=True, slots=True)
class Trace:
    """One series of a chart.

    ``x`` are abscissae (numbers, or categories for bars), ``y`` ordinates, ``low``/``high`` an 80 % band.
    For ``bars`` (drawn horizontally) x are the categories and y the lengths; for ``stacked`` each trace is a
    segment. ``idle`` draws a tint (bought but not used). ``marker_only`` draws points without a line.
    ``order`` is the colour index 0..5 (-1: neutral grey).

    Bars whose ``y`` is all None run from ``low`` to ``high`` (a tornado; the chart's first mark is the answer, its x
    the figure). Bars of categories that no two traces share only take their trace's colour. A ``scatter`` draws
    points, and its neutral trace (order -1) as the stepped line of the front.

    In a ``heat`` map each trace is a row, ``x`` are its columns and ``y`` the figures that colour its cells; the y axis
    says what they are.

    In a ``gantt`` chart each trace is an activity: ``x`` names who does it (the row of each stretch), ``low`` and
    ``high`` say from when to when on the x axis, and ``y`` is all None.

    ``labels`` name the points, one each, for who points at them; with ``places`` each point is a link, to the chart's
    ``opens`` and its place. A ``guide`` is a straight line, with its band, to read the points by: it is no data, so
    neither legend nor table holds it. In a ``scatter``, ``idle`` points are pale.
    """

    name: str
    x: Sequence[Value]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    order: int = 0
    idle: bool = False
    marker_only: bool = False
    labels: Sequence[str] | None = None
    guide: bool = False
    places: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A dotted line with its label: an objective (``axis`` y) or a need (``axis`` x).

    ``closed`` shades the side of it that misses it.
    """

    value: float
    label: str
    axis: Literal["x", "y"] = "y"
    closed: Literal["", "above", "below"] = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """The dot at the design itself: ``hollow`` where it is none of the points.

    Of one that is, a ``ring``, a ring that is ``struck`` through, or a name.
    """

    x: float
    y: float
    label: str
    order: int = 0
    look: Literal["dot", "hollow", "ring", "struck", "name"] = "dot"


@dataclass(frozen=True, slots=True)
class Chart:
    """``name`` is unique within a page and names the CSV; ``title`` asks, ``subtitle`` reads.

    ``summary`` is what a screen reader says of the picture.
    """

    name: str
    title: str
    subtitle: str
    form: Form
    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    limits: tuple[Limit, ...] = ()
    marks: tuple[Mark, ...] = ()
    summary: str = ""
    compare: bool = False
    """Whether a comparison overlays this chart for all its designs."""
    opens: str = ""
    """What the address of a point starts with; "" where points open nothing."""
    twin: Series | None = None
    """The table beside the picture, where its traces joined over x would not be one."""
