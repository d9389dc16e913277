"""The simulation of one replica: beside the estimate where that holds, and what only a scheduler shows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from planner.catalog import files
from planner.charts import plotly, svg, table
from planner.core.result import Finding, Result
from planner.core.simulation import Cancelled, SimulationRequest, Workload
from planner.kinds import get
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance import sources, steps
from planner.kinds.engine_instance.measured import plan_of

KIND = get("engine_instance")
CATALOG = files.load()
SMALL: dict[str, Any] = {"llm": "llama-3-1-8b", "gpu": "rtx-4090", "max_model_len": 8192}


class Watch:
    """Hooks that remember, and may ask to stop."""

    def __init__(self, *, stop_at: float = 2.0) -> None:
        self.fractions: list[float] = []
        self._stop_at = stop_at

    def progress(self, fraction: float, *, simulated_s: float, events: int, partial: Any = None) -> None:
        self.fractions.append(fraction)

    def cancelled(self) -> bool:
        return bool(self.fractions) and self.fractions[-1] >= self._stop_at


def run(spec: dict[str, Any], *, trace: Workload | None = None, **wanted: Any) -> Result:
    assert KIND.simulator is not None
    given = {name: wanted.pop(name) for name in ("requests", "duration_s", "seed") if name in wanted}
    request = SimulationRequest(workload=trace, options=wanted, **given)
    return KIND.simulator.run(KIND.spec.model_validate(spec), CATALOG, request, Watch())


def beside(spec: dict[str, Any], *, trace: Workload | None = None, **wanted: Any) -> Result:
    assert KIND.simulator is not None
    assert KIND.simulator.expected is not None
    return KIND.simulator.expected(
        KIND.spec.model_validate(spec), CATALOG, SimulationRequest(workload=trace, options=wanted)
    )


def at_once(count: int, *, prompt: int, answer: int) -> Workload:
    """Requests that all come in the first millisecond."""
    return Workload(
        name="at once",
        arrival_s=np.linspace(0.0, 1e-3, count),
        input_tokens=np.full(count, prompt),
        output_tokens=np.full(count, answer),
    )


def codes(result: Result) -> set[str]:
    return {each.code for each in result.findings}


def found(result: Result, code: str) -> Finding:
    return next(each for each in result.findings if each.code == code)


def served(spec: dict[str, Any]) -> steps.Served:
    plan, _known = plan_of(KIND.spec.model_validate(spec), CATALOG)
    return steps.served(plan, fits.fit(plan), CATALOG)


@pytest.mark.parametrize(
    ("spec", "rate"),
    [
        ({}, 4.0),
        ({"llm": "llama-3-1-70b", "gpus": 4, "tensor_parallel": 4, "weight_dtype": "fp8"}, 2.0),
        (
            {"llm": "qwen3-30b-a3b", "gpu": "h200-sxm", "gpus": 2, "data_parallel_attention": 2, "tensor_parallel": 1},
            # With few requests each adds experts to a step; the mean batch of the estimate leaves the one asked out.
            20.0,
        ),
        ({"llm": "llama-3-1-8b", "gpus": 2, "data_parallel_attention": 2, "tensor_parallel": 1}, 6.0),
    ],
)
def test_estimate_and_simulation_agree_at_low_load(spec: dict[str, Any], rate: float) -> None:
    spec = {**spec, "rate_rps": rate, "input_tokens": 800, "output_tokens": 150}
    done, told = run(spec, requests=400), beside(spec)
    for name, rel in (
        ("tpot_mean_s", 0.06),
        ("running_requests", 0.1),
        ("e2e_mean_s", 0.06),
        ("request_rate_rps", 0.15),
    ):
        assert done.value(name) == pytest.approx(told.value(name), rel=rel), name
    # The estimate's constants of a first token are in the run too; waits for a step under way are its own.
    assert done.value("ttft_mean_s") == pytest.approx(told.value("ttft_mean_s"), rel=0.35)


def test_steps_without_prompts_are_the_estimates_own() -> None:
    for spec in ({}, {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8, "tensor_parallel": 8, "engine": "sglang"}):
        ready = served({**spec, "concurrency": 32, "input_tokens": 2000, "output_tokens": 500})
        replica = sources.calibrated(ready.plan)
        for sequences in (1, 8, 64, 300):
            step = replica.decode_step(batch=sequences, context_tokens=2250).total_s * ready.tpot_factor
            ours = ready.numbers.at(sequences=sequences, kv_tokens=2250 * sequences)
            assert ours == pytest.approx(step, rel=0.01)


def test_a_full_pool_preempts_and_says_so() -> None:
    # Forty requests of 1,000 + 1,000 tokens: all prompts fit into 41,408 tokens, all answers never.
    spec = {**SMALL, "measured_kv_tokens": 41_408, "max_num_seqs": 256}
    done = run(spec, trace=at_once(40, prompt=1000, answer=1000), admission="first_chunk")
    assert done.value("requests_finished") == 40
    assert (done.value("preemptions") or 0) > 5
    assert {"kv_pool_binds", "preempted"} <= codes(done)
    assert "running_cap_binds" not in codes(done)
    assert found(done, "preempted").severity == "warning"


def test_a_limit_on_running_requests_binds_first_and_can_be_lifted() -> None:
    spec = {**SMALL, "max_num_seqs": 8}
    done = run(spec, trace=at_once(64, prompt=500, answer=200))
    assert done.value("preemptions") == 0
    binding = found(done, "running_cap_binds")
    assert binding.change == {"max_num_seqs": 16}
    more = run({**spec, **binding.change}, trace=at_once(64, prompt=500, answer=200))
    assert (more.value("ttft_mean_s") or 0) < 0.6 * (done.value("ttft_mean_s") or 0)
    assert (more.value("output_tokens_per_s") or 0) > 1.3 * (done.value("output_tokens_per_s") or 0)


def test_a_trace_is_measured_whole_to_its_last_token() -> None:
    done = run({}, trace=at_once(50, prompt=400, answer=100))
    rate, took = done.value("output_tokens_per_s"), done.value("simulated_s")
    assert rate is not None
    assert took is not None
    assert rate * took == pytest.approx(50 * 100, rel=1e-6)
    assert done.series["timeline"].column("time_s").values[-1] == pytest.approx(took, rel=0.05)


def test_hits_of_a_trace_shorten_its_prompts() -> None:
    trace = at_once(100, prompt=2000, answer=20)
    hit = Workload(
        **{
            **{name: getattr(trace, name) for name in ("name", "arrival_s", "input_tokens", "output_tokens")},
            "cached_tokens": np.full(100, 1500),
        }
    )
    cold, warm = run({}, trace=trace), run({}, trace=hit)
    assert (warm.value("ttft_mean_s") or 0) < 0.5 * (cold.value("ttft_mean_s") or 0)
    assert run({}, trace=hit, prefix_cache="off").value("ttft_mean_s") == cold.value("ttft_mean_s")


def test_what_does_not_start_does_not_run() -> None:
    done = run({"llm": "llama-3-1-70b", "rate_rps": 1.0}, requests=10)
    assert done.findings[0].severity == "error"
    assert done.findings[0].code == "weights_do_not_fit"
    assert done.value("ttft_mean_s") is None
    assert done.value("requests_arrived") == 0
    assert "Nothing was simulated" in done.answer.sentence


def test_no_load_is_no_error() -> None:
    done = run({"rate_rps": 0.0})
    assert codes(done) == {"no_requests"}


@pytest.mark.parametrize(
    ("spec", "wanted", "named"),
    [
        ({}, {"arrivals": "trace"}, "options.arrivals"),
        ({"concurrency": 4}, {"arrivals": "poisson"}, "options.arrivals"),
        ({"rate_rps": 4}, {"arrivals": "closed_loop"}, "options.arrivals"),
        ({"rate_rps": 4}, {"prefix_cache": "on"}, "options.prefix_cache"),
        ({"rate_rps": 4}, {"warmup_s": 600, "duration_s": 300.0}, "options.warmup_s"),
        ({"rate_rps": 4}, {"warmup": 1}, "options.warmup"),
        ({"rate_rps": 1e5}, {"duration_s": 1e5}, "duration_s"),
    ],
)
def test_an_impossible_run_is_refused_by_name(spec: dict[str, Any], wanted: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        run(spec, **wanted)


def test_same_seed_same_figures_another_seed_others() -> None:
    first, again, other = (run({"rate_rps": 4.0}, requests=200, seed=seed) for seed in (1, 1, 2))
    assert first.value("ttft_mean_s") == again.value("ttft_mean_s") != other.value("ttft_mean_s")


def test_a_run_is_cancelled() -> None:
    assert KIND.simulator is not None
    with pytest.raises(Cancelled):
        KIND.simulator.run(KIND.spec(rate_rps=4.0), CATALOG, SimulationRequest(duration_s=60.0), Watch(stop_at=0.0))


def test_overload_is_said_and_ends() -> None:
    done = run({"rate_rps": 200.0}, duration_s=30.0)
    assert "not_steady" in codes(done)
    assert "does not keep up" in done.answer.sentence


def test_every_chart_is_drawn_with_numbers_alone() -> None:
    assert KIND.simulator is not None
    spec = {"rate_rps": 4.0}
    charts = KIND.simulator.charts(KIND.spec.model_validate(spec), beside(spec), run(spec, requests=200))
    assert len(charts) == 7
    for chart in charts:
        json.dumps(plotly.figure(chart), allow_nan=False)
        assert svg.draw(chart, width=470).startswith("<svg")
        assert table.rows(chart)[1]
