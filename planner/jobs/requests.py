"""What a job is asked to do: checked, completed with defaults, and digested into its key."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from planner.accounts.models import Team
from planner.catalog import selectors as catalog_selectors
from planner.catalog.models import Workload
from planner.core.kind import DesignKind
from planner.core.refusal import sentence
from planner.core.replications import MOST_REPLICATIONS
from planner.core.result import Result
from planner.core.simulation import OptionDef, SimulationRequest, Simulator, Trial
from planner.designs import estimation
from planner.designs.estimation import Estimate
from planner.designs.serial import metric_json, plain
from planner.designs.texts import InvalidField, storable
from planner.jobs.code import code_digest

LARGEST_SEED = 2**63 - 1
LONGEST_SIMULATED_S = 366 * 86400.0


def key_of(**parts: Any) -> str:
    """The digest of everything that makes a result."""
    return hashlib.sha256(json.dumps(plain(parts), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def simulation_request(
    estimate: Estimate,
    *,
    workload: Workload | None,
    duration_s: float | None,
    requests: int | None,
    seed: int,
    replications: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The complete request of a simulation; raises `InvalidField` naming what cannot be run."""
    simulator = simulator_of(estimate.kind)
    if workload is None and duration_s is None and requests is None:
        duration_s = simulator.default_duration_s
    asked = {
        "seed": _whole(seed, field="seed", lowest=0, highest=LARGEST_SEED),
        "duration_s": _duration(duration_s),
        "requests": None
        if requests is None
        else _whole(requests, field="requests", lowest=1, highest=simulator.max_requests),
        "workload": workload_request(workload),
        "replications": _replications(replications, simulator=simulator),
        "options": checked_options(simulator.options, given=options),
    }
    beside = expected(estimate, request=run_request(asked, workload=workload))
    return {
        "kind": estimate.kind.slug,
        "spec": estimate.spec_json,
        **asked,
        "made_by": estimation.made_by(estimate.kind, catalog=estimate.catalog),
        "estimate": {name: metric_json(metric) for name, metric in beside.metrics.items()},
    }


def run_request(asked: Mapping[str, Any], *, workload: Workload | None) -> SimulationRequest:
    """A checked request as the simulator takes it, with the requests of its trace."""
    return SimulationRequest(
        seed=asked["seed"],
        duration_s=asked["duration_s"],
        requests=asked["requests"],
        workload=None if workload is None else catalog_selectors.workload_columns(workload),
        options=asked["options"],
    )


def expected(estimate: Estimate, *, request: SimulationRequest) -> Result:
    """The estimate to hold a run against: at the load that it brings, where the kind can say so."""
    simulator = simulator_of(estimate.kind)
    if simulator.expected is None:
        return estimate.result
    try:
        return simulator.expected(estimate.spec, estimate.catalog, request)
    except ValueError as problem:
        field, _colon, message = str(problem).partition(": ")
        raise InvalidField(field=field.replace(".", "/"), message=sentence(message)) from None


def simulation_key(request: Mapping[str, Any]) -> str:
    """Equal keys, equal results: spec, catalog, code, seed, replications, horizon, workload and options."""
    asked = {name: value for name, value in request.items() if name not in ("estimate", "language")}
    return key_of(purpose="simulation", code=code_digest(), **asked)


def simulator_of(kind: DesignKind) -> Simulator:
    """The kind's simulator; raises `InvalidField` where it has none."""
    if kind.simulator is None:
        raise InvalidField(field="kind", message=_("Designs of this kind cannot be simulated yet."))
    return kind.simulator


def trial_of(simulator: Simulator) -> Trial:
    """How a simulator runs in replications; raises `InvalidField` where it does not."""
    if simulator.trial is None:
        raise InvalidField(field="replications", message=_("Designs of this kind are simulated once only."))
    return simulator.trial


def replications(request: Mapping[str, Any]) -> int:
    """How often a job is run; those asked for before there were replications run once."""
    return int(request.get("replications") or 1)


