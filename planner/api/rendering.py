"""Strict JSON both ways: no NaN, no Infinity, no duplicate names, no number a double cannot hold; CSV and PDF out."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any, NoReturn

import structlog
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.utils.encoders import JSONEncoder

MAX_BODY_BYTES = 8 * 2**20
MAX_DEPTH = 24
MAX_WHOLE = 2**63 - 1
PROBLEM = "application/problem+json"

log = structlog.get_logger(__name__)


class TooLarge(APIException):
    status_code = 413

    def __init__(self, *, limit_bytes: int) -> None:
        super().__init__(_("The request is larger than %(limit)d MiB.") % {"limit": limit_bytes // 2**20})


def dumps(data: Any) -> str:
    """JSON text; raises ValueError on NaN and Infinity."""
    return json.dumps(data, cls=JSONEncoder, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class StrictJsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, _media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        try:
            return dumps(data).encode()
        except ValueError:
            # A figure that is no number is our bug: say 500 rather than send what no JSON reader may accept.
            log.exception("reply is not strict JSON")
            response = (renderer_context or {}).get("response")
            if response is not None:
                response.status_code = 500
                response["Content-Type"] = PROBLEM
            return dumps({"type": "about:blank", "title": "Internal Server Error", "status": 500}).encode()


class ProblemRenderer(StrictJsonRenderer):
    """Only so that a client may ask for `application/problem+json`; such a reply is plain JSON when all is well."""

    media_type = PROBLEM
    format = "json"


class _Document(BaseRenderer):
    """The view replies with the finished document; this names its type for negotiation and draws problems as JSON."""

    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return StrictJsonRenderer().render(data, accepted_media_type, renderer_context)


class CsvRenderer(_Document):
    media_type = "text/csv"
    format = "csv"


class PdfRenderer(_Document):
    media_type = "application/pdf"
    format = "pdf"


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(_("%(name)s is not JSON; leave the field out or give null.") % {"name": name})


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ParseError(_("The number %(text)s is too large.") % {"text": text[:40]})
    return value


def _whole(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > MAX_WHOLE:
        raise ParseError(_("The number %(text)s is too large.") % {"text": text[:40]})
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Counted in one go: a search for each name would take hours over a body of the largest size.
        times = Counter(name for name, _value in pairs)
        twice = next(name for name, count in times.items() if count > 1)
        raise ParseError(_("The name “%(name)s” appears twice in one object.") % {"name": twice[:80]})
    return found


def _refuse_unstorable(text: str) -> None:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParseError(_("A text holds a character that cannot be stored (NUL or half a surrogate pair)."))


def _check(value: Any, *, escapes: bool) -> None:
    """Walk without recursion: the nesting, and the characters that escapes may have smuggled in."""
    stack = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise ParseError(_("The JSON is nested deeper than %(limit)d levels.") % {"limit": MAX_DEPTH})
        if isinstance(item, dict):
            if escapes:
                _refuse_unstorable("".join(item))
            stack += [(child, depth + 1) for child in item.values()]
        elif isinstance(item, list):
            stack += [(child, depth + 1) for child in item]
        elif escapes and isinstance(item, str):
            _refuse_unstorable(item)


def loads(body: bytes) -> Any:
    """The value of a JSON text; raises `ParseError` with a sentence that says what is wrong and where."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except UnicodeDecodeError:
        raise ParseError(_("The body is not UTF-8.")) from None
    except json.JSONDecodeError as problem:
        place = {"line": problem.lineno, "column": problem.colno, "message": problem.msg}
        raise ParseError(_("The body is not JSON: %(message)s at line %(line)d, column %(column)d.") % place) from None
    except RecursionError:
        raise ParseError(_("The JSON is nested deeper than %(limit)d levels.") % {"limit": MAX_DEPTH}) from None
    _check(value, escapes="\\u" in text)
    return value


class StrictJsonParser(BaseParser):
    media_type = "application/json"

    def parse(self, stream: IO[Any], *_how: Any) -> Any:
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(limit_bytes=MAX_BODY_BYTES)
        return loads(body)
