"""Fair scheduling, weights, noisy tenants, and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Lengths, Poisson
from sims.systems.multi_lora import AdapterRequests, Burst, Outcome, Popularity, Tenants, simulate
from sims.systems.multi_lora.audit import audit
from tests.sims.systems.multi_lora.scene import config

SHORT = Lengths(input_tokens=100, output_tokens=50, input_sigma=0.5, output_sigma=0.5, most_tokens=1000)
LONG = Lengths(input_tokens=800, output_tokens=200, input_sigma=0.5, output_sigma=0.5, most_tokens=1000)
TENANTS = Tenants(np.array([0, 1]))
KV_TOKENS = 10_000


def crowd(scheduler: str, *, rates: tuple[float, float] = (60.0, 20.0), **options: Any) -> Outcome:
    """Two tenants with an adapter each, one with short and one with long requests."""
    setup = config(
        replicas=1,
        adapters=2,
        slots=2,
        host_adapters=2,
        kv_capacity_tokens=KV_TOKENS,
        scheduler=scheduler,
        preload="slots",
    )
    burst = Burst((1,), rates[1], LONG)
    source = AdapterRequests(
        Poisson(rates[0], SHORT, duration_s=60.0), Popularity(np.array([1.0, 0.0])), bursts=(burst,)
    )
    return simulate(setup, source=source, **{"tenants": TENANTS, "warmup_s": 5.0, **options})


def bound(outcome: Outcome) -> float:
    """2 · max(w_p · L_in, w_q · M) for two backlogged tenants (Sheng et al. 2024, arXiv 2401.00588)."""
    return 2 * max(outcome.config.input_weight * 1000, outcome.config.output_weight * KV_TOKENS)


def test_service_of_backlogged_tenants_stays_within_the_bound() -> None:
    fair, first = crowd("fair"), crowd("fifo")
    gap = fair.fairness_gap()
    assert gap is not None
    assert gap <= bound(fair)
    # Who comes first takes more with every second: in fifo the gap grows with the run, far beyond the fair one.
    assert first.fairness_gap() > 5 * gap
    assert first.fairness_gap() > bound(first)


def test_weights_share_the_service() -> None:
    found = crowd("fair", tenants=replace(TENANTS, weights=np.array([1.0, 3.0])))
    assert found.tenants.service[1] / found.tenants.service[0] == pytest.approx(3.0, rel=0.05)
    weights = np.array([1.0, 3.0, 1.0])
    assert found.fairness_gap(weights) <= bound(found)


def test_a_tenant_that_idled_has_not_saved_up() -> None:
    """It comes back at the level of the others: from then on both get the same, not all of it one."""
    setup = config(
        replicas=1,
        adapters=2,
        slots=2,
        host_adapters=2,
        kv_capacity_tokens=KV_TOKENS,
        scheduler="fair",
        preload="slots",
    )
    source = AdapterRequests(
        Poisson(60.0, SHORT, duration_s=60.0),
        Popularity(np.array([1.0, 0.0])),
        bursts=(Burst((1,), 20.0, LONG, from_s=30.0),),
    )
    found = simulate(setup, source=source, tenants=TENANTS, warmup_s=35.0)
    assert found.fairness_gap() <= bound(found)
    assert found.tenants.service[1] / found.tenants.service[0] == pytest.approx(1.0, abs=0.1)


def test_a_noisy_tenant_does_not_slow_a_quiet_one_under_fair_scheduling() -> None:
    """The quiet tenant asks for a tenth of the replica; the noisy one for three times all of it."""
    waits = {}
    for scheduler in ("fifo", "fair"):
        found = crowd(scheduler, rates=(2.0, 20.0), log=100_000)
        quiet = found.log[found.log.adapter == 0]
        waits[scheduler] = float(np.quantile(quiet.first_s - quiet.sent_s, 0.9))
    assert waits["fair"] < waits["fifo"] / 5


def test_a_limit_caps_what_a_tenant_gets() -> None:
    """Sixty seconds of the limit and a burst of ten; requests turned away took nothing."""
    limits = replace(TENANTS, limits_tokens_per_s=np.array([np.inf, 1000.0]))
    found = crowd("fifo", rates=(2.0, 20.0), tenants=limits, warmup_s=0.0)
    assert found.counts["limited"] > 500
    used = float(found.tenants.in_tokens[1] + found.tenants.out_tokens[1])
    assert used == pytest.approx(60 * 1000 + 10_000, rel=0.05)


def test_held_requests_leave_at_the_rate_of_the_limit() -> None:
    """In order, when the bucket has filled: after the burst of one request they come as the tokens do."""
    limits = Tenants(np.array([0, 1]), limits_tokens_per_s=np.array([1000.0, np.inf]), bursts_tokens=np.array([150.0]))
    setup = config(replicas=1, adapters=2, slots=2, host_adapters=2, hold_limited=True, gateway_s=0.0)
    even = Lengths(input_tokens=100, output_tokens=50)
    source = AdapterRequests(Poisson(100.0, even, requests=200), Popularity(np.array([1.0])))
    found = simulate(setup, source=source, tenants=limits, log=200)
    sent = np.sort(found.log, order="seq").sent_s
    assert found.counts["finished"] == 200
    np.testing.assert_allclose(np.diff(sent)[5:], 0.15, rtol=1e-6)
    assert found.waits_s()["held"] == pytest.approx(float(np.mean(sent - _arrivals(source))), rel=1e-6)


def test_a_quota_of_slots_leaves_others_room() -> None:
    """A tenant with ten busy adapters and four slots in all: the other's one adapter waits for none of them."""
    tenants = Tenants(np.array([0] * 10 + [1]))
    setup = config(
        replicas=1, adapters=11, slots=4, host_adapters=11, preload="host", kv_capacity_tokens=10**6, max_running=1000
    )
    ranks = np.append(np.full(10, 1.0), 0.2)
    source = AdapterRequests(Poisson(25.0, SHORT, duration_s=200.0), Popularity(ranks))
    waits = []
    for quota in (np.zeros(0, np.int64), np.array([3])):
        found = simulate(
            setup, source=source, tenants=replace(tenants, slots=quota), warmup_s=20.0, log=10**5, check=audit
        )
        other = found.log[found.log.adapter == 10]
        waits.append(float(np.mean(other.admitted_s - other.sent_s)))
    assert waits[0] > 1.0
    assert waits[1] < 0.2


def _arrivals(source: AdapterRequests) -> np.ndarray:
    return np.concatenate([chunk["at_s"] for chunk in source.chunks(1)])
