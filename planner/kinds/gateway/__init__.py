"""A cache-aware gateway in front of a fleet: routing, its own replicas, failures, canaries and overload."""

from __future__ import annotations

from planner.core.kind import DesignKind
from planner.core.text import gettext_noop as _
from planner.kinds.gateway import advice
from planner.kinds.gateway.architecture import architecture
from planner.kinds.gateway.charts import charts
from planner.kinds.gateway.estimate import estimate
from planner.kinds.gateway.metrics import METRICS
from planner.kinds.gateway.simulate import SIMULATOR
from planner.kinds.gateway.spec import GatewaySpec

KIND = DesignKind(
    slug="gateway",
    label=_("Gateway"),
    question=_("How does a gateway route to caches, carry the load, and what is lost when something fails?"),
    spec=GatewaySpec,
    metrics=METRICS,
    estimate=estimate,
    charts=charts,
    architecture=architecture,
    advice=advice,
    simulator=SIMULATOR,
    order=3,
)
