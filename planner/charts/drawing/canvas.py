"""SVG elements with the classes of components.css. Every text is escaped here; there is no other way in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Point = tuple[float, float]
DASHES = ("", "7 4", "2 4", "9 3 2 3", "12 4", "12 3 2 3 2 3")


def hue(order: int) -> str:
    """The colour class of an order of use; -1 is the neutral grey."""
    return "c0" if order < 0 else f"c{order % 6 + 1}"


def number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def points(path: Iterable[Point]) -> str:
    """A path from point to point, each written as `number` does: ``M0 1.5L3 4``."""
    written = "L".join([f"{x:.1f} {y:.1f}" for x, y in path]) + "L"
    for long, short in ((".0 ", " "), (".0L", "L"), ("-0 ", "0 "), ("-0L", "0L")):
        written = written.replace(long, short)
    return "M" + written.removesuffix("L")


def _look(kind: str, paint: str) -> str:
    return (f' class="{kind}"' if kind else "") + (f" {paint}" if paint else "")


class Canvas:
    """Collects elements of one picture."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> None:
        cls = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{cls}>{escape(text)}</text>')

    def path(self, d: str, kind: str, *, dash: str = "", paint: str = "") -> None:
        """``kind`` are classes of the sheet; ``paint`` are attributes for what the sheet does not know."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path{_look(kind, paint)}{dashes} d="{d}"/>')

    def dots(self, places: Iterable[Point], order: int) -> None:
        """Many points as one path of strokes without length, whose round ends are the dots."""
        written = dict.fromkeys(f"M{number(x)} {number(y)}h0" for x, y in places)
        self.path("".join(written), f"dots {hue(order)}")

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        *,
        radius: float = 0,
        title: str = "",
        paint: str = "",
    ) -> None:
        corner = f' rx="{number(radius)}"' if radius else ""
        inside = f"><title>{escape(title)}</title></rect>" if title else "/>"
        size = f'x="{number(x)}" y="{number(y)}" width="{number(max(width, 0.5))}" height="{number(height)}"'
        self.parts.append(f"<rect{_look(kind, paint)} {size}{corner}{inside}")

    def link(self, address: str, *, label: str) -> None:
        """Make what was drawn last a link."""
        said = escape(label)
        self.parts[-1] = f'<a href="{escape(address)}" aria-label="{said}"><title>{said}</title>{self.parts[-1]}</a>'

    def marker(self, x: float, y: float, order: int, *, size: float = 5.5, kind: str = "pt", title: str = "") -> None:
        cls = f"{kind} {hue(order)}"
        inside = f"><title>{escape(title)}</title>" if title else ""
        shape = max(order, 0) % 6
        if shape == 0:
            start, close = f'<circle class="{cls}" cx="{number(x)}" cy="{number(y)}" r="{number(size)}"', "</circle>"
        else:
            start, close = f'<path class="{cls}" d="{points(_outline(shape, x, y, size))}Z"', "</path>"
        self.parts.append(start + (inside + close if inside else "/>"))

    def svg(self, *, label: str, kind: str, role: str = "img") -> str:
        # No xmlns: inline in HTML it says nothing; a file of its own gets it from `planner.charts.paper`.
        said = f'role="{role}" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
        box = f"0 0 {number(self.width)} {number(self.height)}"
        return f'<svg class="{kind}" viewBox="{box}" {said}>{"".join(self.parts)}</svg>'


def _outline(shape: int, x: float, y: float, size: float) -> Sequence[Point]:
    if shape == 1:
        half = size * 0.9
        return [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
    if shape == 2:
        half = size * 1.25
        return [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
    if shape == 3:
        half = size * 1.15
        return [(x, y - half), (x + half, y + half * 0.85), (x - half, y + half * 0.85)]
    arm, thick = size * 1.2, size * 0.45
    if shape == 4:
        corners = [(thick, arm), (thick, thick), (arm, thick)]
    else:
        corners = [(thick * 1.42, 0), (arm, arm - thick * 1.42), (arm - thick * 1.42, arm)]
        quarter = [(thick * 1.42, 0.0), (arm, arm - thick * 1.42), (arm - thick * 1.42, arm), (0.0, thick * 1.42)]
        return [(x + px, y + py) for px, py in _turned(quarter)]
    right_top = [(x + px, y - py) for px, py in corners]
    right_low = [(x + px, y + py) for px, py in reversed(corners)]
    left_low = [(x - px, y + py) for px, py in corners]
    left_top = [(x - px, y - py) for px, py in reversed(corners)]
    return [*right_top, *right_low, *left_low, *left_top]


def _turned(quarter: Sequence[Point]) -> list[Point]:
    """A quarter of an outline turned about the centre four times."""
    outline: list[Point] = []
    turned = list(quarter)
    for _ in range(4):
        outline.extend(turned)
        turned = [(-py, px) for px, py in turned]
    return outline
