"""What was measured or simulated as an item of a comparison: frozen when it is put there, for it never changes.

::

    {basis: measured|simulated, name, kind: slug or "", about, load: {input: value},
    metrics: {name: metric as `serial` writes it}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from planner.core.result import Answer, Metric, Result
from planner.designs import measurements, serial
from planner.designs.models import Measurement

HEADLINES = ("ttft_p99_s", "ttft_mean_s", "tpot_p99_s", "tpot_mean_s", "output_tokens_per_s")
"""The first of these that was found stands large."""


def of_measurement(row: Measurement) -> dict[str, Any]:
    about = ", ".join(part for part in (row.tool, measurements.load_text(row.load)) if part)
    found = _frozen("measured", name=row.name, kind="", about=about, metrics=measurements.metrics_of(row))
    return {**found, "load": row.load}


def of_simulation(*, name: str, kind: str, about: str, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    return _frozen("simulated", name=name, kind=kind, about=about, metrics=metrics)


def result_of(found: Mapping[str, Any], *, like: Result | None) -> Result:
    """The result to lay beside others; it is held against the objectives of ``like``, the design it stands beside."""
    metrics = {name: serial.metric_from(name, written) for name, written in found["metrics"].items()}
    if like is not None:
        metrics = {name: _held(metric, like=like.metrics.get(name)) for name, metric in metrics.items()}
    headline = next((name for name in HEADLINES if name in metrics), next(iter(metrics), ""))
    sentence = _("**Measured**: %(about)s.") if found["basis"] == "measured" else _("**Simulated**: %(about)s.")
    return Result(
        metrics=metrics, answer=Answer(metric=headline, sentence=sentence % found, facts=(), cost_metric=None)
    )


def _held(metric: Metric, *, like: Metric | None) -> Metric:
    """The figure under the definition and the objective of the same metric of a design, where the units agree."""
    if like is None or like.definition.unit != metric.definition.unit:
        return metric
    return Metric(
        like.definition,
        metric.value,
        low=metric.low,
        high=metric.high,
        basis=metric.basis,
        objective=like.objective if metric.objective is None else metric.objective,
    )


def _frozen(basis: str, *, name: str, kind: str, about: str, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    written = {key: serial.metric_json(metric) for key, metric in metrics.items()}
    return {"basis": basis, "name": name, "kind": kind, "about": about, "metrics": written}
