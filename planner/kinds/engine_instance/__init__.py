"""One replica of an inference engine: does the LLM fit, how fast is it, what does a token cost."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance import advice
from planner.kinds.engine_instance.architecture import architecture
from planner.kinds.engine_instance.charts import charts
from planner.kinds.engine_instance.estimate import estimate
from planner.kinds.engine_instance.metrics import METRICS
from planner.kinds.engine_instance.simulate import SIMULATOR
from planner.kinds.engine_instance.spec import EngineInstanceSpec

KIND = DesignKind(
    slug="engine_instance",
    label=_("Engine instance"),
    question=_("Does this LLM fit on these GPUs, and how fast is one replica?"),
    spec=EngineInstanceSpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=6,
)
