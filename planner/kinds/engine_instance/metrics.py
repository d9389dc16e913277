"""What the kind answers: names are the contract of the API."""

from __future__ import annotations

from planner.core.result import Direction, MetricDef
from planner.core.text import gettext_noop as _

FIT = _("Fit")
MEMORY = _("Memory of a GPU")
CACHE = _("KV cache")
LATENCY = _("Latency")
THROUGHPUT = _("Throughput")
MONEY = _("Money")


def _memory(name: str, label: str, help: str = "") -> MetricDef:
    return MetricDef(name=name, label=label, unit="bytes", group=MEMORY, help=help)


def _latency(name: str, label: str, formula: str = "") -> MetricDef:
    return MetricDef(name=name, label=label, unit="s", direction="lower", group=LATENCY, formula=formula)


def _rate(name: str, label: str, unit: str) -> MetricDef:
    return MetricDef(name=name, label=label, unit=unit, direction="higher", group=THROUGHPUT)


def _count(
    name: str, label: str, unit: str, *, group: str = CACHE, direction: Direction = "higher", help: str = ""
) -> MetricDef:
    return MetricDef(name=name, label=label, unit=unit, direction=direction, group=group, whole=True, help=help)


_RATES = (
    ("request_rate_rps", _("Requests"), "req/s"),
    ("input_tokens_per_s", _("Input tokens"), "tok/s"),
    ("output_tokens_per_s", _("Output tokens"), "tok/s"),
    ("total_tokens_per_s", _("All tokens"), "tok/s"),
)

METRICS = (
    MetricDef("fits", _("Fits"), "1", "higher", FIT, _("1: the engine starts; 0: a finding says why not."), whole=True),
    _count("gpus", _("GPUs"), "GPUs", group=FIT, direction="lower"),
    _count(
        "smallest_gpus",
        _("GPUs at least"),
        "GPUs",
        group=FIT,
        direction="lower",
        help=_("of this kind, by tensor parallelism"),
    ),
    _memory("budget_bytes", _("Budget"), _("What the engine divides; the terms sum to it. The tightest rank decides.")),
    _memory("weights_bytes", _("Weights")),
    _memory(
        "load_peak_bytes", _("While loading"), _("Not a term of the budget: the files' format and its conversion.")
    ),
    _memory("activation_bytes", _("Activations")),
    _memory("graph_bytes", _("Graphs")),
    _memory("context_bytes", _("Buffers, context")),
    _memory("other_bytes", _("Adapters, draft, unused reserve")),
    MetricDef("kv_pool_bytes", _("KV pool"), "bytes", "higher", MEMORY, formula="budget − all other terms"),
    MetricDef(
        "kv_bytes_per_token",
        _("KV cache of a token"),
        "bytes/token",
        "lower",
        CACHE,
        help=_("On each GPU, of one more token at a long context."),
    ),
    _count(
        "kv_pool_tokens", _("Tokens in the pool"), "tokens", help=_("Of one copy of attention, as its log prints it.")
    ),
    _count("kv_blocks", _("Blocks"), "blocks"),
    MetricDef(
        "max_concurrency",
        _("Longest requests at once"),
        "requests",
        "higher",
        CACHE,
        help=_("Requests of the longest allowed length that fit in the pool."),
    ),
    _count("longest_request_tokens", _("Longest request that fits"), "tokens"),
    _latency("ttft_mean_s", _("TTFT, mean"), "constants + prefill + half a step + queue + wait for a place"),
    _latency("ttft_p50_s", _("TTFT P50")),
    _latency("ttft_p90_s", _("TTFT P90")),
    _latency("ttft_p99_s", _("TTFT P99")),
    _latency("tpot_mean_s", _("TPOT, mean"), "step + prefills of others"),
    _latency("tpot_p50_s", _("TPOT P50")),
    _latency("tpot_p90_s", _("TPOT P90")),
    _latency("tpot_p99_s", _("TPOT P99")),
    _latency("itl_p99_s", _("ITL P99")),
    _latency("e2e_mean_s", _("End to end, mean"), "TTFT + (output − 1) · TPOT"),
    MetricDef("concurrency", _("Requests in the system"), "requests", "none", THROUGHPUT),
    MetricDef("running_requests", _("Requests running"), "requests", "none", THROUGHPUT),
    *(_rate(name, label, unit) for name, label, unit in _RATES),
    *(_rate(f"{name}_per_gpu", f"{label} a GPU", f"{unit}/GPU") for name, label, unit in _RATES),
    MetricDef(
        "max_request_rate_rps",
        _("Request rate, at most"),
        "req/s",
        "higher",
        THROUGHPUT,
        help=_("With all places taken all the time."),
    ),
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY, formula="GPUs · price"),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "USD/M output tokens",
        "lower",
        MONEY,
        formula="bill / (output tokens · utilisation)",
    ),
    MetricDef("cost_usd_per_m_input_tokens", _("Cost, input tokens"), "USD/M input tokens", "lower", MONEY),
    MetricDef("cost_usd_per_m_total_tokens", _("Cost, all tokens"), "USD/M tokens", "lower", MONEY),
)

BY_NAME = {definition.name: definition for definition in METRICS}
RATE_NAMES = tuple(name for name, _label, _unit in _RATES)
