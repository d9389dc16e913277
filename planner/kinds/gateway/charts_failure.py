"""Pictures of a failure: requests lost over time, load of the others afterwards."""

from __future__ import annotations

from planner.core.chart import Axis, Chart, Limit, Trace
from planner.core.quantities import show
from planner.core.result import Result
from planner.core.table import numbers
from planner.core.wording import counted, percent
from planner.kinds.gateway.spec import GatewaySpec

_LABELS = {"active": "probes alone", "passive": "errors alone", "both": "both"}


def lost(spec: GatewaySpec, result: Result) -> Chart | None:
    """Requests sent to a dead instance since it died."""
    series = result.series["lost_over_time"]
    if spec.peak_rps <= 0:
        return None
    order = [spec.detection, *(name for name in _LABELS if name != spec.detection)]
    ends = {name: numbers(series, name)[-1] or 0.0 for name in order}
    most = result.value("requests_lost_before_ejection")
    told = "; ".join(f"{_LABELS[name]} {count:.3g}" for name, count in ends.items())
    dead = "refuses" if spec.failure_mode == "refuses" else "hangs"
    return Chart(
        name="lost_over_time",
        title="What is lost until a dead instance is left out?",
        subtitle=f"Expected requests sent to an instance that {dead}. At most {show(most, 'requests')} by probes "
        "alone.",
        form="line",
        x=Axis("time since the failure", unit="s"),
        y=Axis("sent to it", unit="requests"),
        traces=tuple(
            Trace(
                f"{_LABELS[name]}{', this design' if n == 0 else ''}",
                x=numbers(series, "time_s"),
                y=numbers(series, name),
                order=n,
            )
            for n, name in enumerate(order)
        ),
        limits=() if most is None else (Limit(most, f"probes, at most {show(most, 'requests')}"),),
        summary=f"Requests sent to a dead instance until all gateways know: {told}.",
        compare=True,
    )


def after_loss(spec: GatewaySpec, result: Result) -> Chart | None:
    """How busy the others are while their caches warm."""
    series = result.series["after_loss"]
    times, busy = numbers(series, "time_s"), numbers(series, "rho")
    if spec.peak_rps <= 0 or len(times) < 2:
        return None
    at_first, warm = result.value("utilisation_after_loss"), busy[-1]
    return Chart(
        name="after_loss",
        title="What does a lost cache cost afterwards?",
        subtitle=f"{counted(spec.instances_lost, 'instance')} lost: the others are {percent(at_first or 0.0)} busy at "
        f"first and {percent(warm or 0.0)} once warm.",
        form="line",
        x=Axis("time since the loss", unit="s"),
        y=Axis("instances busy", unit="ratio", shown="%"),
        traces=(Trace("instances busy", x=times, y=busy),),
        limits=(Limit(1.0, "saturated"),),
        summary=f"Load of the instances left, from {percent(at_first or 0.0)} to {percent(warm or 0.0)}.",
        compare=True,
    )
