"""The figures this kind answers: names, units and directions are the contract of the API."""

from __future__ import annotations

from planner.core.result import Basis, Direction, Metric, MetricDef
from planner.core.text import gettext_noop as _

FLEET = _("Fleet")
LATENCY = _("Latency")
LOAD = _("Load")
FAILURE = _("Failure")
MONEY = _("Money")
RATES = _("Rates")
SITE = _("Site")


def count(
    name: str,
    label: str,
    unit: str,
    *,
    group: str = FLEET,
    direction: Direction = "lower",
    help: str = "",
    formula: str = "",
) -> MetricDef:
    """A metric that is a whole number of things."""
    return MetricDef(name, label, unit, direction, group, help=help, formula=formula, whole=True)


def latency(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(name, label, "s", "lower", LATENCY, help=help)


def _price(name: str, label: str, tokens: str, *, help: str) -> MetricDef:
    """A bill over a million tokens of one basis."""
    return MetricDef(name, label, f"USD/M {tokens}", "lower", MONEY, help=help)


def _bill(name: str, label: str, *, direction: Direction = "lower", help: str = "") -> MetricDef:
    """A part of the bill."""
    return MetricDef(f"{name}_usd_per_h", label, "USD/h", direction, MONEY, help=help)


def _rate(name: str, label: str, *, help: str = "") -> MetricDef:
    return MetricDef(f"{name}_tokens_per_s_per_gpu", label, "tok/s/GPU", "higher", RATES, help=help)


_UNITS = "⌈needed × (1 + headroom) / unit⌉ + spare"
_LEFT = _("Capacity left as a share of the need at the peak. Small units that share a node are lost together.")
_N_PLUS_1 = _("1: the peak is carried with one unit (or one node of small units) down; 0: it is not.")

METRICS: tuple[MetricDef, ...] = (
    MetricDef(
        "prefill_gpus_needed",
        _("Prefill GPUs needed"),
        "GPUs",
        "lower",
        FLEET,
        formula="rate × input × (1 − hit) / rate of a GPU",
    ),
    count("prefill_units", _("Prefill units"), "units", formula=_UNITS),
    count("prefill_gpus", _("Prefill GPUs"), "GPUs"),
    MetricDef(
        "decode_gpus_needed", _("Decode GPUs needed"), "GPUs", "lower", FLEET, formula="rate × output / rate of a GPU"
    ),
    count("decode_units", _("Decode units"), "units", formula=_UNITS),
    count("decode_gpus", _("Decode GPUs"), "GPUs"),
    count("gpus", _("GPUs"), "GPUs"),
    count("nodes", _("Nodes"), "nodes"),
    MetricDef(
        "max_rps_within_headroom",
        _("Good to"),
        "req/s",
        "higher",
        FLEET,
        help=_("Request rate at which the next unit is due."),
    ),
    MetricDef(
        "months_to_full", _("Months until the next unit"), "months", "higher", FLEET, help=_("At the stated growth.")
    ),
    latency("ttft_p50_s", _("TTFT P50")),
    latency("ttft_p90_s", _("TTFT P90")),
    latency("ttft_p99_s", _("TTFT P99")),
    latency("ttft_mean_s", _("TTFT, mean"), help=_("Its parts sum to it.")),
    latency("tpot_p50_s", _("TPOT P50")),
    latency("tpot_p90_s", _("TPOT P90")),
    latency("tpot_p99_s", _("TPOT P99")),
    MetricDef("prefill_utilisation", _("Prefill utilisation"), "ratio", "none", LOAD, formula="needed / bought"),
    MetricDef("decode_utilisation", _("Decode utilisation"), "ratio", "none", LOAD, formula="needed / bought"),
    MetricDef(
        "decode_concurrency_per_gpu",
        _("Concurrency at the limit"),
        "sequences/GPU",
        "none",
        LOAD,
        help=_("Sequences a decode GPU holds when it runs at its rate."),
        formula="rate of a GPU × TPOT objective",
    ),
    MetricDef("decode_running_per_gpu", _("Running at the peak"), "sequences/GPU", "none", LOAD),
    MetricDef(
        "decode_kv_bytes_per_gpu",
        _("KV in use, decode"),
        "bytes",
        "lower",
        LOAD,
        help=_("Of a GPU at the limit."),
        formula="concurrency × (input + output / 2) × KV per token",
    ),
    MetricDef(
        "decode_kv_pool_bytes_per_gpu",
        _("KV pool, decode"),
        "bytes",
        "higher",
        LOAD,
        help=_("Of a GPU: what weights, buffers and the reserve leave."),
    ),
    MetricDef(
        "longest_mean_context_tokens",
        _("Longest mean context"),
        "tokens",
        "higher",
        LOAD,
        help=_("At which the KV pool is full with the sequences of the limit."),
    ),
    MetricDef(
        "kv_transfer_bytes_per_s", _("KV hand-over"), "bytes/s", "lower", LOAD, formula="rate × input × KV per token"
    ),
    MetricDef("kv_transfer_nic_share", _("Share of the prefill NICs"), "ratio", "lower", LOAD),
    MetricDef(
        "goodput_rps",
        _("Goodput"),
        "req/s",
        "higher",
        LOAD,
        help=_("Requests a second inside both latency objectives."),
    ),
    MetricDef("output_tokens_per_s", _("Output"), "tok/s", "none", LOAD),
    MetricDef("prefill_left_after_unit_loss", _("Prefill, one unit lost"), "ratio", "higher", FAILURE, help=_LEFT),
    MetricDef("decode_left_after_unit_loss", _("Decode, one unit lost"), "ratio", "higher", FAILURE, help=_LEFT),
    count("prefill_n_plus_1", _("Prefill is N+1"), "", group=FAILURE, direction="higher", help=_N_PLUS_1),
    count("decode_n_plus_1", _("Decode is N+1"), "", group=FAILURE, direction="higher", help=_N_PLUS_1),
    count("prefill_units_for_availability", _("Prefill units for the availability"), "units", group=FAILURE),
    count("decode_units_for_availability", _("Decode units for the availability"), "units", group=FAILURE),
    MetricDef(
        "peak_availability",
        _("Peak can be carried"),
        "ratio",
        "higher",
        FAILURE,
        help=_("Share of time with enough units up."),
    ),
    MetricDef("node_failures_per_day", _("Node failures a day"), "1/d", "lower", FAILURE),
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY, formula="GPUs × price"),
    MetricDef("cost_usd_per_month", _("Month"), "USD/month", "lower", MONEY, help=_("730 hours.")),
    _price(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "output tokens",
        help=_("The whole bill over the output tokens of the peak."),
    ),
    _price(
        "cost_usd_per_m_input_tokens",
        _("Cost, input tokens"),
        "input tokens",
        help=_("The whole bill over all input tokens."),
    ),
    _price(
        "cost_usd_per_m_cached_input_tokens",
        _("Cost, cached input tokens"),
        "cached input tokens",
        help=_("The whole bill over the input tokens read from a cache."),
    ),
    _price(
        "cost_usd_per_m_total_tokens",
        _("Cost, all tokens"),
        "tokens",
        help=_("The whole bill over input and output tokens."),
    ),
    _price(
        "cost_usd_per_m_good_output_tokens",
        _("Cost, tokens in time"),
        "output tokens",
        help=_("The whole bill over the output tokens of requests inside both objectives."),
    ),
    _price(
        "cost_usd_per_m_output_tokens_at_mean",
        _("Cost at mean demand"),
        "output tokens",
        help=_("The same fleet at the mean of the day."),
    ),
    _price(
        "derived_cost_usd_per_m_output_tokens",
        _("Cost at derived rates"),
        "output tokens",
        help=_("What the fleet would cost with the rates that follow from the figures of LLM and GPU."),
    ),
    _price(
        "cost_usd_per_m_output_tokens_unrounded",
        _("Cost, perfect scaling"),
        "output tokens",
        help=_("Lower bound: headroom, but no whole units and no spare."),
    ),
    _price(
        "prefill_usd_per_m_computed_tokens",
        _("Prefill bill, computed tokens"),
        "computed tokens",
        help=_("The prefill units alone over the input tokens they compute."),
    ),
    _price(
        "decode_usd_per_m_output_tokens",
        _("Decode bill, output tokens"),
        "output tokens",
        help=_("The decode units alone over the output tokens."),
    ),
    _bill("prefill_used", _("Bill: prefill, used"), direction="none", help=_("The five parts sum to the bill.")),
    _bill("decode_used", _("Bill: decode, used"), direction="none"),
    _bill("headroom", _("Bill: headroom")),
    _bill("spare_units", _("Bill: spare units")),
    _bill("whole_units", _("Bill: whole units"), help=_("Bought because units are whole.")),
    _rate("prefill", _("Prefill rate used"), help=_("Computed tokens.")),
    _rate("decode", _("Decode rate used"), help=_("Output tokens at the TPOT objective.")),
    _rate("derived_prefill", _("Prefill rate, derived")),
    _rate("derived_decode", _("Decode rate, derived")),
    MetricDef("power_w", _("Power at the wall"), "W", "lower", SITE, formula="PUE × (GPUs × TDP + nodes × host)"),
    MetricDef("energy_j_per_output_token", _("Energy, output token"), "J/token", "lower", SITE),
)

BY_NAME = {definition.name: definition for definition in METRICS}


def figure(
    name: str,
    value: float | None,
    *,
    basis: Basis = "exact",
    between: tuple[float | None, float | None] = (None, None),
    objective: float | None = None,
    working: str = "",
) -> Metric:
    """A metric of this kind by name; ``between`` are the ends of its range in either order.

    The range is never drawn so that it leaves the value out: where the waiting formula is not monotone (prompts of a
    few tokens on an idle fleet) an end moves to the value.
    """
    low, high = between
    if value is None or low is None or high is None:
        low = high = None
    else:
        low, high = min(low, high, value), max(low, high, value)
    return Metric(BY_NAME[name], value, low=low, high=high, basis=basis, objective=objective, working=working)
