"""The form of a Spec: controls in groups, what was typed read into a spec, and every problem at its field.

Nothing typed is ever lost: a form that could not be read shows the same text again with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from planner.accounts.models import Team
from planner.catalog import selectors as catalogs
from planner.core.catalog import Catalog, UnknownEntry
from planner.core.kind import Asked
from planner.core.refusal import placed
from planner.core.specs import read_spec
from planner.web.fields import Field, NotRead, bounds_text, fields_of, filled, read, summary

_TABLES = ("gpus", "llms", "engines", "links", "prices", "api_prices")


@dataclass(frozen=True, slots=True)
class Group:
    """One fold of the form; ``line`` is what its closed state says."""

    name: str
    fields: tuple[Field, ...]

    @property
    def slug(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.name.lower())

    @property
    def line(self) -> str:
        return summary(self.fields)

    @property
    def open(self) -> bool:
        quiet = all(field.advanced for field in self.fields)
        return self.wrong or not quiet or any(field.changed for field in self.fields)

    @property
    def wrong(self) -> bool:
        return any(field.error for field in self.fields)

    @property
    def usual(self) -> tuple[Field, ...]:
        """What one decides. A group of advanced fields alone is a fold already, and shows them all."""
        return tuple(field for field in self.fields if not field.advanced) or self.fields

    @property
    def more(self) -> tuple[Field, ...]:
        """What usually stays as it is, folded below."""
        return tuple(field for field in self.fields if field not in self.usual)

    @property
    def more_open(self) -> bool:
        return any(field.error or field.changed for field in self.more)


@dataclass(frozen=True, slots=True)
class SpecForm:
    """A form with its texts. ``spec`` is what could be read; it is complete only when `ok`."""

    kind: Asked
    fields: tuple[Field, ...]
    spec: Mapping[str, Any]
    problems: tuple[str, ...] = ()
    """What is wrong with the form as a whole, not with one field."""
    base: str = field(default="")
    """What the changed marks compare with, in words."""

    @property
    def ok(self) -> bool:
        return not self.problems and not any(field.error for field in self.fields)

    @property
    def groups(self) -> list[Group]:
        names = dict.fromkeys(field.group for field in self.fields)
        return [Group(name, tuple(field for field in self.fields if field.group == name)) for name in names]

    @property
    def wrong(self) -> list[Field]:
        return [field for field in self.fields if field.error]

    @property
    def changed(self) -> list[str]:
        return [field.name for field in self.fields if field.changed]

    def failing(self, *, name: str, message: str) -> SpecForm:
        """The form with a message at a field."""
        marked = (replace(field, error=message) if field.name == name else field for field in self.fields)
        return replace(self, fields=tuple(marked))


def form_of(kind: Asked, *, spec: Mapping[str, Any], base: Mapping[str, Any], team: Team | None) -> SpecForm:
    """The form filled with a complete spec."""
    catalog = catalogs.catalog(team)
    shown = [filled(field, value=spec.get(field.name)) for field in fields_of(kind)]
    fields = (with_choices(each, catalog=catalog, team=team) for each in _marked(shown, spec=spec, base=base))
    return SpecForm(kind, tuple(fields), spec)


def form_read(kind: Asked, *, data: Mapping[str, str], base: Mapping[str, Any], team: Team | None) -> SpecForm:
    """The form as it was posted. A field that was not posted keeps its value of ``base``."""
    spec: dict[str, Any] = {}
    fields = []
    catalog = catalogs.catalog(team)
    for blank in fields_of(kind):
        typed = data.get(blank.name)
        typed = typed if typed is None else typed.replace("\r\n", "\n")
        if typed is None:
            spec[blank.name] = base.get(blank.name)
            fields.append(filled(blank, value=spec[blank.name]))
            continue
        control, error = replace(blank, text=typed[: blank.limit + 1]), ""
        try:
            spec[blank.name] = _meant(control, base=base)
            _look_up(control, catalog=catalog)
        except (NotRead, UnknownEntry) as problem:
            error = str(problem)
        fields.append(replace(control, error=error))
    form = _checked(SpecForm(kind, tuple(fields), spec), base=base)
    marked = _marked(form.fields, spec=form.spec, base=base)
    return replace(form, fields=tuple(with_choices(each, catalog=catalog, team=team) for each in marked))


def _meant(control: Field, *, base: Mapping[str, Any]) -> Any:
    """The value of a text; one that was not touched is the value it was written from, to the last digit."""
    if control.name in base and control.text == filled(control, value=base[control.name]).text:
        return base[control.name]
    return read(control, typed=control.text)


def _look_up(control: Field, *, catalog: Catalog) -> None:
    """Raise `UnknownEntry` for an entry its table does not have, even where other fields keep an answer from coming."""
    lookup = getattr(catalog, control.table.removesuffix("s"), None) if control.control == "entry" else None
    if lookup and control.text:
        lookup(control.text)


def _checked(form: SpecForm, *, base: Mapping[str, Any]) -> SpecForm:
    """The form held against its spec; where one field could not be read the others are still checked."""
    unread = {field.name for field in form.fields if field.error}
    stand_in = {name: value for name, value in base.items() if name in unread}
    try:
        spec = read_spec(form.kind.spec, {**stand_in, **form.spec})
    except ValidationError as error:
        return _failed(form, error=error, unread=unread)
    return form if unread else replace(form, spec=spec.model_dump(mode="json"))


def _failed(form: SpecForm, *, error: ValidationError, unread: set[str]) -> SpecForm:
    problems: list[str] = []
    by_name = {field.name: field for field in form.fields}
    for problem in error.errors(include_url=False):
        name = str(problem["loc"][0]) if problem["loc"] else ""
        if name in unread:
            continue
        message = sentence(problem, control=by_name.get(name))
        if not name:
            name, message = placed(message, fields=by_name)
        if name in by_name:
            form = form.failing(name=name, message=message)
        else:
            problems.append(message)
    return replace(form, problems=tuple(problems))


def sentence(problem: Mapping[str, Any], *, control: Field | None) -> str:
    """A pydantic error as a sentence with its bound in the unit of the form."""
    context = problem.get("ctx") or {}
    templates = {
        "greater_than": ("gt", _("Give more than %(limit)s.")),
        "greater_than_equal": ("ge", _("Give at least %(limit)s.")),
        "less_than": ("lt", _("Give less than %(limit)s.")),
        "less_than_equal": ("le", _("Give at most %(limit)s.")),
        "too_long": ("max_length", _("Give at most %(limit)s of them.")),
        "too_short": ("min_length", _("Give at least %(limit)s of them.")),
        "string_too_long": ("max_length", _("Give at most %(limit)s characters.")),
        "multiple_of": ("multiple_of", _("Give a multiple of %(limit)s.")),
    }
    if (found := templates.get(problem["type"])) and control is not None:
        limit = context.get(found[0])
        counted = found[0] in ("max_length", "min_length")
        return found[1] % {"limit": limit if counted else bounds_text(control, limit=limit)}
    if problem["type"] == "value_error":
        return str(context.get("error") or problem["msg"])
    words = {
        "literal_error": _("Choose one of the offered values."),
        "int_type": _("Give a whole number."),
        "int_from_float": _("Give a whole number."),
        "float_type": _("Give a number."),
        "finite_number": _("Give a finite number."),
        "missing": _("Give a value."),
        "extra_forbidden": _("This design has no such field."),
    }
    return words.get(problem["type"], str(problem["msg"]))


def _marked(fields: Sequence[Field], *, spec: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Field]:
    """Fields that differ from the base carry a bar."""
    for each in fields:
        yield replace(each, changed=bool(each.error) or spec.get(each.name) != base.get(each.name))


def with_choices(control: Field, *, catalog: Catalog, team: Team | None) -> Field:
    """An entry control with the entries of its table; a slug that is not among them is still shown."""
    if control.control != "entry":
        return control
    options = [("", control.placeholder or _("not set"))] if control.optional or not control.text else []
    options += _entries(control.table, catalog=catalog, team=team)
    if control.text and control.text not in dict(options):
        options.append((control.text, _entry_words(control, catalog=catalog)))
    return replace(control, choices=tuple(options))


def _entries(table: str, *, catalog: Catalog, team: Team | None) -> list[tuple[str, str]]:
    if table == "workloads":
        return [(row.slug, row.name) for row in catalogs.workloads(team) if row.form == row.Form.TRACE]
    if table not in _TABLES:
        return []
    rows = getattr(catalog, table)()
    return sorted(((row.slug, getattr(row, "name", row.slug)) for row in rows), key=lambda row: row[1].lower())


def _entry_words(control: Field, *, catalog: Catalog) -> str:
    """An alias reads as the entry it stands for."""
    lookup = getattr(catalog, control.table.removesuffix("s"), None)
    try:
        return f"{getattr(lookup(control.text), 'name', control.text)} ({control.text})" if lookup else control.text
    except UnknownEntry:
        return control.text
