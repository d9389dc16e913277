"""The OpenAPI document and two readers of it, from assets served here."""

from __future__ import annotations

from typing import Any

from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularRedocView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema

# Both readers write style attributes at run time, and Redoc searches in a worker made from a blob: allowed on these
# two pages only. Scripts are files of ours, never inline.
READER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; worker-src blob:; child-src blob:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
DOCUMENT_POLICY = "default-src 'none'; frame-ancestors 'none'"


class Document(SpectacularAPIView):
    renderer_classes = [  # noqa: RUF012 - the base says: a list
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
        OpenApiYamlRenderer2,
    ]

    @extend_schema(exclude=True)
    def get(self, _request: Request) -> Response:
        return Response(schema.document(), headers={"Content-Security-Policy": DOCUMENT_POLICY})


class Swagger(SpectacularSwaggerSplitView):
    url_name = "api:schema"

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Content-Security-Policy"] = READER_POLICY
        return response


class Redoc(SpectacularRedocView):
    url_name = "api:schema"
    template_name = "api/redoc.html"

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Content-Security-Policy"] = READER_POLICY
        return response
