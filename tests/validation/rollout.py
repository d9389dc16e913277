"""RL rollout beside published runs: weights moved to the instances, and steps before and after a change of mode."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from planner.catalog.files import DATA
from planner.formulas.rollout_modes import one_step_off_step_s, synchronous_step_s
from planner.formulas.rollout_split import Training
from planner.formulas.weight_sync import published, tensors_of
from tests.golden.published import CHECKPOINT_ENGINE, VERL_STEPS
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

SYNC, STEPS = "weight_sync", "rollout_steps"
LEFT_OUT, OTHER = "run left out of the fit", "another system"
ROLES, OVERLAP, HALVED = "sum of the roles", "one step off", "asynchronous, from co-located times"
ENGINE_URL = "https://github.com/MoonshotAI/checkpoint-engine"
VERL, VERL_URL = "verl documentation", "https://github.com/volcengine/verl"
FITTED = "Two runs fix the two constants of this way to move weights; nothing is left to test with."
UNREAL = "15 GB in a fiftieth of a second is more than any link carries: it times something else."
EXPONENT, EXPONENTS = 0.75, (0.5, 1.0)
"""How training scales with its GPUs: assumed, and the range that the interval stands for."""


@gives(SYNC)
def weight_sync() -> Iterator[Row]:
    for method, place in (("broadcast", 1), ("point to point", 2)):
        for index in range(len(CHECKPOINT_ENGINE)):
            yield _left_out(method, place, index)
    for row in _table("rl-weight-sync"):
        yield _of_table(row)


def _left_out(method: str, place: int, index: int) -> Row:
    """A run against the line through the five others."""
    data = np.array([row[1:] for row in CHECKPOINT_ENGINE])
    sizes, times = data[:, 0], data[:, place]
    others = np.arange(len(sizes)) != index
    slope, start = np.polyfit(sizes[others], times[others], 1)
    name = CHECKPOINT_ENGINE[index][0]
    return Row(
        quantity=SYNC,
        id=f"{name}, {method}",
        source="checkpoint-engine, README",
        source_url=ENGINE_URL,
        engine="vllm",
        group=LEFT_OUT,
        predicted=float(start + slope * sizes[index]),
        measured=float(times[index]),
        unit="s",
        conditions=f"{sizes[index] / 1e9:,.0f} GB of weights, {method}",
    )


def _of_table(row: dict[str, str]) -> Row:
    facts = {"quantity": SYNC, "id": row["id"], "source": row["source"], "source_url": row["source_url"]}
    said = {"llm": row["model"], "conditions": f"{row['model']}, {row['engine']}, {row['parallelism']}".rstrip(", ")}
    if "slime" in row["engine"]:
        method = published(_constants())["bucketed"]
        llm = catalog().llm("glm-4-5")
        assert llm.moe is not None
        tensors = tensors_of(layers=llm.layers, per_layer=9, experts=llm.moe.experts)
        seconds = method.seconds(2 * 355e9, tensors=tensors)
        return Row(
            **facts,
            **said,
            group=OTHER,
            predicted=seconds,
            low=method.low * seconds,
            high=method.high * seconds,
            measured=float(row["value"].split("/")[0]),
            unit="s",
        )
    return Row(**facts, **said, status="set aside", reason=UNREAL if "7B" in row["model"] else FITTED)


@cache
def _constants() -> dict[str, object]:
    return tomllib.loads((DATA / "calibrations" / "weight_sync.toml").read_text(encoding="utf-8"))


def _table(kind: str) -> list[dict[str, str]]:
    with (DATA / "measured" / "published_results.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] == kind]


@dataclass(frozen=True)
class Roles:
    """Seconds of a published step and its parts; ``train`` is likelihoods and update together."""

    name: str
    step: float
    generation: float
    likelihoods: float
    update: float

    @property
    def other(self) -> float:
        """What the parts leave of the step."""
        return self.step - self.generation - self.likelihoods - self.update


@gives(STEPS)
def rollout_steps() -> Iterator[Row]:
    """verl before and after: parts that sum, one step off from the times of its roles, asynchronous from co-located."""
    for before, after, roles_after in VERL_STEPS:
        synchronous = Roles(*before)
        yield _sum(synchronous)
        yield _one_step_off(synchronous, after, roles_after) if roles_after else _halved(synchronous, after)


def _sum(roles: Roles) -> Row:
    train_s = roles.likelihoods + roles.update
    predicted = synchronous_step_s(roles.generation, score_tail_s=0.0, train_s=train_s, sync_s=0.0)
    said = "generation, likelihoods and update follow each other"
    return _row(roles.name, ROLES, predicted=predicted, measured=roles.step, conditions=said)


def _one_step_off(before: Roles, after: tuple[str, float], roles: tuple[float, float]) -> Row:
    """From the roles as they took it; what is in neither is taken from the synchronous run."""
    generation_s, train_s = roles
    predicted = one_step_off_step_s(generation_s, train_s=train_s, sync_s=before.other)
    said = "its own generation and training overlap; the rest as before"
    return _row(after[0], OVERLAP, predicted=predicted, measured=after[1], conditions=said)


def _halved(before: Roles, after: tuple[str, float]) -> Row:
    """Half of the GPUs train, the other half generates; rollout returns the likelihoods. Training decides."""
    found = [Training(before.update, 2.0, exponent).at(1.0) + before.other for exponent in (EXPONENT, *EXPONENTS)]
    said = f"update on half of the GPUs, exponent {EXPONENTS[0]:g} to {EXPONENTS[1]:g}"
    return _row(after[0], HALVED, predicted=found[0], low=found[1], high=found[2], measured=after[1], conditions=said)


def _row(name: str, group: str, **figures: object) -> Row:
    facts = {"quantity": STEPS, "source": VERL, "source_url": VERL_URL, "gpu": "h20", "llm": "Qwen2.5-Math-7B"}
    return Row(id=name, group=group, unit="s", **facts, **figures)  # type: ignore[arg-type]
