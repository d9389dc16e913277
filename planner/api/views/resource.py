"""The base of every view of the API: the caller's team, the limits, and problems where nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner.accounts.models import Team, User
from planner.api import schema, shapes
from planner.api.errors import InvalidInput
from planner.api.permissions import team_of
from planner.api.rendering import ProblemRenderer, StrictJsonRenderer

Method = TypeVar("Method", bound=Callable[..., HttpResponse])


class ApiView(APIView):
    # A resource of a team; `permissions.TeamRole` reads ``reads`` and ``role_to_write``. No docstring: it would become
    # the description of every operation that has none.
    renderer_classes: Sequence[type[BaseRenderer]] = (StrictJsonRenderer, ProblemRenderer)
    reads: frozenset[str] = frozenset()
    role_to_write = "editor"

    @property
    def team(self) -> Team:
        return team_of(self.request)

    @property
    def user(self) -> User:
        """Who calls; the permissions have let nobody anonymous in."""
        return cast("User", self.request.user)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        given = request.query_params.get("format")
        known = list(dict.fromkeys(str(renderer.format) for renderer in self.renderer_classes))
        if given is not None and given not in known and not force:
            detail = _("No such format; there are %(names)s.") % {"names": ", ".join(known)}
            raise InvalidInput.of_parameter("format", detail=detail)
        return super().perform_content_negotiation(request, force)

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            # Guessing tokens is limited too, by address.
            request.user, request.auth = AnonymousUser(), None
            super().check_throttles(request)
            raise

    def check_permissions(self, request: Request) -> None:
        # Limits first: who may not ask may not ask without end either.
        super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Done before the permissions."""

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        patch_vary_headers(response, ["Authorization", "Cookie"])
        return response


class Nowhere(ApiView):
    """Any other path below the API: a problem, not a page; a missing final slash is put right."""

    permission_classes = (AllowAny,)
    schema = None

    def _answer(self, request: Request) -> HttpResponse:
        if not request.path.endswith("/") and self._exists(f"{request.path}/"):
            query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
            # 308 keeps method and body.
            return HttpResponse(status=308, headers={"Location": f"{request.path}/{query}"})
        raise NotFound(_("There is nothing at this address; see /api/schema/ for what there is."))

    get = post = put = patch = delete = _answer

    def _exists(self, path: str) -> bool:
        try:
            return getattr(resolve(path).func, "cls", None) is not Nowhere
        except Resolver404:
            return False


def reply(shape: Any, *, body: Any = None, summary: str, status: int = 200, **more: Any) -> Callable[[Method], Method]:
    """Document one method of a view: what it takes and what it answers; every method may answer a problem."""

    def document(method: Method) -> Method:
        owner = method.__qualname__.split(".")[0]
        parameters = list(more.get("parameters", ()))
        if isinstance(shape, type) and issubclass(shape, shapes.Page):
            parameters += [schema.LIMIT, schema.OFFSET]
        if getattr(method, "is_idempotent", False):
            parameters.append(schema.IDEMPOTENCY_KEY)
        responses = more.get("responses") or {status: shape}
        described: Method = extend_schema(
            operation_id=f"{method.__name__}{owner}",
            request={"application/json": body} if isinstance(body, dict) and "$ref" in body else body,
            summary=summary,
            parameters=parameters,
            responses={**responses, ("default", "application/problem+json"): shapes.Problem},
        )(method)
        return described

    return document


def no_such(what: str) -> NoReturn:
    raise NotFound(_("There is no such %(what)s in your team.") % {"what": what})
