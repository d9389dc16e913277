"""Every error of the API is one shape: RFC 9457 `application/problem+json`.

``{type, title, status, detail, errors: [{pointer, detail}]}``; ``pointer`` is a JSON pointer (RFC 6901) into the
request body, ``parameter`` takes its place for a query parameter.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from planner.api.rendering import PROBLEM
from planner.catalog.services import ImportProblem
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.core.refusal import placed
from planner.designs.services import InvalidField, StaleWrite
from planner.kinds import UnknownKind

MOST_ERRORS = 50

log = structlog.get_logger(__name__)


class InvalidInput(exceptions.APIException):
    """Bad input: 422 with a pointer to each bad field."""

    status_code = 422

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(_("The request is not valid."))
        self.errors = list(errors)[:MOST_ERRORS]

    @classmethod
    def of(cls, pointer: str, *, detail: str) -> InvalidInput:
        return cls([{"pointer": pointer, "detail": detail}])

    @classmethod
    def of_parameter(cls, name: str, *, detail: str) -> InvalidInput:
        return cls([{"pointer": "", "parameter": name, "detail": detail}])


class Missing(exceptions.APIException):
    """A figure nobody has published: 409 that names it."""

    status_code = 409

    def __init__(self, missing: MissingFigure, *, pointer: str = "") -> None:
        super().__init__(
            _("%(problem)s. Give the figure in the spec, or add it to the catalog.") % {"problem": missing}
        )
        self.errors = [{"pointer": pointer, "detail": str(missing)}]
        self.extra = {"table": missing.table, "slug": missing.slug, "figure": missing.figure}


class Conflict(exceptions.APIException):
    """What was asked does not fit the state of the thing it was asked of."""

    status_code = 409


class Unmet(exceptions.APIException):
    """If-Match names another revision than the stored one."""

    status_code = 412

    def __init__(self, stale: StaleWrite) -> None:
        super().__init__(
            _("The design has changed since you read it: it is at revision %(revision)d. Read it again, then write.")
            % {"revision": stale.current.revision}
        )
        self.headers = {"ETag": f'"{stale.current.revision}"'}


class PreconditionRequired(exceptions.APIException):
    status_code = 428
    default_detail = "Send the ETag of the revision you read as If-Match (or If-Match: * to overwrite any)."


def pointer_of(loc: Sequence[int | str], *, given: Any) -> str:
    """The JSON pointer of a pydantic location.

    Pydantic names the tried alternative of a union among the keys; only the parts that lead through the given
    value (and a last one, which may be the missing name) belong to the pointer.
    """
    parts: list[str] = []
    for place, part in enumerate(loc):
        if isinstance(given, Mapping):
            if part not in given and (parts and place < len(loc) - 1):
                continue
            given = given.get(part)
        elif isinstance(given, list | tuple):
            if not isinstance(part, int):
                continue
            given = given[part] if part < len(given) else None
        elif parts:
            continue
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{part}" for part in parts)


def _sentence(problem: Mapping[str, Any], names: Sequence[str]) -> str:
    if problem["type"] == "missing":
        return _("This field is required.")
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), names, n=1)
        return _("No such field; did you mean “%(near)s”?") % {"near": near[0]} if near else _("No such field.")
    message: str = problem["msg"]
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def invalid(
    error: ValidationError, *, given: Any, prefix: str = "", model: type[BaseModel] | None = None
) -> InvalidInput:
    """Pydantic's findings as a 422."""
    names = tuple(model.model_fields) if model else ()
    # Cut before the sentences are made: each looks for the nearest name.
    found = error.errors(include_url=False, include_context=False, include_input=False)[:MOST_ERRORS]
    return InvalidInput([_problem(problem, given=given, prefix=prefix, names=names) for problem in found])


def _problem(problem: Mapping[str, Any], *, given: Any, prefix: str, names: Sequence[str]) -> dict[str, str]:
    """A check over several fields has no place of its own; the field that it names is the one to look at."""
    detail, pointer = _sentence(problem, names), pointer_of(problem["loc"], given=given)
    if not pointer:
        field, detail = placed(detail, fields=names)
        pointer = f"/{field}" if field else ""
    return {"pointer": prefix + pointer, "detail": detail}


def _field_of(error: UnknownEntry | MissingFigure, *, model: type[BaseModel] | None, spec: Any) -> str:
    """The pointer part of the field that names the entry: the one of this table with this value, else its default."""
    fields = model.model_fields if model else {}
    of_table = [
        name
        for name, field in fields.items()
        if (field.json_schema_extra or {}).get("catalog") == error.table  # type: ignore[union-attr]
    ]
    given = spec if isinstance(spec, Mapping) else {}
    for name in of_table:
        if given.get(name, fields[name].default) == error.slug:
            return f"/{name}"
    return f"/{of_table[0]}" if len(of_table) == 1 else ""


