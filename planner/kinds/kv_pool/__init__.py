"""A pool of KV caches: HBM, DRAM and SSD behind a prefill fleet."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool import advice
from planner.kinds.kv_pool.architecture import architecture
from planner.kinds.kv_pool.charts import charts
from planner.kinds.kv_pool.estimate import estimate
from planner.kinds.kv_pool.metrics import METRICS
from planner.kinds.kv_pool.simulate import SIMULATOR
from planner.kinds.kv_pool.spec import KvPoolSpec

KIND = DesignKind(
    slug="kv_pool",
    label=_("KV-cache pool"),
    question=_("What do tiers of KV cache hit, and how many prefill GPUs do they save?"),
    spec=KvPoolSpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=2,
)
