from __future__ import annotations

import numpy as np
import pytest

from sims.engine.streams import CHUNK
from sims.parts.gaps import Exponential, LogNormal
from sims.parts.sessions import Prefixes, SessionClass, Sessions, Turns


def drawn(source: Sessions, *, seed: int = 1) -> Turns:
    return np.concatenate([chunk.copy() for chunk in source.chunks(seed)])


def talk(**changes) -> Sessions:
    people = SessionClass("people", Exponential(50.0), share=3.0, first_tokens=100, user_tokens=40, answer_tokens=20)
    agents = SessionClass("agents", LogNormal(5.0, 1.0), share=1.0, turns=4, sigma=0.5, shared=True)
    values = {"classes": (people, agents), "prefixes": Prefixes(groups=10, tokens=500), **changes}
    return Sessions(sessions_per_s=5.0, duration_s=4000.0, **values)


def test_turns_come_in_order_of_time_in_bounded_chunks() -> None:
    source = talk()
    sizes = [len(chunk) for chunk in source.chunks(1)]
    assert max(sizes) <= CHUNK
    turns = drawn(source)
    assert np.all(np.diff(turns["at_s"]) >= 0.0)
    assert turns["at_s"].max() <= 4000.0


def test_the_same_seed_draws_the_same_turns() -> None:
    assert drawn(talk()).tobytes() == drawn(talk()).tobytes()
    assert drawn(talk()).tobytes() != drawn(talk(), seed=2).tobytes()


def test_starts_classes_and_turns_have_their_means() -> None:
    turns = drawn(talk())
    starts = turns[turns["turn"] == 0]
    # Five standard deviations of a Poisson count and of a binomial share.
    assert len(starts) == pytest.approx(20_000, abs=5 * np.sqrt(20_000))
    assert np.mean(starts["kind"] == 1) == pytest.approx(0.25, abs=5 * np.sqrt(0.19 / 20_000))
    # Long after the start as many turns as begin end: five times as many as sessions.
    late = turns[(turns["kind"] == 0) & (turns["at_s"] > 2000.0)]
    assert len(late) / np.sum(late["turn"] == 0) == pytest.approx(5.0, rel=0.05)
    agents = turns[(turns["kind"] == 1) & (turns["last"] == 1)]
    assert set(agents["turn"].tolist()) == {3}


def test_contexts_grow_by_message_and_answer() -> None:
    turns = drawn(talk())
    people = turns[turns["kind"] == 0]
    assert np.array_equal(people["tokens"], 100 + 40 + people["turn"] * 60)
    assert np.array_equal(people["kept_tokens"], people["tokens"] + 20)
    assert np.all(people["group"] == -1)
    agents = turns[turns["kind"] == 1]
    assert agents["group"].min() == 0
    assert agents["group"].max() == 9
    assert agents["tokens"].min() > 500


def test_a_ticket_names_one_session_at_a_time() -> None:
    """From a session's first turn to its last no other has its ticket; over all there are far fewer than sessions."""
    turns = drawn(talk())
    order = np.lexsort((turns["at_s"], turns["ticket"]))
    by_ticket = turns[order]
    same = by_ticket["ticket"][1:] == by_ticket["ticket"][:-1]
    follows = by_ticket["turn"][1:] == by_ticket["turn"][:-1] + 1
    begins = (by_ticket["turn"][1:] == 0) & (by_ticket["last"][:-1] == 1)
    assert np.all(~same | follows | begins)
    long = drawn(Sessions(50.0, 4000.0, talk().classes, talk().prefixes))
    assert long["ticket"].max() < 0.5 * np.sum(long["turn"] == 0)


def test_popular_prefixes_are_popular() -> None:
    turns = drawn(talk())
    starts = turns[(turns["turn"] == 0) & (turns["kind"] == 1)]
    seen = np.bincount(starts["group"], minlength=10) / len(starts)
    assert seen == pytest.approx(Prefixes(10, 500).popularity(), abs=0.03)


def test_a_lead_makes_the_load_even_from_the_start() -> None:
    cold, led = (drawn(talk(lead_s=lead)) for lead in (0.0, 1500.0))
    rates = [np.histogram(turns["at_s"], bins=4, range=(0, 400.0))[0] for turns in (cold, led)]
    assert rates[0][0] < 0.6 * rates[0][3]
    assert rates[1][0] == pytest.approx(rates[1][3], rel=0.08)
    assert led["at_s"].min() >= 0.0
    assert (led["turn"][led["at_s"] < 5.0] > 0).any()


def test_contexts_end_at_the_limit() -> None:
    turns = drawn(talk(most_tokens=300))
    assert turns["tokens"].max() == 300
    assert turns["kept_tokens"].max() == 300
