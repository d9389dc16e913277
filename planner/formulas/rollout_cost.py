"""Money of a training step, of a thousand, and of a sample that training uses."""

from __future__ import annotations

from collections.abc import Mapping

from planner.formulas.cost import exact_parts


def fleet_usd_per_h(units: Mapping[str, float], *, prices_usd_per_h: Mapping[str, float]) -> dict[str, float]:
    """Rent of each role: GPUs of training and generation, sandboxes [USD/h].

    Parameters
    ----------
    units : of each role [1]
    prices_usd_per_h : of a unit of each role [USD/h]

    >>> fleet_usd_per_h({"training": 64, "sandboxes": 100}, prices_usd_per_h={"training": 2.0, "sandboxes": 0.05})
    {'training': 128.0, 'sandboxes': 5.0}
    """
    return {role: count * prices_usd_per_h[role] for role, count in units.items()}


def step_usd(usd_per_h: float, *, step_s: float) -> float:
    """Rent of a step [USD].

    >>> step_usd(120.0, step_s=300.0)
    10.0
    """
    return usd_per_h * step_s / 3600


def usd_per_useful_sample(usd_per_h: float, *, step_s: float, samples: float, discarded: float = 0.0) -> float | None:
    """Rent per sample that training uses; None when it uses none [USD].

    Parameters
    ----------
    usd_per_h : rent of all roles [USD/h]
    step_s : [s]
    samples : that the trainer takes in a step [1]
    discarded : share of them it leaves out: as too old, or a timeout that is dropped [1]

    Notes
    -----
    (sum of GPUs price + sandboxes price) T / (N (1 - discarded)). Groups that were filtered or dropped before the
    trainer took N already lengthen T.

    References
    ----------
    Q. Yu et al., "DAPO", 2025, arXiv:2503.14476, section 3.2 (samples without advantage are generated and not used).

    >>> usd_per_useful_sample(120.0, step_s=300.0, samples=2000)
    0.005
    """
    useful = samples * (1 - discarded)
    return step_usd(usd_per_h, step_s=step_s) / useful if useful > 0 else None


def parts_of_step_usd(
    rents_usd_per_h: Mapping[str, float], *, step_s: float, busy: Mapping[str, float]
) -> dict[str, float]:
    """A step's rent by role at work, and idle: parts that sum to the whole exactly [USD].

    Parameters
    ----------
    rents_usd_per_h : of each role [USD/h]
    step_s : [s]
    busy : share of the step each role works [1]

    >>> parts = parts_of_step_usd({"training": 72.0, "generation": 36.0}, step_s=100.0, busy={"training": 1.0,
    ...     "generation": 0.5})
    >>> parts["training"], parts["generation"], parts["idle"]
    (2.0, 0.5, 0.5)
    """
    whole = step_usd(sum(rents_usd_per_h.values()), step_s=step_s)
    working = {role: step_usd(rent, step_s=step_s) * min(busy[role], 1.0) for role, rent in rents_usd_per_h.items()}
    return exact_parts(whole, parts=working, remainder="idle")
