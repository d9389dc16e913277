from __future__ import annotations

import json

import pytest

from planner.charts import codec
from planner.designs import compare, services
from planner.designs.services import InvalidField

pytestmark = pytest.mark.django_db


def view_of(team, *specs, kind="toy"):
    items = [{"kind": kind, "spec": spec, "name": f"N{place}"} for place, spec in enumerate(specs)]
    return compare.inline_view(items, team=team)


def rows(view):
    return {row["name"]: row for group in view["metrics"] for row in group["rows"]}


def test_the_picture_is_strict_json(team):
    view = view_of(team, {}, {"unit_gpus": 8})
    assert json.loads(json.dumps(view, allow_nan=False)) == view


def test_differing_inputs_and_deltas_to_the_first(team):
    view = view_of(team, {"unit_gpus": 4}, {"unit_gpus": 8}, {"unit_gpus": 4})
    assert [row["name"] for row in view["inputs"]["differing"]] == ["unit_gpus"]
    assert [cell["differs"] for cell in view["inputs"]["differing"][0]["cells"]] == [False, True, False]
    assert view["inputs"]["total"] == 7
    # 95 req/s: 10 GPUs needed; units of 4 give 12, units of 8 give 16
    gpus = rows(view)["gpus"]
    assert [cell["value"] for cell in gpus["cells"]] == [12, 16, 12]
    assert gpus["best"] == [0, 2]
    delta = gpus["cells"][1]["delta"]
    assert (delta["absolute"], delta["relative"], delta["change"]) == (4, pytest.approx(1 / 3), "worse")
    assert "33.3" in delta["text"]
    assert gpus["cells"][0]["delta"] is None
    assert gpus["cells"][2]["delta"]["change"] == "same"


def test_the_verdict_names_the_cheapest_suitable_and_what_the_others_lack(team):
    view = view_of(team, {"unit_gpus": 10}, {"unit_gpus": 4}, {"unit_gpus": 8})
    verdict = view["verdict"]
    assert (verdict["best"], verdict["suitable"]) == (1, [1, 2])
    assert verdict["sentence"].startswith("**B is the cheapest of the 2 that meet every objective: $70.2/M")
    # 12 GPUs against 10 and 16
    assert "20% over A" in verdict["sentence"].replace("\u00a0", "")
    assert "25% under C" in verdict["sentence"].replace("\u00a0", "")
    assert "A does not: One failed unit leaves nothing." in verdict["sentence"]


def test_a_missed_objective_is_said_with_its_figures(team):
    view = view_of(team, {"ttft_slo_s": 1.2}, {"unit_gpus": 2, "ttft_slo_s": 2.5})
    assert view["verdict"]["sentence"].startswith("**B alone meets every objective")
    assert view["verdict"]["lacks"][0] == ["TTFT P99 1.79\u00a0s, not ≤\u00a01.20\u00a0s"]


def test_nobody_meets_it(team):
    view = view_of(team, {"unit_gpus": 64}, {"unit_gpus": 128})
    assert view["verdict"]["best"] is None
    assert view["verdict"]["sentence"].startswith("**None of them meets every objective.**")


def test_charts_show_prices_objectives_and_overlays(team):
    view = view_of(team, {"ttft_slo_s": 2}, {"unit_gpus": 8, "ttft_slo_s": 4})
    charts = {chart["name"]: codec.chart_from_dict(chart) for chart in view["charts"]}
    assert list(charts) == ["compare_cost", "compare_objectives", "growth"]
    assert [trace.name for trace in charts["compare_cost"].traces] == ["A N0", "B N1"]
    used = charts["compare_objectives"]
    assert list(used.traces[0].x) == ["TTFT P50", "TTFT P99"]
    # load 95/120: P50 0.5 + load/2, P99 1 + load, each against 2 s; load 95/160 against 4 s
    assert used.traces[0].y == pytest.approx([(0.5 + 95 / 240) / 2, (1 + 95 / 120) / 2])
    assert used.traces[1].y == pytest.approx([(0.5 + 95 / 320) / 4, (1 + 95 / 160) / 4])
    assert used.limits[0].value == 1.0
    assert len(charts["growth"].traces) == 2


def test_designs_of_different_kinds_compare_on_what_they_share(team):
    items = [{"kind": "toy", "spec": {}, "name": "T"}, {"kind": "other", "spec": {}, "name": "O"}]
    view = compare.inline_view(items, team=team)
    assert view["same_kind"] is False
    assert list(rows(view)) == ["cost_usd_per_h"]
    assert [row["name"] for row in view["inputs"]["equal"]] == ["rate_rps"]
    # 12 GPUs at 2 $/h against 33 $/h
    assert view["verdict"]["best"] == 0


def test_a_saved_comparison_follows_its_designs_and_names_the_deleted(team, alice):
    made = [
        services.design_create(team=team, user=alice, kind="toy", spec={}, name=name)
        for name in ("one", "two", "three")
    ]
    saved = services.comparison_create(team=team, user=alice, items=[{"design": str(design.id)} for design in made])
    services.design_update(design=made[1], user=alice, expected_revision=1, spec={"unit_gpus": 8})
    view = compare.comparison_view(saved)
    assert [item["design"]["revision"] for item in view["items"]] == [1, 2, 1]
    assert [cell["value"] for cell in rows(view)["gpus"]["cells"]] == [12, 16, 12]
    services.design_delete(design=made[0], user=alice)
    view = compare.comparison_view(saved)
    assert ([item["label"] for item in view["items"]], view["missing"]) == (["B", "C"], ["A"])
    services.design_delete(design=made[1], user=alice)
    with pytest.raises(InvalidField):
        compare.comparison_view(saved)
