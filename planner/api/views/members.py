"""`/members/`: who is in the team, and as what. Admins change it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from planner.accounts import selectors, services
from planner.accounts.models import Membership, Role
from planner.api import shapes
from planner.api.errors import Conflict, InvalidInput
from planner.api.inputs import Body, body
from planner.api.paging import paged
from planner.api.views.resource import ApiView, no_such, reply


class MemberBody(Body):
    username: str
    role: Role


def member_json(row: Membership) -> dict[str, Any]:
    return {
        "user": row.user.public_id,
        "username": row.user.get_username(),
        "role": row.role,
        "url": reverse("api:member", args=[row.user.public_id]),
    }


class Members(ApiView):
    role_to_write = "admin"

    @reply(shapes.page_of(shapes.MemberShape), summary="Members of the team and their roles")
    def get(self, _request: Request) -> Response:
        return paged(self, selectors.members(self.team), show=member_json)

    @reply(shapes.MemberShape, body=MemberBody, summary="Add a member, or change a member's role")
    def post(self, request: Request) -> Response:
        given = body(request, MemberBody)
        user = selectors.user_named(given.username)
        if user is None:
            raise InvalidInput.of("/username", detail=_("No user has this name."))
        try:
            row = services.membership_set(team=self.team, user=user, role=given.role, by=self.user)
        except services.LastAdmin as error:
            raise Conflict(str(error)) from None
        return Response(member_json(row))


class Member(ApiView):
    role_to_write = "admin"

    @reply(None, summary="Take a member out of the team, with the tokens they hold for it", status=204)
    def delete(self, _request: Request, id: UUID) -> Response:
        row = selectors.members(self.team).filter(user__public_id=id).first()
        if row is None:
            no_such(_("member"))
        try:
            services.membership_remove(team=self.team, user=row.user, by=self.user)
        except services.LastAdmin as error:
            raise Conflict(str(error)) from None
        return Response(status=204)
