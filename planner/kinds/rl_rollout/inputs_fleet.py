"""Inputs of the rollout fleet and of the mode in which it works with training."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout.inputs import Inputs

FLEET = _("Rollout fleet")
STEP_TIME = _("Time of a decode step")
MODE = _("Mode and staleness")

Mode = Literal["synchronous", "one_step_off", "asynchronous", "colocated"]
MODE_LABELS = {
    "synchronous": _("Synchronous"),
    "one_step_off": _("One step off"),
    "asynchronous": _("Fully asynchronous"),
    "colocated": _("Co-located"),
}


class FleetInputs(Inputs):
    """What generates, and when it waits for whom."""

    gpu: str = catalog_entry("h100-sxm", label=_("GPU"), group=FLEET, table="gpus")
    rollout_gpus: int | None = quantity(
        None,
        label=_("Rollout GPUs"),
        group=FLEET,
        unit="GPUs",
        ge=1,
        le=1_000_000,
        empty=_("sized to keep up"),
        help=_("Sized: generation of a step takes no longer than training. Whole instances."),
    )
    instance_gpus: int = quantity(
        1, label=_("GPUs an instance"), group=FLEET, unit="GPUs", ge=1, le=1024, help=_("Tensor parallel.")
    )
    running_cap: int | None = quantity(
        None,
        label=_("Answers an instance runs at once"),
        group=FLEET,
        unit="answers",
        ge=1,
        le=100_000,
        empty=_("what memory holds"),
        help=_("The engine's limit. Beyond what KV memory holds it is not reached."),
    )
    kv_memory_bytes_per_gpu: float | None = quantity(
        None,
        label=_("Memory for KV"),
        group=FLEET,
        unit="bytes/GPU",
        shown="GB/GPU",
        ge=0,
        le=1e13,
        empty=_("what weights leave"),
    )
    memory_share: float = quantity(
        0.9,
        label=_("Memory the engine may use"),
        group=FLEET,
        unit="ratio",
        shown="%",
        ge=0.05,
        le=1,
        help=_("90 % is the default of engines. A co-located engine gets less, unless it is emptied for training."),
        advanced=True,
    )
    reserve_bytes: float = quantity(
        0.5e9,
        label=_("Activations and graphs"),
        group=FLEET,
        unit="bytes/GPU",
        shown="GB/GPU",
        ge=0,
        le=1e12,
        advanced=True,
    )
    instance_failures_per_h: float = quantity(
        5e-5,
        label=_("Failures of an instance"),
        group=FLEET,
        unit="1/h",
        ge=0,
        le=10,
        help=_("5 in 100,000 instance-hours, as of a node."),
        advanced=True,
    )
    restart_s: float = quantity(
        300.0,
        label=_("An instance is down for"),
        group=FLEET,
        unit="s",
        ge=0,
        le=1e6,
        help=_("Until it runs again with the present weights."),
        advanced=True,
    )

    rate_source: Literal["stated", "roofline"] = choice(
        "stated",
        label=_("Rate of a GPU"),
        group=STEP_TIME,
        labels={"stated": _("Stated, at a batch"), "roofline": _("From weights, KV and FLOP")},
    )
    rate_tokens_per_s: float = quantity(
        2500.0,
        label=_("Stated rate"),
        group=STEP_TIME,
        unit="tok/s/GPU",
        ge=1e-3,
        le=1e7,
        help=_("Output tokens a second of one GPU at a large batch: what utilisation is measured against."),
    )
    rate_batch: float = quantity(
        128.0,
        label=_("Stated at a batch of"),
        group=STEP_TIME,
        unit="answers/GPU",
        ge=1,
        le=100_000,
        help=_("Running answers a GPU; whether memory holds so many is checked."),
    )
    utilisation_sync: float = quantity(
        0.3,
        label=_("Utilisation stated, synchronous"),
        group=STEP_TIME,
        unit="ratio",
        shown="%",
        ge=0.001,
        le=1,
        help=_("For the rule of thumb only; the design's own utilisation is a result."),
    )
    utilisation_async: float = quantity(
        0.9,
        label=_("Utilisation stated, asynchronous"),
        group=STEP_TIME,
        unit="ratio",
        shown="%",
        ge=0.001,
        le=1,
        help=_("For the rule of thumb only; the design's own utilisation is a result."),
    )
    memory_efficiency: float = quantity(
        0.8,
        label=_("Share of memory bandwidth reached"),
        group=STEP_TIME,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("Weights are read once a step: the part of a step that no small batch saves."),
        advanced=True,
    )
    mfu: float = quantity(
        0.5,
        label=_("Share of the peak reached"),
        group=STEP_TIME,
        unit="ratio",
        shown="%",
        ge=0.01,
        le=1,
        help=_("In prefill, and in decode where the rate comes from FLOP."),
        advanced=True,
    )
    step_overhead_s: float = quantity(
        0.0015,
        label=_("Collectives a step"),
        group=STEP_TIME,
        unit="s",
        shown="ms",
        ge=0,
        le=1,
        help=_("Of an instance of several GPUs: an assumption."),
        advanced=True,
    )

    mode: Mode = choice("asynchronous", label=_("Mode"), group=MODE, labels=MODE_LABELS)
    staleness_bound: int = quantity(
        4,
        label=_("Staleness bound η"),
        group=MODE,
        unit="versions",
        ge=0,
        le=64,
        help=_("Answers are started while no more than (version + η + 1) steps of them have been."),
    )
    enforcement: Literal["admission", "discard", "carry"] = choice(
        "admission",
        label=_("The bound is enforced"),
        group=MODE,
        labels={
            "admission": _("When answers start"),
            "discard": _("Also when they are used: older ones are dropped"),
            "carry": _("Also in the loss: older tokens are masked (partial rollouts)"),
        },
        help=_("Limits starts in any case; long answers can still grow older than the bound."),
    )
    loss: Literal["decoupled", "plain"] = choice(
        "decoupled",
        label=_("Loss"),
        group=MODE,
        labels={"decoupled": _("Decoupled, importance-corrected"), "plain": _("Plain PPO")},
        help=_(
            "What corrects for old weights: AReaL found η up to 4 nearly free with the first, 4 ruinous with the "
            "second."
        ),
    )
    new_weights: Literal["keep", "recompute", "drain"] = choice(
        "keep",
        label=_("Running answers, when weights are new"),
        group=MODE,
        labels={
            "keep": _("Go on with the KV there is"),
            "recompute": _("Go on, KV computed again"),
            "drain": _("End first, on the old weights"),
        },
        help=_(
            "Kept, an answer mixes versions; computed again, all running contexts pass prefill; draining waits for "
            "the longest."
        ),
    )
    switch_bytes_per_gpu: float | None = quantity(
        None,
        label=_("Moved out and in, co-located"),
        group=MODE,
        unit="bytes/GPU",
        shown="GB/GPU",
        ge=0,
        le=1e13,
        empty=_("optimiser, 12 B a parameter"),
        help=_("What training leaves to host memory while the same GPUs generate."),
        advanced=True,
    )
    reshard_s: float = quantity(
        5.0,
        label=_("Resharding, co-located"),
        group=MODE,
        unit="s",
        ge=0,
        le=1e5,
        help=_("slime took 7 s for a 30 B MoE once optimised, 60 s before."),
        advanced=True,
    )