def find_workload(wanted: Workload | str | None, *, team: Team) -> Workload | None:
    """The trace named by slug or id; raises `InvalidField` for an unknown one or one without requests."""
    if wanted is None or wanted == "":
        return None
    found = _workload_named(wanted, team=team) if isinstance(wanted, str) else wanted
    if found.form != Workload.Form.TRACE:
        raise InvalidField(field="workload", message=_("This workload is a profile; choose a trace to replay."))
    return found


def _workload_named(name: str, *, team: Team) -> Workload:
    try:
        found: Workload = catalog_selectors.workload(name, team=team)
    except (LookupError, Workload.DoesNotExist):
        raise InvalidField(field="workload", message=_("No such workload.")) from None
    return found


def workload_request(workload: Workload | None) -> dict[str, Any] | None:
    """Which trace is replayed, with the digest of its requests."""
    if workload is None:
        return None
    digest = hashlib.sha256(bytes(workload.columns or b"")).hexdigest()
    return {"id": str(workload.id), "slug": workload.slug, "name": workload.name, "digest": digest}


def checked_options(definitions: Sequence[OptionDef], *, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option with its value; raises `InvalidField` for an unknown name or a value out of bounds."""
    if not isinstance(given, Mapping):
        raise InvalidField(field="options", message=_("Give an object of options."))
    unknown = set(given) - {definition.name for definition in definitions}
    if unknown:
        raise InvalidField(field=f"options/{min(map(str, unknown))}", message=_("No such option."))
    return {definition.name: _option(definition, value=given.get(definition.name)) for definition in definitions}


def _option(definition: OptionDef, *, value: Any) -> Any:
    field = f"options/{definition.name}"
    if value is None or value == "":
        return plain(definition.default)
    if definition.choices:
        return _chosen(definition, value=value, field=field)
    if isinstance(definition.default, bool):
        if not isinstance(value, bool):
            raise InvalidField(field=field, message=_("Give true or false."))
        return value
    if isinstance(definition.default, str):
        return _text(value, field=field)
    return _number(definition, value=value, field=field)


def _chosen(definition: OptionDef, *, value: Any, field: str) -> str:
    if value not in definition.choices:
        raise InvalidField(
            field=field, message=_("Choose one of %(choices)s.") % {"choices": ", ".join(definition.choices)}
        )
    return str(value)


def _text(value: Any, *, field: str) -> str:
    if not isinstance(value, str) or len(value) > 200:
        raise InvalidField(field=field, message=_("Give a short text."))
    return str(storable(value, field=field))


def _number(definition: OptionDef, *, value: Any, field: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidField(field=field, message=_("Give a number."))
    low, high = definition.minimum, definition.maximum
    if low is not None and value < low:
        raise InvalidField(field=field, message=_("At least %(low)s.") % {"low": low})
    if high is not None and value > high:
        raise InvalidField(field=field, message=_("At most %(high)s.") % {"high": high})
    if definition.whole or isinstance(definition.default, int):
        if value != int(value):
            raise InvalidField(field=field, message=_("Give a whole number."))
        return int(value)
    return float(value)


def _whole(value: Any, *, field: str, lowest: int, highest: int) -> int:
    is_whole = (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value == int(value)
    )
    if not is_whole or not lowest <= value <= highest:
        span = {"lowest": f"{lowest:,}", "highest": f"{highest:,}"}
        raise InvalidField(field=field, message=_("Give a whole number from %(lowest)s to %(highest)s.") % span)
    return int(value)


def _replications(value: Any, *, simulator: Simulator) -> int:
    count = _whole(value, field="replications", lowest=1, highest=MOST_REPLICATIONS)
    if count > 1:
        trial_of(simulator)
    return count


def _duration(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_SIMULATED_S:
        raise InvalidField(field="duration_s", message=_("Give seconds, more than 0 and at most a year."))
    return float(value)
