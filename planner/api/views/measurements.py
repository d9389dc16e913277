"""`/measurements/`: result files of load generators, to lay beside estimates and simulations in a comparison."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes
from planner.api.errors import InvalidInput, importing
from planner.api.idempotency import idempotent
from planner.api.inputs import file_of, form_text
from planner.api.paging import paged
from planner.api.rendering import StrictJsonParser
from planner.api.views.resource import ApiView, no_such, reply
from planner.designs import measurements
from planner.designs.models import Measurement


def measurement_json(row: Measurement) -> dict[str, Any]:
    names = ("id", "name", "tool", "llm", "figures", "load", "filename", "created_at")
    return {name: getattr(row, name) for name in names} | {"url": reverse("api:measurement", args=[row.id])}


class Measurements(ApiView):
    parser_classes = (MultiPartParser, StrictJsonParser)

    @reply(shapes.page_of(shapes.MeasurementShape), summary="Uploaded measurements, newest first")
    def get(self, _request: Request) -> Response:
        return paged(self, measurements.measurements(self.team), show=measurement_json)

    @reply(
        shapes.MeasurementsShape,
        body={"multipart/form-data": schema.RESULT_FILE},
        summary="Upload a result file: vLLM bench serve, SGLang bench_serving, AIPerf, GenAI-Perf or GuideLLM",
        status=201,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        file = file_of(request)
        if unknown := sorted(set(request.data) - {"file", "name"}):
            raise InvalidInput.of(f"/{unknown[0]}", detail=_("No such field."))
        with importing("/file"):
            rows = measurements.measurement_import(
                team=self.team,
                user=self.user,
                data=file.read(),
                filename=file.name or "",
                name=form_text(request, "name"),
            )
        shown = [measurement_json(row) for row in rows]
        return Response({"measurements": shown}, status=201, headers={"Location": shown[0]["url"]} if shown else {})


class OneMeasurement(ApiView):
    def _row(self, id: UUID) -> Measurement:
        try:
            return measurements.measurement(self.team, id)
        except Measurement.DoesNotExist:
            no_such(_("measurement"))

    @reply(shapes.MeasurementShape, summary="An uploaded measurement")
    def get(self, _request: Request, id: UUID) -> Response:
        return Response(measurement_json(self._row(id)))

    @reply(None, summary="Delete a measurement; comparisons that hold it keep its figures", status=204)
    def delete(self, _request: Request, id: UUID) -> Response:
        measurements.measurement_delete(measurement=self._row(id), user=self.user)
        return Response(status=204)
