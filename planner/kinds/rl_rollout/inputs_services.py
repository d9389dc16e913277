"""Inputs of what stands around generation: weight sync, scoring and what is returned to training."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.rl_rollout.inputs import FROM_LLM
from planner.kinds.rl_rollout.inputs_fleet import FleetInputs

SYNC = _("Weight sync")
SCORING = _("Scoring")
RETURNED = _("Returned data")

SYNC_LABELS = {
    "relay": _("Relay between instances"),
    "broadcast": _("Broadcast"),
    "point_to_point": _("Point to point, by shard"),
    "delta": _("Changed weights only"),
}


class ServiceInputs(FleetInputs):
    """Weights out, answers and rewards in."""

    sync_method: Literal["relay", "broadcast", "point_to_point", "delta"] = choice(
        "relay", label=_("Method"), group=SYNC, labels=SYNC_LABELS
    )
    sync_links: int = quantity(
        8, label=_("Links in parallel"), group=SYNC, unit="links", ge=1, le=100_000, help=_("GPUs that send at once.")
    )
    link_bytes_per_s: float = quantity(
        50e9,
        label=_("A link"),
        group=SYNC,
        unit="bytes/s",
        shown="GB/s",
        ge=1e6,
        le=1e13,
        help=_("50 GB/s: 400 Gbit/s of one GPU."),
    )
    sync_efficiency: float = quantity(
        0.15,
        label=_("Share of the links reached"),
        group=SYNC,
        unit="ratio",
        shown="%",
        ge=0.001,
        le=1,
        help=_("Published runs moved 61 to 68 GB/s where eight links offer 400, and 12 % of the ideal point to point."),
    )
    sync_fixed_s: float = quantity(
        0.12,
        label=_("Fixed pause"),
        group=SYNC,
        unit="s",
        ge=0,
        le=1e5,
        help=_("0.12 s fits the rows of checkpoint-engine."),
    )
    sync_per_tensor_s: float = quantity(
        9.3e-5,
        label=_("A tensor"),
        group=SYNC,
        unit="s",
        shown="ms",
        ge=0,
        le=10,
        help=_("0.093 ms fits verl with checkpoint-engine, 0.58 ms verl without."),
    )
    sync_tensors: int | None = quantity(
        None, label=_("Tensors"), group=SYNC, unit="tensors", ge=1, le=10_000_000, empty=FROM_LLM
    )
    relay_chunks: int = quantity(
        64,
        label=_("Relayed in chunks"),
        group=SYNC,
        unit="chunks",
        ge=1,
        le=1_000_000,
        help=_("An instance passes a chunk on while it takes the next."),
        advanced=True,
    )
    delta_share: float = quantity(
        0.01,
        label=_("Weights that change"),
        group=SYNC,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("Of a delta: about 1 % of BF16 weights differ after a step of RL."),
        advanced=True,
    )
    delta_index_bytes: float = quantity(
        4.0,
        label=_("Index of a changed weight"),
        group=SYNC,
        unit="bytes",
        shown="B",
        ge=0,
        le=8,
        advanced=True,
    )

    scorer: Literal["rules", "sandbox", "reward_model"] = choice(
        "rules",
        label=_("Answers are scored by"),
        group=SCORING,
        labels={"rules": _("Rules"), "sandbox": _("Tests in sandboxes"), "reward_model": _("A reward model")},
    )
    score_s: float = quantity(
        0.5,
        label=_("Scoring an answer takes"),
        group=SCORING,
        unit="s",
        ge=0,
        le=1e5,
        help=_("Mean, before the timeout. Rules take well below a second, tests of code seconds to minutes."),
    )
    score_cv: float = quantity(1.0, label=_("Spread of scoring"), group=SCORING, unit="× mean", ge=0, le=10)
    score_timeout_s: float | None = quantity(
        120.0, label=_("Timeout"), group=SCORING, unit="s", gt=0, le=1e6, empty=_("none")
    )
    timed_out: Literal["fail", "drop"] = choice(
        "fail",
        label=_("An answer that times out"),
        group=SCORING,
        labels={"fail": _("counts as failed"), "drop": _("is dropped with a record")},
    )
    scorers: int | None = quantity(
        None,
        label=_("Scorers"),
        group=SCORING,
        unit="scorers",
        ge=1,
        le=10_000_000,
        empty=_("sized for the wait"),
        help=_("Processes, sandboxes or replicas of a reward model, each with one answer at a time."),
    )
    score_wait_s: float = quantity(
        1.0, label=_("Wait for a scorer within"), group=SCORING, unit="s", ge=1e-3, le=1e5, help=_("Mean, for sizing.")
    )
    scored: Literal["each", "group", "batch"] = choice(
        "each",
        label=_("Answers are sent to scoring"),
        group=SCORING,
        labels={"each": _("Each as it ends"), "group": _("A group together"), "batch": _("When all have ended")},
    )

    routing_returned: Literal["on", "off"] = choice(
        "off",
        label=_("Routing is returned"),
        group=RETURNED,
        labels={"on": _("On"), "off": _("Off")},
        help=_("Experts chosen by each token in each layer, so that training of a MoE repeats them."),
    )
    routing_index_bytes: int = quantity(
        2,
        label=_("Index of an expert"),
        group=RETURNED,
        unit="bytes",
        shown="B",
        ge=1,
        le=8,
        help=_("vLLM returns 2 B, SGLang 4 B; 1 B would do up to 256 experts."),
    )
    token_bytes: float = quantity(
        8.0,
        label=_("Returned for a token"),
        group=RETURNED,
        unit="bytes",
        shown="B",
        ge=0,
        le=1e6,
        help=_("Its number and its log-probability in FP32."),
        advanced=True,
    )
    kept_steps: int = quantity(
        100,
        label=_("Steps kept"),
        group=RETURNED,
        unit="steps",
        ge=0,
        le=10_000_000,
        help=_("For replay and audit."),
        advanced=True,
    )
