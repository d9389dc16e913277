"""The invariants of this system, counted afresh: no answer, token or second is lost or made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from sims.engine.invariants import conserved, holds
from sims.parts.rollouts import (
    ABORTED,
    COMPLETE,
    CONSUMED,
    DISCARDED,
    DOWN,
    ENDED,
    FILTERED,
    LOST,
    OPEN,
    RUNNING,
    SCORED,
    TIMED_OUT,
    WAITING,
)
from sims.systems.rl_rollout.state import State

NEARLY = 1e-6


def audit(state: State) -> None:
    """Raise `InvariantError` unless answers, tokens, KV, servers and time are conserved."""
    totals, count = state.totals[0], int(state.params[0].answers)
    conserved(name="clock ran backwards", left=int(totals.backwards), right=0)
    live = state.groups.stage > 0
    conserved(name="groups open", left=int(live.sum()), right=int(totals.in_flight))
    answers = state.answers.reshape(-1, count)[live].ravel()
    fates = int(state.fates[0].sum() - state.fates[0, LOST])
    conserved(name="answers opened", left=int(totals.opened), right=fates + len(answers))
    _audit_groups(state)
    _audit_instances(state)
    _audit_tokens(state, answers)
    _audit_time(state)


def _audit_groups(state: State) -> None:
    totals, params = state.totals[0], state.params[0]
    count = int(params.answers)
    by_kind = {CONSUMED: "consumed", DISCARDED: "discarded", FILTERED: "filtered", ABORTED: "aborted"}
    whole = [int(totals[f"groups_{name}"]) * count for name in by_kind.values()]
    booked = [int(state.fates[0, code]) for code in by_kind]
    masked = int(totals.masked_answers)
    # Answers masked in full are booked as discarded, out of groups that were trained on.
    whole[0], whole[1] = whole[0] - masked, whole[1] + masked
    # Answers that timed out are booked apart, out of groups that were trained on or had none left.
    conserved(name="answers of filtered and other dropped groups", left=sum(booked[1:]), right=sum(whole[1:]))
    timed_out = whole[0] - booked[0] + int(totals.groups_empty) * count
    conserved(name="answers left out", left=int(state.fates[0, TIMED_OUT]), right=timed_out)
    conserved(name="groups consumed", left=int(totals.groups_consumed), right=_trained(state) * int(params.problems))
    conserved(
        name="groups complete", left=int((state.groups.stage == COMPLETE).sum()), right=int(state.buffer[0].queued)
    )
    dropped = int(totals.groups_discarded + totals.groups_filtered + totals.groups_aborted + totals.groups_empty)
    opened = int(totals.opened) // count
    conserved(name="groups in the gate", left=int(totals.net), right=opened - dropped)
    holds(bool((state.groups.scored <= count).all()), name="a group has more scores than answers")
    scored = np.isin(state.answers.stage, (SCORED,)).reshape(-1, count).sum(axis=1)
    live = state.groups.stage == OPEN
    holds(bool((scored <= state.groups.scored)[live[: len(scored)]].all()), name="scores are not those counted")


def _trained(state: State) -> int:
    """Batches taken: those trained on, and the one in training."""
    return int(state.totals[0].version) + (1 if state.totals[0].trainer == 1 and state.totals[0].done == 0 else 0)


def _audit_instances(state: State) -> None:
    totals, params, answers = state.totals[0], state.params[0], state.answers
    running = answers[answers.stage == RUNNING]
    count = len(state.instances)
    by_instance = np.bincount(running.instance, minlength=count)
    holds(bool((by_instance == state.instances.running).all()), name="running answers are not those of the instances")
    conserved(name="answers running", left=len(running), right=int(totals.running))
    holds(bool((state.instances.running <= params.slots).all()), name="more answers run than there are slots")
    placed = int(state.lines.queued.sum() + state.buffer[3].queued)
    conserved(name="answers placed", left=placed, right=int(totals.waiting))
    in_line = int(totals.scoring + state.buffer[1].queued + state.buffer[2].queued)
    ended = answers[answers.stage == ENDED]
    if params.score_group == 1:
        ended = ended[state.groups[ended.group].generated == params.answers]
    conserved(name="answers at the pool", left=len(ended), right=in_line)
    holds(bool(totals.scoring <= params.servers), name="more servers are busy than there are")
    holds(
        bool(totals.scoring == params.servers or state.buffer[1].queued == 0), name="a server rests while answers wait"
    )
    holds(bool((state.instances.running[state.instances.stage == DOWN] == 0).all()), name="a dead instance works")
    holds(bool((answers.generated <= answers.length).all()), name="an answer has more tokens than it should")
    for i in range(count):
        _audit_batch(state, i)


def _audit_batch(state: State, i: int) -> None:
    instance, shared = state.instances[i], bool(state.params[0].shared_prompts)
    slots = state.who[i, : int(instance.running)]
    rows: Any = state.answers[slots]
    holds(bool((rows.finish_step == state.due[i, : len(rows)]).all()), name="the heap differs from its answers")
    tokens = rows.length - (rows.finish_step - instance.step)
    conserved(name="KV read", left=int((rows.prompt + tokens).sum()), right=int(instance.reads))
    firsts = np.unique(rows.group, return_index=True)[1] if shared else np.arange(len(rows))
    conserved(name="KV held", left=int(rows.prompt[firsts].sum() + tokens.sum()), right=int(instance.kv))
    holds(int(instance.kv) <= int(state.params[0].kv_limit), name="an instance holds more KV than it can")
    waiting = [] if state.lines[i].queued == 0 else _line(state, i)
    owed = sum(int(state.answers[slot].prompt + state.answers[slot].generated) for slot in waiting)
    conserved(name="tokens that wait", left=owed, right=int(instance.waiting_tokens))


def _line(state: State, i: int) -> list[int]:
    found: list[int] = []
    slot = int(state.lines[i].head)
    while slot >= 0 and len(found) <= len(state.answers):
        found.append(slot)
        holds(int(state.answers[slot].stage) == WAITING, name="an answer waits that does not")
        slot = int(state.answers[slot].next)
    return found


def _audit_tokens(state: State, live: Any) -> None:
    """All tokens ever generated are somewhere."""
    at_work = live[live.stage == RUNNING]
    there = int(live.generated[live.stage != RUNNING].sum())
    steps = state.instances.step[at_work.instance]
    there += int((at_work.length - (at_work.finish_step - steps)).sum())
    booked = int(state.fates[1].sum())
    conserved(name="tokens generated", left=int(state.totals[0].generated_tokens), right=booked + there)
    conserved(name="tokens of the instances", left=int(state.instances.tokens.sum()), right=booked + there)


def _audit_time(state: State) -> None:
    now_s = float(state.totals[0].now_s)
    spent = state.spent[:-1].sum(axis=1) + now_s - state.instances.since_s
    holds(bool((abs(spent - now_s) <= NEARLY * max(1.0, now_s)).all()), name="an instance's time is not all booked")
    trained = float(state.spent[-1].sum()) + now_s - float(state.totals[0].trainer_since_s)
    holds(abs(trained - now_s) <= NEARLY * max(1.0, now_s), name="the trainer's time is not all booked")
