"""What is written down as a run goes: all sums at the end of a training step, and samples over time."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.parts.rollouts import FATES, STAGES, T_STAGES


@handler
def write_row(state, now_s):  # type: ignore[no-untyped-def]
    """Keep all sums at the end of a training step."""
    totals = state.totals[0]
    row = state.rows[totals.version]
    row.at_s = now_s
    row.opened_s = totals.opened_s
    row.generated_s = totals.generated_s
    row.ready_s = totals.ready_s
    row.train_from_s = totals.train_from_s
    copy_sums(row, totals)
    kept, last = state.kept[totals.version], len(state.instances)
    for i in range(last):
        for stage in range(STAGES):
            kept[stage] += state.spent[i, stage]
        kept[state.instances[i].stage] += now_s - state.instances[i].since_s
    for stage in range(T_STAGES):
        kept[STAGES + stage] = state.spent[last, stage]
    for fate in range(FATES):
        kept[STAGES + T_STAGES + fate] = state.fates[0, fate]
        kept[STAGES + T_STAGES + FATES + fate] = state.fates[1, fate]
    if totals.version == state.params[0].drawn_from:
        start_drawing(state, now_s)
    if totals.version == state.params[0].drawn_to:
        state.samplers[1].to_s = now_s


@handler
def copy_sums(row, totals):  # type: ignore[no-untyped-def]
    """The counts and integrals of the run so far."""
    row.opened = totals.opened
    row.started = totals.started
    row.ended = totals.ended
    row.capped = totals.capped
    row.groups_consumed = totals.groups_consumed
    row.groups_discarded = totals.groups_discarded
    row.groups_filtered = totals.groups_filtered
    row.groups_aborted = totals.groups_aborted
    row.groups_empty = totals.groups_empty
    row.generated_tokens = totals.generated_tokens
    row.prefilled_tokens = totals.prefilled_tokens
    row.recomputed_tokens = totals.recomputed_tokens
    row.masked_tokens = totals.masked_tokens
    row.masked_answers = totals.masked_answers
    row.preempted = totals.preempted
    row.restarted = totals.restarted
    row.timeouts = totals.timeouts
    row.late = totals.late
    row.running_s = totals.running_s
    row.waiting_s = totals.waiting_s
    row.scoring_s = totals.scoring_s
    row.queued_s = totals.queued_s
    row.scoring_wait_s = totals.scoring_wait_s
    row.age_sum = totals.age_sum
    row.token_age_sum = totals.token_age_sum


@handler
def start_drawing(state, now_s):  # type: ignore[no-untyped-def]
    """The steps that are to be drawn begin: what instances are at began then."""
    state.samplers[1].next_s = now_s
    totals = state.totals[0]
    for i in range(len(state.instances)):
        state.instances[i].shown_s = now_s
    totals.trainer_since_s = max(totals.trainer_since_s, now_s)


@handler
def pass_time(state, now_s):  # type: ignore[no-untyped-def]
    """Integrate what there is up to the next event, and take the samples that fall before it."""
    totals = state.totals[0]
    span_s = now_s - totals.now_s
    totals.running_s += span_s * totals.running
    totals.waiting_s += span_s * totals.waiting
    totals.scoring_s += span_s * totals.scoring
    totals.queued_s += span_s * state.buffer[1].queued
    for which in range(2):
        take_samples(state, which, now_s)


@handler
def take_samples(state, which, now_s):  # type: ignore[no-untyped-def]
    """Keep what there is at each moment of a sampler before ``now_s``; when full, every second is dropped."""
    sampler, room = state.samplers[which], state.samples.shape[1]
    for _ in range(64 * room):
        if sampler.next_s >= now_s or sampler.next_s >= sampler.to_s:
            break
        if sampler.count == room:
            for kept in range(room // 2):
                state.samples[which, kept] = state.samples[which, 2 * kept]
            sampler.count = room // 2
            sampler.every_s *= 2.0
            sampler.next_s = state.samples[which, sampler.count - 1].at_s + sampler.every_s
            continue
        take_sample(state, state.samples[which, sampler.count], sampler.next_s)
        sampler.count += 1
        sampler.next_s += sampler.every_s


@handler
def take_sample(state, sample, at_s):  # type: ignore[no-untyped-def]
    """One moment."""
    totals = state.totals[0]
    sample.at_s = at_s
    sample.running = totals.running
    sample.waiting = totals.waiting
    sample.scoring = totals.scoring
    sample.queued = state.buffer[1].queued
    sample.buffered = state.buffer[0].queued
    sample.version = totals.version
