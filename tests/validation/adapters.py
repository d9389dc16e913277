"""Adapters beside S-LoRA's published runs and what engines' own threads measured of a step with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from planner.formulas import lora_step
from planner.formulas.adapter_shapes import LINEAR, adapted_matrices
from planner.formulas.adapters import kernels
from tests.golden.published import LORA_ENGINES, LORA_KIMI
from tests.validation import adapter_runs as runs
from tests.validation.adapter_runs import Run, run_of
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

THROUGHPUT, STEP = "lora_throughput", "lora_step"
MORE, FIRST, FITTED = "more adapters", "first adapter", "first adapter, used in the fit"
BELOW, BLIND = "token time below capacity", "capacity of an engine of 2023, extrapolated"
LAUNCHES, OLDER = "used for the launch time", "older engine, without its factor"
WHOLE, ADDED = "whole step, not used", "time added, not used"
SLORA, SLORA_URL = "S-LoRA, results of its paper", "https://github.com/S-LoRA/S-LoRA"
SYSTEMS = ("slora", "dm", "large")
"""S-LoRA itself: in the ablation of memory its own pool is called dm, and large is a run with a thousand adapters."""
FIT = ("ablation_mem_a10g_S2_dm", 1)
"""Of the saturated pairs without and with one adapter, that of rank 64: it gives the rate of gathering kernels."""

OTHER_SYSTEMS = {
    "pets": "A scheduler that runs one adapter’s batch after another’s; the design mixes adapters.",
    "peft": "It merges an adapter into the LLM for each batch; the design mixes adapters.",
    "bmm": "Batched products over padded adapters, neither grouped nor gathering kernels.",
    "30": "Batched products over padded adapters, neither grouped nor gathering kernels.",
    "mem": "Adapters outside the pool of keys and values: how much memory they have is not stated.",
    "vllm": "A whole copy of the LLM for each adapter, packed on one GPU: no adapter kernels.",
    "merge": "Neither LLM, ranks nor memory of these runs are stated.",
    "abort": "Requests that would be late are dropped, which changes what runs.",
    "lifo": "The same replica in another order: last come, first served.",
    "S2": "A scheduler that lets only so many adapters run at once.",
    "S4": "A scheduler that lets only so many adapters run at once.",
}
"""Systems of the table that the design does not describe, or that say too little."""
BURSTY = "Bursty arrivals, overloaded and idle by turns; steady arrivals at the same replica are compared."
REAL = "How long the prompts and answers of the trace are is not stated."
BETWEEN = "Neither overloaded throughout nor steady below capacity: what was reached depends on the length of the run."


@gives(THROUGHPUT)
def lora_throughput() -> Iterator[Row]:
    """Runs of S-LoRA as designs; of runs that are not compared a row for each file and reason."""
    yield from _first()
    yield from _more()
    yield from _blind()
    yield from _below()
    yield from _left_out()


@lru_cache(maxsize=1)
def steady() -> tuple[Run, ...]:
    """S-LoRA's own runs with Poisson arrivals and stated settings."""
    return tuple(run_of(line) for line in runs.lines() if why_not(line) == "")


def why_not(line: Mapping[str, str]) -> str:
    """Why a line is no run of the design; "" when it is."""
    if line["system"] not in SYSTEMS or line["setting"] == "":
        return OTHER_SYSTEMS.get(line["system"], OTHER_SYSTEMS["merge"])
    if line["num_adapters"] == "":
        return REAL
    return BURSTY if float(line["cv"]) != 1 else ""


def saturated() -> list[Run]:
    return [run for run in steady() if run.is_saturated]


def series() -> list[list[Run]]:
    """Saturated runs that differ by their adapters alone, from the fewest adapters on; none without adapters."""
    found: dict[tuple[str, str, float, float], list[Run]] = {}
    for run in saturated():
        if run.adapters:
            found.setdefault(run.series, []).append(run)
    return [sorted(each, key=lambda run: run.adapters) for each in found.values()]


def anchors() -> dict[tuple[str, str], float]:
    """Fixed part of a step [s] by GPU and LLM, from saturated runs with a single adapter."""
    return {(run.gpu, runs.LLMS[run.setting]): runs.overhead_of(run) for run in saturated() if run.adapters == 1}


def _first() -> Iterator[Row]:
    """One adapter over none, both saturated; the fixed part of a step is that of the run without adapters."""
    without = {run.series: run for run in saturated() if run.adapters == 0}
    for first, *_ in series():
        if (none := without.get(first.series)) is None or first.adapters != 1:
            continue
        group = FITTED if (first.file, first.adapters) == FIT else FIRST
        yield _ratio(first, over=none, group=group)


def _more() -> Iterator[Row]:
    """Each run over that with the fewest adapters, from which the fixed part of a step is taken."""
    for fewest, *others in series():
        for run in others:
            if run.adapters > fewest.adapters:
                yield _ratio(run, over=fewest, group=MORE)


