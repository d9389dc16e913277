from __future__ import annotations

import numpy as np
import pytest

from sims.engine import kernel, run
from sims.engine.sketch import percentile
from sims.systems.llm_serving import Failure, Recovery, aggregated, disaggregated, faults, simulate
from tests.sims.systems.scene import config, fingerprint, poisson
from tests.sims.without_jit import printed

FAILURES = (Failure(unit=0, at_s=2.0, detection_s=0.3, rejoin_s=2.0),)
PREFILL_FAILURES = (Failure(unit=1, at_s=2.2, detection_s=0.1, rejoin_s=1.0, role="prefill"),)
POOL = Recovery(pool_holds="answers", pool_block_tokens=8, pool_s_per_token=1e-6)
BOTH = pytest.mark.parametrize("together", [False, True], ids=["disaggregated", "aggregated"])


def small(together: bool, **options: object) -> str:
    """A run of 200 requests with failures."""
    arrivals, failures = poisson(requests=200), FAILURES + (() if together else PREFILL_FAILURES)
    return fingerprint(
        simulate(config(aggregated=together, recovery=POOL), arrivals=arrivals, failures=failures, **options)
    )


@BOTH
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(together: bool) -> None:
    assert small(together, seed=5) == small(together, seed=5)
    assert small(together, seed=5) != small(together, seed=6)


@BOTH
def test_slices_do_not_change_the_result(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(together, samples=1)
    assert small(together, samples=977) == whole
    monkeypatch.setattr(run, "FIRST_EVENTS", 1)
    monkeypatch.setattr(run, "MOST_EVENTS", 1)
    assert small(together, samples=10) == whole


@BOTH
def test_compiled_and_plain_code_give_the_same_bytes(together: bool) -> None:
    if not kernel.JIT:
        pytest.skip("JIT is off in this run")
    code = f"from tests.sims.systems.test_determinism import small; print(small({together}))"
    assert printed(code) == small(together)


@BOTH
def test_macro_steps_are_the_steps_one_by_one(together: bool) -> None:
    """The same requests finish at the same times; closed forms and sums differ by rounding only."""
    macro, single = (
        simulate(config(aggregated=together, most_steps=most), arrivals=poisson(requests=800)) for most in (10**9, 1)
    )
    assert single.events > macro.events
    assert single.simulated_s == pytest.approx(macro.simulated_s, rel=1e-9)
    for name in ("ttft", "tpot", "e2e", "itl"):
        one, two = macro.pooled(name), single.pooled(name)
        assert one.sum() == two.sum()
        # Rounding at the edges of bins moves little weight, and none by more than a bin.
        assert np.abs(np.cumsum(one) - np.cumsum(two)).max() <= 0.002 * one.sum()
        for q in (0.5, 0.9, 0.99):
            assert percentile(one, q=q) == pytest.approx(percentile(two, q=q), rel=0.002)


def test_every_kernel_is_compiled_for_one_signature() -> None:
    """A time given as an integer would silently compile a second time."""
    small(False)
    small(True)
    kernels = [aggregated.advance, disaggregated.advance, faults.halt_unit, faults.isolate_unit]
    kernels += [faults.halt_prefill, faults.isolate_prefill, faults.take_fetched]
    kernels += [faults.send_parked, faults.send_parked_to_replicas]
    assert [kernel.signatures(one) for one in kernels] == [1] * len(kernels)
