"""Charts of the library pages: prices, rooflines, parameters, KV cache, arrivals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.core import quantities
from planner.core.catalog import Gpu, Llm, Price
from planner.core.chart import Axis, Chart, Mark, Trace
from planner.web.catalog_labels import label_of
from planner.web.catalog_sheet import ridge_points

COMMITMENTS = {
    "on_demand": gettext_lazy("on demand"),
    "spot": gettext_lazy("spot"),
    "reserved_1y": gettext_lazy("reserved 1 year"),
    "reserved_3y": gettext_lazy("reserved 3 years"),
    "owned": gettext_lazy("cost of ownership"),
}
LOWEST_INTENSITY, HIGHEST_INTENSITY = 1.0, 10_000.0


def price_chart(prices: Sequence[Price]) -> Chart | None:
    """What an hour costs, a bar an offer; None with fewer than two offers."""
    if len(prices) < 2:
        return None
    names = [_offer(price) for price in prices]
    used = [found for found in COMMITMENTS if any(price.commitment == found for price in prices)]
    traces = tuple(
        Trace(
            str(COMMITMENTS[found]),
            x=names,
            y=[price.usd_per_h if price.commitment == found else None for price in prices],
            order=order,
        )
        for order, found in enumerate(used)
    )
    low, high = (quantities.show(price.usd_per_h, "USD/h") for price in (prices[0], prices[-1]))
    return Chart(
        name="prices",
        title=_("What does an hour cost?"),
        subtitle=_("List prices in the catalog, by commitment."),
        form="bars",
        x=Axis(_("Offer")),
        y=Axis(_("Price of a GPU-hour"), unit="USD/h"),
        traces=traces,
        summary=_("%(count)d offers, from %(low)s to %(high)s.") % {"count": len(prices), "low": low, "high": high},
    )


def _offer(price: Price) -> str:
    """Provider and date; distinct even where one provider has two offers."""
    place = f" {price.region}" if price.region else ""
    return f"{price.provider}{place}, {COMMITMENTS.get(price.commitment, price.commitment)}, {price.as_of[:4]}"


def roofline_chart(gpu: Gpu) -> Chart | None:
    """Arithmetic rate that bandwidth and peak allow, against the arithmetic a byte read carries."""
    ridges = ridge_points(gpu)
    if not ridges:
        return None
    bandwidth = gpu.figure("memory_bytes_per_s")
    traces, marks = [], []
    for order, ridge in enumerate(ridges):
        peak = ridge["peak"]
        intensities = sorted({LOWEST_INTENSITY, ridge["value"], max(HIGHEST_INTENSITY, 4 * ridge["value"])})
        rates = [min(peak, each * bandwidth) for each in intensities]
        traces.append(Trace(ridge["label"], x=intensities, y=rates, order=order))
        marks.append(Mark(ridge["value"], peak, f"{ridge['label']} {ridge['text']}", order=order))
    words = "; ".join(f"{ridge['label']} {ridge['text']} FLOP/B" for ridge in ridges)
    return Chart(
        name="roofline",
        title=_("Where does memory stop binding?"),
        subtitle=_("Left of a dot the memory is the limit, right of it the arithmetic. Dense peaks, as marketed."),
        form="line",
        x=Axis(_("FLOP per byte read"), unit="FLOP/B", shown="FLOP/B", log=True),
        y=Axis(_("Rate"), unit="FLOP/s", shown="TFLOP/s", log=True),
        traces=tuple(traces),
        marks=tuple(marks),
        summary=_("Ridge points: %(words)s.") % {"words": words},
    )


def parts_chart(parts: Mapping[str, float]) -> Chart:
    """Parameters by part."""
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    trace = Trace(
        _("Parameters"),
        x=[label_of(name).capitalize() if label_of(name).islower() else label_of(name) for name, _value in ordered],
        y=[value for _name, value in ordered],
    )
    largest = label_of(ordered[0][0])
    share = quantities.show(ordered[0][1] / sum(parts.values()), "ratio")
    return Chart(
        name="parameters",
        title=_("Where are the parameters?"),
        subtitle=_("Counted from the architecture."),
        form="bars",
        x=Axis(_("Part")),
        y=Axis(_("Parameters"), unit="parameters"),
        traces=(trace,),
        summary=_("%(part)s hold %(share)s.") % {"part": largest.capitalize(), "share": share},
    )


def kv_chart(llm: Llm, *, by_length: Sequence[Mapping[str, float]]) -> Chart:
    """The cache of one request against its context."""
    lengths, sizes = ([row[name] for row in by_length] for name in ("tokens", "bytes"))
    return Chart(
        name="kv",
        title=_("How large does a request’s cache grow?"),
        subtitle=_("KV cache of one request in BF16, on one GPU."),
        form="line",
        x=Axis(_("Context"), unit="tokens", log=True),
        y=Axis(_("KV cache"), unit="bytes", shown="GB", log=True),
        traces=(Trace(llm.name, x=lengths, y=sizes),),
        summary=_("%(size)s at %(tokens)s.")
        % {"size": quantities.show(sizes[-1], "bytes"), "tokens": quantities.show(lengths[-1], "tokens")},
    )


def arrivals_chart(arrivals: Mapping[str, Any]) -> Chart | None:
    """Requests over time; None for a trace shorter than two bins."""
    width_s, counts = arrivals["bin_s"], arrivals["requests"]
    if len(counts) < 2:
        return None
    minutes = width_s / 60
    title = _("When do requests arrive?")
    each = _("a minute") if minutes == 1 else _("in %(minutes)d minutes") % {"minutes": minutes}
    busiest = max(range(len(counts)), key=counts.__getitem__)
    return Chart(
        name="arrivals",
        title=title,
        subtitle=_("Requests %(each)s, from the first one on.") % {"each": each},
        form="step",
        x=Axis(_("Time"), unit="min"),
        y=Axis(_("Requests %(each)s") % {"each": each}, unit="requests"),
        traces=(Trace(_("Requests"), x=[index * minutes for index in range(len(counts))], y=counts),),
        summary=_("%(count)s bins; the busiest has %(most)s requests, at minute %(minute)s.")
        % {"count": f"{len(counts):,}", "most": f"{counts[busiest]:,}", "minute": f"{busiest * minutes:,.0f}"},
    )
