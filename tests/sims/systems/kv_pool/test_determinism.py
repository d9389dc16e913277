from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.engine import kernel, run
from sims.systems.kv_pool import Loss, Switch, TraceSource, faults, loop, simulate
from tests.sims.systems.kv_pool.scene import config, fingerprint, sessions
from tests.sims.without_jit import printed


def small(eviction: str = "lru", **options: Any) -> str:
    """A run of some 300 requests with a loss and a switch."""
    return fingerprint(
        simulate(
            config(eviction=eviction, fetch="cheaper"),
            source=sessions(duration_s=80.0, lead_s=30.0),
            losses=[Loss(node=1, at_s=30.0, rejoin_s=10.0)],
            switches=[Switch(at_s=50.0, share=0.5, quota=0.5)],
            **options,
        )
    )


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    assert small(seed=5) == small(seed=5)
    assert small(seed=5) != small(seed=6)


def test_slices_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(samples=1)
    assert small(samples=977) == whole
    monkeypatch.setattr(run, "FIRST_EVENTS", 1)
    monkeypatch.setattr(run, "MOST_EVENTS", 1)
    assert small(samples=10) == whole


@pytest.mark.parametrize("eviction", ["ttl", "value"])
def test_compiled_and_plain_code_give_the_same_bytes(eviction: str) -> None:
    if not kernel.JIT:
        pytest.skip("JIT is off in this run")
    code = f"from tests.sims.systems.kv_pool.test_determinism import small; print(small({eviction!r}))"
    assert printed(code, "-W", "error::RuntimeWarning") == small(eviction)


def test_every_kernel_is_compiled_for_one_signature() -> None:
    small()
    trace = TraceSource(np.arange(3), np.full(3, 16), np.array([0, 0, 1]), np.arange(4))
    simulate(config(), source=trace)
    simulate(config(), source=sessions(duration_s=5.0), switches=[Switch(at_s=1, share=1, purge=True)])
    kernels = [loop.advance, faults.lose, faults.rejoin, faults.purge, faults.settle_all]
    assert [kernel.signatures(one) for one in kernels] == [1] * len(kernels)
