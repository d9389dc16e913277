from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sims.engine import kernel, run
from sims.engine.sketch import percentile
from sims.systems.multi_lora import Burst, Failure, Tenants, loop, orders, simulate, timeline
from tests.sims.systems.multi_lora.scene import COUNT, LENGTHS, asked, config, fingerprint
from tests.sims.without_jit import printed

FAILURES = (Failure(replica=0, at_s=2.0, detection_s=0.3, rejoin_s=2.0),)
SORTS: dict[str, dict[str, Any]] = {
    "first come": {},
    "fair, stalls": {"scheduler": "fair", "swap": "stalls", "prefill": "first", "cold_replicas": 1},
    "placed anew": {"replace_every_s": 1.5, "swap": "pipelined", "load_bound": 1.5},
}
BY_SORT = pytest.mark.parametrize("sort", SORTS)


def small(sort: str, **options: Any) -> str:
    """A run of 200 requests and a burst, with a failure."""
    source = asked(rate=40.0, requests=200, base_share=0.1, bursts=(Burst((5, 6), 10.0, LENGTHS, from_s=1.0),))
    tenants = Tenants.evenly(COUNT, tenants=6)
    return fingerprint(
        simulate(
            config(**SORTS[sort]), source=source, tenants=tenants, failures=FAILURES, log=400, **{"seed": 1, **options}
        )
    )


@BY_SORT
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(sort: str) -> None:
    assert small(sort, seed=5) == small(sort, seed=5)
    assert small(sort, seed=5) != small(sort, seed=6)


@BY_SORT
def test_slices_do_not_change_the_result(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(sort, samples=1)
    assert small(sort, samples=977) == whole
    monkeypatch.setattr(run, "FIRST_EVENTS", 1)
    monkeypatch.setattr(run, "MOST_EVENTS", 1)
    assert small(sort, samples=10) == whole


@BY_SORT
def test_compiled_and_plain_code_give_the_same_bytes(sort: str) -> None:
    if not kernel.JIT:
        pytest.skip("JIT is off in this run")
    code = f"from tests.sims.systems.multi_lora.test_determinism import small; print(small({sort!r}))"
    assert printed(code) == small(sort)


@BY_SORT
def test_macro_steps_are_the_steps_one_by_one(sort: str) -> None:
    """The same requests finish at the same times; closed forms and sums differ by rounding only."""
    macro, single = (
        simulate(config(most_steps=most, **SORTS[sort]), source=asked(rate=15.0, requests=800), log=800)
        for most in (10**9, 1)
    )
    assert single.events > macro.events
    for name in ("seq", "adapter", "unit", "heat"):
        assert (macro.log[name] == single.log[name]).all()
    for name in ("admitted_s", "first_s", "finish_s"):
        np.testing.assert_allclose(macro.log[name], single.log[name], rtol=1e-9)
    for name in ("ttft", "tpot", "e2e", "itl"):
        one, two = macro.pooled(name), single.pooled(name)
        assert one.sum() == two.sum()
        for q in (0.5, 0.9, 0.99):
            assert percentile(one, q=q) == pytest.approx(percentile(two, q=q), rel=0.002)
    for name in macro.tenants.dtype.names or ():
        np.testing.assert_allclose(macro.tenants[name], single.tenants[name], rtol=1e-6, atol=1e-9)
    for name in macro.replicas.dtype.names or ():
        np.testing.assert_allclose(macro.replicas[name], single.replicas[name], rtol=1e-6, atol=1e-6)


def test_every_kernel_is_compiled_for_one_signature() -> None:
    """A time given as an integer would silently compile a second time."""
    small("first come")
    kernels = [loop.advance, orders.obey, timeline.observe]
    assert [kernel.signatures(one) for one in kernels] == [1] * len(kernels)
