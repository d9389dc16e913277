"""Routes of the library pages: compare, jobs, catalog, workloads, shared links, methods and the API guide.

Their names are used by the shell: compare, comparison, jobs, job, catalog, catalog-table, catalog-entry, workloads,
workload, shared, methods, api-guide.
"""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
