"""Many points in columns: figures, verdicts and reasons are those of one estimate a point."""

from __future__ import annotations

from typing import Any

from planner import kinds
from planner.catalog import files
from planner.core.batch import changed, one_by_one, verdict

CATALOG = files.load()


def test_points_say_what_one_estimate_says() -> None:
    kind = kinds.get("engine_instance")
    base = changed(kind.spec(), {"ttft_p99_slo_s": 2.0, "tpot_slo_s": 0.02})
    columns: dict[str, list[Any]] = {
        "concurrency": [1.0, 64.0, 1e-9, 8],
        "gpu": ["h100-sxm", "h100-sxm", "h100-sxm", "no-such"],
    }
    found = one_by_one(kind, base=base, columns={**columns, "rate_rps": [None, None, None, None]}, catalog=CATALOG)
    one = kind.estimate(changed(base, {"concurrency": 1.0}), CATALOG)
    assert found.statuses()[2:] == ["refused", "refused"]
    assert found.statuses()[0] == verdict(one)[0] == "ok"
    assert found.figures["tpot_mean_s"].at(0) == one.value("tpot_mean_s")
    assert found.figures["tpot_mean_s"].listed()[2:] == [None, None]
    assert found.reason(0) is None
    assert str(found.reason(2)).startswith("Concurrency: ")
    assert "no-such" in str(found.reason(3))


def test_infeasible_and_missed_points_say_why() -> None:
    kind = kinds.get("engine_instance")
    columns: dict[str, list[Any]] = {"llm": ["llama-3-1-8b", "deepseek-v3"], "tpot_slo_s": [0.001, None]}
    found = one_by_one(kind, base=kind.spec(), columns=columns, catalog=CATALOG)
    assert found.statuses() == ["misses", "infeasible"]
    misses, infeasible = found.reasons()
    assert misses is not None
    assert misses.startswith("TPOT P99: ")
    assert misses.endswith("above the 1\N{NO-BREAK SPACE}ms asked for.")
    assert infeasible is not None
    assert "does not start" in infeasible
