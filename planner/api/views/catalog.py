"""`/catalog/`: entries with the source of each figure, and imports that add to the team's own."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.exceptions import NotFound
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api import schema, shapes
from planner.api.errors import InvalidInput
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, file_of, query
from planner.api.paging import paged
from planner.api.rendering import StrictJsonParser, loads
from planner.api.views.resource import ApiView, reply
from planner.catalog import selectors, services
from planner.catalog.models import Entry
from planner.core.catalog import UnknownEntry

TABLES = ("gpus", "llms", "links", "prices", "engines")
LARGEST_CONFIG_BYTES = 2 * 2**20


class EntryQuery(Body):
    q: str = Field("", description="Words to look for.")
    group: str = Field("", description="Vendor of a GPU, family of an LLM, …")


def entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "table": entry.table,
        "slug": entry.slug,
        "name": entry.name,
        "group": entry.group,
        "shipped": entry.team_id is None,
        "entry": entry.payload,
        "url": reverse("api:entry", args=[entry.table, entry.slug]),
    }
