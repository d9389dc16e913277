"""A breaker that is half open gets a verdict from its trials whatever becomes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sims.systems.gateway import Config, Failure, Health, Outcome, Replay
from tests.sims.systems.gateway_scene import audited

HEALTH = Health(probe_interval_s=0.0, passive_failures=1, open_s=1.0, most_ejected_share=0.5)
SHORT = 10


def served(requests: list[tuple[float, int, int]], *, failures: list[Failure], **changes: Any) -> Outcome:
    """Requests (moment, prompt tokens, output tokens) on two instances in turn, a hundredth of a second a token."""
    at_s, tokens, output = (np.array(column) for column in zip(*requests, strict=True))
    values: dict[str, Any] = {"health": HEALTH, "policy": "round_robin", **changes}
    setup = Config(instances=2, prefill_s_per_token=0.01, token_s=0.01, slots=8, cache_blocks=100, **values)
    source = Replay(at_s=at_s - at_s[0], tokens=tokens, output=output)
    return audited(setup, source=source, failures=failures)


def closed(outcome: Outcome, *, instance: int) -> int:
    """How often the breakers of an instance closed again."""
    return sum(one.what == "breaker_closed" and one.instance == instance for one in outcome.verdicts)


def test_a_trial_that_expires_in_the_queue_leaves_another_one() -> None:
    """One router has the breaker half open; the other one's long prompt lets its only trial wait too long."""
    requests = [
        (0.0, SHORT, 1),
        (0.2, SHORT, 1),
        (1.1, SHORT, 1),  # refused: the breaker of this router is open until 2.1 s
        (1.3, SHORT, 1),
        (1.4, SHORT, 1),
        (1.5, 2000, 1),  # 20 s of prefill from the other router
        (2.2, SHORT, 1),  # the trial
        *((40.0 + turn, SHORT, 1) for turn in range(6)),
    ]
    found = served(
        requests,
        failures=[Failure(0, at_s=1.0, rejoin_s=0.2)],
        routers=2,
        routers_in_turn=True,
        ttft_slo_s=1.0,
        drop_expired=True,
        health=Health(**{**{name: getattr(HEALTH, name) for name in HEALTH.__slots__}, "shared_verdicts": False}),
    )
    assert found.counts["refused"] == 1
    assert found.counts["expired"] == 1
    assert closed(found, instance=0) == 1


def test_a_resumed_stream_that_breaks_on_trial_is_a_verdict() -> None:
    requests = [
        (0.0, SHORT, 1),
        (0.2, 100, 1000),  # a stream of ten seconds on the other instance
        (1.1, SHORT, 1),  # refused: the breaker is open until 2.1 s
        *((10.0 + turn, SHORT, 1) for turn in range(6)),
    ]
    # The stream moves to the half-open instance, which fails again before it goes on.
    failures = [
        Failure(0, at_s=1.0, rejoin_s=0.2),
        Failure(1, at_s=2.2, rejoin_s=1.0),
        Failure(0, at_s=2.5, rejoin_s=0.5),
    ]
    found = served(requests, failures=failures, resume=True)
    assert found.counts["refused"] >= 1
    assert found.counts["resumed"] >= 1
    assert closed(found, instance=0) == 1
