"""The menu that starts a simulation: read as it was typed, and shown again as it was typed where it cannot be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.core.simulation import OptionDef, Simulator
from planner.designs.services import InvalidField
from planner.web.editing import change_of

PREFIX, OPTION = "sim_", "opt_"
RUN_FIELDS = ("workload", "duration_s", "requests", "seed", "replications")
_LONGEST = 80


def shown(simulator: Simulator, *, posted: Mapping[str, str], failed: bool) -> dict[str, Any]:
    """The menu with what was typed into it; open after a run that could not be started."""
    options = [(option, posted.get(f"{OPTION}{option.name}", "")[:_LONGEST]) for option in simulator.options]
    groups = {option.group: [pair for pair in options if pair[0].group == option.group] for option, _typed in options}
    general = {name: posted.get(f"{PREFIX}{name}", "")[:_LONGEST] for name in RUN_FIELDS}
    for name in ("seed", "replications"):
        general[name] = general[name] if posted else "1"
    return {**general, "groups": list(groups.items()), "is_open": failed}


def read(posted: Mapping[str, str], *, simulator: Simulator | None) -> dict[str, Any]:
    """How to run, as the form says; raises `InvalidField`."""
    run: dict[str, Any] = {"workload": posted.get(f"{PREFIX}workload") or None}
    for name in ("duration_s", "requests", "seed", "replications"):
        if text := posted.get(f"{PREFIX}{name}", "").strip():
            run[name] = _figure(text, field=name)
    if simulator is None:
        return run
    options = {
        option.name: _option(option, text=posted.get(f"{OPTION}{option.name}", "")) for option in simulator.options
    }
    run["options"] = {name: value for name, value in options.items() if value is not None}
    return _asked_for(run, named=change_of(posted.get(f"{PREFIX}options", "")))


def refusal(invalid: InvalidField, *, simulator: Simulator | None) -> str:
    """Why it cannot be run, with the label of the field at fault."""
    name = invalid.field.rsplit("/", 1)[-1]
    labels = {
        "workload": _("Requests"),
        "duration_s": _("Simulated time"),
        "requests": _("At most so many requests"),
        "seed": _("Seed"),
        "replications": _("Replications"),
    }
    if simulator is not None:
        labels |= {option.name: option.label for option in simulator.options}
    return _("Simulate: %(field)s: %(message)s") % {"field": labels.get(name, name), "message": invalid.message}


def _asked_for(run: dict[str, Any], *, named: Mapping[str, Any]) -> dict[str, Any]:
    """The run with what a follow-up names: options of the simulator, and how long or how many."""
    general = {name: value for name, value in named.items() if name in RUN_FIELDS}
    options = {name: value for name, value in named.items() if name not in RUN_FIELDS}
    return {**run, **general, "options": {**run["options"], **options}}


def _figure(text: str, *, field: str) -> float:
    try:
        return float(text.replace(",", "")[:40])
    except ValueError:
        raise InvalidField(field=field, message=_("Give a number.")) from None


def _option(option: OptionDef, *, text: str) -> Any:
    text = text.strip()
    if not text:
        return None
    if isinstance(option.default, bool):
        return text == "true"
    if option.choices or isinstance(option.default, str):
        return text
    return _figure(text, field=f"options/{option.name}")
