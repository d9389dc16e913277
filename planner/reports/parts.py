"""Pieces both reports share: claims, figures, charts and versions, as plain data for the template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from planner.charts import codec, paper
from planner.core.chart import Chart
from planner.designs import badges

Text = Mapping[str, Any]


def runs(sentence: str) -> list[Text]:
    """Split `a **claim** in a sentence` into runs, so that bold is data too."""
    pieces = re.split(r"\*\*(.+?)\*\*", sentence or "")
    return [{"text": piece, "bold": index % 2 == 1} for index, piece in enumerate(pieces) if piece]


def fact(row: Mapping[str, Any]) -> Text:
    return {
        "label": row["label"],
        "text": row["text"],
        "unit": row.get("unit_text", ""),
        "objective": row.get("objective_text", ""),
        "verdict": row.get("verdict", ""),
        "range": row.get("range", ""),
        "basis": badges.words(row["basis"])
        if row.get("basis", "exact") != "exact" and row.get("value") is not None
        else "",
    }


def finding(found: Mapping[str, Any]) -> Text:
    return {"severity": found["severity"], "message": found["message"], "suggestion": found.get("suggestion") or ""}


def charts(stored: Iterable[Chart | Mapping[str, Any]], *, wide: bool = False) -> list[Text]:
    """Each chart drawn for a column; wide ones (many rows or series) for the page."""
    found = (chart if isinstance(chart, Chart) else codec.chart_from_dict(chart) for chart in stored)
    return [_chart(chart, wide=wide) for chart in found]


def _chart(chart: Chart, *, wide: bool) -> Text:
    wide = wide or chart.form == "scatter" or (len(chart.traces) > 4 and chart.form != "stacked")
    picture = paper.draw(chart, width=paper.FULL if wide else paper.HALF)
    return {
        "title": chart.title,
        "subtitle": chart.subtitle,
        "svg": picture.decode(),
        "alt": chart.summary,
        "wide": wide,
    }


def evidence_title(found: Mapping[str, Any]) -> str:
    title = _("Nearest published measurement")
    return f"{title}: {found['subject']}" if found["subject"] else title


def evidence(found: Mapping[str, Any]) -> Text:
    """A published measurement: what it was, how far it is, and its figures beside ours."""
    away = _("Distance %(number)s, %(words)s (0 is the same, from 1 it is hardly like this); it differs in %(what)s.")
    return {
        "configuration": found["configuration"],
        "away": away
        % {"number": found["distance_text"], "words": found["distance_words"], "what": found["differs_text"]},
        "rows": [[row["label"], row["measured"], row["estimate"], row["delta"] or "—"] for row in found["rows"]],
        "said": found["said"],
        "source": f"{found['source']}, {found['source_url']}, {found['id']}",
    }


def day(moment: str) -> str:
    """An ISO time as a date of the active language; "" for none."""
    found = parse_datetime(moment) if moment else None
    return date_format(found, "DATE_FORMAT") if found else ""


def versions(provenance: Mapping[str, Any]) -> list[str]:
    """What made the figures, in a line."""
    said = []
    if provenance.get("kind"):
        said.append(
            _("Spec %(kind)s %(version)s") % {"kind": provenance["kind"], "version": provenance.get("spec_version", "")}
        )
    if provenance.get("catalog_digest"):
        digest = str(provenance["catalog_digest"])[:6]
        said.append(_("catalog %(day)s %(digest)s") % {"day": provenance.get("catalog_as_of", ""), "digest": digest})
    if provenance.get("code_version"):
        said.append(_("code %(version)s") % {"version": provenance["code_version"]})
    return said


def sources(provenance: Mapping[str, Any], *, skip: Sequence[str] = ()) -> list[Text]:
    """What the figures rest on: a paragraph for each thing, its parts gathered by their source."""
    found = {name: value for name, value in provenance.items() if name not in skip and value not in (None, "", {}, [])}
    return [{"thing": name.replace("_", " "), "said": _said(value)} for name, value in found.items()]


def _said(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)
    by_source: dict[str, list[str]] = {}
    for part, source in value.items():
        by_source.setdefault(_said(source), []).append(str(part).replace("_", " "))
    return "; ".join(f"{', '.join(names)}: {source}" for source, names in by_source.items())
