"""The reasoning around the figures: what to ask first, what else to try, what a reviewer asks."""

from __future__ import annotations

from collections.abc import Sequence

from planner.core.kind import FollowUp, Question, Variant
from planner.core.quantities import show
from planner.core.result import Result
from planner.kinds.gateway.spec import GatewaySpec

_DEFAULTS = GatewaySpec()


def _state(spec: GatewaySpec, *fields: str) -> str:
    """A default that nobody touched is assumed; a changed field is an answer."""
    touched = any(getattr(spec, field) != getattr(_DEFAULTS, field) for field in fields)
    return "answered" if touched else "assumed"


def questions(spec: GatewaySpec, result: Result) -> Sequence[Question]:
    """Clarify: the answers that would change the design."""
    return (
        Question(
            "How long does a stream stay open?",
            _state(spec, "output_tokens", "tpot_s", "ttft_s"),
            show(spec.ttft_s + spec.output_tokens * spec.tpot_s, "s"),
            f"Open streams, {show(result.value('streams'), 'streams')}, and with them files and memory.",
            "output_tokens",
        ),
    )


def variants(spec: GatewaySpec, result: Result) -> Sequence[Variant]:
    """Trade-offs: one change each."""
    found = []
    if spec.index_place == "service":
        found.append(Variant("Index in each gateway", {"index_place": "in_process"}))
    if result.value("streams"):
        other = "proxy" if spec.processing == "external" else "external"
        found.append(Variant("Bodies through an external processor", {"processing": other}))
    return tuple(found)


def follow_ups(spec: GatewaySpec, result: Result) -> Sequence[FollowUp]:
    """What an experienced reviewer asks."""
    return (
        FollowUp(
            "An instance dies. What is lost?",
            f"{show(result.value('requests_lost_before_ejection'), 'requests')} at most until probes, one each "
            f"{show(spec.probe_interval_s, 's')}, eject it.",
        ),
    )
