from __future__ import annotations

import pytest

from sims.parts.link import hand_over
from sims.parts.ranks import RANK
from sims.parts.records import queues, records


def test_a_transfer_waits_for_both_ends_and_arrives_after_the_slower() -> None:
    senders, receiver = queues(2), records(RANK, count=1)[0]
    # Sender 1 s and receiver 0.25 s a token, 0.1 s fixed.
    assert hand_over(senders[0], receiver, 4, 1.0, 0.25, 0.1, 10.0) == pytest.approx(14.1)
    assert hand_over(senders[1], receiver, 4, 1.0, 0.25, 0.1, 10.0) == pytest.approx(15.1), (
        "the receiver was busy until 11"
    )
    assert hand_over(senders[0], receiver, 1, 1.0, 0.25, 0.1, 10.5) == pytest.approx(15.1), (
        "the sender was busy until 14"
    )


def test_without_bandwidth_limits_only_the_fixed_part_is_left() -> None:
    sender, receiver = queues(1)[0], records(RANK, count=1)[0]
    assert hand_over(sender, receiver, 1000, 0.0, 0.0, 0.003, 2.0) == pytest.approx(2.003)
