"""Routes of the library pages: compare, jobs, catalog, workloads, shared links, methods and the API guide.

Their names are used by the shell: compare, comparison, jobs, job, catalog, catalog-table, catalog-entry, workloads,
workload, shared, methods, api-guide.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from planner.web.views import (
    api_guide,
    catalog,
    catalog_own,
    compare,
    drills,
    jobs,
    measurements,
    methods,
    plans,
    shared,
    workloads,
)

urlpatterns: list[URLPattern] = [
    path("compare/", compare.compare, name="compare"),
    path("compare/keep/", compare.compare_save, name="compare-save"),
    path("compare/measurements/", measurements.measurement_add, name="measurement-add"),
    path(
        "compare/measurements/<uuid:measurement_id>/delete/", measurements.measurement_remove, name="measurement-remove"
    ),
    path("compare/<uuid:comparison_id>/", compare.comparison, name="comparison"),
    path("compare/<uuid:comparison_id>/table.csv", compare.comparison_export, name="comparison-export"),
    path("compare/<uuid:comparison_id>/report/", compare.comparison_report, name="comparison-report"),
    path("compare/<uuid:comparison_id>/simulate/", compare.comparison_simulate, name="comparison-simulate"),
    path("compare/<uuid:comparison_id>/share/", compare.comparison_share, name="comparison-share"),
    path(
        "compare/<uuid:comparison_id>/share/<uuid:share_id>/revoke/",
        compare.comparison_share_revoke,
        name="comparison-share-revoke",
    ),
    path("plans/", plans.plans, name="plans"),
    path("plans/new/", plans.plan_new, name="plan-new"),
    path("plans/<uuid:plan_id>/", plans.plan, name="plan"),
    path("plans/<uuid:plan_id>/save/", plans.plan_save, name="plan-save"),
    path("plans/<uuid:plan_id>/delete/", plans.plan_delete, name="plan-delete"),
    path("plans/<uuid:plan_id>/bill.csv", plans.plan_export, name="plan-export"),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/<uuid:job_id>/", jobs.job, name="job"),
    path("jobs/<uuid:job_id>/cancel/", jobs.job_cancel, name="job-cancel"),
    path("jobs/<uuid:job_id>/again/", jobs.job_retry, name="job-retry"),
    path("jobs/<uuid:job_id>/document/", jobs.job_document, name="job-document"),
    path("jobs/<uuid:job_id>/result.<str:form>", jobs.job_export, name="job-export"),
    path("drills/<uuid:drill_id>/", drills.drill, name="drill"),
    path("drills/<uuid:drill_id>/again/", drills.drill_again, name="drill-again"),
    path("drills/<uuid:drill_id>/figures.csv", drills.drill_export, name="drill-export"),
    path("catalog/", catalog.catalog, name="catalog"),
    path("catalog/add/gpu/", catalog_own.gpu_add, name="catalog-add-gpu"),
    path("catalog/add/llm/", catalog_own.llm_add, name="catalog-add-llm"),
    path("catalog/<slug:table>/", catalog.table, name="catalog-table"),
    path("catalog/<slug:table>/<str:slug>/", catalog.entry, name="catalog-entry"),
    path("catalog/gpus/<str:slug>/edit/", catalog_own.gpu_edit, name="catalog-edit-gpu"),
    path("catalog/<slug:table>/<str:slug>/delete/", catalog_own.entry_delete, name="catalog-delete"),
    path("workloads/", workloads.workloads, name="workloads"),
    path("workloads/new/trace/", workloads.trace_add, name="workload-import"),
    path("workloads/new/profile/", workloads.profile_add, name="workload-profile"),
    path("workloads/<str:slug>/", workloads.workload, name="workload"),
    path("workloads/<str:slug>/delete/", workloads.workload_delete, name="workload-delete"),
    path("s/<str:token>/", shared.shared, name="shared"),
    path("s/<str:token>/report.pdf", shared.shared_pdf, name="shared-pdf"),
    path("s/<str:token>/figures.csv", shared.shared_csv, name="shared-csv"),
    path("s/<str:token>/open/", shared.shared_open, name="shared-open"),
    path("methods/", methods.methods, name="methods"),
    path("methods/<slug:kind>/", methods.method, name="methods"),
    path("api-guide/", api_guide.guide, name="api-guide"),
]
