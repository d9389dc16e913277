"""`Idempotency-Key`: a POST that creates, sent again with the same key and body, answers what it answered first.

The reply is kept in the cache for a day under team, user, path and key (ADR 12). The same key with another body is a
422, one whose first request still runs a 409.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.core.cache import cache
from django.http.request import RawPostDataException
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api.errors import Conflict, InvalidInput
from planner.api.permissions import team_of
from planner.api.rendering import dumps

KEPT_S = 24 * 3600
RUNNING_S = 120
LONGEST_KEY = 200
HEADERS = ("Location", "ETag")

Post = TypeVar("Post", bound=Callable[..., Response])


def _slot(request: Request, key: str) -> str:
    who = f"{team_of(request).pk}\n{request.user.pk}\n{request.path}\n{key}"
    return f"idempotency:{hashlib.sha256(who.encode()).hexdigest()}"


def _body_digest(request: Request) -> str:
    """Read before anything parses the stream: the body is kept for the parser."""
    try:
        return hashlib.sha256(request._request.body).hexdigest()  # noqa: SLF001
    except RawPostDataException:
        return _form_digest(request)


def _form_digest(request: Request) -> str:
    """Of a form that the browser's CSRF check has read already."""
    digest = hashlib.sha256(dumps(sorted(request.POST.items())).encode())
    for name, file in sorted(request.FILES.items()):
        digest.update(name.encode())
        for chunk in file.chunks():
            digest.update(chunk)
        file.seek(0)
    return digest.hexdigest()


def _again(kept: str, *, digest: str) -> Response:
    found = json.loads(kept)
    if found["digest"] != digest:
        raise InvalidInput.of("", detail=_("This Idempotency-Key was used for another request; take a new one."))
    if "status" not in found:
        raise Conflict(_("The first request with this Idempotency-Key is still running."))
    return Response(found["data"], status=found["status"], headers={**found["headers"], "Idempotency-Replayed": "true"})


def _kept(response: Response, *, digest: str, secret: str) -> str:
    headers = {name: response[name] for name in HEADERS if name in response}
    data = {**response.data, secret: None} if secret else response.data
    return dumps({"digest": digest, "status": response.status_code, "headers": headers, "data": data})


def idempotent(post: Post) -> Post:
    """Let a POST honour the header."""
    return _once(post, secret="")


def idempotent_but(secret: str) -> Callable[[Post], Post]:
    """The same; ``secret`` names the member of the reply that is never kept."""
    return lambda post: _once(post, secret=secret)


def _once(post: Post, *, secret: str) -> Post:
    @wraps(post)
    def once(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            return post(view, request, *args, **kwargs)
        if len(key) > LONGEST_KEY:
            raise InvalidInput.of(
                "", detail=_("An Idempotency-Key has at most %(most)d characters.") % {"most": LONGEST_KEY}
            )
        slot, digest = _slot(request, key), _body_digest(request)
        # `add` is the lock: of two requests at once one runs, the other finds the slot taken.
        if not cache.add(slot, dumps({"digest": digest}), timeout=RUNNING_S):
            kept = cache.get(slot)
            if kept is not None:
                return _again(kept, digest=digest)
        try:
            response = post(view, request, *args, **kwargs)
        except BaseException:
            cache.delete(slot)
            raise
        cache.set(slot, _kept(response, digest=digest, secret=secret), timeout=KEPT_S)
        return response

    once.is_idempotent = True  # type: ignore[attr-defined]
    return cast("Post", once)
