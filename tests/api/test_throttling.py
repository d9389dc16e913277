"""Rate limits: by person when signed in, by address when not."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as CacheUnreachable
from rest_framework.settings import api_settings

from planner.api import throttling
from tests.api.caller import Caller, check_problem
from tests.api.conftest import World

URL = "/api/v1/kinds/"


@pytest.fixture(autouse=True)
def _low_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", {"user": "3/hour", "anon": "2/hour"})
    # The middle of a window, so that none ends within a test.
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_001_800.0)


def test_above_the_rate_it_is_a_429_that_says_when_to_come_back(alice: Caller) -> None:
    assert [alice.get(URL).status_code for _ in range(3)] == [200, 200, 200]
    response = alice.get(URL)
    assert response.status_code == 429
    assert response["Retry-After"] == "1800"
    check_problem(response)


def test_one_person_does_not_use_up_the_rate_of_another(alice: Caller, bob: Caller) -> None:
    for _ in range(4):
        alice.get(URL)
    assert bob.get(URL).status_code == 200


def test_a_second_token_is_no_second_rate(world: World) -> None:
    for _ in range(3):
        world.caller("bob").get(URL)
    assert world.caller("bob").get(URL).status_code == 429


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer guess"}])
def test_strangers_and_guesses_are_counted_by_address(db: None, header: dict[str, str]) -> None:
    assert [Caller().get(URL, **header).status_code for _ in range(3)] == [401, 401, 429]
    assert Caller().client.get(URL, headers=header, REMOTE_ADDR="10.0.0.9").status_code == 401


def test_the_next_window_starts_afresh(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        alice.get(URL)
    monkeypatch.setattr(throttling.time, "time", lambda: 1_800_001_800.0 + 3600)
    assert alice.get(URL).status_code == 200


def test_without_the_cache_it_answers_all_the_same(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: object, **_kwargs: object) -> None:
        raise CacheUnreachable

    monkeypatch.setattr(throttling.cache, "add", away)
    assert {alice.get(URL).status_code for _ in range(5)} == {200}
