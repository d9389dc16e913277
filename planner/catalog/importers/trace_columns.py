"""What the columns of a trace may be called, and where a file has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.catalog.importers import ImportProblem, excerpt

NAMES: Mapping[str, tuple[str, ...]] = {
    "arrival": (
        "arrival_s",
        "arrival",
        "arrival_time",
        "arrival_time_s",
        "arrived_at",
        "timestamp",
        "timestamp_s",
        "time",
        "arrival_ms",
        "arrival_time_ms",
        "timestamp_ms",
        "timestamp_ns",
        "arrival_ns",
        "arrival_time_ns",
    ),
    "input_tokens": (
        "input_tokens",
        "input_length",
        "context_tokens",
        "request_tokens",
        "prompt_tokens",
        "prompt_length",
        "num_prefill_tokens",
        "input_toks",
        "input_len",
    ),
    "output_tokens": (
        "output_tokens",
        "output_length",
        "generated_tokens",
        "response_tokens",
        "completion_tokens",
        "num_decode_tokens",
        "output_toks",
        "output_len",
    ),
    "hash_ids": ("hash_ids",),
    "cached_tokens": ("cached_tokens",),
    "adapter": ("adapter", "adapter_id", "adapter_name", "lora", "lora_id", "lora_name", "lora_adapter"),
}
"""What a column may be called: Azure, Mooncake, BurstGPT, Vidur and plain names. Compared without case and marks."""

NEEDED = ("arrival", "input_tokens", "output_tokens")
_UNITS = {"ms": 1e-3, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a file keeps what is wanted: role → its own name for it. ``ignored`` are the names not read."""

    names: Mapping[str, str]
    ignored: tuple[str, ...]
    seconds_per_unit: float
    """What one unit of the arrival column is [s]."""

    def called(self, role: str) -> str:
        """The file's own name of a column, for messages."""
        return self.names.get(role, role)


def columns_of(header: list[str]) -> Columns:
    """Find the columns in a header; raises `ImportProblem` on line 1 for one that is needed and not there."""
    plain = {_plain(name): name for name in header if name.isprintable()}
    found: dict[str, str] = {}
    for role, names in NAMES.items():
        match = next((plain[_plain(name)] for name in names if _plain(name) in plain), None)
        if match is not None:
            found[role] = match
    for role in NEEDED:
        if role not in found:
            have = ", ".join(excerpt(name) for name in header[:12]) or "none"
            looked = ", ".join(NAMES[role][:5])
            raise ImportProblem(1, role, f"no such column; looked for {looked} …; the file has {have}")
    ignored = tuple(excerpt(name) for name in header if name not in found.values())[:20]
    return Columns(found, ignored, _seconds_per_unit(arrival=found["arrival"], inputs=found["input_tokens"]))


def _seconds_per_unit(*, arrival: str, inputs: str) -> float:
    """As the name of the column says; Mooncake's ``timestamp`` is in milliseconds."""
    suffix = re.search(r"_(ms|ns)$", arrival.lower())
    if suffix:
        return _UNITS[suffix.group(1)]
    mooncake = (arrival.lower(), inputs.lower()) == ("timestamp", "input_length")
    return 1e-3 if mooncake else 1.0


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
