"""How to script the planner: a token, requests that work as pasted, and what the replies promise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from rest_framework.settings import api_settings

from planner import kinds
from planner.core.kind import DesignKind
from planner.web.security import TeamRequest, member_required

SIMULATED_S = 120


@require_safe
@member_required
def guide(request: TeamRequest) -> HttpResponse:
    found = list(kinds.all_kinds().values())
    base = request.build_absolute_uri("/").rstrip("/")
    limit, _slash, per = str(api_settings.DEFAULT_THROTTLE_RATES["user"]).partition("/")
    context = {
        "kinds": [(kind, reverse("api:kind", args=[kind.slug])) for kind in found],
        "token_command": "$(cat .local/token)" if settings.LOCAL_MODE else "$PLANNER_TOKEN",
        "base": base,
        "examples": _examples(found, base=base),
        "limit": f"{int(limit):,}",
        "per": {"m": "minute", "s": "second", "h": "hour", "d": "day"}.get(per[:1], per),
        "simulator": any(kind.simulator for kind in found),
    }
    return render(request, "api_guide/guide.html", context)


def _examples(found: list[DesignKind], *, base: str) -> dict[str, str]:
    """Requests, each with the address the router gives; the simulation is of a kind that can be simulated."""
    kind = found[0]
    simulated = next((one for one in found if one.simulator), kind)
    at = {name: base + reverse(f"api:{name}") for name in ("kinds", "estimates", "designs", "simulations", "jobs")}
    spec: dict[str, Any] = {}
    body = {"kind": kind.slug, "spec": spec}
    one = f"{at['designs']}$ID/"
    return {
        "kinds": _curl(at["kinds"]),
        "estimate": _curl(at["estimates"], body=body),
        "design": _curl(at["designs"], body={**body, "name": "From a script"}, headers=["Idempotency-Key: first-try"]),
        "change": _curl(one, method="PATCH", body={"name": "Renamed"}, headers=['If-Match: "1"']),
        "simulate": _curl(
            at["simulations"], body={"kind": simulated.slug, "spec": spec, "duration_s": SIMULATED_S, "seed": 1}
        ),
        "job": _curl(f"{at['jobs']}$JOB/result/"),
        "python": _python(at["estimates"], body=body),
    }


def _curl(
    address: str, *, method: str = "", body: Mapping[str, Any] | None = None, headers: list[str] | None = None
) -> str:
    """A command for a shell with the token in TOKEN. What a shell would expand stands in double quotes."""
    words = ["curl -s"]
    if method:
        words.append(f"-X {method}")
    words.append(f'"{address}"')
    lines = [" ".join(words), '-H "Authorization: Bearer $TOKEN"']
    lines += [f"-H '{header}'" for header in headers or []]
    if body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d '{json.dumps(body)}'"]
    return " \\\n  ".join(lines)


def _python(address: str, *, body: Mapping[str, Any]) -> str:
    """A script that needs only the standard library."""
    return f'''import json, os, urllib.request

request = urllib.request.Request(
    "{address}",
    data=json.dumps({json.dumps(body)}).encode(),
    headers={{"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request) as reply:
    answer = json.load(reply)
for name, metric in answer["metrics"].items():
    print(name, metric["value"], metric["unit"])
for finding in answer["findings"]:
    print(finding["severity"], finding["message"])
'''
