"""What every simulator asks of a run before it starts: options it knows, a length it can have, moments inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.simulation import OptionDef, SimulationRequest

_LONGEST_S = 1e9


def read_options(given: Mapping[str, Any], *, known: Sequence[OptionDef]) -> dict[str, Any]:
    """The options that were set, checked; raises ValueError that names the option."""
    by_name = {option.name: option for option in known}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in by_name:
            raise ValueError(f"options.{name}: there is no such option; there are {', '.join(by_name)}")
        if value not in (None, ""):
            option = by_name[name]
            values[name] = _value(option, value)
    return values


def _value(option: OptionDef, value: Any) -> Any:
    if option.choices:
        return _chosen(option, value)
    return _text(option, value) if isinstance(option.default, str) else _number(option, value)


def _text(option: OptionDef, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"options.{option.name}: must be a text, is {value!r}")
    return value


def _chosen(option: OptionDef, value: Any) -> str:
    if value not in option.choices:
        raise ValueError(f"options.{option.name}: must be one of {', '.join(option.choices)}, is {value!r}")
    return str(value)


def _number(option: OptionDef, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    low, high = option.minimum or 0.0, option.maximum or float("inf")
    if isinstance(value, bool) or not low <= number <= high:
        raise ValueError(f"options.{option.name}: must be a number from {low:g} to {high:g}, is {value!r}")
    return number


def check_seed(request: SimulationRequest) -> None:
    """Refuse a seed that the random streams cannot take; raises ValueError."""
    if not 0 <= request.seed < 1 << 63:
        raise ValueError(f"seed: must be from 0 to 2^63 − 1, is {request.seed}")


def check_length(request: SimulationRequest, *, most_requests: int, rate_rps: float | None, usual_s: float) -> None:
    """Refuse a run that is impossible or far too long; raises ValueError that names what.

    ``rate_rps`` is the rate of drawn arrivals, None where a trace brings them; ``usual_s`` how long a run is where
    nobody says.
    """
    duration_s = request.duration_s
    if duration_s is not None and not 0 < duration_s < _LONGEST_S:
        raise ValueError(f"duration_s: must be above 0 and below 1e9 s, is {duration_s:g}")
    if request.requests is not None and not 1 <= request.requests <= most_requests:
        raise ValueError(f"requests: must be from 1 to {most_requests:,}, is {request.requests:,}")
    if rate_rps is not None and request.requests is None:
        arriving = rate_rps * (usual_s if duration_s is None else duration_s)
        if arriving > most_requests:
            raise ValueError(f"duration_s: {arriving:,.0f} requests would arrive; the most is {most_requests:,}")


def check_moments(request: SimulationRequest, *, moments: Mapping[str, float | None]) -> None:
    """Refuse an option whose moment [s] lies beyond the run; raises ValueError that names it."""
    if request.duration_s is None:
        return
    for name, at_s in moments.items():
        if at_s is not None and at_s >= request.duration_s:
            raise ValueError(f"options.{name}: {at_s:g} s is not within the run of {request.duration_s:g} s")


def warm_up_s(asked_s: float | None, *, horizon_s: float, usual: float) -> float:
    """What is cut from the measurements [s]: as asked, else the ``usual`` share of the run; raises ValueError."""
    if asked_s is None:
        return usual * horizon_s
    if asked_s >= horizon_s:
        raise ValueError(f"options.warmup_s: {asked_s:g} s leave nothing of a run of {horizon_s:g} s")
    return asked_s
