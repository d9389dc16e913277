"""`/healthz`: the process lives. `/readyz`: it can serve. `/metrics`: for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

import redis
import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

log = structlog.get_logger(__name__)
BROKER_TIMEOUT_S = 2.0


@never_cache
@require_safe
def alive(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _broker() -> None:
    with redis.Redis.from_url(
        settings.BROKER_URL, socket_connect_timeout=BROKER_TIMEOUT_S, socket_timeout=BROKER_TIMEOUT_S
    ) as client:
        client.ping()


def _cache() -> None:
    cache.add("readyz", 1, timeout=1)


def _migrations() -> None:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        raise RuntimeError(f"{len(waiting)} migrations are not applied")


def _catalog() -> None:
    from planner.catalog.models import Entry

    if not Entry.objects.filter(team__isnull=True).exists():
        raise RuntimeError("the catalog is not loaded")


CHECKS: dict[str, Callable[[], None]] = {
    "database": _database,
    "broker": _broker,
    "cache": _cache,
    "migrations": _migrations,
    "catalog": _catalog,
}


def _state(name: str, check: Callable[[], None]) -> str:
    """ok or failed; the reason is for the log, not for whoever may ask."""
    try:
        check()
    except Exception:  # whatever is wrong, the answer is: not ready
        log.warning("not ready", check=name, exc_info=True)
        return "failed"
    return "ok"


@never_cache
@require_safe
def ready(_request: HttpRequest) -> JsonResponse:
    checks = {name: _state(name, check) for name, check in CHECKS.items()}
    is_ready = all(state == "ok" for state in checks.values())
    body = {"status": "ready" if is_ready else "not ready", "version": settings.VERSION, "checks": checks}
    return JsonResponse(body, status=200 if is_ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    response: HttpResponse = ExportToDjangoView(request)
    return response
