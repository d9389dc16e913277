"""Made-up rows of validation for the tests of its page; none of them is stored."""

from __future__ import annotations

import random

from planner.catalog.validation import Stored
from planner.core.validation import SEEN, UNSEEN, VERDICT, Row

GPUS = ("h100-sxm", "h200-sxm", "b200-sxm")
ENGINES = ("vllm", "sglang")


def stored_of(*rows: Row) -> Stored:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.quantity, []).append(row)
    stamp = {name: {"date": "2026-03-04", "catalog": "d", "rows": len(part)} for name, part in found.items()}
    return Stored({name: tuple(part) for name, part in found.items()}, stamp)


def tpot_rows(count: int) -> list[Row]:
    """So many unseen rows and as many seen ones, about 10 and 4 % off."""
    chance = random.Random(7)  # noqa: S311 - rows of a test
    return [
        _tpot(place, group, measured=0.004 * 1.5 ** chance.uniform(0, 10), off=chance.gauss(0, spread))
        for group, spread in ((UNSEEN, 0.1), (SEEN, 0.04))
        for place in range(count)
    ]


def _tpot(place: int, group: str, *, measured: float, off: float) -> Row:
    predicted = measured * (1 + off)
    return Row(
        "tpot",
        f"run-{place:05}",
        f"benchmark {place % 7}",
        "https://example.org/benchmark",
        gpu=GPUS[place % 3],
        engine=ENGINES[place % 2],
        llm="deepseek-v3" if place % 5 else "llama-3-1-70b",
        family="DeepSeek" if place % 5 else "Llama",
        group=group,
        predicted=predicted,
        measured=measured,
        low=0.87 * predicted,
        high=1.13 * predicted,
        unit="s",
        conditions=f"{1024 * (1 + place % 8)} in, 1,024 out, {2 ** (place % 9)} at once, TP 8",
    )


ODD = (
    Row("tpot", "aside", "a note", "javascript:alert(1)", measured=1.0, group=UNSEEN, status="set aside",
        reason="The source gives no length of the output."),
    Row("tpot", "=cmd", 'a "note", quoted', measured=1.0, group=UNSEEN, status="not expressible",
        reason="Wide <expert> parallelism on this part."),
)  # fmt: skip
VERDICTS = tuple(
    Row("memory_fit", f"log-{place}", "a log", gpu="h100-sxm", engine="vllm", predicted=ours, measured=theirs,
        low=low, high=high, unit=VERDICT, reason=reason)
    for place, (ours, theirs, low, high, reason) in enumerate(
        [(1, 1, None, None, ""), (0, 0, None, None, ""), (0.5, 1, 0, 1, "between −0.2 and 0.4 GiB are left")]
    )
)  # fmt: skip
EXACT = (Row("kv_bytes_per_token", "x-tp1", "arithmetic", llm="deepseek-v3", predicted=70272, measured=70272,
             unit="bytes/token"),)  # fmt: skip
