"""Inputs of a rollout: those of the step, the fleet and the services, and prices."""

from __future__ import annotations

from pydantic import model_validator

from planner.core.kind import quantity
from planner.core.text import gettext_noop as _
from planner.formulas.rollout_split import Training
from planner.kinds.rl_rollout.inputs_services import ServiceInputs

PRICES = _("Prices")


class RlRolloutSpec(ServiceInputs):
    """Generation for RL training; the defaults are the reference."""

    gpu_price_usd_per_h: float = quantity(
        2.5,
        label=_("Rollout GPU price"),
        group=PRICES,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        help=_("An assumption; prices of this GPU with their sources are in the catalog."),
    )
    training_gpu_price_usd_per_h: float | None = quantity(
        None,
        label=_("Training GPU price"),
        group=PRICES,
        unit="USD/GPU-h",
        ge=0,
        le=1e4,
        empty=_("as the rollout GPUs"),
    )
    scorer_usd_per_h: float = quantity(
        0.05,
        label=_("Scorer price"),
        group=PRICES,
        unit="USD/h",
        ge=0,
        le=1e4,
        help=_("A core with its memory costs about 5 cents; a replica of a reward model costs its GPUs."),
    )

    @property
    def training(self) -> Training:
        """Training as it was measured, and how it scales."""
        return Training(self.train_step_s, self.train_step_gpus or self.training_gpus, self.train_exponent)

    @property
    def training_s(self) -> float:
        """Training of a step on the training GPUs."""
        return self.training.at(self.training_gpus)

    @model_validator(mode="after")
    def _parts_fit(self) -> RlRolloutSpec:
        if self.output_tokens > self.max_output_tokens:
            raise ValueError("output_tokens: the mean answer cannot be longer than the cap (max_output_tokens)")
        if self.lengths == "trace" and self.workload is None:
            raise ValueError("workload: name the trace whose lengths are to be taken")
        if self.scored == "batch" and self.mode == "asynchronous":
            raise ValueError("scored: generation never ends in this mode, so that answers go each or by the group")
        return self
