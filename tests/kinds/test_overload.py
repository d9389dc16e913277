"""More load than a fleet can carry: runs end in bounded time and memory, and say plainly what came of it."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from planner import kinds
from planner.catalog import files
from planner.core.result import Result
from planner.core.simulation import SimulationRequest, Workload

CATALOG = files.load()
KIND = kinds.get("llm_serving")


class Quiet:
    def progress(self, fraction: float, **_: object) -> None:
        pass

    def cancelled(self) -> bool:
        return False


def run(spec: dict[str, object], **request: object) -> Result:
    assert KIND.simulator is not None
    KIND.simulator.warm()
    return KIND.simulator.run(KIND.spec.model_validate(spec), CATALOG, SimulationRequest(**request), Quiet())


@pytest.mark.parametrize("topology", ["disaggregated", "aggregated"])
@pytest.mark.parametrize("times", [3.0, 100.0])
def test_overload_ends_soon_and_says_how_much_comes_and_how_much_is_answered(topology: str, times: float) -> None:
    begun_s = process_time()
    found = run({"topology": topology, "peak_rps": 500.0}, duration_s=300.0, options={"rate_scale": times})
    assert process_time() - begun_s < 60.0
    assert "**The fleet does not keep up.**" in found.answer.sentence
    assert "come and" in found.answer.sentence
    assert [one.code for one in found.findings if one.severity == "error"] == ["not_steady"]
    # No more requests are kept than memory is meant for: a hundredfold load ends the run.
    assert (found.value("requests_in_flight") or 0.0) <= 1 << 20
    assert found.provenance["ending"] == ("full" if times == 100.0 else "complete")


def trace(*, requests: int, input_tokens: int, output_tokens: int = 50, gap_s: float = 0.001) -> Workload:
    return Workload(
        name="burst",
        arrival_s=np.arange(requests) * gap_s,
        input_tokens=np.full(requests, input_tokens),
        output_tokens=np.full(requests, output_tokens),
    )


def test_a_finite_burst_is_worked_off_to_the_last_request() -> None:
    found = run({"peak_rps": 20.0}, workload=trace(requests=20_000, input_tokens=2_000))
    assert found.value("requests_finished") == 20_000
    assert (found.value("simulated_s") or 0.0) > 20.0


@pytest.mark.parametrize("topology", ["disaggregated", "aggregated"])
def test_a_request_larger_than_the_pool_is_refused_once(topology: str) -> None:
    found = run({"topology": topology}, workload=trace(requests=100, input_tokens=10**9))
    assert (found.value("requests_rejected"), found.value("requests_finished")) == (100, 0)
    assert any("refused once" in one.message for one in found.findings)
