from __future__ import annotations

import pytest

from sims.engine.kernel import from_python
from sims.parts.link import hand_over
from sims.parts.ranks import RANK
from sims.parts.records import queues, records

hand_over = from_python(hand_over)


def test_a_transfer_waits_for_both_ends_and_arrives_after_the_slower() -> None:
    senders, receiver = queues(2), records(RANK, count=1)[0]
    # Sender 1 s and receiver 0.25 s a token, 0.1 s fixed.
    assert hand_over(senders[0], receiver, 4, 1.0, 0.25, 0.1, 0.0, 10.0) == pytest.approx(14.1)
    assert hand_over(senders[1], receiver, 4, 1.0, 0.25, 0.1, 0.0, 10.0) == pytest.approx(15.1), (
        "the receiver was busy until 11"
    )
    assert hand_over(senders[0], receiver, 1, 1.0, 0.25, 0.1, 0.0, 10.5) == pytest.approx(15.1), (
        "the sender was busy until 14"
    )


def test_without_bandwidth_limits_only_the_fixed_part_is_left() -> None:
    sender, receiver = queues(1)[0], records(RANK, count=1)[0]
    assert hand_over(sender, receiver, 1000, 0.0, 0.0, 0.003, 0.0, 2.0) == pytest.approx(2.003)


def test_a_sender_serves_one_receiver_after_the_other() -> None:
    sender, receivers = queues(1)[0], records(RANK, count=2)
    # 0.25 s a token at the sender, 1 s at a receiver: the second starts when the sender is free, not the receiver.
    assert hand_over(sender, receivers[0], 4, 0.25, 1.0, 0.0, 0.0, 10.0) == pytest.approx(14.0)
    assert hand_over(sender, receivers[1], 4, 0.25, 1.0, 0.0, 0.0, 10.0) == pytest.approx(15.0)
    assert sender.egress_free_s == pytest.approx(12.0)


def test_what_went_while_the_prompt_was_computed_is_not_waited_for() -> None:
    """4 s of transfer of which 3 are hidden leave 1; a link that was busy until 9 hides only what it still can."""
    senders, receivers = queues(2), records(RANK, count=2)
    assert hand_over(senders[0], receivers[0], 4, 1.0, 0.5, 0.1, 3.0, 10.0) == pytest.approx(11.1)
    senders[1].egress_free_s = 9.0
    assert hand_over(senders[1], receivers[1], 4, 1.0, 0.5, 0.1, 3.0, 10.0) == pytest.approx(13.1)
    assert hand_over(senders[0], receivers[0], 0, 1.0, 0.5, 0.1, 3.0, 20.0) == pytest.approx(20.1), (
        "never before it ends"
    )
