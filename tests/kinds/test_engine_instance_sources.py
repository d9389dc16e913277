"""Step times of an engine instance from measured kernels: chosen, refused, and side by side with the roofline."""

from __future__ import annotations

from typing import Any

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.latency import KernelPass, KernelsUnavailable, Ranks
from planner.core.result import Result

KIND = kinds.get("engine_instance")
LATENCIES = ("ttft_mean_s", "ttft_p99_s", "tpot_mean_s", "tpot_p99_s", "output_tokens_per_s", "max_request_rate_rps")


class Tables:
    """Kernels of a plain law."""

    tables = "made-up kernels 1.0"

    def decode(self, *, sequences: int, context_tokens: int) -> KernelPass:
        return KernelPass(5e-3 + 1e-5 * sequences, 1e-8 * context_tokens * sequences, 0.0, 1e-4, measured_share=0.9)

    def prefill(self, *, new_tokens: int, cached_tokens: int) -> KernelPass:
        return KernelPass(2e-5 * (new_tokens + 1e-3 * cached_tokens), 0.0, 0.0, 0.0)


class Catalog:
    """The shipped catalog with made-up kernels, with tables that hold nothing, or without the package."""

    def __init__(self, kernels: Tables | KernelsUnavailable, *, package: str | None = "made-up kernels 1.0") -> None:
        self._files, self._kernels = files.load(), kernels
        self.kernel_package = package
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def kernel_times(self, llm: Any, gpu: Any, **asked: Any) -> Tables:
        self.asked.append({"llm": llm.slug, "gpu": gpu.slug, **asked})
        if isinstance(self._kernels, KernelsUnavailable):
            raise self._kernels
        return self._kernels


ABSENT = KernelsUnavailable("Measured kernels need a package that is not installed.", installed=False)
HOLE = KernelsUnavailable("No kernels were measured on this GPU.")


def answer(catalog: Catalog, **spec: Any) -> Result:
    return KIND.estimate(KIND.spec.model_validate(spec), catalog)


def finding(result: Result, code: str) -> Any:
    found = [each for each in result.findings if each.code == code]
    assert len(found) == 1, [each.code for each in result.findings]
    return found[0]


def test_the_roofline_is_the_default_and_asks_for_no_kernels() -> None:
    catalog = Catalog(Tables())
    result = answer(catalog)
    assert result.value("tpot_mean_s")
    assert "measured_kernels_used" not in {each.code for each in result.findings}
    assert catalog.asked == []  # neither a sweep nor a variant pays for the other source


def test_chosen_kernels_give_the_step() -> None:
    result = answer(Catalog(Tables()), latency_source="measured_kernels", concurrency=1, output_tokens=1000)
    # One sequence at a mean context of 1,524 tokens, 5.01 + 0.1 ms of kernels and attention, and little else.
    assert result.value("tpot_mean_s") == pytest.approx(5.125e-3, rel=0.05)
    assert "made-up kernels 1.0" in finding(result, "measured_kernels_used").message
    assert result.provenance["step_times"] == "made-up kernels 1.0"


def test_the_replica_is_asked_for_as_placed() -> None:
    catalog = Catalog(Tables())
    answer(
        catalog, llm="deepseek-v3", gpu="h200-sxm", gpus=16, tensor_parallel=2, data_parallel_attention=4,
        pipeline_parallel=2, expert_parallel=8, engine="sglang", kv_dtype="fp8", latency_source="measured_kernels",
    )  # fmt: skip
    assert catalog.asked[0] == {
        "llm": "deepseek-v3",
        "gpu": "h200-sxm",
        "engine": "sglang",
        "ranks": Ranks(tensor_parallel=2, data_parallel=4, pipeline_parallel=2, expert_parallel=8),
        "weight_dtype": "fp8",
        "kv_dtype": "fp8",
    }


