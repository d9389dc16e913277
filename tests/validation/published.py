"""Results that others published, one or more rows for every line of the collected table."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from planner.catalog.files import DATA
from tests.validation import published_engines as engines
from tests.validation import published_systems as systems
from tests.validation.adapters import OTHER_SYSTEMS
from tests.validation.published_text import UnreadError
from tests.validation.rows import Row, gives

TABLE = DATA / "measured" / "published_results.csv"
SAMPLE = DATA / "measured" / "silicon_sample.csv"
Published = Mapping[str, str]
APART = {
    "kv-tier": "A gain of a cache, or a rate of a store, without the load it was measured at.",
    "kv-transfer": "The rate of a link on its own: a pool is given it as an input.",
    "routing": "The load on the instances, or their times, are not stated: a gateway needs both.",
    "reload": "Loading an LLM again is no quantity of a design yet.",
}
"""Kinds of rows that say too little for a design."""
STEPS_ELSEWHERE = "Compared among the steps of RL training."
ROLLOUT = {
    "staleness": "How long the answers were, which decides it, is not published.",
    "AReaL": "How the hours part into generation and training is not published.",
    "96:32": "The run before the change is not published.",
}
"""What a row of RL training lacks, by a word of it."""
ADAPTERS_ELSEWHERE = "A line of S-LoRA’s own table, which is read among the runs with adapters."
ADAPTERS = {
    "punica": "A gain over other systems, without the load it was measured at.",
    "vllm 0.15": "The GPU it ran on is not stated.",
}
"""What a row of adapters lacks, by its engine; those of S-LoRA's repository are lines of its own table."""
ELSEWHERE = {
    "rl-weight-sync": "Compared among the times that bring new weights to the instances.",
}
FOLLOWS = {
    "fleet": "It follows from the rates of the same day, or is an input of theirs.",
    "cost": "It is the price of GPUs over the tokens of other rows.",
}


@gives("published_results", "system_throughput")
def published_results() -> Iterator[Row]:
    """Every line of the table: compared, set aside with a reason, or not expressible with a reason."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from rows_of(row)


def rows_of(row: Published) -> list[Row]:
    """The rows of one line; never none."""
    if row["kind"] in APART:
        return [engines.not_expressible(row, APART[row["kind"]])]
    if row["kind"] == "rl":
        return [_of_rollout(row)]
    if row["kind"] == "lora":
        return [_of_adapters(row)]
    if row["kind"] in ELSEWHERE:
        return [engines.set_aside(row, ELSEWHERE[row["kind"]])]
    if row["kind"] in FOLLOWS:
        return [engines.set_aside(row, FOLLOWS[row["kind"]])]
    if reason := why_unusable(row):
        return [engines.set_aside(row, reason)]
    try:
        return list(_reader(row)(row))
    except UnreadError as missing:
        return [_unread(row, str(missing))]


def _of_adapters(row: Published) -> Row:
    if reason := ADAPTERS.get(row["engine"]):
        return engines.not_expressible(row, reason)
    return engines.set_aside(row, OTHER_SYSTEMS.get(row["engine"], ADAPTERS_ELSEWHERE))


def _of_rollout(row: Published) -> Row:
    words = f"{row['engine']} {row['n_gpus']} {row['source']}"
    for word, reason in ROLLOUT.items():
        if word in words:
            return engines.not_expressible(row, reason)
    if row["metric"].startswith("step s"):
        return engines.set_aside(row, STEPS_ELSEWHERE)
    return engines.not_expressible(row, f"The row gives “{row['metric']}”, no time of a step.")


def _unread(row: Published, reason: str) -> Row:
    return systems.too_little(row, reason) if _is_system(row) else engines.not_expressible(row, reason)


def why_unusable(row: Published) -> str:
    """Why a figure cannot stand beside ours even though its configuration can be said; "" when it can."""
    copied = re.search(r"silicon_sample\.csv row (\S+)", row["source"])
    if copied and copied.group(1) in _sample():
        return "A copy of a row of silicon_sample.csv, which is compared there."
    if "2-replica rows are the 4-GPU run doubled" in row["notes"] and "2 replica" in row["parallelism"]:
        return "The 4-GPU run doubled by its authors, not measured."
    if "unusable published table" in row["notes"]:
        return "Its throughput contradicts its own latency by Little's law, as noted when it was collected."
    if "splitwise" in row["source"].lower() and row["concurrency_or_batch"] != "1":
        return "A static batch: the estimate is of a replica that takes a new request for each that ends."
    if re.search(r"median|reuse", row["isl"] + row["osl"] + row["cache_hit"]):
        return "Agentic sessions whose lengths are given as medians only; their mean is far above."
    return ""


def _reader(row: Published) -> Callable[[Published], Iterator[Row]]:
    """What reads this line: the first whose sign it bears."""
    signs: tuple[tuple[bool, Callable[[Published], Iterator[Row]]], ...] = (
        ("mlcommons" in row["source_url"], _mlperf),
        ("weight offload" in row["parallelism"], _offloaded),
        (_is_system(row) and row["mode"] == "prefill-only", systems.prefill),
        (_is_system(row), systems.decode),
        (row["mode"] == "prefill-only", engines.prefill_alone),
        (row["mode"] == "disagg" and row["parallelism"].startswith("P "), systems.decode_pool),
        (row["mode"] != "agg", _other_mode),
        (row["metric"] == "elapsed time for the whole batch", engines.whole_batch),
        (row["concurrency_or_batch"].startswith("QPS"), engines.overloaded),
        (row["metric"] not in ("", "total output tok/s"), _other_metric),
        (True, engines.replica),
    )
    return next(reader for bears, reader in signs if bears)


def _is_system(row: Published) -> bool:
    """Units whose experts lie on more GPUs than a node of eight has, or without a stated number."""
    found = re.search(r"\bEP(\d+)\b", row["parallelism"])
    wide = (found is not None and int(found.group(1)) > systems.NODE) or "wide-EP" in row["parallelism"]
    return wide and row["mode"] in ("prefill-only", "decode-only")


def _mlperf(row: Published) -> Iterator[Row]:
    raise UnreadError("The result states neither the input lengths nor how many GPUs a replica has.")


def _offloaded(row: Published) -> Iterator[Row]:
    raise UnreadError("Weights offloaded to the host's memory cannot be said yet.")


def _other_mode(row: Published) -> Iterator[Row]:
    raise UnreadError("The row does not say batch, layout and load of the side that was measured.")


def _other_metric(row: Published) -> Iterator[Row]:
    raise UnreadError(f"The row gives “{row['metric']}”, not latency or throughput at a stated load.")


@lru_cache(maxsize=1)
def _sample() -> frozenset[str]:
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        return frozenset(row["id"] for row in csv.DictReader(file))
