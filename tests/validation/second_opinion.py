"""The roofline beside step times that another planner computes from measured kernels: an opinion, not a measurement."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from planner.catalog.files import DATA
from planner.formulas import calibration, roofline
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

POINTS = DATA / "measured" / "reference_points.csv"
ADDRESS = "https://github.com/ai-dynamo/aiconfigurator"
ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt_llm"}
WEIGHTS = {"bfloat16": "bf16", "fp8_static": "fp8", "fp8_block": "fp8"}
GROUPS = {"decode": "decode step", "prefill": "prefill"}
CACHE_BYTES = {"bfloat16": 2.0, "fp8": 1.0}


@gives("second_opinion_step_time")
def second_opinion() -> Iterator[Row]:
    """Time of a decode step and of a prefill, one row a shape."""
    with POINTS.open(encoding="utf-8", newline="") as file:
        for point in csv.DictReader(file):
            yield _row(point)


def _row(point: Mapping[str, str]) -> Row:
    llm, gpu = catalog().llm(point["model"]), catalog().gpu(point["gpu"])
    engine, layout = ENGINES[point["engine"]], _layout(point)
    return Row(
        quantity="second_opinion_step_time",
        id="/".join((llm.slug, gpu.slug, engine, point["dtype"].replace("/", "+"), _cut(layout), _shape(point))),
        source=point["source"],
        source_url=ADDRESS,
        gpu=gpu.slug,
        engine=engine,
        llm=llm.slug,
        family=llm.family,
        group=GROUPS[point["phase"]],
        predicted=_predicted_s(point, layout=layout),
        measured=float(point["latency_ms"]) / 1e3,
        unit="s",
        status="set aside" if point["note"] else "compared",
        reason=_reason(point["note"]),
        conditions=f"{point['phase']}, {_shape(point)}, {_cut(layout)}, {point['dtype']}",
    )


def _reason(note: str) -> str:
    """Why a point is set aside: what those who collected it noted."""
    if note.startswith("OOM"):
        return "The other planner says that the LLM does not fit in memory at this shape."
    return f"Noted when it was collected: {note}." if note else ""


def _layout(point: Mapping[str, str]) -> roofline.Layout:
    ranks, copies = int(point["tp"]), int(point["attention_dp"])
    return roofline.Layout(
        gpus=ranks * copies,
        tensor_parallel=ranks,
        data_parallel=copies,
        expert_parallel=int(point["ep"] or 1),
    )


def _cut(layout: roofline.Layout) -> str:
    return f"TP {layout.tensor_parallel} DP {layout.data_parallel} EP {layout.expert_parallel}"


def _shape(point: Mapping[str, str]) -> str:
    return f"{point['batch']} x {point['isl_or_context']}"


def _predicted_s(point: Mapping[str, str], *, layout: roofline.Layout) -> float:
    """Ours at the same shape. Batches are those of one attention copy; prompts of a batch are prefilled one by one."""
    gemm, cache, _, _ = point["dtype"].split("/")
    llm, gpu = catalog().llm(point["model"]), catalog().gpu(point["gpu"])
    replica = roofline.replica(
        llm,
        gpu,
        layout=layout,
        weight_dtype=WEIGHTS[gemm],
        coefficients=calibration.coefficients(
            catalog().calibration("roofline"), gpu=gpu, engine=ENGINES[point["engine"]]
        ),
        kv_dtype_bytes=CACHE_BYTES[cache],
    )
    batch, tokens = int(point["batch"]), int(point["isl_or_context"])
    if point["phase"] == "prefill":
        return batch * replica.prefill(new_tokens=tokens).latency_s
    return replica.decode_step(batch=batch * layout.data_parallel, context_tokens=tokens).total_s