@contextmanager
def pointing(prefix: str, *, spec: Any = None, model: type[BaseModel] | None = None) -> Iterator[None]:
    """Turn what a service raises about a spec into problems whose pointers begin with ``prefix``."""
    try:
        yield
    except ValidationError as error:
        raise invalid(error, given=spec, prefix=prefix, model=model) from None
    except UnknownEntry as error:
        raise InvalidInput.of(prefix + _field_of(error, model=model, spec=spec), detail=str(error)) from None
    except MissingFigure as error:
        raise Missing(error, pointer=prefix + _field_of(error, model=model, spec=spec)) from None


def _too_big(_exc: Exception) -> exceptions.APIException:
    error = exceptions.APIException(_("The request is too large."))
    error.status_code = 413
    return error


def _refused(problem: ImportProblem, *, prefix: str = "", places: Mapping[str, str] | None = None) -> InvalidInput:
    """What an import found wrong, with line and field. ``places`` are the pointers of fields that are not below it."""
    field = problem.field
    under = prefix if not field or prefix == "/file" else f"{prefix}/{field.replace('.', '/')}"
    pointer = (places or {}).get(field, under)
    found = [_row_error(each, pointer=pointer) for each in problem.rows or (problem,)]
    if problem.rows:
        words = _("%(n)s rows cannot be read; with skip_bad_rows the others are imported.")
        found.append({"pointer": pointer, "detail": words % {"n": f"{problem.bad_rows:,}"}})
    return InvalidInput(found)


def _row_error(problem: ImportProblem, *, pointer: str) -> dict[str, Any]:
    error: dict[str, Any] = {"pointer": pointer, "detail": str(problem), "field": problem.field}
    return error if problem.line is None else {**error, "line": problem.line}


@contextmanager
def importing(prefix: str = "", *, places: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn what an import refuses into a problem whose pointers begin with ``prefix``; the name is always on top."""
    try:
        yield
    except ImportProblem as problem:
        raise _refused(problem, prefix=prefix, places={"name": "/name", **(places or {})}) from None


_ANTICIPATED: tuple[
    tuple[type[Exception] | tuple[type[Exception], ...], Callable[[Any], exceptions.APIException]], ...
] = (
    (exceptions.APIException, lambda exc: exc),
    (ValidationError, lambda exc: invalid(exc, given=None, prefix="/spec")),
    (InvalidField, lambda exc: InvalidInput.of(f"/{exc.field}", detail=exc.message)),
    (ImportProblem, _refused),
    (UnknownEntry, lambda exc: InvalidInput.of("/spec", detail=str(exc))),
    (MissingFigure, Missing),
    (StaleWrite, Unmet),
    (UnknownKind, lambda exc: exceptions.NotFound(str(exc))),
    ((Http404, ObjectDoesNotExist), lambda _exc: exceptions.NotFound()),
    (DjangoPermissionDenied, lambda _exc: exceptions.PermissionDenied()),
    (DjangoValidationError, lambda exc: InvalidInput([{"pointer": "", "detail": text} for text in exc.messages])),
    (RequestDataTooBig, _too_big),
    (SuspiciousOperation, lambda _exc: exceptions.ParseError(_("The request cannot be read."))),
)
"""What services raise on purpose, in the order of looking, and the API's word for it. Anything else is a bug."""


def _anticipated(exc: Exception) -> exceptions.APIException | None:
    return next((word(exc) for raised, word in _ANTICIPATED if isinstance(exc, raised)), None)


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = dict(getattr(error, "headers", {}))
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(max(1, math.ceil(error.wait)))  # type: ignore[attr-defined]
    return headers


def body_of(error: exceptions.APIException) -> dict[str, Any]:
    """The problem object of an error."""
    status = error.status_code
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": str(error.detail) if not isinstance(error.detail, dict | list) else _("The request is not valid."),
    }
    body["errors"] = getattr(error, "errors", [])
    return {**body, **getattr(error, "extra", {})}


def problem_of(exc: Exception) -> exceptions.APIException:
    """The API's error for any exception; a bug is logged here, once, and said without details."""
    error = _anticipated(exc)
    if error is None:
        log.error("unexpected error in the API", exc_info=exc)
        error = exceptions.APIException(_("Something went wrong here. It has been logged."))
    return error


def problem_response(exc: Exception, context: Mapping[str, Any]) -> Response:  # noqa: ARG001 - DRF's signature
    """DRF's exception handler."""
    error = problem_of(exc)
    set_rollback()
    return Response(body_of(error), status=error.status_code, headers=_headers(error), content_type=PROBLEM)
