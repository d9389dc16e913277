"""Routes of the library pages: compare, jobs, catalog, workloads, shared links, methods and the API guide.

Their names are used by the shell: compare, comparison, jobs, job, catalog, catalog-table, catalog-entry, workloads,
workload, shared, methods, api-guide.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.web.views import compare, jobs

urlpatterns: list[URLPattern] = [
    path("compare/", compare.compare, name="compare"),
    path("compare/keep/", compare.compare_save, name="compare-save"),
    path("compare/<uuid:comparison_id>/", compare.comparison, name="comparison"),
    path("compare/<uuid:comparison_id>/table.csv", compare.comparison_export, name="comparison-export"),
    path("compare/<uuid:comparison_id>/report/", compare.comparison_report, name="comparison-report"),
    path("compare/<uuid:comparison_id>/share/", compare.comparison_share, name="comparison-share"),
    path(
        "compare/<uuid:comparison_id>/share/<uuid:share_id>/revoke/",
        compare.comparison_share_revoke,
        name="comparison-share-revoke",
    ),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<uuid:job_id>/", jobs.job, name="job"),
    path("jobs/<uuid:job_id>/cancel/", jobs.job_cancel, name="job-cancel"),
    path("jobs/<uuid:job_id>/again/", jobs.job_retry, name="job-retry"),
    path("jobs/<uuid:job_id>/document/", jobs.job_document, name="job-document"),
    path("jobs/<uuid:job_id>/result.<str:form>", jobs.job_export, name="job-export"),
]
