"""Stores a calibration: ``roofline.toml`` (coefficients), ``step_time.toml`` and ``.csv`` (measurements to lean on)."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.core.catalog import Catalog
from planner.formulas import neighbours, roofline
from tests.calibration.design import Array, Design
from tests.calibration.fit import ENGINES, GENERATIONS, PRIORS, Fit, Slot

COLUMNS = (
    "id",
    "day",
    "llm",
    "gpu",
    "generation",
    "engine",
    "format",
    "version",
    "gpus",
    "tensor_parallel",
    "data_parallel",
    "expert_parallel",
    "ranks",
    "copies",
    "experts",
    "input_tokens",
    "output_tokens",
    "input",
    "output",
    "concurrency",
    "pressure",
    "ttft_s",
    "tpot_s",
    "weight_tpot",
    "weight_ttft",
)


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Everything one run finds."""

    as_of: str
    design: Design
    fitted: Fit
    slots: Sequence[Slot]
    predicted: tuple[Array, Array]
    kernels: tuple[neighbours.Kernel, neighbours.Kernel]
    weights: tuple[Array, Array]
    pressure: Array
    roofline_intervals: Mapping[str, Mapping[str, float]]
    leaning_intervals: Mapping[str, Mapping[str, float]]
    errors: Sequence[str]
    """Lines for the head of the file: what cross-validation gave."""


def store(found: Calibration, folder: Path, *, catalog: Catalog) -> None:
    """Write the three files."""
    (folder / "roofline.toml").write_text("\n".join(_roofline(found, catalog)) + "\n", encoding="utf-8")
    (folder / "step_time.toml").write_text("\n".join(_step_time(found)) + "\n", encoding="utf-8")
    (folder / "step_time.csv").write_text(_rows(found), encoding="utf-8", newline="")


def _number(value: float, digits: int = 5) -> str:
    text = f"{value:.{digits}g}"
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _roofline(found: Calibration, catalog: Catalog) -> Iterator[str]:
    rows = len(found.design.rows)
    yield "# Coefficients of the roofline of one replica; written by `make calibrate`, do not edit."
    yield "# Loss, priors and what is left out: tests/calibration/fit.py. `spread` is the standard deviation of the"
    yield "# logarithm after the fit; of what these rows cannot tell, that of the prior."
    yield "#"
    yield from (f"# {line}" for line in found.errors)
    yield ""
    yield 'name = "roofline"'
    yield f'source = "fit on {rows:,} measured configurations (InferenceX dumps and vendor runs, Apache-2.0)"'
    yield f'as_of = "{found.as_of}"'
    yield f"rows = {rows}"
    values = dict(zip(((slot.name, slot.axis, slot.level) for slot in found.slots), found.fitted.values, strict=True))
    spreads = dict(zip(((slot.name, slot.axis, slot.level) for slot in found.slots), found.fitted.spreads, strict=True))
    for name, prior in PRIORS.items():
        yield ""
        yield f"[coefficient.{name}]"
        value = prior.value * math.exp(values.get((name, "", ""), 0.0))
        yield f"value = {_number(value)}"
        yield f'unit = "{prior.unit}"'
        yield f"spread = {_number(spreads.get((name, '', ''), prior.spread), 3)}"
        yield f"fitted = {'true' if prior.fitted else 'false'}"
        if prior.note:
            yield f'note = "{prior.note}"'
        for axis, levels, has in (("engine", ENGINES, prior.engine), ("generation", GENERATIONS, prior.generation)):
            if has:
                each = ", ".join(
                    f"{level} = {_number(value * math.exp(values[(name, axis, level)]))}" for level in levels
                )
                yield f"{axis} = {{ {each} }}"
        if prior.of_engines:
            each = ", ".join(f"{level} = {_number(own)}" for level, own in prior.of_engines.items())
            yield f"engine = {{ {each} }}"
    yield ""
    yield "# Half-widths of an 80 % interval of the roofline alone, as factors; rows left out."
    yield from _intervals(found.roofline_intervals)
    yield ""
    yield "# Where measurements exist, and how far their median lies from the roofline (measured over predicted)."
    yield from _cells(found, catalog)


