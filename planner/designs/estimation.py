"""A kind and a spec become an answer: parse, estimate, order the findings, name what made it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from django.conf import settings
from pydantic import ValidationError

from planner import kinds
from planner.accounts.models import Team
from planner.catalog import selectors as catalog_selectors
from planner.core.catalog import Catalog, MissingFigure, UnknownEntry
from planner.core.kind import DesignKind, Spec
from planner.core.result import Result, order_findings
from planner.core.specs import read_spec

CACHED_ESTIMATES = 256
CANNOT_ANSWER = (ValidationError, MissingFigure, UnknownEntry, kinds.UnknownKind)
"""What `estimate` raises for a design that has no answer (any more)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answered design. ``catalog`` is the one it was answered with, so that variants use the same."""

    kind: DesignKind
    spec: Spec
    result: Result
    catalog: Catalog

    @property
    def spec_json(self) -> dict[str, Any]:
        """The complete spec, defaults included: what is stored and shown."""
        return self.spec.model_dump(mode="json")


def parse_spec(kind: DesignKind, *, spec: Mapping[str, Any]) -> Spec:
    """The checked spec; raises pydantic's ValidationError."""
    return read_spec(kind.spec, spec)


def canonical(spec: Spec) -> str:
    """One text for one meaning: key of caches and jobs."""
    return json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def estimate(*, kind: str, spec: Mapping[str, Any], team: Team | None) -> Estimate:
    """Answer a spec with the team's catalog; raises one of `CANNOT_ANSWER`."""
    chosen = kinds.get(kind)
    return answer(chosen, spec=parse_spec(chosen, spec=spec), catalog=catalog_selectors.catalog(team))


def answer(kind: DesignKind, *, spec: Spec, catalog: Catalog) -> Estimate:
    """Answer a checked spec; the last few answers are kept."""
    key = (kind.slug, kind.estimate, canonical(spec), catalog.digest, settings.VERSION)
    found = _recent(key)
    if found is None:
        found = Estimate(
            kind=kind,
            spec=spec,
            result=_named(kind, result=kind.estimate(spec, catalog), catalog=catalog),
            catalog=catalog,
        )
        _keep(key, found)
    return found


def made_by(kind: DesignKind, *, catalog: Catalog) -> dict[str, Any]:
    """What makes a result: kind, spec version, catalog and code."""
    return {
        "kind": kind.slug,
        "spec_version": kind.spec.version,
        "catalog_digest": catalog.digest,
        "catalog_as_of": catalog.as_of,
        "code_version": settings.VERSION,
    }


def _named(kind: DesignKind, *, result: Result, catalog: Catalog) -> Result:
    provenance = {**result.provenance, **made_by(kind, catalog=catalog)}
    return replace(result, findings=order_findings(result.findings), provenance=provenance)


_answers: OrderedDict[tuple[Any, ...], Estimate] = OrderedDict()
_lock = Lock()


def _recent(key: tuple[Any, ...]) -> Estimate | None:
    with _lock:
        if key in _answers:
            _answers.move_to_end(key)
        return _answers.get(key)


def _keep(key: tuple[Any, ...], estimate: Estimate) -> None:
    with _lock:
        _answers[key] = estimate
        while len(_answers) > CACHED_ESTIMATES:
            _answers.popitem(last=False)