@pytest.mark.parametrize(
    ("problem", "code"), [(ABSENT, "measured_kernels_not_installed"), (HOLE, "measured_kernels_unavailable")]
)
@pytest.mark.parametrize("load", [{"concurrency": 16.0}, {"rate_rps": 2.0}])
def test_without_kernels_the_fit_stays_and_no_other_source_steps_in(
    problem: KernelsUnavailable, code: str, load: dict[str, float]
) -> None:
    catalog = Catalog(problem, package=None if problem is ABSENT else "made-up kernels 1.0")
    result = answer(catalog, latency_source="measured_kernels", **load)
    assert all(result.value(name) is None for name in LATENCIES)
    assert result.value("fits") == 1
    assert result.value("kv_pool_tokens")
    said = finding(result, code)
    assert said.severity == "error"
    assert problem.reason in said.message
    assert said.change == {"latency_source": "roofline"}
    assert "cannot say" in result.answer.sentence
    assert result.metrics["ttft_p99_s"].objective is None  # not known is not missed
    drawn = KIND.architecture(KIND.spec.model_validate({"latency_source": "measured_kernels"}), result)
    assert "speed not known" in next(box for box in drawn.boxes if box.name == "engine").lines
    assert list(KIND.charts(KIND.spec.model_validate({"latency_source": "measured_kernels"}), result))
    assert answer(catalog, **{**load, **said.change}).value("tpot_mean_s")


def test_a_hole_met_under_load_is_an_answer_too() -> None:
    class Short(Tables):
        def decode(self, *, sequences: int, context_tokens: int) -> KernelPass:
            if sequences > 8:
                raise HOLE
            return super().decode(sequences=sequences, context_tokens=context_tokens)

    result = answer(Catalog(Short()), latency_source="measured_kernels", concurrency=64)
    assert result.value("tpot_mean_s") is None
    finding(result, "measured_kernels_unavailable")
    assert dict(result.series)  # series made later meet the same hole and leave it out


@pytest.mark.parametrize("source", ["roofline", "measured_kernels"])
@pytest.mark.parametrize("load", [{"concurrency": 16.0}, {"rate_rps": 2.0}])
def test_both_sources_stand_side_by_side(source: str, load: dict[str, float]) -> None:
    catalog = Catalog(Tables())
    result = answer(catalog, latency_source=source, **load)
    table = result.series["latency_sources"]
    other = "roofline" if source == "measured_kernels" else "measured_kernels"
    for row, label in enumerate(table.column("metric").values):
        name = next(name for name, each in result.metrics.items() if each.definition.label == label)
        assert table.column(source).values[row] == result.value(name)
        elsewhere = answer(catalog, latency_source=other, **load)
        assert table.column(other).values[row] == elsewhere.value(name)
        roof, kernels = table.column("roofline").values[row], table.column("measured_kernels").values[row]
        assert table.column("ratio").values[row] == pytest.approx(kernels / roof)
    names = [chart.name for chart in KIND.charts(KIND.spec.model_validate({"latency_source": source, **load}), result)]
    assert "latency_sources" in names


@pytest.mark.parametrize("catalog", [Catalog(ABSENT, package=None), Catalog(HOLE)])
def test_nothing_is_compared_where_there_is_nothing_to_compare(catalog: Catalog) -> None:
    result = answer(catalog)
    assert not [name for name in result.series if name.startswith("latency_sources")]
    assert "latency_sources" not in [chart.name for chart in KIND.charts(KIND.spec(), result)]


def test_figures_from_kernels_carry_the_spread_of_kernels() -> None:
    table = files.load().calibration("kernels")["interval"]
    result = answer(Catalog(Tables()), latency_source="measured_kernels", rate_rps=None)
    tpot = result.metrics["tpot_mean_s"]
    assert tpot.basis == "extrapolated"
    assert tpot.high == pytest.approx(tpot.value * table["tpot"])
    assert tpot.low == pytest.approx(tpot.value / table["tpot"])


def test_a_source_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="latency_source"):
        KIND.spec.model_validate({"latency_source": "guess"})


def test_a_gpu_whose_roofline_lacks_a_figure_is_not_compared() -> None:
    without = next(gpu.slug for gpu in files.load().gpus() if not gpu.has("bf16_flops_per_s"))
    result = answer(Catalog(Tables()), gpu=without, max_model_len=4096, kv_dtype="fp8", weight_dtype="fp8")
    assert result.value("kv_pool_tokens")
    assert result.value("tpot_mean_s") is None
    assert "latency_sources" not in dict(result.series)
