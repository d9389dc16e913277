"""The kernels are compiled once, in the cache folder that all runs of these sources share."""

from __future__ import annotations

import pytest

import sims.systems.gateway
import sims.systems.kv_pool
import sims.systems.llm_serving
import sims.systems.multi_lora
import sims.systems.rl_rollout  # noqa: F401 - all register their kernels
from sims.engine import kernel


@pytest.fixture(autouse=True, scope="session")
def _warm_kernels() -> None:
    kernel.warm()
