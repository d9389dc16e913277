"""Routes of the REST API; the names are used by its tests and pages, the paths are a contract."""

from __future__ import annotations

from django.urls import include, path, re_path

from planner.api import routes_decide
from planner.api.views import (
    catalog,
    comparisons,
    designs,
    docs,
    drills,
    estimates,
    exports,
    jobs,
    kinds,
    members,
    shares,
    tokens,
    validation,
    workloads,
)
from planner.api.views.resource import Nowhere

app_name = "api"

v1 = [
    path("kinds/", kinds.Kinds.as_view(), name="kinds"),
    path("kinds/<slug:kind>/", kinds.Kind.as_view(), name="kind"),
    path("catalog/llms/import/", catalog.LlmImport.as_view(), name="llm-import"),
    path("catalog/gpus/", catalog.Gpus.as_view(), {"table": "gpus"}, name="gpus"),
    path("catalog/workloads/", workloads.CatalogWorkloads.as_view(), name="catalog-workloads"),
    path("catalog/workloads/<str:slug>/", workloads.CatalogWorkload.as_view(), name="catalog-workload"),
    path("catalog/<slug:table>/", catalog.Entries.as_view(), name="entries"),
    path("catalog/<slug:table>/<str:slug>/", catalog.OneEntry.as_view(), name="entry"),
    path("validation/", validation.Validation.as_view(), name="validation"),
    path("validation/rows/", validation.ValidationRows.as_view(), name="validation-rows"),
    path("workloads/", workloads.Workloads.as_view(), name="workloads"),
    path("workloads/import/", workloads.WorkloadImport.as_view(), name="workload-import"),
    path("workloads/<str:slug>/", workloads.OneWorkload.as_view(), name="workload"),
    path("estimates/", estimates.Estimates.as_view(), name="estimates"),
    path("estimates/batch/", estimates.EstimateBatch.as_view(), name="estimate-batch"),
    path("designs/", designs.Designs.as_view(), name="designs"),
    path("designs/<uuid:id>/", designs.OneDesign.as_view(), name="design"),
    path("designs/<uuid:id>/restore/", designs.RestoreDesign.as_view(), name="design-restore"),
    path("designs/<uuid:id>/revisions/", designs.Revisions.as_view(), name="design-revisions"),
    path("designs/<uuid:id>/simulations/", jobs.DesignSimulations.as_view(), name="design-simulations"),
    path("designs/<uuid:id>/reports/", jobs.DesignReports.as_view(), name="design-reports"),
    path("designs/<uuid:id>/report.pdf", exports.DesignPdf.as_view(), name="design-pdf"),
    path("designs/<uuid:id>/report.csv", exports.DesignCsv.as_view(), name="design-csv"),
    path("designs/<uuid:id>/shares/", shares.DesignShares.as_view(), name="design-shares"),
    path("designs/<uuid:id>/shares/<uuid:share>/", shares.DesignShare.as_view(), name="design-share"),
    path("designs/<uuid:id>/drills/<slug:name>/", drills.DesignDrills.as_view(), name="design-drills"),
    path("drills/", drills.Drills.as_view(), name="drills"),
    path("drills/<uuid:id>/", drills.OneDrill.as_view(), name="drill"),
    path("simulations/", jobs.Simulations.as_view(), name="simulations"),
    path("jobs/", jobs.Jobs.as_view(), name="jobs"),
    path("jobs/<uuid:id>/", jobs.OneJob.as_view(), name="job"),
    path("jobs/<uuid:id>/result/", jobs.JobResult.as_view(), name="job-result"),
    path("jobs/<uuid:id>/document/", jobs.JobDocument.as_view(), name="job-document"),
    path("jobs/<uuid:id>/cancel/", jobs.JobCancel.as_view(), name="job-cancel"),
    path("jobs/<uuid:id>/retry/", jobs.JobRetry.as_view(), name="job-retry"),
    path("comparisons/", comparisons.Comparisons.as_view(), name="comparisons"),
    path("comparisons/<uuid:id>/", comparisons.OneComparison.as_view(), name="comparison"),
    path("comparisons/<uuid:id>/shares/", shares.ComparisonShares.as_view(), name="comparison-shares"),
    path("comparisons/<uuid:id>/shares/<uuid:share>/", shares.ComparisonShare.as_view(), name="comparison-share"),
    path("comparisons/<uuid:id>/reports/", jobs.ComparisonReports.as_view(), name="comparison-reports"),
    path("comparisons/<uuid:id>/report.pdf", exports.ComparisonPdf.as_view(), name="comparison-pdf"),
    path("comparisons/<uuid:id>/report.csv", exports.ComparisonCsv.as_view(), name="comparison-csv"),
    *routes_decide.routes,
    path("tokens/", tokens.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:id>/", tokens.OneToken.as_view(), name="token"),
    path("members/", members.Members.as_view(), name="members"),
    path("members/<uuid:id>/", members.Member.as_view(), name="member"),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", docs.Document.as_view(), name="schema"),
    path("schema/swagger-ui/", docs.Swagger.as_view(), name="swagger-ui"),
    path("schema/redoc/", docs.Redoc.as_view(), name="redoc"),
    re_path(r"^[\s\S]*$", Nowhere.as_view()),
]
