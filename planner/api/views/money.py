"""`/money/`: what a spec or a saved design costs on given terms, and how to buy it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from planner.accounts.models import Team
from planner.api import schema
from planner.api.errors import pointing
from planner.api.inputs import Body, body
from planner.api.shapes_money import MoneyAnswer
from planner.api.views.designs import design_of
from planner.api.views.estimates import kind_named
from planner.api.views.resource import ApiView, reply
from planner.core.kind import DesignKind
from planner.core.money import MoneyTerms
from planner.designs import serial
from planner.designs.estimation import estimate
from planner.designs.money.asking import money_of, parse_terms
from planner.designs.money.view import money_json


class MoneyTermsBody(Body):
    terms: dict[str, Any] = Field(default_factory=dict)


class MoneyBody(MoneyTermsBody):
    kind: str
    spec: dict[str, Any] = Field(default_factory=dict)


def _answered(kind: DesignKind, *, spec: dict[str, Any], terms: dict[str, Any], team: Team, pointer: str) -> Response:
    with pointing("/terms", spec=terms, model=MoneyTerms):
        read = parse_terms(terms)
    with pointing(pointer, spec=spec, model=kind.spec):
        answered = estimate(kind=kind.slug, spec=spec, team=team)
    with pointing("/terms", spec=terms, model=MoneyTerms):
        found = money_json(money_of(answered, terms=read))
    named = {"kind": kind.slug, "spec": answered.spec_json, "provenance": answered.result.provenance}
    return Response(serial.plain({**named, **found}))


class Money(ApiView):
    reads = frozenset({"POST"})

    @reply(
        MoneyAnswer,
        body=schema.ref("MoneyRequest"),
        summary="What a spec costs on given terms: bill, token prices, break-even, plan to buy; nothing is stored",
    )
    def post(self, request: Request) -> Response:
        given = body(request, MoneyBody)
        kind = kind_named(given.kind)
        return _answered(kind, spec=given.spec, terms=given.terms, team=self.team, pointer="/spec")


class DesignMoney(ApiView):
    reads = frozenset({"POST"})

    @reply(
        MoneyAnswer,
        body=schema.ref("MoneyTermsRequest"),
        summary="What a saved design costs on given terms: bill, token prices, break-even, plan to buy",
    )
    def post(self, request: Request, id: UUID) -> Response:
        given = body(request, MoneyTermsBody) if request.data else MoneyTermsBody()
        design = design_of(self, id)
        kind = kind_named(design.kind)
        return _answered(kind, spec=design.spec, terms=given.terms, team=self.team, pointer="")
