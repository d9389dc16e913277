from __future__ import annotations

from time import process_time

import pytest

from sims.engine import kernel, run
from sims.engine.hooks import Cancelled
from sims.systems.gateway import POLICIES, CanaryStep, Config, Conversations, Failure, Health, simulate
from tests.sims.impatient import Impatient
from tests.sims.systems.gateway_scene import audited, config, fingerprint, talks
from tests.sims.without_jit import printed


def small(policy: str = "cost_based", *, requests: int = 400, **options: object) -> str:
    """A run with everything that has a period."""
    health = Health(passive_failures=2, shared_verdicts=False, open_s=0.5, probe_false_rate=0.02, probe_busy_s=0.5)
    setup = config(
        policy=policy,
        routers=3,
        view_period_s=0.3,
        index_period_s=0.4,
        index_own=True,
        hot_prefix_cap=1.5,
        retries=1,
        resume=True,
        timeout_s=1.0,
        queue_limit=30,
        low_priority_limit=10,
        priority_queues=True,
        health=health,
    )
    failures = [Failure(0, at_s=0.6, rejoin_s=0.8), Failure(2, at_s=1.1, rejoin_s=3.0, hangs=True)]
    source = talks(requests=requests, important_share=0.5)
    canary = [CanaryStep(0.2, weight=0.3, instances=2)]
    return fingerprint(simulate(setup, source=source, failures=failures, canary=canary, **options))


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(policy: str) -> None:
    assert small(policy, seed=5) == small(policy, seed=5)
    assert small(policy, seed=5) != small(policy, seed=6)


def test_slices_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(samples=1)
    assert small(samples=977) == whole
    monkeypatch.setattr(run, "FIRST_EVENTS", 1)
    monkeypatch.setattr(run, "MOST_EVENTS", 1)
    assert small(samples=10) == whole


def test_pools_that_grow_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from sims.systems.gateway import state

    whole = small()
    monkeypatch.setattr(state, "FIRST_CALLS", 4)
    monkeypatch.setattr(state, "FIRST_ENTRIES", 8)
    assert small() == whole


def every_policy() -> str:
    return " ".join(small(policy, requests=60) for policy in POLICIES)


def test_compiled_and_plain_code_give_the_same_bytes() -> None:
    if not kernel.JIT:
        pytest.skip("JIT is off in this run")
    code = "from tests.sims.systems.test_gateway_determinism import every_policy; print(every_policy())"
    assert printed(code) == every_policy()


def test_a_run_stops_within_a_second_of_the_wish() -> None:
    fleet = Config(instances=200, prefill_s_per_token=1e-5, token_s=0.03, slots=512, cache_blocks=31_250)
    hooks = Impatient()
    with pytest.raises(Cancelled):
        simulate(fleet, source=Conversations(5000.0, duration_s=36_000.0), hooks=hooks, clock=process_time)
    assert hooks.longest_s < 1.0


def test_a_system_that_cannot_keep_up_ends_and_says_so() -> None:
    fleet = config(instances=1, slots=1, token_s=1.0)
    found = simulate(fleet, source=talks(rate_per_s=2000.0, duration_s=1e6), most_in_flight=20_000)
    assert found.ending == run.FULL
    assert not found.is_steady
    # Rates are over the time that was simulated, not over the million seconds that were asked for.
    assert found.window_s == found.simulated_s < 100.0


def test_queues_that_grow_are_not_called_steady() -> None:
    found = audited(config(slots=1), source=talks(rate_per_s=80.0, duration_s=100.0), samples=60)
    assert not found.is_steady
    assert audited(config(slots=50), source=talks(rate_per_s=5.0, duration_s=100.0), samples=60).is_steady


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"instances": 0}, "instances"),
        ({"slots": 0}, "slots"),
        ({"token_s": float("nan")}, "token_s"),
        ({"prefill_s_per_token": 0.0, "prefill_fixed_s": 0.0}, "prefill must take time"),
        ({"policy": "psychic"}, "policy"),
        ({"load_bound": 0.5}, "load_bound"),
        ({"view_period_s": -1.0}, "view_period_s"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"retry_budget": float("nan")}, "retry_budget"),
    ],
)
def test_an_impossible_gateway_is_refused_by_name(change: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        config(**change)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"probe_failures": 0}, "probe_failures"),
        ({"probe_interval_s": -1.0}, "probe_interval_s"),
        ({"probe_false_rate": 1.5}, "probe_false_rate"),
        ({"open_growth": 0.5}, "open_growth"),
    ],
)
def test_impossible_health_checks_are_refused_by_name(change: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Health(**change)


@pytest.mark.parametrize(
    "trouble", [{"failures": [Failure(9, at_s=1.0)]}, {"canary": [CanaryStep(0.0, weight=2.0, instances=1)]}]
)
def test_orders_for_what_is_not_there_are_refused(trouble: dict) -> None:
    with pytest.raises(ValueError, match="instance"):
        simulate(config(), source=talks(), **trouble)


def test_nothing_to_do_is_a_run_too() -> None:
    found = simulate(config(), source=talks(rate_per_s=0.0, duration_s=10.0))
    assert found.counts["arrived"] == 0
    assert found.quantile("ttft", q=0.99) is None
    assert found.hit_rate is None
    assert found.max_over_mean is None
    assert found.is_steady