def _ratio(run: Run, *, over: Run, group: str) -> Row:
    overhead_s = runs.overhead_of(over)
    ours = runs.capacity_rps(run, overhead_s=overhead_s) / runs.capacity_rps(over, overhead_s=overhead_s)
    said = f"throughput over that with {over.adapters} adapters; fixed part of a step {1e3 * overhead_s:.0f} ms from it"
    return _row(run, group, predicted=ours, measured=run.throughput_rps / over.throughput_rps, unit="ratio", said=said)


def _blind() -> Iterator[Row]:
    for run in saturated():
        said = "defaults of the kind, with the pool and adapters of the run"
        yield _row(run, BLIND, predicted=runs.capacity_rps(run), measured=run.throughput_rps, unit="req/s", said=said)


def _below() -> Iterator[Row]:
    found = anchors()
    for run in steady():
        if run.is_below:
            overhead_s = found[(run.gpu, runs.LLMS[run.setting])]
            said = f"fixed part of a step {1e3 * overhead_s:.0f} ms from a saturated run with one adapter"
            ours = runs.tpot_s(run, overhead_s=overhead_s)
            yield _row(run, BELOW, predicted=ours, measured=run.tpot_s, unit="s", said=said)


def _row(run: Run, group: str, *, said: str, **figures: Any) -> Row:
    llm = catalog().llm(runs.LLMS[run.setting])
    lengths = f"{runs.SHORTEST} to {runs.LONGEST} tokens in and out"
    return Row(
        quantity=THROUGHPUT,
        id=run.name,
        source=SLORA,
        source_url=SLORA_URL,
        gpu=runs.GPUS[run.gpu],
        llm=llm.slug,
        family=llm.family,
        group=group,
        conditions=f"mean rank {run.mean_rank:.0f}, {run.pool_tokens:,} tokens of memory, {lengths}; {said}",
        **figures,
    )


def _left_out() -> Iterator[Row]:
    counted = Counter((line["file"], why_not(line)) for line in runs.lines() if why_not(line))
    for (file, reason), count in counted.items():
        yield _aside(file.rpartition("/")[2].removesuffix(".jsonl"), reason, count)
    between = Counter(run.file for run in steady() if not run.is_saturated and not run.is_below)
    for file, count in between.items():
        yield _aside(file, BETWEEN, count)


def _aside(file: str, reason: str, count: int) -> Row:
    unsaid = (OTHER_SYSTEMS["mem"], OTHER_SYSTEMS["merge"], REAL)
    return Row(
        quantity=THROUGHPUT,
        id=f"{file}: {reason}",
        source=SLORA,
        source_url=SLORA_URL,
        status="not expressible" if reason in unsaid else "set aside",
        reason=reason,
        conditions=f"{count} runs",
    )


@gives(STEP)
def lora_steps() -> Iterable[Row]:
    """A step with adapters over one without, from threads of engines."""
    yield from _engines()
    yield from _kimi()


def _engines() -> Iterator[Row]:
    """What gives the launch times, and vLLM V0, which no launch time explains."""
    for name, url, engine, base_s, with_s, count, kernel_s, factor in LORA_ENGINES:
        added_s = lora_step.base_only_s(kernels=count, kernel_s=kernel_s, specialised_graphs=False)
        for engine_factor in dict.fromkeys((factor, 1.0)):
            yield Row(
                quantity=STEP,
                id=name,
                source=name,
                source_url=url,
                engine=engine,
                group=LAUNCHES if engine_factor == factor else OLDER,
                predicted=float(lora_step.step_factor(added_s, base_s=base_s, engine_factor=engine_factor)),
                measured=with_s / base_s,
                unit="ratio",
                conditions=f"{count} kernels of {1e6 * kernel_s:g} µs, {1e3 * base_s:.1f} ms without adapters",
            )


def _kimi() -> Iterator[Row]:
    """All projections and experts; kernels counted from the LLM's layers, launches as in vLLM's graphs."""
    llm = catalog().llm("kimi-k2-5")
    count = kernels(adapted_matrices(llm, targets=frozenset({*LINEAR, "shared_experts", "experts"})))
    added_s = lora_step.base_only_s(kernels=count, kernel_s=lora_step.GRAPHS.kernel_s, specialised_graphs=False)
    for batch, with_rate, base_rate in LORA_KIMI:
        # As many tokens in as out: prompts are in the rate, so a step is that of a token with its share of them.
        base_s, with_s = 2 * batch / base_rate, 2 * batch / with_rate
        factor = float(lora_step.step_factor(added_s, base_s=base_s))
        for group, ours, theirs, unit in (
            (WHOLE, factor, with_s / base_s, "ratio"),
            (ADDED, added_s, with_s - base_s, "s"),
        ):
            yield Row(
                quantity=STEP,
                id=f"SGLang pull request 28953, batch {batch}",
                source="SGLang pull request 28953",
                source_url="https://github.com/sgl-project/sglang/pull/28953",
                gpu="gb300",
                engine="sglang",
                llm=llm.slug,
                family=llm.family,
                group=group,
                predicted=ours,
                measured=theirs,
                unit=unit,
                conditions=f"{count} kernels of {1e6 * lora_step.GRAPHS.kernel_s:g} µs, {1e3 * base_s:.1f} ms without",
            )
