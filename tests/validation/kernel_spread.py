"""How far measured kernels are from measured serving: the spread that estimates from kernels show.

Needs the optional package (docs/how-to/measured-kernels.md): ``python -m tests.validation.kernel_spread`` prints the
errors by slice and writes ``calibrations/kernels.toml``. Nothing is fitted; the spread is what the errors are.
"""

from __future__ import annotations

import datetime
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.catalog.files import DATA
from planner.core.catalog import Catalog
from planner.core.latency import KernelsUnavailable, Ranks
from planner.formulas import calibration, serving
from planner.formulas.kernels import KernelReplica
from planner.formulas.traffic import Layout
from tests.calibration.rows import MeasuredRow, read
from tests.validation.shipped import catalog as shipped

SAMPLE = DATA / "measured" / "silicon_sample.csv"
RESULT = DATA / "calibrations" / "kernels.toml"
QUANTITIES = ("tpot", "ttft", "throughput")
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class Compared:
    """One measured configuration: predicted over measured, by quantity."""

    row: MeasuredRow
    ratio: Mapping[str, float]


def compared(row: MeasuredRow, *, layout: Layout, catalog: Catalog) -> Compared:
    """A row beside the estimate from kernels; raises `KernelsUnavailable`. The format of its cache is not stated: BF16.

    Throughput of a closed loop is its concurrency over the time of a request, measured and predicted alike.
    """
    llm, gpu = catalog.llm(row.llm), catalog.gpu(row.gpu)
    times = catalog.kernel_times(
        llm,
        gpu,
        engine=row.engine,
        ranks=Ranks(
            tensor_parallel=layout.tensor_parallel,
            data_parallel=layout.data_parallel,
            pipeline_parallel=layout.pipeline_parallel,
            expert_parallel=layout.expert_parallel,
            context_parallel=layout.context_parallel,
        ),
        weight_dtype=row.weight_dtype,
        kv_dtype="bf16",
    )
    constants = calibration.coefficients(catalog.calibration("roofline"), gpu=gpu, engine=row.engine)
    point = serving.closed_loop(
        KernelReplica(times=times, layout=layout, layer_count=llm.layers, coefficients=constants),
        load=serving.Load(new_tokens=row.input_tokens, output_tokens=row.output_tokens),
        concurrency=row.concurrency,
        capacity=math.inf,
    )
    measured_s = row.ttft_s + (row.output_tokens - 1) * row.tpot_s
    ratio = {
        "tpot": (point.tpot_s or 0.0) / row.tpot_s,
        "ttft": point.ttft_s / row.ttft_s,
        "throughput": measured_s / point.e2e_s,
    }
    return Compared(row=row, ratio=ratio)


def all_compared(catalog: Catalog) -> tuple[list[Compared], Counter[str]]:
    """Every row that the calibration takes, and the reasons of those without an answer."""
    found, refused = [], Counter[str]()
    for row in read(SAMPLE, catalog=catalog):
        if row.reasons or row.layout is None or not (row.tpot_s > 0 and row.ttft_s > 0):
            continue
        try:
            found.append(compared(row, layout=row.layout, catalog=catalog))
        except KernelsUnavailable as problem:
            refused[problem.reason] += 1
    return found, refused


def quantile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]


def factor(ratios: Sequence[float], *, share: float = 0.8) -> float:
    """The factor, up or down, inside which this share of the ratios lies."""
    return math.exp(quantile([abs(math.log(ratio)) for ratio in ratios], share))


def slices(found: Sequence[Compared]) -> Iterator[tuple[str, list[Compared]]]:
    """All, and by engine, GPU and LLM."""
    yield "all", list(found)
    for of in ("engine", "gpu", "llm"):
        groups: dict[str, list[Compared]] = defaultdict(list)
        for each in found:
            groups[getattr(each.row, of)].append(each)
        yield from ((f"{of} {name}", group) for name, group in sorted(groups.items()))


def lines(found: Sequence[Compared]) -> Iterator[str]:
    for name, group in slices(found):
        if len(group) < _ENOUGH:
            continue
        said = []
        for quantity in QUANTITIES:
            errors = [abs(each.ratio[quantity] - 1.0) for each in group]
            said.append(f"{quantity} {quantile(errors, 0.5):.1%} / {quantile(errors, 0.9):.1%}")
        yield f"{name:28s} n {len(group):5d}  {'  '.join(said)}"


def table(found: Sequence[Compared], *, package: str, refused: int, day: str) -> str:
    spread = "\n".join(
        f"{quantity} = {factor([each.ratio[quantity] for each in found]):.2f}" for quantity in QUANTITIES
    )
    return (
        "# Spread of estimates from measured kernels. Written by `python -m tests.validation.kernel_spread`; "
        "nothing here is fitted.\n"
        f'source = "{package} beside measured/silicon_sample.csv"\n'
        f'as_of = "{day}"\n'
        f"rows = {len(found)}\n"
        f"unanswered = {refused}\n\n"
        "# Half-widths of the 80 % interval, as factors.\n"
        f"[interval]\n{spread}\n"
    )


def main() -> int:
    catalog = shipped()
    package = catalog.kernel_package
    if package is None:
        print("The package is not installed: see docs/how-to/measured-kernels.md.")
        return 1
    found, refused = all_compared(catalog)
    print("\n".join(lines(found)))
    print(f"answered {len(found)}, not {sum(refused.values())}")
    for reason, count in refused.most_common():
        print(f"{count:5d}  {reason}")
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    RESULT.write_text(table(found, package=package, refused=sum(refused.values()), day=day), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
