"""Metrics of serving and money; the rest are in `metrics`, which joins all."""

from __future__ import annotations

from planner.core.result import Direction, MetricDef
from planner.core.text import gettext_noop as _

SERVING = _("Serving")
MONEY = _("Money")
TIER_NAMES = ("hbm", "dram", "ssd")


def each(
    tiers: tuple[str, ...],
    name: str,
    labels: tuple[str, ...],
    unit: str,
    direction: Direction,
    group: str,
    *,
    help: str = "",
    formula: str = "",
) -> tuple[MetricDef, ...]:
    """One metric for each tier; ``{}`` in the name is the tier."""
    return tuple(
        MetricDef(name.format(tier), label, unit, direction, group, help=help, formula=formula)
        for tier, label in zip(tiers, labels, strict=True)
    )


SERVED: tuple[MetricDef, ...] = (
    *each(
        ("mean", "p50", "p90", "p99"),
        "ttft_{}_s",
        (_("TTFT, mean"), _("TTFT P50"), _("TTFT P90"), _("TTFT P99")),
        "s",
        "lower",
        SERVING,
    ),
    *each(
        ("p50", "p90", "p99"),
        "ttft_{}_without_pool_s",
        (_("TTFT P50, no pool"), _("TTFT P90, no pool"), _("TTFT P99, no pool")),
        "s",
        "lower",
        SERVING,
        help=_("Prefixes in HBM only, on a prefill fleet sized for that."),
    ),
    MetricDef(
        "prefill_gpus_needed",
        _("GPUs busy with prefill"),
        "GPUs",
        "lower",
        SERVING,
        formula="turns/s × GPU time of a turn",
    ),
    MetricDef("prefill_units", _("Prefill units"), "units", "lower", SERVING, whole=True),
    MetricDef("prefill_gpus", _("GPUs for prefill"), "GPUs", "lower", SERVING, whole=True),
    MetricDef("prefill_utilisation", _("Prefill in use"), "ratio", "none", SERVING),
    MetricDef(
        "prefill_gpus_without_pool", _("GPUs for prefill without the pool"), "GPUs", "lower", SERVING, whole=True
    ),
    MetricDef(
        "gpus_saved",
        _("GPUs saved"),
        "GPUs",
        "higher",
        SERVING,
        whole=True,
        help=_("Prefill fleets, each sized for its work with the same headroom."),
    ),
    MetricDef("compute_saved_share", _("Prefill work saved"), "ratio", "higher", SERVING),
    MetricDef("cost_usd_per_h", _("Cost"), "USD/h", "lower", MONEY, help=_("Prefill fleet and tiers; no decode.")),
    MetricDef("cost_usd_per_month", _("Month"), "USD/month", "lower", MONEY, help=_("730 hours.")),
    MetricDef("cost_usd_per_m_input_tokens", _("Cost, input tokens"), "USD/M input tokens", "lower", MONEY),
    MetricDef(
        "cost_usd_per_m_output_tokens",
        _("Cost, output tokens"),
        "USD/M output tokens",
        "lower",
        MONEY,
        help=_("The same bill over the answers: what prefill and pool add to a price by output."),
    ),
    MetricDef("cost_without_pool_usd_per_h", _("Cost without the pool"), "USD/h", "lower", MONEY),
    MetricDef("saving_usd_per_h", _("Saved by the pool"), "USD/h", "higher", MONEY),
    MetricDef("tiers_usd_per_month", _("Tiers"), "USD/month", "lower", MONEY),
    MetricDef(
        "new_usd_per_h", _("Bill: new tokens"), "USD/h", "none", MONEY, help=_("The five parts sum to the bill.")
    ),
    MetricDef("again_usd_per_h", _("Bill: computed again"), "USD/h", "lower", MONEY, help=_("Misses, tails, waits.")),
    MetricDef("idle_usd_per_h", _("Bill: headroom and whole units"), "USD/h", "lower", MONEY),
    MetricDef("dram_usd_per_h", _("Bill: DRAM"), "USD/h", "lower", MONEY),
    MetricDef("ssd_usd_per_h", _("Bill: SSD"), "USD/h", "lower", MONEY),
    *each(
        TIER_NAMES,
        "{}_tb_gpu_s_per_s",
        (_("GPUs freed by 1 TB more HBM"), _("GPUs freed by 1 TB more DRAM"), _("GPUs freed by 1 TB more SSD")),
        "GPUs/TB",
        "higher",
        MONEY,
        help=_("If nothing lay below this tier."),
        formula="reusable tokens/s × dh/dC × GPU time of a token",
    ),
    *each(
        TIER_NAMES,
        "{}_tb_usd_per_month",
        (_("Worth of 1 TB more HBM"), _("Worth of 1 TB more DRAM"), _("Worth of 1 TB more SSD")),
        "USD/month/TB",
        "higher",
        MONEY,
        help=_("If nothing lay below this tier."),
    ),
)
