"""`/catalog/`: entries with the source of each figure, and imports that add to the team's own."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from pydantic import Field
from rest_framework.exceptions import NotFound, ParseError, PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from planner.accounts.models import Team
from planner.api import schema, shapes
from planner.api.errors import InvalidInput, importing
from planner.api.idempotency import idempotent
from planner.api.inputs import Body, body, file_of, form_text, parameters
from planner.api.paging import paged
from planner.api.rendering import StrictJsonParser, loads
from planner.api.views.resource import ApiView, reply
from planner.catalog import selectors, services
from planner.catalog.importers.hf_reader import without_infinity
from planner.catalog.models import Entry
from planner.core.catalog import UnknownEntry


class EntryQuery(Body):
    q: str = Field("", description="Words that must all occur.")
    group: str = Field("", description="Group of the table: vendor and architecture of a GPU, family of an LLM, …")


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


def entry_detail(entry: Entry, *, team: Team) -> dict[str, Any]:
    """The entry, for an LLM with what follows from its architecture."""
    if entry.table != "llms":
        return entry_json(entry)
    catalog = selectors.catalog(team)
    return {**entry_json(entry), "facts": selectors.llm_facts(catalog.llm(entry.slug), catalog)}


def _known(table: str) -> str:
    if table not in selectors.FILTERS:
        tables = ", ".join((*selectors.FILTERS, "workloads"))
        raise NotFound(
            _("The catalog has no table “%(table)s”; it has %(tables)s.") % {"table": table, "tables": tables}
        )
    return table


class Entries(ApiView):
    @reply(
        shapes.page_of(shapes.EntryShape),
        summary="Entries of a catalog table, with the source of each figure",
        parameters=[*schema.query(EntryQuery), *schema.catalog_filters(selectors.FILTERS)],
    )
    def get(self, request: Request, table: str) -> Response:
        given = parameters(request)
        words = given.pop("q", "")
        known = ("group", *selectors.FILTERS[_known(table)])
        if unknown := sorted(set(given) - set(known)):
            names = ", ".join(("q", *known))
            raise InvalidInput.of_parameter(
                unknown[0], detail=_("No such filter; there are %(names)s.") % {"names": names}
            )
        return paged(self, selectors.entries(table, team=self.team, q=words, filters=given), show=entry_json)


class GpuBody(Body):
    """A GPU of the team. ``figures`` are those of the catalog, in base units; memory and its bandwidth are needed."""

    name: str
    figures: dict[str, float | None]
    vendor: str = "Own"
    architecture: str = "Own"
    aliases: list[str] = Field(default_factory=list)
    notes: str = ""
    source: str = ""
    price_usd_per_h: float | None = None


def made(entry: Entry, *, team: Team) -> Response:
    shown = entry_detail(entry, team=team)
    return Response(shown, status=201, headers={"Location": shown["url"]})


class Gpus(Entries):
    @reply(
        shapes.page_of(shapes.EntryShape),
        summary="GPUs, with the source of each figure",
        parameters=[*schema.query(EntryQuery), *schema.catalog_filters({"gpus": selectors.FILTERS["gpus"]})],
    )
    def get(self, request: Request, table: str) -> Response:
        response: Response = super().get(request, table)
        return response

    @reply(shapes.EntryShape, body=GpuBody, summary="Add or replace a GPU of the team, with its price", status=201)
    @idempotent
    def post(self, request: Request, table: str) -> Response:  # noqa: ARG002 - the path names the one table
        given = body(request, GpuBody)
        places = {name: f"/figures/{name}" for name in (*services.FIGURE_UNITS, *given.figures)} | {
            "price": "/price_usd_per_h"
        }
        with importing(places=places):
            entry = services.gpu_save(team=self.team, user_id=self.user.pk, **given.model_dump())
        return made(entry, team=self.team)


class LlmBody(Body):
    name: str
    config: dict[str, Any] = Field(description="The content of the LLM's config.json.")
    hf_quant_config: dict[str, Any] | None = Field(
        None, description="The content of the hf_quant_config.json beside it, where there is one."
    )


class LlmImport(ApiView):
    """Takes ``{name, config, hf_quant_config}``, a bare config.json (``?name=`` names it), or the file as a form."""

    parser_classes = (StrictJsonParser, MultiPartParser)

    @reply(
        shapes.EntryShape,
        body={"application/json": LlmBody, "multipart/form-data": schema.UPLOAD},
        summary="Import an LLM from its config.json; answers its derived facts",
        status=201,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        name, config, quantised, pointer = self._given(request)
        with importing(pointer):
            entry = services.llm_import(
                team=self.team, user_id=self.user.pk, name=name, config=config, quantised=quantised
            )
        return made(entry, team=self.team)

    def _given(self, request: Request) -> tuple[str, Any, Any, str]:
        """Name, config, quantisation beside it, and where in the request the config is."""
        if request.FILES:
            file = file_of(request)
            try:
                config = loads(without_infinity(file.read()))
            except ParseError as error:
                raise InvalidInput.of("/file", detail=str(error.detail)) from None
            return form_text(request, "name") or _own_name(config), config, None, "/file"
        if isinstance(request.data, dict) and "config" not in request.data and "name" not in request.data:
            return request.query_params.get("name") or _own_name(request.data), request.data, None, ""
        given = body(request, LlmBody)
        return given.name, given.config, given.hf_quant_config, "/config"


def _own_name(config: Any) -> str:
    """What a config calls itself; "" (which is refused, naming the field) when it does not."""
    named = config if isinstance(config, dict) else {}
    found = next((named[key] for key in ("_name_or_path", "model_type") if isinstance(named.get(key), str)), "")
    return found.rstrip("/").rsplit("/", 1)[-1]


class OneEntry(ApiView):
    @reply(shapes.EntryShape, summary="An entry by slug or alias; an LLM with its derived facts")
    def get(self, _request: Request, table: str, slug: str) -> Response:
        return Response(entry_detail(self._entry(table, slug), team=self.team))

    def _entry(self, table: str, slug: str) -> Entry:
        try:
            return selectors.entry(_known(table), slug, team=self.team)
        except UnknownEntry as error:
            raise NotFound(str(error)) from None

    @reply(None, summary="Delete an entry of the team", status=204)
    def delete(self, _request: Request, table: str, slug: str) -> Response:
        entry = self._entry(table, slug)
        if entry.team_id is None:
            raise PermissionDenied(_("“%(name)s” ships with the catalog; it stays.") % {"name": entry.name})
        services.entry_delete(entry=entry, team=self.team, user_id=self.user.pk)
        return Response(status=204)
