"""Replicas under load as arrays: the fixed points of `serving` for thousands of loads at once.

A unit is a replica under requests of one length. `unit` works out once, with the formulas of one replica, what of a
step and of a prefill does not depend on the batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.formulas import roofline, serving, speculation
from planner.formulas.many_points import Array


@dataclass(frozen=True, slots=True)
class Units:
    """Replicas under requests of one length each: factors of `roofline.step_time` and `serving`, without the batch.

    All columns have one shape: a row a unit, or a row a load on one.
    """

    output_tokens: Array
    stages: Array
    copies: Array
    tokens_per_sequence: Array
    dense_read_s: Array
    expert_read_s: Array
    """Of all experts of a layer: what is read when each is touched."""
    missed_log: Array
    """Logarithm of the chance that a token does not choose an expert."""
    expert_agreement: Array
    gemm_s: Array
    kv_s: Array
    sequence_s: Array
    fixed_s: Array
    reduced_s: Array
    network_s: Array
    overlap: Array
    per_token: Array
    """Time between tokens over that of a step: drafts verified, and the layers they run."""
    base_s: Array
    prefill_s: Array
    busy_s: Array
    floor_s: Array
    interference: Array
    launches_s: Array
    """Launches of a prefill, as far as they hold others up."""
    own_launches: Array
    """Share of them that one request pays: short prompts share a step."""
    queue_factor: Array

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, float]]) -> Units:
        """From what `unit` says of each."""
        return cls(**{each.name: np.array([row[each.name] for row in rows], dtype=float) for each in fields(cls)})

    def take(self, places: NDArray[np.intp]) -> Units:
        """The rows of some places, in any order and number."""
        return Units(**{each.name: getattr(self, each.name)[places] for each in fields(Units)})

    @property
    def queue_unit_s(self) -> Array:
        """Wait that one other request's prefill causes."""
        return self.busy_s + self.launches_s / self.copies

    def step_s(self, running: Array) -> Array:
        """A decode step of so many sequences: `roofline.step_time` [s].

        Parameters
        ----------
        running : sequences of the whole replica, one a row [1]

        References
        ----------
        As `roofline.step_time`, whose sum it is.
        """
        batch = running / self.stages
        per_rank = np.maximum(batch / self.copies, np.minimum(batch, 1.0))
        tokens = batch * self.tokens_per_sequence
        draws = 1.0 + self.expert_agreement * (np.maximum(tokens, 1.0) - 1.0)
        read_s = self.dense_read_s + self.expert_read_s * (1.0 - np.exp(self.missed_log * draws))
        gemm_s = self.gemm_s * tokens
        joined_s = np.cbrt(read_s * read_s * read_s + gemm_s * gemm_s * gemm_s)
        network_s = tokens * self.network_s
        busy_s = joined_s + per_rank * (self.kv_s + self.sequence_s) + self.fixed_s
        found: Array = busy_s + per_rank * self.reduced_s + network_s - self.overlap * np.minimum(busy_s, network_s)
        return found

    def pause_s(self, running: Array) -> Array:
        """How long one prefill holds the decode of the others up [s]."""
        shared_s = self.floor_s / np.clip(running, 1.0, 4.0)
        found: Array = self.interference * np.maximum(self.busy_s, shared_s) + self.launches_s * self.own_launches
        return found

    def tpot_s(self, running: Array, step_s: Array) -> Array:
        """Mean time between tokens with so many sequences, whose step takes ``step_s`` [s]."""
        return step_s * self.per_token + running / self.output_tokens * self.pause_s(running)


def unit(times: roofline.Replica, *, load: serving.Load) -> dict[str, float]:
    """What a replica and requests of one length make of a load.

    Parameters
    ----------
    times : step times of the replica
    load : one request

    Returns
    -------
    a row of `Units` [s, but for tokens, ranks and factors]
    """
    a, c = times.amounts, times.coefficients
    tokens = 1.0 + load.draft_tokens
    sequence = times.sequence_work(context_tokens=load.mean_context_tokens, tokens_per_sequence=tokens)
    prefill = times.prefill(new_tokens=load.new_tokens, cached_tokens=load.cached_tokens)
    verified = speculation.tokens_per_step(draft_tokens=load.draft_tokens, acceptance=load.acceptance)
    launches_s, missed = a.layers * c.prefill_layer_s, 1.0 - a.top_k / a.experts
    return {
        "output_tokens": load.output_tokens,
        "stages": a.pipeline_parallel,
        "copies": a.data_parallel,
        "tokens_per_sequence": tokens,
        "dense_read_s": c.weights_read * a.dense_read_s,
        "expert_read_s": c.weights_read * c.experts_read * c.four_bit_read**a.four_bit * a.expert_read_s * a.experts,
        "missed_log": math.log(missed) if missed > 0 else -math.inf,
        "expert_agreement": c.expert_agreement,
        "gemm_s": c.decode_gemm * (a.dense_gemm_s + a.head_gemm_s + a.expert_gemm_s),
        "kv_s": c.kv_read * (sequence.kv_read_s + c.decode_attention * sequence.attention_s),
        "sequence_s": c.sequence_s,
        "fixed_s": roofline.step_overhead_s(a, coefficients=c),
        "reduced_s": tokens * roofline.all_reduces_s(a, coefficients=c),
        "network_s": a.decode_network_s / c.network_efficiency,
        "overlap": c.overlap_decode,
        "per_token": (1.0 + load.draft_tokens / a.layers) / verified,
        "base_s": c.first_token_s + launches_s,
        "prefill_s": prefill.latency_s,
        "busy_s": prefill.busy_s,
        "floor_s": prefill.floor_s,
        "interference": c.interference,
        "launches_s": c.interference_launch * launches_s,
        "own_launches": min(load.new_tokens / serving.PREFILL_STEP_TOKENS, 1.0),
        "queue_factor": c.queue,
    }
