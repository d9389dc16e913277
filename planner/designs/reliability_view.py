"""The picture of a reliability plan: figures in words, tables and charts, the same for page, API and report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planner.charts import codec
from planner.core.quantities import NOTHING, show
from planner.core.reliability import Domain, Level, Placement, PoolReliability, Reliability, Way
from planner.core.result import Metric, MetricDef
from planner.core.text import gettext_noop as _
from planner.core.wording import counted, percent
from planner.designs import serial
from planner.designs.figures import figure_row
from planner.designs.reliability_charts import charts

CARRIED = MetricDef("carried", _("The peak is carried"), "ratio", "higher")
BELOW = MetricDef("below_min_per_month", _("Below the need"), "min/month", "lower")
PROMISED = MetricDef("target", _("Promised"), "ratio", "none")
CHANGE = MetricDef("change_usd_per_h", _("To keep the promise"), "USD/h", "lower")
_NINES = 0.999999
BILL = MetricDef("bill_usd_per_h", _("Bill"), "USD/h", "lower")


def reliability_json(found: Reliability) -> dict[str, Any]:
    """The plan in base units, as the API answers it."""
    written: dict[str, Any] = serial.plain(asdict(found))
    for pool, row in zip(found.pools, written["pools"], strict=True):
        row["spares"] = pool.spares
    return written | {"findings": [serial.finding_json(finding) for finding in found.findings]}


def reliability_view(found: Reliability) -> dict[str, Any]:
    """The plan as a page shows it."""
    return {
        "answer": _answer(found),
        "findings": [serial.finding_json(finding) for finding in found.findings],
        "pools": [_pool(pool) for pool in found.pools],
        "placements": _placements(found),
        "rates": [
            {
                "label": _LABELS[name],
                "often": _often(rate.failures_per_h),
                "away": _away(rate.repair_h),
                "source": rate.source,
            }
            for name, rate in found.rates.items()
        ],
        "charts": [codec.to_dict(chart) for pool in found.pools for chart in charts(pool)],
    }


_LABELS = {"gpu": _("GPU"), "node": _("Node"), "engine": _("Engine"), "rack": _("Rack"), "zone": _("Power zone")}


def _answer(found: Reliability) -> dict[str, Any]:
    worst = found.findings[0].severity if found.findings else None
    facts = [
        Metric(PROMISED, found.target, basis="assumed"),
        Metric(BELOW, found.below_min_per_month, basis="assumed"),
        Metric(CHANGE, found.change_usd_per_h, basis="assumed"),
        Metric(BILL, found.bill_usd_per_h),
    ]
    return {
        "figure": figure_row(Metric(CARRIED, found.carried, basis="assumed", objective=found.target)),
        "sentence": found.sentence,
        "note": "",
        "severity": worst,
        "facts": [figure_row(each) for each in facts],
    }


def _pool(pool: PoolReliability) -> dict[str, Any]:
    spares = pool.spares
    return {
        "name": pool.name,
        "label": pool.label,
        "bought": counted(pool.units, pool.noun),
        "needed": "" if pool.needed is None else counted(pool.needed, pool.noun),
        "n_plus": "" if spares is None or spares < 0 else f"N + {spares:,}",
        "short": spares is not None and spares < 0,
        "unit_up": show(pool.unit_up, "ratio"),
        "target": show(pool.target, "ratio"),
        "domains": [_domain(each) for each in pool.domains],
        "heads": [" · ".join(_LABELS[name] for name in names) for names in _alike(pool)],
        "levels": [_level(each, pool) for each in pool.levels],
        "ways": [_way(each) for each in pool.ways],
    }


def _alike(pool: PoolReliability) -> list[list[str]]:
    """Domains whose failures leave the same in every row share a column."""
    columns: dict[tuple[float | None, ...], list[str]] = {}
    for domain in pool.domains:
        columns.setdefault(tuple(level.left[domain.name] for level in pool.levels), []).append(domain.name)
    return list(columns.values())


def _domain(domain: Domain) -> dict[str, Any]:
    return {
        "label": domain.label,
        "takes": f"{domain.units_lost:,}",
        "gpus": f"{domain.gpus_lost:,}" if domain.gpus_lost else NOTHING,
        "yearly": show(domain.failures_per_year),
        "away": _away(domain.rate.repair_h),
        "left": percent(domain.left),
        "carries": domain.carries,
        "spares": f"N + {domain.spares_to_carry:,}",
    }


def _level(level: Level, pool: PoolReliability) -> dict[str, Any]:
    return {
        "spares": f"N + {level.spares:,}",
        "units": f"{level.units:,}",
        "carried": _share(level.carried),
        "below": _below(60 * level.below_min_per_month),
        "apart": _share(level.carried_apart),
        "left": [
            {"text": percent(level.left[names[0]]), "short": (level.left[names[0]] or 0.0) < 1}
            for names in _alike(pool)
        ],
        "usd": show(level.spares_usd_per_h, "USD/h"),
        "share": percent(level.bill_share),
        "change": serial.plain(level.change),
        "is_bought": level.is_bought,
        "is_enough": level.is_enough,
    }


def _way(way: Way) -> dict[str, Any]:
    return {
        "label": way.label,
        "spares": f"N + {way.spares:,}",
        "carried": _share(way.carried),
        "usd": _grows(way.usd_per_h),
        "cautions": list(way.cautions),
        "change": serial.plain(way.change),
        "is_cheapest": way.is_cheapest,
    }


def _placements(found: Reliability) -> list[dict[str, Any]]:
    """The present one among the others."""
    now = Placement(found.zones, found.carried, found.change, found.change_usd_per_h)
    return [
        {
            "zones": each.zones,
            "carried": _share(each.carried),
            "keeps": each.carried is not None and each.carried >= found.target,
            "usd": _grows(each.usd_per_h),
            "is_now": each is now,
        }
        for each in sorted((now, *found.placements), key=lambda each: each.zones)
    ]


def _share(share: float | None) -> str:
    """Five nines and more are told as such: further digits are those of a model."""
    if share is None or share < _NINES or share == 1:
        return show(share, "ratio")
    return f"> {show(_NINES, 'ratio')}"


def _below(seconds: float) -> str:
    return "< 1\u00a0s" if 0 < seconds < 1 else show(seconds, "s")


def _grows(usd_per_h: float | None) -> str:
    """With its sign: by how much the bill changes."""
    if usd_per_h is None:
        return show(None)
    return f"{'+' if usd_per_h > 0 else ''}{show(usd_per_h, 'USD/h')}"


def _often(per_h: float) -> str:
    """A rate as the time between two."""
    return "" if per_h <= 0 else show(3600 / per_h, "s")


def _away(hours: float) -> str:
    return show(3600 * hours, "s")
