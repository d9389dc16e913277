"""What the editor works on: a form, the design or example it came from, and the answer to what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from planner import kinds
from planner.accounts.models import Team
from planner.catalog import selectors as catalogs
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.kind import DesignKind
from planner.designs import estimation, selectors
from planner.designs.effects import effect_view
from planner.designs.estimation import Estimate
from planner.designs.models import Design
from planner.kinds import Example
from planner.web.fields import fields_of, filled
from planner.web.forms import SpecForm, form_of, form_read


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the inputs started: a saved design, a worked example, or the defaults of the kind."""

    kind: DesignKind
    team: Team
    design: Design | None = None
    example: Example | None = None

    @property
    def marks(self) -> dict[str, Any]:
        """The spec the changed marks compare with."""
        start = self.example.spec if self.example and not self.design else {}
        return estimation.parse_spec(self.kind, spec=start).model_dump(mode="json")

    @property
    def start(self) -> dict[str, Any]:
        """The spec the editor opens with."""
        if self.design is None:
            return self.marks
        return estimation.parse_spec(self.kind, spec=self.design.spec).model_dump(mode="json")

    @property
    def marks_words(self) -> str:
        return _("the example") if self.example and not self.design else _("the defaults")


def origin_of(kind_slug: str, *, team: Team, design_id: str = "", example: str = "") -> Origin:
    """The origin a form names; raises Http404 for what this team does not have."""
    try:
        kind = kinds.get(kind_slug)
        design = selectors.design(team, design_id) if design_id else None
    except (kinds.UnknownKind, Design.DoesNotExist):
        raise Http404 from None
    if design is not None and design.kind != kind.slug:
        raise Http404
    found = next((row for row in kinds.examples() if row.slug == example and row.kind == kind.slug), None)
    if example and found is None and design is None:
        raise Http404
    return Origin(kind, team, design, found)


@dataclass(frozen=True)
class Draft:
    """A form and its answer. ``estimate`` answers ``form.spec`` when `answered`, else the spec it started from."""

    origin: Origin
    form: SpecForm
    estimate: Estimate | None
    answered: bool
    missing: MissingFigure | None = None

    @property
    def status(self) -> int:
        if self.missing:
            return 409
        return 200 if self.form.ok else 422

    @property
    def dirty(self) -> bool:
        """Whether the form differs from what is saved."""
        design = self.origin.design
        return design is None or not self.answered or self.form.spec != self.origin.start

    @cached_property
    def since(self) -> dict[str, Any] | None:
        """What changed, and what that did to the answer: since the saved revision, the one before it, or the start."""
        if not self.answered or self.estimate is None:
            return None
        before, words, number = self._before()
        if before is None or before == self.form.spec:
            return None
        try:
            earlier = estimation.estimate(kind=self.origin.kind.slug, spec=before, team=self.origin.team)
        except estimation.CANNOT_ANSWER:
            return None
        return effect_view(earlier, change=self.form.spec) | {"words": words, "number": number}

    def _before(self) -> tuple[Mapping[str, Any] | None, str, int | None]:
        design = self.origin.design
        if design is None:
            return self.origin.start, _("since %(start)s") % {"start": self.origin.marks_words}, None
        if self.dirty:
            return self.origin.start, _("since r%(number)d, not saved yet") % {"number": design.revision}, None
        previous = selectors.revisions(design).filter(number__lt=design.revision).first()
        if previous is None:
            return None, "", None
        return previous.spec, _("since r%(number)d") % {"number": previous.number}, previous.number


def draft_of(origin: Origin, *, spec: Mapping[str, Any]) -> Draft:
    """The draft of a complete spec."""
    return _answered(origin, form=form_of(origin.kind, spec=spec, base=origin.marks, team=origin.team))


def draft_read(origin: Origin, *, data: Mapping[str, str], change: Mapping[str, Any] | None = None) -> Draft:
    """The draft of a posted form, with a change written into it as if it had been typed."""
    typed = {name: data[name] for name in data} | _as_typed(origin.kind, change=change or {})
    base = origin.start if origin.design else origin.marks
    read = form_read(origin.kind, data=typed, base=base, team=origin.team)
    if read.ok:
        return draft_of(origin, spec=read.spec)
    return _answered(origin, form=read)


def change_of(text: str) -> dict[str, Any]:
    """The change an “apply” button or a link names; nothing when it is not one."""
    try:
        change = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return {}
    return change if isinstance(change, dict) else {}


def _as_typed(kind: DesignKind, *, change: Mapping[str, Any]) -> dict[str, str]:
    typed = {}
    for control in fields_of(kind):
        if control.name not in change:
            continue
        value = change[control.name]
        try:
            typed[control.name] = filled(control, value=value).text
        except (TypeError, ValueError, OverflowError):
            typed[control.name] = str(value)
    return typed


def _answered(origin: Origin, *, form: SpecForm) -> Draft:
    """The draft with its answer; where there is none, with the last one that was."""
    if not form.ok:
        return Draft(origin, form, _last(origin), answered=False)
    try:
        return Draft(origin, form, _estimate(origin, spec=form.spec), answered=True)
    except MissingFigure as missing:
        return Draft(origin, form, _last(origin), answered=False, missing=missing)
    except UnknownEntry as unknown:
        return Draft(origin, _unknown(form, unknown=unknown), _last(origin), answered=False)


def _estimate(origin: Origin, *, spec: Mapping[str, Any]) -> Estimate:
    return estimation.estimate(kind=origin.kind.slug, spec=spec, team=origin.team)


def _last(origin: Origin) -> Estimate | None:
    try:
        return _estimate(origin, spec=origin.start)
    except estimation.CANNOT_ANSWER:
        return None


def _unknown(form: SpecForm, *, unknown: UnknownEntry) -> SpecForm:
    """The message at the field that named the entry."""
    for control in form.fields:
        if control.table == unknown.table and control.text == unknown.slug:
            return form.failing(name=control.name, message=str(unknown))
    return replace(form, problems=(str(unknown),))


def entry_exists(table: str, *, slug: str, team: Team) -> bool:
    """Whether the catalog page of an entry exists, for the link beside a missing figure."""
    try:
        return bool(catalogs.entry(table, slug, team=team))
    except LookupError:
        return False
