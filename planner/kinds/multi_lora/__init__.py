"""One base LLM that serves many low-rank adapters of many tenants."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.multi_lora import advice
from planner.kinds.multi_lora.architecture import architecture
from planner.kinds.multi_lora.charts import charts
from planner.kinds.multi_lora.estimate import estimate
from planner.kinds.multi_lora.metrics import METRICS
from planner.kinds.multi_lora.simulate import SIMULATOR
from planner.kinds.multi_lora.spec import MultiLoraSpec

KIND = DesignKind(
    slug="multi_lora",
    label=_("Multi-LoRA serving"),
    question=_("How many adapters can one base LLM serve, and what do they cost?"),
    spec=MultiLoraSpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=4,
)
