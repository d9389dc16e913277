"""Pages of a list: ``?limit=&offset=`` → ``{count, next, previous, results}``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner.api.errors import InvalidInput

LARGEST_OFFSET = 10_000_000


class Pages(LimitOffsetPagination):
    default_limit = 50
    max_limit = 500

    def get_limit(self, request: Request) -> int:
        return _whole(request, name="limit", default=self.default_limit, least=1, most=self.max_limit)

    def get_offset(self, request: Request) -> int:
        return _whole(request, name="offset", default=0, least=0, most=LARGEST_OFFSET)


def _whole(request: Request, *, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise InvalidInput.of_parameter(
            name, detail=_("Give a whole number from %(least)d to %(most)d.") % {"least": least, "most": most}
        )
    return int(text)


def paged(view: APIView, rows: QuerySet[Any] | Sequence[Any], *, show: Callable[[Any], Any]) -> Response:
    """One page of ``rows``, each drawn by ``show``."""
    pages = Pages()
    page = pages.paginate_queryset(rows, view.request, view=view)
    return pages.get_paginated_response([show(row) for row in page or ()])
