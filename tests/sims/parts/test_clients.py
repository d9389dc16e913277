"""A closed loop of clients: its laws, and that nobody's turn is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.parts.arrivals import Lengths
from sims.parts.clients import ClosedLoop
from sims.systems.llm_serving import Failure, Outcome
from sims.systems.llm_serving.recovery import Recovery
from tests.sims.systems.scene import audited, config

LENGTHS = Lengths(input_tokens=300, output_tokens=60, input_sigma=0.5, output_sigma=0.5)
BOTH = pytest.mark.parametrize("aggregated", [False, True])


def run(clients: int, *, requests: int | None = 200, aggregated: bool = True, **given: Any) -> Outcome:
    loop = ClosedLoop(clients=clients, lengths=LENGTHS, about_s=60.0, requests=requests, **given)
    return audited(config(aggregated=aggregated), arrivals=loop)


@BOTH
def test_all_requests_are_sent_and_answered(aggregated: bool) -> None:
    found = run(7, aggregated=aggregated)
    assert (found.arrived, found.finished, found.in_flight) == (200, 200, 0)
    assert max(each.in_flight for each in found.whole_line) <= 7


def test_fewer_requests_than_clients_are_all_sent_at_once() -> None:
    found = run(50, requests=20)
    assert (found.arrived, found.finished) == (20, 20)


@BOTH
def test_the_response_time_law_of_a_closed_system(aggregated: bool) -> None:
    # Denning, Buzen 1978: N = X · (R + Z) over the time in which no client has stopped.
    clients, pause_s = 8, 0.7
    found = run(clients, requests=None, duration_s=600.0, think_s=pause_s, aggregated=aggregated)
    stay_s = found.batches.e2e_sum_s.sum() / found.batches.finished.sum()
    rate = found.batches.finished.sum() / found.measured_s
    assert rate * (stay_s + pause_s) == pytest.approx(clients, rel=0.01)


def test_one_client_never_finds_another() -> None:
    found = run(1, think_s=0.5)
    alone = run(1)
    assert found.simulated_s == pytest.approx(alone.simulated_s + 199 * 0.5, rel=1e-6)
    assert (found.pooled("ttft") == alone.pooled("ttft")).all()


def test_clients_whose_requests_are_refused_go_on() -> None:
    long = Lengths(input_tokens=30_000, output_tokens=60)
    found = audited(config(aggregated=True), arrivals=ClosedLoop(clients=3, lengths=long, about_s=1.0, requests=30))
    assert (found.arrived, found.rejected, found.in_flight) == (30, 30, 0)


@BOTH
def test_a_client_whose_request_is_lost_with_its_unit_sends_the_next(aggregated: bool) -> None:
    setup = config(aggregated=aggregated, recovery=Recovery(on_loss="fail"))
    loop = ClosedLoop(clients=6, lengths=LENGTHS, about_s=60.0, requests=100)
    found = audited(setup, arrivals=loop, failures=[Failure(unit=0, at_s=2.0, detection_s=0.1, rejoin_s=1.0)])
    assert found.lost > 0
    assert found.finished + found.lost == 100


@pytest.mark.parametrize("given", [{"clients": 0}, {"think_s": -1.0}, {"requests": None}])
def test_an_impossible_loop_is_refused(given: dict[str, float | None]) -> None:
    whole = {"clients": 1, "lengths": LENGTHS, "about_s": 1.0, "requests": 5, **given}
    with pytest.raises(ValueError, match="closed loop"):
        ClosedLoop(**whole)


def test_lengths_do_not_depend_on_how_many_clients_there_are() -> None:
    made = [
        np.concatenate(list(ClosedLoop(clients=each, lengths=LENGTHS, about_s=1.0, requests=500).chunks(3)))
        for each in (1, 64)
    ]
    assert (made[0]["input"] == made[1]["input"]).all()
