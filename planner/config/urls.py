"""Every route, by surface."""

from __future__ import annotations

from django.urls import include, path

from planner.config import health

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/", include("planner.api.urls")),
    path("", include("planner.web.urls")),
]

handler400 = "planner.web.views.errors.bad_request"
handler403 = "planner.web.views.errors.forbidden"
handler404 = "planner.web.views.errors.not_found"
handler500 = "planner.web.views.errors.server_error"
