"""Uploaded measurements: read from a result file, kept by the team, and given as figures like those of an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from planner.accounts.models import Team, User
from planner.accounts.selectors import row_id, scoped
from planner.accounts.services import audit
from planner.catalog.importers import benchmarks
from planner.core.result import Direction, Metric, MetricDef
from planner.core.text import gettext_noop
from planner.designs import texts
from planner.designs.models import Measurement

LATENCY, LOAD = gettext_noop("Latency"), gettext_noop("Load")
_QUANTITIES = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E"}
_TAILS = {"mean": "mean", "p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99"}
_RATES: tuple[tuple[str, str, str, Direction], ...] = (
    ("request_rate_rps", gettext_noop("Requests served"), "req/s", "higher"),
    ("goodput_rps", gettext_noop("Goodput"), "req/s", "higher"),
    ("output_tokens_per_s", gettext_noop("Output"), "tok/s", "higher"),
    ("input_tokens_per_s", gettext_noop("Input"), "tok/s", "higher"),
    ("total_tokens_per_s", gettext_noop("All tokens"), "tok/s", "higher"),
)
DEFINITIONS: Mapping[str, MetricDef] = {
    **{
        f"{time}_{tail}_s": MetricDef(f"{time}_{tail}_s", f"{time_label} {tail_label}", "s", "lower", LATENCY)
        for time, time_label in _QUANTITIES.items()
        for tail, tail_label in _TAILS.items()
    },
    **{name: MetricDef(name, label, unit, direction, LOAD) for name, label, unit, direction in _RATES},
}
"""Every figure a result file may hold, under the names that the kinds use."""


def measurements(team: Team) -> QuerySet[Measurement]:
    """Measurements of a team, newest first."""
    return scoped(Measurement.objects.all(), team).order_by("-created_at", "id")


def measurement(team: Team, id: UUID | str) -> Measurement:
    """One measurement; raises `Measurement.DoesNotExist` for a stranger's or an unknown one."""
    return measurements(team).get(id=row_id(id))


@transaction.atomic
def measurement_import(
    *, team: Team, user: User | None, data: bytes, filename: str = "", name: str = ""
) -> list[Measurement]:
    """Keep every run of a result file; raises `catalog.importers.ImportProblem`, and then nothing is kept."""
    label = texts.text(name, field="name", longest=120)
    written = texts.storable(texts.text(filename[-160:], field="filename", longest=160), field="filename")
    rows = [
        Measurement(
            team=team,
            created_by=user,
            name=_name(run, label=label, place=place),
            tool=run.tool,
            llm=texts.storable(run.llm, field="model_id"),
            figures=dict(run.figures),
            load=dict(run.load),
            filename=written,
        )
        for place, run in enumerate(benchmarks.read(data))
    ]
    Measurement.objects.bulk_create(rows)
    for row in rows:
        audit(team=team, user=user, action="imported", subject="measurement", subject_id=str(row.id), summary=row.name)
    return rows


@transaction.atomic
def measurement_delete(*, measurement: Measurement, user: User | None) -> None:
    """Forget a measurement; comparisons that hold it keep its figures."""
    audit(
        team=measurement.team,
        user=user,
        action="deleted",
        subject="measurement",
        subject_id=str(measurement.id),
        summary=measurement.name,
    )
    measurement.delete()


def metrics_of(measurement: Measurement) -> dict[str, Metric]:
    """What was measured, in the order of `DEFINITIONS`."""
    figures: Mapping[str, Any] = measurement.figures
    return {
        name: Metric(definition, figures[name], basis="measured")
        for name, definition in DEFINITIONS.items()
        if name in figures
    }


def load_text(load: Mapping[str, float]) -> str:
    """The load of a run in words: `concurrency 32, 2,048 in, 256 out`."""
    parts = {
        "concurrency": _("concurrency %(number)s"),
        "rate_rps": _("%(number)s req/s"),
        "input_tokens": _("%(number)s tokens in"),
        "output_tokens": _("%(number)s out"),
    }
    return ", ".join(words % {"number": f"{load[name]:,.4g}"} for name, words in parts.items() if name in load)


def _name(run: benchmarks.Benchmark, *, label: str, place: int) -> str:
    """The name given, numbered from the second run on; without one what the file says of the run."""
    if not label:
        return str(texts.storable(run.name, field="name"))[:160]
    return f"{label} {place + 1}" if place else label
