"""Routes of the pages. The library pages have a list of their own."""

from __future__ import annotations

from django.urls import path

from planner.web import routes_decide, routes_library
from planner.web.views import account, actions, designs, editor, home, preferences, search, sign_in, validation

app_name = "web"

urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("enter/<str:token>/", sign_in.enter, name="enter"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("account/", account.account, name="account"),
    path("account/team/", account.choose_team, name="choose-team"),
    path("account/members/", account.member_set, name="member-set"),
    path("account/members/<uuid:public_id>/remove/", account.member_remove, name="member-remove"),
    path("account/tokens/", account.token_create, name="token-create"),
    path("account/tokens/<uuid:public_id>/revoke/", account.token_revoke, name="token-revoke"),
    path("search/", search.search, name="search"),
    path("validation/", validation.validation, name="validation"),
    path("validation/rows.csv", validation.validation_csv, name="validation-csv"),
    path("designs/new/", editor.choose, name="new"),
    path("designs/new/<slug:kind>/", editor.new, name="new-kind"),
    path("designs/live/<slug:kind>/", editor.live, name="live"),
    path("designs/simulate/<slug:kind>/", actions.simulate, name="simulate"),
    path("designs/drill/<slug:kind>/", actions.drill, name="start-drill"),
    path("designs/keep-workload/<slug:kind>/", actions.keep_workload, name="keep-workload"),
    path("designs/<uuid:design_id>/", editor.design, name="design"),
    path("designs/<uuid:design_id>/history/", designs.history, name="history"),
    path("designs/<uuid:design_id>/revert/", designs.revert, name="revert"),
    path("designs/<uuid:design_id>/describe/", designs.describe, name="describe"),
    path("designs/<uuid:design_id>/duplicate/", designs.duplicate, name="duplicate"),
    path("designs/<uuid:design_id>/delete/", designs.delete, name="delete"),
    path("designs/<uuid:design_id>/restore/", designs.restore, name="restore"),
    path("designs/<uuid:design_id>/share/", actions.share, name="share"),
    path("designs/<uuid:design_id>/share/<uuid:share_id>/revoke/", actions.share_revoke, name="share-revoke"),
    path("designs/<uuid:design_id>/report/", actions.report, name="report"),
    path("designs/<uuid:design_id>/design.<str:form>", designs.export, name="export"),
    *routes_decide.urlpatterns,
    *routes_library.urlpatterns,
]
