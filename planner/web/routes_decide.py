"""Routes of the pages that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.web.views import launch, money, reliability, sensitivity, sweep_points, sweeps

urlpatterns: list[URLPattern] = [
    path("designs/<uuid:design_id>/sweep/", sweeps.sweep, name="design-sweep"),
    path("designs/<uuid:design_id>/sweep/count/", sweeps.sweep_count, name="design-sweep-count"),
    path("designs/<uuid:design_id>/sweep/<uuid:job_id>/", sweeps.sweep_of, name="design-sweep-run"),
    path("sweeps/<uuid:job_id>/", sweeps.sweep_alone, name="sweep"),
    path("sweeps/<uuid:job_id>/points.csv", sweep_points.sweep_points, name="sweep-points"),
    path("sweeps/<uuid:job_id>/points/<int:place>/", sweep_points.sweep_open, name="sweep-open"),
    path("sweeps/<uuid:job_id>/compare/", sweep_points.sweep_compare, name="sweep-compare"),
    path("sweeps/<uuid:job_id>/cancel/", sweeps.sweep_cancel, name="sweep-cancel"),
    path("sweeps/<uuid:job_id>/again/", sweeps.sweep_again, name="sweep-again"),
    path("designs/<uuid:design_id>/launch/", launch.launch, name="design-launch"),
    path("designs/<uuid:design_id>/launch/<str:filename>", launch.manifest, name="design-launch-file"),
    path("designs/<uuid:design_id>/money/", money.money, name="design-money"),
    path("designs/<uuid:design_id>/money/figures.csv", money.money_csv, name="design-money-csv"),
    path("designs/<uuid:design_id>/reliability/", reliability.reliability, name="design-reliability"),
    path("designs/<uuid:design_id>/sensitivity/", sensitivity.sensitivity, name="design-sensitivity"),
    path("designs/<uuid:design_id>/sensitivity/draw/", sensitivity.draw, name="design-draw"),
    path(
        "designs/<uuid:design_id>/sensitivity/tornado.csv",
        sensitivity.sensitivity_csv,
        {"table": "tornado"},
        name="design-tornado-csv",
    ),
    path(
        "designs/<uuid:design_id>/sensitivity/flips.csv",
        sensitivity.sensitivity_csv,
        {"table": "flips"},
        name="design-flips-csv",
    ),
]
