"""Who may be sent to: verdicts of probes, breakers fed by failed requests, versions.

A breaker opens after so many failures in a row, for a time that grows with each opening; then it is half open: a few
requests may try, the first that succeeds closes it and the first that fails opens it again. Without trials an
instance once out stays out. Routers share their verdicts, or each has its own row.
"""

from __future__ import annotations

import numpy as np

from sims.engine.clock import NEVER
from sims.engine.kernel import handler

CLOSED, OPEN, HALF_OPEN = 0, 1, 2
BREAKER = np.dtype(
    [("state", "i8"), ("failures", "i8"), ("openings", "i8"), ("trials", "i8"), ("until_s", "f8"), ("since_s", "f8")]
)
VERDICT = np.dtype([("at_s", "f8"), ("row", "i8"), ("instance", "i8"), ("what", "i8"), ("up", "i8")])
"""``up`` tells whether the instance was in truth up."""

PROBE_OUT, PROBE_IN, BREAKER_OPEN, BREAKER_HALF, BREAKER_CLOSED = 0, 1, 2, 3, 4


@handler
def tell(state, row, i, what, now_s):  # type: ignore[no-untyped-def]
    """Write a verdict down, as long as there is room."""
    totals = state.totals[0]
    if totals.verdicts < len(state.verdicts):
        verdict = state.verdicts[totals.verdicts]
        verdict.at_s = now_s
        verdict.row = row
        verdict.instance = i
        verdict.what = what
        verdict.up = state.instances[i].up
    totals.verdicts += 1


@handler
def set_doors(state, row, i):  # type: ignore[no-untyped-def]
    """Open or close an instance to the routers of a row, for the version it runs."""
    rows = len(state.breakers)
    breaker = state.breakers[row, i]
    shut = (
        state.instances[i].unhealthy == 1
        or breaker.state == OPEN
        or (breaker.state == HALF_OPEN and breaker.trials <= 0)
    )
    for version in range(2):
        state.closed[version * rows + row, i] = 1 if shut or state.instances[i].version != version else 0


@handler
def ejected(instances, breakers, row):  # type: ignore[no-untyped-def]
    """How many instances the routers of a row send nothing to."""
    count = 0
    for i in range(len(instances)):
        count += 1 if instances[i].unhealthy == 1 or breakers[row, i].state == OPEN else 0
    return count


@handler
def may_eject(state, row):  # type: ignore[no-untyped-def]
    """Whether the cap allows one more to be out; one always may."""
    return ejected(state.instances, state.breakers, row) < max(
        1.0, state.params[0].most_ejected_share * len(state.instances)
    )


@handler
def open_breaker(state, row, i, now_s):  # type: ignore[no-untyped-def]
    """Send nothing more for a while, or for ever when nobody may try."""
    params, breaker = state.params[0], state.breakers[row, i]
    breaker.state = OPEN
    breaker.failures = 0
    breaker.openings += 1
    breaker.until_s = NEVER
    if params.half_open_trials > 0:
        breaker.until_s = now_s + min(params.most_open_s, params.open_s * params.open_growth ** (breaker.openings - 1))
    set_doors(state, row, i)
    tell(state, row, i, BREAKER_OPEN, now_s)


@handler
def on_bad(state, row, i, now_s):  # type: ignore[no-untyped-def]
    """A request to the instance failed before its first token; 1 when that opened the breaker."""
    params, breaker = state.params[0], state.breakers[row, i]
    if params.passive_failures <= 0 or breaker.state == OPEN:
        return 0
    breaker.failures += 1
    if breaker.state == HALF_OPEN or (breaker.failures >= params.passive_failures and may_eject(state, row)):
        open_breaker(state, row, i, now_s)
        return 1
    return 0


@handler
def on_good(state, row, i, now_s):  # type: ignore[no-untyped-def]
    """A request got its first token: failures in a row are over, and a trial has succeeded."""
    breaker = state.breakers[row, i]
    breaker.failures = 0
    if breaker.state == HALF_OPEN:
        breaker.state = CLOSED
        breaker.openings = 0
        set_doors(state, row, i)
        tell(state, row, i, BREAKER_CLOSED, now_s)


@handler
def on_sent(state, row, i):  # type: ignore[no-untyped-def]
    """A request goes out: it may be one of the trials of a half-open breaker."""
    breaker = state.breakers[row, i]
    if breaker.state == HALF_OPEN:
        breaker.trials -= 1
        if breaker.trials == 0:
            set_doors(state, row, i)


@handler
def next_half_open_s(breakers):  # type: ignore[no-untyped-def]
    """When the next open breaker lets requests try."""
    first_s = NEVER
    for row in range(breakers.shape[0]):
        for i in range(breakers.shape[1]):
            if breakers[row, i].state == OPEN:
                first_s = min(first_s, breakers[row, i].until_s)
    return first_s


@handler
def half_open_due(state, now_s):  # type: ignore[no-untyped-def]
    """Let requests try those whose time is up."""
    for row in range(state.breakers.shape[0]):
        for i in range(len(state.instances)):
            breaker = state.breakers[row, i]
            if breaker.state == OPEN and breaker.until_s <= now_s:
                breaker.state = HALF_OPEN
                breaker.trials = state.params[0].half_open_trials
                set_doors(state, row, i)
                tell(state, row, i, BREAKER_HALF, now_s)
