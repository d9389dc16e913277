"""Routes of the pages that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.web.views import money, reliability

urlpatterns: list[URLPattern] = [
    path("designs/<uuid:design_id>/money/", money.money, name="design-money"),
    path("designs/<uuid:design_id>/money/figures.csv", money.money_csv, name="design-money-csv"),
    path("designs/<uuid:design_id>/reliability/", reliability.reliability, name="design-reliability"),
]
