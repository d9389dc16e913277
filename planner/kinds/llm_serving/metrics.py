"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import MetricDef

FLEET, LATENCY, LOAD, FAILURE, MONEY, RATES, SITE = (
    "Fleet",
    "Latency",
    "Load",
    "Failure",
    "Money",
    "Rates",
    "Site",
)

METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "prefill_gpus_needed",
        "Prefill GPUs needed",
        "GPUs",
        "lower",
        FLEET,
        formula="rate × input × (1 − hit) / rate of a GPU",
    ),
    MetricDef(
        "prefill_units",
        "Prefill units",
        "units",
        "lower",
        FLEET,
        whole=True,
        formula="⌈needed × (1 + headroom) / unit⌉ + spare",
    ),
    MetricDef("prefill_gpus", "Prefill GPUs", "GPUs", "lower", FLEET, whole=True),
    MetricDef(
        "decode_gpus_needed", "Decode GPUs needed", "GPUs", "lower", FLEET, formula="rate × output / rate of a GPU"
    ),
    MetricDef(
        "decode_units",
        "Decode units",
        "units",
        "lower",
        FLEET,
        whole=True,
        formula="⌈needed × (1 + headroom) / unit⌉ + spare",
    ),
    MetricDef("decode_gpus", "Decode GPUs", "GPUs", "lower", FLEET, whole=True),
    MetricDef("gpus", "GPUs", "GPUs", "lower", FLEET, whole=True),
    MetricDef("nodes", "Nodes", "nodes", "lower", FLEET, whole=True),
    MetricDef(
        "max_rps_within_headroom",
        "Good to",
        "req/s",
        "higher",
        FLEET,
        help="Request rate at which the next unit is due.",
    ),
    MetricDef("months_to_full", "Months until the next unit", "months", "higher", FLEET, help="At the stated growth."),
    MetricDef("ttft_p50_s", "TTFT P50", "s", "lower", LATENCY),
    MetricDef("ttft_p90_s", "TTFT P90", "s", "lower", LATENCY),
    MetricDef("ttft_p99_s", "TTFT P99", "s", "lower", LATENCY),
    MetricDef("ttft_mean_s", "TTFT, mean", "s", "lower", LATENCY, help="Its parts sum to it."),
    MetricDef("tpot_p50_s", "TPOT P50", "s", "lower", LATENCY),
    MetricDef("tpot_p90_s", "TPOT P90", "s", "lower", LATENCY),
    MetricDef("tpot_p99_s", "TPOT P99", "s", "lower", LATENCY),
    MetricDef("prefill_utilisation", "Prefill utilisation", "ratio", "none", LOAD, formula="needed / bought"),
    MetricDef("decode_utilisation", "Decode utilisation", "ratio", "none", LOAD, formula="needed / bought"),
    MetricDef(
        "decode_concurrency_per_gpu",
        "Concurrency at the limit",
        "sequences/GPU",
        "none",
        LOAD,
        help="Sequences a decode GPU holds when it runs at its rate.",
        formula="rate of a GPU × TPOT objective",
    ),
    MetricDef("decode_running_per_gpu", "Running at the peak", "sequences/GPU", "none", LOAD),
    MetricDef(
        "decode_kv_bytes_per_gpu",
        "KV in use, decode",
        "bytes",
        "lower",
        LOAD,
        help="Of a GPU at the limit.",
        formula="concurrency × (input + output / 2) × KV per token",
    ),
    MetricDef(
        "decode_kv_pool_bytes_per_gpu",
        "KV pool, decode",
        "bytes",
        "higher",
        LOAD,
        help="Of a GPU: what weights, buffers and the reserve leave.",
    ),
    MetricDef(
        "longest_mean_context_tokens",
        "Longest mean context",
        "tokens",
        "higher",
        LOAD,
        help="At which the KV pool is full with the sequences of the limit.",
    ),
    MetricDef(
        "kv_transfer_bytes_per_s", "KV hand-over", "bytes/s", "lower", LOAD, formula="rate × input × KV per token"
    ),
    MetricDef("kv_transfer_nic_share", "Share of the prefill NICs", "ratio", "lower", LOAD),
    MetricDef(
        "goodput_rps", "Goodput", "req/s", "higher", LOAD, help="Requests a second inside both latency objectives."
    ),
    MetricDef("output_tokens_per_s", "Output", "tok/s", "none", LOAD),
    MetricDef(
        "prefill_left_after_unit_loss",
        "Prefill, one unit lost",
        "ratio",
        "higher",
        FAILURE,
        help="Capacity left as a share of the need at the peak; where units share a node, all of it are lost.",
    ),
    MetricDef(
        "decode_left_after_unit_loss",
        "Decode, one unit lost",
        "ratio",
        "higher",
        FAILURE,
        help="Capacity left as a share of the need at the peak; where units share a node, all of it are lost.",
    ),
    MetricDef(
        "prefill_n_plus_1",
        "Prefill is N+1",
        "",
        "higher",
        FAILURE,
        whole=True,
        help="1: the peak is carried with one unit (or one node of small units) down; 0: it is not.",
    ),
    MetricDef(
        "decode_n_plus_1",
        "Decode is N+1",
        "",
        "higher",
        FAILURE,
        whole=True,
        help="1: the peak is carried with one unit (or one node of small units) down; 0: it is not.",
    ),
    MetricDef(
        "prefill_units_for_availability", "Prefill units for the availability", "units", "lower", FAILURE, whole=True
    ),
    MetricDef(
        "decode_units_for_availability", "Decode units for the availability", "units", "lower", FAILURE, whole=True
    ),
    MetricDef(
        "peak_availability",
        "Peak can be carried",
        "ratio",
        "higher",
        FAILURE,
        help="Share of time with enough units up.",
    ),
    MetricDef("node_failures_per_day", "Node failures a day", "1/d", "lower", FAILURE),
    MetricDef("cost_usd_per_h", "Cost", "USD/h", "lower", MONEY, formula="GPUs × price"),
    MetricDef("cost_usd_per_month", "Month", "USD/month", "lower", MONEY, help="730 hours."),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        "Cost, output tokens",
        "USD/M output tokens",
        "lower",
        MONEY,
        help="The whole bill over the output tokens of the peak.",
    ),
    MetricDef(
        "cost_usd_per_m_input_tokens",
        "Cost, input tokens",
        "USD/M input tokens",
        "lower",
        MONEY,
        help="The whole bill over all input tokens.",
    ),
    MetricDef(
        "cost_usd_per_m_cached_input_tokens",
        "Cost, cached input tokens",
        "USD/M cached input tokens",
        "lower",
        MONEY,
        help="The whole bill over the input tokens read from a cache.",
    ),
    MetricDef(
        "cost_usd_per_m_total_tokens",
        "Cost, all tokens",
        "USD/M tokens",
        "lower",
        MONEY,
        help="The whole bill over input and output tokens.",
    ),
    MetricDef(
        "cost_usd_per_m_good_output_tokens",
        "Cost, tokens in time",
        "USD/M output tokens",
        "lower",
        MONEY,
        help="The whole bill over the output tokens of requests inside both objectives.",
    ),
    MetricDef(
        "cost_usd_per_m_output_tokens_at_mean",
        "Cost at mean demand",
        "USD/M output tokens",
        "lower",
        MONEY,
        help="The same fleet at the mean of the day.",
    ),
    MetricDef(
        "cost_usd_per_m_output_tokens_unrounded",
        "Cost, perfect scaling",
        "USD/M output tokens",
        "lower",
        MONEY,
        help="Lower bound: headroom, but no whole units and no spare.",
    ),
    MetricDef(
        "prefill_usd_per_m_computed_tokens",
        "Prefill bill, computed tokens",
        "USD/M computed tokens",
        "lower",
        MONEY,
        help="The prefill units alone over the input tokens they compute.",
    ),
    MetricDef(
        "decode_usd_per_m_output_tokens",
        "Decode bill, output tokens",
        "USD/M output tokens",
        "lower",
        MONEY,
        help="The decode units alone over the output tokens.",
    ),
    MetricDef(
        "prefill_used_usd_per_h", "Bill: prefill, used", "USD/h", "none", MONEY, help="The five parts sum to the bill."
    ),
    MetricDef("decode_used_usd_per_h", "Bill: decode, used", "USD/h", "none", MONEY),
    MetricDef("headroom_usd_per_h", "Bill: headroom", "USD/h", "lower", MONEY),
    MetricDef("spare_units_usd_per_h", "Bill: spare units", "USD/h", "lower", MONEY),
    MetricDef(
        "whole_units_usd_per_h", "Bill: whole units", "USD/h", "lower", MONEY, help="Bought because units are whole."
    ),
    MetricDef(
        "prefill_tokens_per_s_per_gpu", "Prefill rate used", "tok/s/GPU", "higher", RATES, help="Computed tokens."
    ),
    MetricDef(
        "decode_tokens_per_s_per_gpu",
        "Decode rate used",
        "tok/s/GPU",
        "higher",
        RATES,
        help="Output tokens at the TPOT objective.",
    ),
    MetricDef("derived_prefill_tokens_per_s_per_gpu", "Prefill rate, derived", "tok/s/GPU", "higher", RATES),
    MetricDef("derived_decode_tokens_per_s_per_gpu", "Decode rate, derived", "tok/s/GPU", "higher", RATES),
    MetricDef("power_w", "Power at the wall", "W", "lower", SITE, formula="PUE × (GPUs × TDP + nodes × host)"),
    MetricDef("energy_j_per_output_token", "Energy, output token", "J/token", "lower", SITE),
)

BY_NAME = {definition.name: definition for definition in METRICS}
