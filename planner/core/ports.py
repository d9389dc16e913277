"""What one design gives to another in a fleet plan: a rate, hits, a surge. A kind says what it gives and takes.

Kinds do not know each other; they meet in the names below, each a quantity of the field with one meaning and one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.result import Result
from planner.core.text import gettext_noop as _


@dataclass(frozen=True, slots=True)
class Port:
    """A quantity that joins designs."""

    label: str
    unit: str
    help: str


PORTS: Mapping[str, Port] = {
    "request_rate": Port(_("Requests"), "req/s", _("What the one sends on at its peak is the peak of the other.")),
    "prefix_hit_rate": Port(
        _("Prefix hit rate"), "ratio", _("Share of the input tokens that the one finds and the other need not compute.")
    ),
    "surge": Port(
        _("Surge after a failure"),
        "ratio",
        _("Work beyond the peak after a loss the one sees: the other keeps at least this headroom."),
    ),
}
NIGHTS = "nights"
"""The join by which units that the one does not need at night work for the other."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A port a kind gives. ``absorbed`` are pools of its fleet that are the taker's own machines: not bought twice."""

    port: str
    value: Callable[[Any, Result], float | None]
    absorbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Take:
    """A port a kind takes: ``change(spec, value)`` are the inputs it sets; none where the value changes nothing."""

    port: str
    change: Callable[[Any, float], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Ports:
    offers: tuple[Offer, ...] = ()
    takes: tuple[Take, ...] = ()
    lends: bool = False
    """Whether it has units that follow its demand and can do other work at night."""
    borrows: bool = False
    """Whether a pool of its fleet can run by the hour on such units (`Pool.borrows`)."""

    def offer(self, port: str) -> Offer | None:
        return next((offer for offer in self.offers if offer.port == port), None)

    def take(self, port: str) -> Take | None:
        return next((take for take in self.takes if take.port == port), None)
