"""Routes of the API that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.api.views import measurements

routes: list[URLPattern] = [
    path("measurements/", measurements.Measurements.as_view(), name="measurements"),
    path("measurements/<uuid:id>/", measurements.OneMeasurement.as_view(), name="measurement"),
]
