"""Merging an adapter into the base of replicas of its own: when they cost less than the slots they free."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MergedReplicas:
    """Replicas with one adapter merged into the base, and what they take off the shared ones.

    Parameters
    ----------
    own : whole replicas of the adapter [1]
    saved_shared : replicas that the shared fleet needs less [1]
    """

    own: int
    saved_shared: float

    @property
    def saved(self) -> float:
        """Replicas saved in all; negative: it costs more [1]."""
        return self.saved_shared - self.own

    @property
    def pays(self) -> bool:
        return self.saved >= 0


def merged_replicas(
    traffic: float, *, lora_factor: float, rest: float = 0.0, rest_factor: float | None = None
) -> MergedReplicas:
    """Replicas of its own for one adapter against serving it with the others.

    Parameters
    ----------
    traffic : y, of the adapter, in replicas that run no adapter kernels [1]
    lora_factor : phi, step with adapters over step without, now [1]
    rest : R, traffic of the others, in replicas without adapter kernels [1]
    rest_factor : phi of the shared replicas once the adapter is gone; None: the same [1]

    Notes
    -----
    Pays if ceil(y) <= y phi + R (phi - phi_rest). Alone on one replica: y >= 1 / phi. Kernels are rarely reason enough;
    freed slots or isolation may be.

    References
    ----------
    E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685, section 4.1 (merged
    weights add no latency).

    >>> merged_replicas(0.9, lora_factor=1.174).pays, merged_replicas(0.8, lora_factor=1.174).pays
    (True, False)
    """
    after = lora_factor if rest_factor is None else rest_factor
    own = math.ceil(round(traffic, 9))
    return MergedReplicas(own, traffic * lora_factor + rest * (lora_factor - after))


def break_even_traffic(lora_factor: float) -> float:
    """Traffic from which one replica of its own pays, as a share of what that replica can serve.

    Notes
    -----
    y = 1 / phi.

    References
    ----------
    As in `merged_replicas`, with no traffic of others.

    >>> round(break_even_traffic(1.174), 3), round(break_even_traffic(1.024), 3)
    (0.852, 0.977)
    """
    return 1.0 / lora_factor
