"""Time of a training step by mode, what asynchrony reaches, and when it does not pay."""

from __future__ import annotations

import math

from planner.formulas.decode_step import DecodeStep


def synchronous_step_s(
    generation_s: float, *, score_tail_s: float, train_s: float, sync_s: float, switch_s: float = 0.0
) -> float:
    """Time of a step whose parts follow each other [s].

    Parameters
    ----------
    generation_s : until the last answer has ended [s]
    score_tail_s : from the last answer to the last score [s]
    train_s, sync_s : training, new weights to the instances [s]
    switch_s : memory handed over between training and generation on the same GPUs, both ways together [s]

    Notes
    -----
    T = generation + scores still open + training + synchronisation (+ switch).

    References
    ----------
    G. Sheng et al., "HybridFlow: A Flexible and Efficient RLHF Framework", 2024, arXiv:2409.19256, section 2
    (stages of an iteration and their dependencies).

    >>> synchronous_step_s(300.0, score_tail_s=0.0, train_s=300.0, sync_s=0.0)
    600.0
    """
    return generation_s + score_tail_s + train_s + sync_s + switch_s


def one_step_off_step_s(generation_s: float, *, train_s: float, sync_s: float) -> float:
    """Time of a step that trains on one batch while the next is generated; its tail stays [s].

    Parameters
    ----------
    generation_s : until the last answer has its score [s]
    train_s, sync_s : [s]

    Notes
    -----
    T = max(generation, training) + synchronisation.

    References
    ----------
    verl documentation, "Recipe: One Step Off Policy Async Trainer", 2025; M. Noukhovitch et al., "Asynchronous RLHF",
    2024, arXiv:2410.18252, section 3.

    >>> one_step_off_step_s(380.0, train_s=300.0, sync_s=5.0)
    385.0
    """
    return max(generation_s, train_s) + sync_s


def staleness_bound_step_s(
    step: DecodeStep, *, tokens: float, longest_tokens: float, train_s: float, bound: float, headway: float = 0.5
) -> float | None:
    """Step time that a staleness bound allows, in closed form; None for a bound so small that it has no meaning.

    Parameters
    ----------
    step : line of an instance
    tokens : output of an instance in a training step [tokens]
    longest_tokens : expected longest answer of a group [tokens]
    train_s : [s]
    bound : eta [1]
    headway : c; one half when groups end evenly over a cycle [1]

    Returns
    -------
    [s]

    Notes
    -----
    A group lives through longest * tau and a training step in eta + 1 - c versions: T = (longest tau + T_train) /
    (eta + 1 - c) with tau = a / (1 - b tokens / T), a quadratic in T. A rule of thumb for bounds from one to four: it
    takes the batch as constant. Runs event by event find it -15 ... +8 % there, and useless at a bound of nought;
    `rollout_cycle.asynchronous` is within -2 ... +3.5 %.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 5.1, eq. (3); J. D. C. Little, "A proof for the queuing
    formula L = lambda W", Operations Research 9(3), 1961.

    >>> staleness_bound_step_s(DecodeStep(0.01, 0.0), tokens=0.0, longest_tokens=30_000.0, train_s=300.0, bound=1)
    400.0
    """
    versions = bound + 1 - headway
    if versions <= headway:
        return None
    alone = (step.fixed_s * longest_tokens + train_s) / versions
    work = step.sequence_s * tokens
    surplus = alone + work
    last = train_s * work / versions
    return (surplus + math.sqrt(surplus**2 - 4 * last)) / 2


def recompute_s(*, batch: float, context_tokens: float, prefill_tokens_per_s: float) -> float:
    """Time an instance takes to compute the KV cache of its batch again after new weights [s].

    Parameters
    ----------
    batch : running sequences [1]
    context_tokens : mean context of a running sequence [tokens]
    prefill_tokens_per_s : of the instance [tokens/s]

    Notes
    -----
    B (P + L (1 + cv^2) / 2) / prefill rate.

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 4.1 (interrupted answers discard the KV cache and compute
    it again with the new weights).

    >>> round(recompute_s(batch=128, context_tokens=7856, prefill_tokens_per_s=15_500), 1)
    64.9
    """
    return batch * context_tokens / prefill_tokens_per_s


