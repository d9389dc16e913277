"""Serving one LLM at scale: prefill and decode pools, or replicas that do both."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving import advice
from planner.kinds.llm_serving.architecture import architecture
from planner.kinds.llm_serving.charts import charts
from planner.kinds.llm_serving.estimate import estimate
from planner.kinds.llm_serving.metrics import METRICS
from planner.kinds.llm_serving.simulate import SIMULATOR
from planner.kinds.llm_serving.spec import LlmServingSpec

KIND = DesignKind(
    slug="llm_serving",
    label=_("LLM serving"),
    question=_("How many GPUs serve this LLM at this request rate, and what does a token cost?"),
    spec=LlmServingSpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=1,
)
