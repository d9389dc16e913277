"""One chart of every form, with the figures of the reference fleet or plain arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.core.chart import Axis, Chart, Limit, Mark, Trace
from planner.core.diagram import Box, Diagram, Flow
from planner.core.result import Column, Series

_RATES = list(range(100, 641, 10))


def _tail_s(rate: float) -> float:
    return 0.6 / (1 - rate / 660) ** 0.8


LINE = Chart(
    name="ttft",
    title="How far is the TTFT objective?",
    subtitle="Estimate with 80 % band; diamonds are simulated.",
    form="line",
    x=Axis("request rate", "req/s"),
    y=Axis("TTFT P99", "s", "s"),
    traces=(
        Trace(
            "estimate",
            _RATES,
            [_tail_s(rate) for rate in _RATES],
            [0.85 * _tail_s(rate) for rate in _RATES],
            [1.25 * _tail_s(rate) for rate in _RATES],
        ),
        Trace(
            "simulated",
            [200, 300, 400, 450],
            [0.95 * _tail_s(r) for r in (200, 300, 400, 450)],
            order=1,
            marker_only=True,
        ),
    ),
    limits=(Limit(2.0, "objective 2 s"),),
    marks=(Mark(500, _tail_s(500), "1.97 s"),),
    summary="TTFT P99 rises with the request rate and meets 2 s up to 503 requests a second.",
    compare=True,
)

STEP = Chart(
    name="nodes",
    title="When is the next unit due?",
    subtitle="Whole units.",
    form="step",
    x=Axis("peak rate", "req/s"),
    y=Axis("nodes", "nodes"),
    traces=(
        Trace(
            "nodes",
            list(range(0, 1001, 20)),
            [4 * math.ceil(r / 67) + 18 * math.ceil(r / 333) for r in range(0, 1001, 20)],
        ),
    ),
    marks=(Mark(500, 68, "68 nodes"),),
    summary="Nodes rise in steps.",
    compare=True,
)

BARS = Chart(
    name="failure",
    title="What is left when a unit fails?",
    subtitle="Decode capacity as a share of the need.",
    form="bars",
    x=Axis("case"),
    y=Axis("of need", "ratio", "%"),
    traces=(
        Trace("bought", ["all units up"], [4 / 3]),
        Trace("failed", ["one unit lost"], [2 / 3], order=1),
        Trace("variant", ["3 units, one lost"], [4 / 3], idle=True),
    ),
    limits=(Limit(1.0, "need at 500 req/s", "x"),),
    summary="133 % with all units up, 67 % with one lost, 133 % with a third unit and one lost.",
    compare=True,
)

STACKED = Chart(
    name="memory",
    title="Does a decode GPU have room?",
    subtitle="Terms sum to visible memory.",
    form="stacked",
    x=Axis("rank"),
    y=Axis("memory", "bytes"),
    traces=(
        Trace("weights", ["GPU"], [24.4e9]),
        Trace("KV in use at the limit", ["GPU"], [22.1e9], order=2),
        Trace("KV to spare", ["GPU"], [21.9e9], order=2, idle=True),
        Trace("activations, all-to-all", ["GPU"], [6.5e9], order=5),
        Trace("graphs, context", ["GPU"], [2.6e9], order=5, idle=True),
        Trace("outside the budget", ["GPU"], [7.5e9], order=-1, idle=True),
    ),
    summary="24.4 GB weights, 22.1 GB KV in use, 21.9 GB KV to spare, 16.6 GB other.",
    compare=True,
)

SCATTER = Chart(
    name="front",
    title="What does speed cost?",
    subtitle="The line is the front.",
    form="scatter",
    x=Axis("TPOT", "s", "ms", start_at_zero=False),
    y=Axis("cost", "USD/M tokens", start_at_zero=False),
    traces=(
        Trace("144 GPUs a unit", [0.026, 0.030, 0.035, 0.041, 0.047, 0.054], [1.31, 1.16, 1.11, 0.95, 0.91, 0.91]),
        Trace("72", [0.0275, 0.0305, 0.0335, 0.0394, 0.058], [1.11, 1.01, 0.91, 0.811, 0.71], order=2),
        Trace("288", [0.027, 0.031, 0.043, 0.05], [1.55, 1.51, 1.15, 1.11], order=1, idle=True),
        Trace("front", [0.026, 0.0275, 0.0305, 0.0335, 0.0394, 0.058], [1.31, 1.11, 1.01, 0.91, 0.811, 0.71], order=-1),
    ),
    limits=(Limit(0.05, "objective 50 ms", "x"),),
    marks=(Mark(0.0394, 0.811, "cheapest 0.811", 2),),
    summary="Fifteen designs and their front.",
)

FRONT = replace(
    SCATTER,
    name="opened",
    traces=(
        Trace(
            "144 GPUs a unit",
            [0.026, 0.047],
            [1.31, 0.91],
            labels=["batch 24", "batch 56"],
            places=[0, 7],
        ),
        Trace(
            "",
            [0.030, 0.052],
            [1.36, 0.95],
            idle=True,
            labels=["batch 30", "batch 64"],
            places=[1, 8],
        ),
        Trace("front", [0.026, 0.047], [1.31, 0.91], order=-1),
    ),
    limits=(Limit(0.05, "objective 50 ms", "x", closed="above"),),
    marks=(Mark(0.047, 0.91, "cheapest 0.91", look="ring"), Mark(0.0525, 0.9, "as it is", look="hollow")),
    opens="/designs/d/sweep/j/points/",
    twin=Series("front", "front", (Column("x", "TPOT", "s", [0.026, 0.047]), Column("u", "unit", "GPUs", [144, 144]))),
)

CDF = Chart(
    name="ttft_cdf",
    title="Does the estimate hold?",
    subtitle="TTFT so far.",
    form="cdf",
    x=Axis("TTFT", "s"),
    y=Axis("share of requests", "ratio"),
    traces=(
        Trace(
            "simulated", [0.02 * i for i in range(126)], [1 / (1 + math.exp(-6 * (0.02 * i - 0.9))) for i in range(126)]
        ),
        Trace(
            "estimate",
            [0.02 * i for i in range(126)],
            [1 / (1 + math.exp(-7 * (0.02 * i - 0.75))) for i in range(126)],
            order=1,
        ),
    ),
    limits=(Limit(2.0, "2 s", "x"),),
    summary="Half of the requests within 0.9 s.",
    compare=True,
)

TORNADO = Chart(
    name="tornado",
    title="Which input moves the answer most?",
    subtitle="One input at a time.",
    form="bars",
    x=Axis("input"),
    y=Axis("cost", "USD/M tokens"),
    traces=(
        Trace(
            "low",
            ["GPU price", "Prefix hit rate", "Decode rate"],
            [None] * 3,
            [0.756, 0.756, 0.756],
            [0.567, 0.622, 0.756],
        ),
        Trace(
            "high",
            ["GPU price", "Prefix hit rate", "Decode rate"],
            [None] * 3,
            [0.756] * 3,
            [1.13, 0.844, 0.956],
            order=1,
        ),
    ),
    marks=(Mark(0.756, 0, "0.756"),),
    summary="The GPU price moves the answer most.",
)

_MEASURED = [1.0 * 1.05**step for step in range(90)]

CLOUD = Chart(
    name="agreement",
    title="Does what we predict agree with what was measured?",
    subtitle="On the line both are equal; the band is ±20 %.",
    form="scatter",
    x=Axis("measured", "ms", log=True, start_at_zero=False),
    y=Axis("predicted", "ms", log=True, start_at_zero=False),
    traces=(
        Trace("equal", [1.0, 80.0], [1.0, 80.0], [0.8, 64.0], [1.2, 96.0], order=-1, guide=True),
        Trace(
            "vLLM",
            _MEASURED,
            [value * (1.1 if place % 2 else 0.9) for place, value in enumerate(_MEASURED)],
            marker_only=True,
            labels=[f"row {place}" for place in range(90)],
        ),
        Trace("SGLang", [2.0, 20.0], [2.5, 19.0], order=1, marker_only=True, labels=["a", "b <i>"]),
        Trace("others", [3.0], [2.0], order=-1, marker_only=True, labels=["c"]),
    ),
    summary="93 rows lie about the line of equality.",
)

HEAT = Chart(
    name="skew",
    title="Which instances are hot?",
    subtitle="Requests of an instance over the mean.",
    form="heat",
    x=Axis("simulated time", "s"),
    y=Axis("load over the mean", "×"),
    traces=tuple(
        Trace(name, [10.0 * step for step in range(30)], [1 + rise * math.sin(step / 5) ** 2 for step in range(30)])
        for name, rise in (("random", 0.1), ("prefix-aware", 2.0))
    ),
    summary="Prefix-aware routing loads the hottest instance three times as much as the mean; random 1.1 times.",
)

GANTT = Chart(
    name="turns",
    title="Who works when?",
    subtitle="Two instances and a trainer over one step.",
    form="gantt",
    x=Axis("simulated time", "s", "s"),
    y=Axis("role"),
    traces=(
        Trace("generate", ["instance 1", "instance 2"], [None, None], [0.0, 0.0], [290.0, 180.0]),
        Trace("idle", ["instance 2", "trainer"], [None, None], [180.0, 0.0], [290.0, 290.0], order=-1, idle=True),
        Trace("train", ["trainer"], [None], [290.0], [590.0], order=1),
    ),
    limits=(Limit(290.0, "last answer", axis="x"),),
    summary="The second instance waits for 110 s and the trainer for 290 s of 590 s.",
)

EVERY_FORM = (LINE, STEP, BARS, STACKED, SCATTER, FRONT, CDF, TORNADO, CLOUD, HEAT, GANTT)

DIAGRAM = Diagram(
    title="DeepSeek-V3 at 500 req/s",
    boxes=(
        Box("users", "Requests", ("500 req/s peak", "3,000 in, 800 out"), rank=0, form="source"),
        Box("gateway", "Gateway", ("prefix-aware routing",), rank=1),
        Box("prefill", "Prefill", ("8 units × 32 GPUs", "73.2 % used"), rank=2, lane=0),
        Box("pool", "KV pool", ("70,272 B/token", "hit rate 50 %"), rank=2, lane=1, form="store"),
        Box("decode", "Decode", ("2 units × 144 GPUs", "75.1 % used"), rank=3),
    ),
    flows=(
        Flow("users", "gateway", "500 req/s"),
        Flow("gateway", "prefill", "750 k tok/s to compute"),
        Flow("prefill", "pool", "read and write", both_ways=True),
        Flow("prefill", "decode", "KV 105 GB/s, 0.8 % of the NICs"),
        Flow("decode", "users", "400 k tok/s"),
    ),
    summary="Requests pass a gateway to 8 prefill units, then 2 decode units.",
)