def asynchronous_utilisation(
    *, tokens_per_s: float, quoted_tokens_per_s: float, step_s: float, pause_s: float, recompute_s: float
) -> float:
    """Output over the quoted rate of an instance that never runs dry [1].

    Parameters
    ----------
    tokens_per_s, quoted_tokens_per_s : at the batch it holds, and at the batch of the quoted rate [tokens/s]
    step_s : time from a version to the next [s]
    pause_s, recompute_s : of it without output [s]

    Notes
    -----
    U = R(B) / R* (1 - pause / T - recompute / T).

    References
    ----------
    W. Fu et al., "AReaL", 2025, arXiv:2505.24298, section 4.1 (interruptible generation).

    >>> round(asynchronous_utilisation(tokens_per_s=2500.0, quoted_tokens_per_s=2500.0, step_s=300.0, pause_s=0.0,
    ...     recompute_s=64.9), 3)
    0.784
    """
    return max(tokens_per_s / quoted_tokens_per_s * (1 - (pause_s + recompute_s) / step_s), 0.0)


def samples_per_gpu_h(*, samples: float, step_s: float, gpus: float, discarded: float = 0.0) -> float | None:
    """Samples trained on per GPU-hour of all roles; None without GPUs.

    Parameters
    ----------
    samples : taken by the trainer in a step, N [1]
    step_s : [s]
    gpus : of training and generation [1]
    discarded : share of the samples taken that training then leaves out [1]

    >>> samples_per_gpu_h(samples=2048, step_s=300.0, gpus=64)
    384.0
    """
    return samples * (1 - discarded) * 3600 / (step_s * gpus) if gpus > 0 and step_s > 0 else None


def rollouts_between_syncs(*, samples: float, threshold: float, stale: float = 0.0) -> float:
    """Samples that may be generated between two synchronisations under a threshold on stale ones [1].

    Parameters
    ----------
    samples : of a training step [1]
    threshold : stale samples a step may hold, as a share of it [1]
    stale : samples left over from the version before [1]

    Notes
    -----
    (1 + threshold) N - stale.

    References
    ----------
    verl documentation, "Recipe: Fully Async Policy Trainer", 2025 (``staleness_threshold``).

    >>> rollouts_between_syncs(samples=512, threshold=0.5, stale=100)
    668.0
    """
    return max((1 + threshold) * samples - stale, 0.0)


def tail_gain(*, tail_s: float, switch_s: float, step_s: float) -> float:
    """Speed-up of asynchrony over a synchronous co-located step with as many GPUs.

    Parameters
    ----------
    tail_s : a max L, time of a step that more GPUs do not shorten [s]
    switch_s : [s]
    step_s : of the synchronous step [s]

    Returns
    -------
    an upper bound: pauses, caches computed again, dropped groups and training on fewer GPUs come off it [1]

    Notes
    -----
    Work is conserved; only waiting goes: 1 / (1 - (a max L + switch) / T_sync).

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967.

    >>> [round(tail_gain(tail_s=share, switch_s=0.0, step_s=1.0), 2) for share in (0.2, 0.4, 0.6)]
    [1.25, 1.67, 2.5]
    """
    return 1 / (1 - min((tail_s + switch_s) / step_s, 1 - 1e-9))


def overlap_gain(*, generation_s: float, train_s: float) -> float:
    """Speed-up of overlapping both stages on the GPUs each of them has [1].

    Parameters
    ----------
    generation_s, train_s : of a step on fixed, separate pools [s]

    Notes
    -----
    (T_gen + T_train) / max(T_gen, T_train): at most two, and 1 + T_train / T_gen when generation is much longer.

    References
    ----------
    M. Noukhovitch et al., "Asynchronous RLHF", 2024, arXiv:2410.18252, section 3.

    >>> overlap_gain(generation_s=900.0, train_s=90.0)
    1.1
    """
    longer = max(generation_s, train_s)
    return (generation_s + train_s) / longer if longer > 0 else 1.0


def asynchrony_pays_s(
    *, tail_s: float, switch_s: float, pause_s: float, recompute_s: float, discarded_s: float, slower_training_s: float
) -> float:
    """What a step saves by asynchrony less what it costs; it does not pay at nought or below [s].

    Parameters
    ----------
    tail_s, switch_s : saved: waiting for the longest answers, handing memory over [s]
    pause_s, recompute_s : of generation at each version [s]
    discarded_s : generation of groups dropped as too old [s]
    slower_training_s : training on fewer GPUs less training on all [s]

    Notes
    -----
    a max L + switch - (pause + recompute + dropped + training lost). All in time of the whole fleet.

    References
    ----------
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS
    1967.

    >>> asynchrony_pays_s(tail_s=20.0, switch_s=5.0, pause_s=10.0, recompute_s=30.0, discarded_s=0.0,
    ...     slower_training_s=0.0)
    -15.0
    """
    return tail_s + switch_s - (pause_s + recompute_s + discarded_s + slower_training_s)
