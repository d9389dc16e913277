"""Inputs of a step: the policy, what it answers, how long answers are, and the training that waits for them."""

from __future__ import annotations

from typing import Literal

from planner.core.kind import Spec, catalog_entry, choice, quantity
from planner.core.text import gettext_noop as _

POLICY = _("Policy LLM")
STEP = _("Step")
LENGTHS = _("Lengths of answers")
TRAINING = _("Training")

FROM_LLM = _("from the LLM")


class Inputs(Spec):
    """What a step asks for; the fleet and the services around it are added by `inputs_fleet` and `inputs_services`."""

    llm: str = catalog_entry(
        "qwen3-32b",
        label=_("LLM"),
        group=POLICY,
        table="llms",
        help=_("Fills what is left empty below, and tells layers, experts and tensors."),
    )
    weight_bytes: float | None = quantity(
        32e9,
        label=_("Weights"),
        group=POLICY,
        unit="bytes",
        shown="GB",
        ge=1e6,
        le=1e14,
        empty=FROM_LLM,
        help=_("What every instance holds and every weight sync moves; 32 GB: 32 B parameters in FP8."),
    )
    weight_dtype: Literal["fp8", "bf16"] = choice(
        "fp8",
        label=_("Weight format"),
        group=POLICY,
        labels={"fp8": "FP8", "bf16": "BF16"},
        help=_("Sets the peak of prefill, and the size of the weights while that is taken from the LLM."),
    )
    active_parameters: float | None = quantity(
        32e9,
        label=_("Parameters of a token"),
        group=POLICY,
        unit="parameters",
        ge=1e6,
        le=1e14,
        empty=FROM_LLM,
        help=_("Active ones; a token takes twice as many FLOP."),
    )
    kv_bytes_per_token: float | None = quantity(
        None, label=_("KV cache"), group=POLICY, unit="B/token", ge=1, le=1e9, empty=FROM_LLM
    )
    kv_dtype: Literal["bf16", "fp8"] = choice(
        "fp8",
        label=_("KV format"),
        group=POLICY,
        labels={"bf16": "BF16", "fp8": "FP8"},
        help=_("Counts only while the KV cache is taken from the LLM."),
    )

    problems: int = quantity(
        128, label=_("Problems a step"), group=STEP, unit="problems", ge=0, le=1_000_000, help=_("Zero is allowed.")
    )
    answers_per_problem: int = quantity(
        16,
        label=_("Answers a problem"),
        group=STEP,
        unit="answers",
        ge=1,
        le=4096,
        help=_("A group; it is trained on when its last answer is there."),
    )
    prompt_tokens: float = quantity(1000.0, label=_("Prompt, mean"), group=STEP, unit="tokens", ge=1, le=1e6)
    filtering: Literal["off", "on"] = choice(
        "off",
        label=_("Dynamic filtering"),
        group=STEP,
        labels={"off": _("Off"), "on": _("On")},
        help=_("Groups whose answers are all right or all wrong teach nothing: they are dropped and replaced."),
    )
    success_alpha: float = quantity(
        1.0,
        label=_("Chance of a right answer, α"),
        group=STEP,
        ge=0.01,
        le=1000,
        help=_("It varies over problems as Beta(α, β); 1 and 1: evenly from 0 to 1."),
        advanced=True,
    )
    success_beta: float = quantity(
        1.0, label=_("Chance of a right answer, β"), group=STEP, ge=0.01, le=1000, advanced=True
    )
    oversampling: float = quantity(
        0.0,
        label=_("Over-sampling"),
        group=STEP,
        unit="ratio",
        shown="%",
        ge=0,
        le=4,
        help=_("Answers started beyond those needed; the step ends when enough have ended. It prefers short ones."),
    )

    lengths: Literal["lognormal", "trace"] = choice(
        "lognormal",
        label=_("Lengths follow"),
        group=LENGTHS,
        labels={"lognormal": _("Log-normal, cut at the cap"), "trace": _("A trace")},
    )
    workload: str | None = catalog_entry(
        None,
        label=_("Trace"),
        group=LENGTHS,
        table="workloads",
        empty=_("none"),
        help=_("Its outputs, scaled to the mean below, and cut at the cap."),
    )
    output_tokens: float = quantity(
        8000.0,
        label=_("Answer, mean"),
        group=LENGTHS,
        unit="tokens",
        ge=1,
        le=1e6,
        help=_("After the cap."),
    )
    max_output_tokens: float = quantity(
        32000.0,
        label=_("Cap"),
        group=LENGTHS,
        unit="tokens",
        ge=1,
        le=1e7,
        help=_("The longest answer of a large step is as long as this: it decides how long a synchronous step takes."),
    )
    length_cv: float = quantity(
        1.0,
        label=_("Spread before the cap"),
        group=LENGTHS,
        unit="× mean",
        ge=0,
        le=4,
        help=_("Standard deviation over mean. Reasoning policies are measured near 1."),
    )

    train_step_s: float = quantity(
        300.0,
        label=_("A training step takes"),
        group=TRAINING,
        unit="s",
        ge=1e-3,
        le=1e6,
        help=_("With all that is not generation, scoring or weight sync."),
    )
    training_gpus: int = quantity(64, label=_("Training GPUs"), group=TRAINING, unit="GPUs", ge=1, le=1_000_000)
    train_step_gpus: int | None = quantity(
        None,
        label=_("A training step was measured on"),
        group=TRAINING,
        unit="GPUs",
        ge=1,
        le=1_000_000,
        empty=_("the training GPUs"),
        help=_("Where that was on other GPUs than are to train."),
        advanced=True,
    )
    train_exponent: float = quantity(
        1.0,
        label=_("Training speeds up with GPUs to the power"),
        group=TRAINING,
        ge=0.1,
        le=1,
        help=_("1: half the time on twice the GPUs; 0.8 is usual. Counts for the split and for co-location."),
    )
    allowed_slowdown: float = quantity(
        0.05,
        label=_("Training may be slowed by"),
        group=TRAINING,
        unit="ratio",
        shown="%",
        ge=0,
        le=100,
        help=_("Of a step, above what training alone takes; a weight sync belongs to it."),
    )
