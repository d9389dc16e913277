"""Routes of the API that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.api.views import launch, measurements, money, plans, reliability, sensitivity, sweeps

routes: list[URLPattern] = [
    path("launch/", launch.Launches.as_view(), name="launch"),
    path("designs/<uuid:id>/launch/", launch.DesignLaunch.as_view(), name="design-launch"),
    path("money/", money.Money.as_view(), name="money"),
    path("designs/<uuid:id>/money/", money.DesignMoney.as_view(), name="design-money"),
    path("measurements/", measurements.Measurements.as_view(), name="measurements"),
    path("measurements/<uuid:id>/", measurements.OneMeasurement.as_view(), name="measurement"),
    path("sweeps/", sweeps.Sweeps.as_view(), name="sweeps"),
    path("designs/<uuid:id>/sweeps/", sweeps.DesignSweeps.as_view(), name="design-sweeps"),
    path("plans/", plans.Plans.as_view(), name="plans"),
    path("plans/<uuid:id>/", plans.OnePlan.as_view(), name="plan"),
    path("reliability/", reliability.Reliability.as_view(), name="reliability"),
    path("designs/<uuid:id>/reliability/", reliability.DesignReliability.as_view(), name="design-reliability"),
    path("sensitivity/", sensitivity.Sensitivities.as_view(), name="sensitivity"),
    path("designs/<uuid:id>/sensitivity/", sensitivity.DesignSensitivity.as_view(), name="design-sensitivity"),
    path("uncertainty/", sensitivity.Uncertainties.as_view(), name="uncertainty"),
    path("designs/<uuid:id>/uncertainty/", sensitivity.DesignUncertainties.as_view(), name="design-uncertainty"),
]
