"""Rollout for RL training: how many GPUs generate, in which mode, and how stale what they return is."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout import advice
from planner.kinds.rl_rollout.architecture import architecture
from planner.kinds.rl_rollout.charts import charts
from planner.kinds.rl_rollout.estimate import estimate
from planner.kinds.rl_rollout.metrics import METRICS
from planner.kinds.rl_rollout.simulate import SIMULATOR
from planner.kinds.rl_rollout.spec import RlRolloutSpec

KIND = DesignKind(
    slug="rl_rollout",
    label=_("RL rollout"),
    question=_("How many GPUs generate for RL training, in which mode, and how stale may samples be?"),
    spec=RlRolloutSpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=5,
)