def _intervals(table: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for name, widths in table.items():
        yield ""
        yield f"[interval.{name}]"
        yield from (f"{quantity} = {_number(width, 4)}" for quantity, width in widths.items())


def _cells(found: Calibration, catalog: Catalog) -> Iterator[str]:
    design = found.design
    left = [np.log(m / p) for m, p in zip((design.tpot_s, design.ttft_s), found.predicted, strict=True)]
    cells: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(design.rows):
        precision = roofline.precision(catalog.gpu(row.gpu), weight_dtype=row.weight_dtype)
        cells[(row.gpu, row.engine, precision)].append(index)
    for (gpu, engine, precision), indices in sorted(cells.items()):
        llms = sorted({design.rows[index].llm for index in indices})
        yield ""
        yield "[[cell]]"
        yield f'gpu = "{gpu}"'
        yield f'engine = "{engine}"'
        yield f'precision = "{precision}"'
        yield f"rows = {len(indices)}"
        yield "llms = [" + ", ".join(f'"{llm}"' for llm in llms) + "]"
        yield f"tpot = {_number(float(np.exp(np.median(left[0][indices]))), 3)}"
        yield f"ttft = {_number(float(np.exp(np.median(left[1][indices]))), 3)}"
        yield f"log_sd_tpot = {_number(float(np.std(left[0][indices])), 3)}"


def _step_time(found: Calibration) -> Iterator[str]:
    yield "# How answers lean on the measured rows of step_time.csv; written by `make calibrate`, do not edit."
    yield "# Likeness and weights: planner/formulas/neighbours.py. Intervals are multiples of the spread that the"
    yield "# likeness gives, so that 80 % of rows left out lie inside."
    yield "#"
    yield from (f"# {line}" for line in found.errors)
    yield ""
    yield 'name = "step_time"'
    yield 'source = "InferenceX dumps and vendor runs as published with AIConfigurator (Apache-2.0)"'
    yield 'source_url = "https://github.com/ai-dynamo/aiconfigurator"'
    yield f'as_of = "{found.as_of}"'
    yield f"rows = {len(found.design.rows)}"
    yield from _intervals(found.leaning_intervals)
    for name, kernel in zip(("tpot", "ttft"), found.kernels, strict=True):
        yield ""
        yield f"[kernel.{name}]"
        yield "amplitude = [" + ", ".join(_number(value) for value in kernel.amplitudes) + "]"
        yield f"noise = {_number(kernel.noise)}"
        yield ""
        yield f"[kernel.{name}.rate]"
        for place, feature in enumerate(neighbours.FEATURES):
            yield f"{feature} = [" + ", ".join(_number(value) for value in kernel.rates[:, place]) + "]"
    yield ""
    yield "# The measured LLMs as points: `neighbours.shape`."
    yield "[shape]"
    shapes = {row.llm: one.shape for row, one in zip(found.design.rows, found.design.configurations, strict=True)}
    for llm in sorted(shapes):
        yield f'"{llm}" = [' + ", ".join(_number(size, 9) for size in shapes[llm]) + "]"


def _rows(found: Calibration) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    design = found.design
    order = sorted(range(len(design.rows)), key=lambda index: design.rows[index].id)
    writer.writerows(_line(found, index) for index in order)
    return file.getvalue()


def _line(found: Calibration, index: int) -> list[str]:
    row, one = found.design.rows[index], found.design.configurations[index]
    assert row.layout is not None
    layout = row.layout
    return [
        row.id,
        row.day,
        row.llm,
        row.gpu,
        one.generation,
        row.engine,
        one.format,
        row.version,
        f"{layout.gpus}",
        f"{layout.tensor_parallel}",
        f"{layout.data_parallel}",
        f"{layout.expert_parallel}",
        f"{one.ranks:g}",
        f"{one.copies:d}",
        f"{one.experts:d}",
        f"{row.input_tokens:g}",
        f"{row.output_tokens:g}",
        f"{one.input:.9g}",
        f"{one.output:.9g}",
        f"{row.concurrency:g}",
        f"{found.pressure[index]:.6g}",
        f"{row.ttft_s:.6g}",
        f"{row.tpot_s:.6g}",
        f"{found.weights[0][index]:.8g}",
        f"{found.weights[1][index]:.8g}",
    ]
