"""How often one caller may ask. A counter a window in the cache: two round trips however high the rate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

import structlog
from django.core.cache import cache
from redis.exceptions import ConnectionError as CacheUnreachable
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import SimpleRateThrottle

if TYPE_CHECKING:
    # Django REST framework loads this module while it loads its views.
    from rest_framework.views import APIView

log = structlog.get_logger(__name__)


class PerUser(SimpleRateThrottle):
    """The rate ``user`` for who is signed in (all tokens and sessions of a person together), ``anon`` by address."""

    scope = "user"

    def get_cache_key(self, request: Request, view: APIView) -> str:  # noqa: ARG002 - DRF's signature
        signed_in = request.user and request.user.is_authenticated
        self.scope = "user" if signed_in else "anon"
        who = request.user.pk if signed_in else self.get_ident(request)
        return f"throttle:{self.scope}:{who}"

    def allow_request(self, request: Request, view: APIView) -> bool:
        key = self.get_cache_key(request, view)
        most, length_s = self.parse_rate(cast("str | None", api_settings.DEFAULT_THROTTLE_RATES[self.scope]))
        if most is None or length_s is None:
            return True
        now = time.time()
        window = int(now // length_s)
        self.left_s = (window + 1) * length_s - now
        return self._count(f"{key}:{window}", kept_s=length_s + 1) <= most

    def _count(self, key: str, *, kept_s: int) -> int:
        try:
            cache.add(key, 0, timeout=kept_s)
            return cache.incr(key)
        except CacheUnreachable:
            # Answering without a limit beats not answering; /readyz says that the cache is away.
            log.warning("rate limit not enforced: the cache is unreachable")
            return 0
        except ValueError:
            return 1  # the window ended between the two calls

    def wait(self) -> float:
        return self.left_s
