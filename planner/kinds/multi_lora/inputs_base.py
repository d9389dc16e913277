"""Inputs of the base LLM, its adapters, and who asks for which."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _

BASE = _("Base LLM")
ADAPTERS = _("Adapters")
POPULARITY = _("Popularity")

Targets = Literal["qv", "attention", "linear", "experts"]
TARGET_LABELS = {
    "qv": _("Query and value"),
    "attention": _("Attention"),
    "linear": _("Attention and dense MLP"),
    "experts": _("All, routed experts too"),
}
_FROM_LLM = _("from the LLM")


class BaseInputs(Spec):
    """One base LLM and the adapters on top of it. The defaults are the reference."""

    llm: str = catalog_entry(
        "llama-3-1-8b",
        label=_("Base LLM"),
        group=BASE,
        table="llms",
        help=_("Its shapes give the size of an adapter: 32 layers, hidden 4,096, KV width 1,024, MLP 14,336 here."),
    )
    base_parameters: float | None = quantity(
        8.0e9,
        label=_("Parameters of a token"),
        group=BASE,
        unit="parameters",
        ge=1e6,
        le=1e14,
        empty=_FROM_LLM,
        help=_("Active ones. The reference rounds the 8.03 billion of the LLM; empty takes those of the LLM."),
    )
    weight_dtype: Literal["bf16", "fp8", "int4"] = choice(
        "bf16", label=_("Weights"), group=BASE, labels={"bf16": "BF16", "fp8": "FP8", "int4": "INT4"}
    )
    kv_dtype: Literal["bf16", "fp8"] = choice(
        "bf16", label=_("KV cache"), group=BASE, labels={"bf16": "BF16", "fp8": "FP8"}
    )

    adapters: int = quantity(1000, label=_("Adapters"), group=ADAPTERS, unit="adapters", ge=1, le=1_000_000)
    rank: int = quantity(
        16, label=_("Rank"), group=ADAPTERS, ge=1, le=512, help=_("Of the adapters: what a file holds.")
    )
    max_rank: int | None = quantity(
        None,
        label=_("Largest rank configured"),
        group=ADAPTERS,
        ge=1,
        le=512,
        empty=_("least allowed"),
        help=_(
            "A slot is as large as this rank makes it, whatever lies in it. vLLM allows 1, 8, 16, 32, 64, 128, … and "
            "takes the least that holds the adapters."
        ),
    )
    targets: Targets = choice(
        "linear",
        label=_("Adapted matrices"),
        group=ADAPTERS,
        labels=TARGET_LABELS,
        help=_("All seven projections of a dense LLM. Of one with experts each routed expert has its own pair."),
    )
    enabled_targets: Targets | None = choice(
        None,
        label=_("Matrices a slot has room for"),
        group=ADAPTERS,
        labels=TARGET_LABELS,
        empty=_("the adapted"),
        help=_("The union over all adapters that the engine is to take."),
        advanced=True,
    )
    vocabulary: Literal["off", "on"] = choice(
        "off",
        label=_("Vocabulary adapted too"),
        group=ADAPTERS,
        labels={"off": _("No"), "on": _("Embedding and head")},
        help=_("Adds rank × (hidden + vocabulary) for each of the two."),
        advanced=True,
    )
    adapter_dtype: Literal["bf16", "fp32"] = choice(
        "bf16", label=_("Adapter format"), group=ADAPTERS, labels={"bf16": "BF16", "fp32": "FP32"}, advanced=True
    )

    popularity: Literal["zipf", "trace"] = choice(
        "zipf", label=_("Popularity"), group=POPULARITY, labels={"zipf": _("Zipf's law"), "trace": _("From a trace")}
    )
    zipf_exponent: float = quantity(
        0.9,
        label=_("Zipf exponent"),
        group=POPULARITY,
        ge=0,
        le=3,
        help=_("0: all alike; 1: the k-th is asked for 1/k as often as the first. 0.9 is an assumption: fit your log."),
    )
    workload: str | None = catalog_entry(
        None,
        label=_("Trace"),
        group=POPULARITY,
        table="workloads",
        empty=_("none"),
        help=_("A workload that names the adapter of each request; its popularity and lengths replace those here."),
        advanced=True,
    )
