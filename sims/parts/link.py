"""Hand-over of a prompt's KV: first come first served on the sender's and the receiver's network, plus a fixed cost.

A transfer starts when both ends are free; it holds each end for its bytes over that end's bandwidth and
arrives after the slower of the two. Its end is known when it starts, so it needs no event. KV of early layers can go
while later ones are still computed: such a transfer is booked from before the end of its prompt on.
"""

from __future__ import annotations

from sims.engine.kernel import handler


@handler
def hand_over(  # type: ignore[no-untyped-def]
    sender, receiver, tokens, egress_s_per_token, ingress_s_per_token, fixed_s, hidden_s, now_s
):
    """Book both ends, up to ``hidden_s`` before now; the moment the KV is there."""
    start_s = max(now_s - hidden_s, sender.egress_free_s, receiver.ingress_free_s)
    sender.egress_free_s = start_s + tokens * egress_s_per_token
    receiver.ingress_free_s = start_s + tokens * ingress_s_per_token
    return max(now_s, sender.egress_free_s, receiver.ingress_free_s) + fixed_s


@handler
def fetch(recovery, tokens, now_s):  # type: ignore[no-untyped-def]
    """Book the one link of a pool, first come first served; the moment the KV is there."""
    recovery.pool_free_s = max(now_s, recovery.pool_free_s) + tokens * recovery.pool_s_per_token
    return recovery.pool_free_s + recovery.pool_fixed_s
