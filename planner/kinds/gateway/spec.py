"""Inputs of a gateway: those of `inputs` and `inputs_gateway`, and what it does when something breaks."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from planner.core.kind import choice, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.gateway.inputs_gateway import GatewayInputs

HEALTH = _("Health and failure")
RETRIES = _("Retries and broken streams")
CANARY = _("Canary")
OVERLOAD = _("Overload")


class GatewaySpec(GatewayInputs):
    """A cache-aware gateway in front of a fleet of instances; the defaults are the reference."""

    probe_interval_s: float = quantity(
        1.0, label=_("Probe each"), group=HEALTH, unit="s", gt=0, le=3600, help=_("Of every instance.")
    )
    probe_failures: int = quantity(3, label=_("Failures to eject"), group=HEALTH, unit="probes", ge=1, le=1000)
    probe_timeout_s: float = quantity(
        1.0,
        label=_("Probe times out after"),
        group=HEALTH,
        unit="s",
        gt=0,
        le=3600,
        help=_("A dead instance that refuses is known at once; one that hangs only after this."),
    )
    probe_path: Literal["aside", "queued"] = choice(
        "aside",
        label=_("Probes are answered"),
        group=HEALTH,
        labels={"aside": _("Beside the work"), "queued": _("After the queue")},
        help=_("A probe that waits behind prefills takes a busy instance for dead."),
        advanced=True,
    )
    probe_error: float = quantity(
        0.001,
        label=_("Probes lost on the way"),
        group=HEALTH,
        unit="ratio",
        shown="%",
        ge=0,
        le=0.999,
        advanced=True,
    )
    detection: Literal["active", "passive", "both"] = choice(
        "both",
        label=_("Detection"),
        group=HEALTH,
        labels={"active": _("Active"), "passive": _("Passive"), "both": _("Both")},
        help=_("Active: probes. Passive: errors of real requests."),
    )
    passive_failures: int = quantity(
        1,
        label=_("Errors to mark"),
        group=HEALTH,
        unit="errors",
        ge=1,
        le=1000,
        help=_("1: an instance is left out at its first error. Envoy's outlier detection waits for 5."),
    )
    verdicts: Literal["shared", "private"] = choice(
        "private",
        label=_("Verdicts of the gateways are"),
        group=HEALTH,
        labels={"shared": _("Shared"), "private": _("Private")},
        help=_("Private: each gateway must see its own errors."),
    )
    failure_mode: Literal["refuses", "hangs"] = choice(
        "refuses",
        label=_("A dead instance"),
        group=HEALTH,
        labels={"refuses": _("Refuses"), "hangs": _("Hangs")},
        help=_("One that hangs gives no error until a timeout."),
    )
    request_timeout_s: float = quantity(
        10.0,
        label=_("First byte within"),
        group=HEALTH,
        unit="s",
        gt=0,
        le=36_000,
        advanced=True,
        help=_("After this a request counts as failed; it matters when an instance hangs."),
    )
    half_open: Literal["on", "off"] = choice(
        "on",
        label=_("Half-open breaker"),
        group=HEALTH,
        labels={"on": _("On"), "off": _("Off")},
        help=_("After the ejection time a few trial requests decide. Off: nobody asks an ejected instance again."),
    )
    half_open_trials: int = quantity(
        1, label=_("Trials to close it"), group=HEALTH, unit="requests", ge=1, le=1000, advanced=True
    )
    ejection_s: float = quantity(
        30.0,
        label=_("Ejection"),
        group=HEALTH,
        unit="s",
        ge=0,
        le=36_000,
        advanced=True,
        help=_("30 s, growing with each repeat, as Envoy does."),
    )
    ejection_cap: float = quantity(
        0.1,
        label=_("Ejected at once, at most"),
        group=HEALTH,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("10 % is Envoy's default: a wrong verdict must not empty the fleet."),
    )
    instance_failures_per_h: float = quantity(
        5e-5,
        label=_("Instance failures"),
        group=HEALTH,
        unit="1/h",
        ge=0,
        le=10,
        advanced=True,
        help=_("5 in 100,000 instance-hours, as of a node."),
    )
    outage_s: float = quantity(
        300.0,
        label=_("An instance is down for"),
        group=HEALTH,
        unit="s",
        shown="min",
        ge=0,
        le=1e7,
        advanced=True,
        help=_("Until it runs again with weights loaded; its cache is then empty."),
    )
    instances_lost: int = quantity(
        1,
        label=_("Instances lost together"),
        group=HEALTH,
        unit="instances",
        ge=1,
        le=100_000,
        advanced=True,
        help=_("What shares a node, a switch or a power supply."),
    )

    retries: int = quantity(1, label=_("Retries a request"), group=RETRIES, unit="retries", ge=0, le=20)
    retry_budget: float | None = quantity(
        0.2,
        label=_("Retry budget"),
        group=RETRIES,
        unit="ratio",
        shown="%",
        ge=0,
        le=10,
        empty=_("none"),
        help=_("Retries stop when they are this share of the requests. Empty: no budget."),
    )
    retry_layers: int = quantity(
        1,
        label=_("Layers that retry"),
        group=RETRIES,
        unit="layers",
        ge=1,
        le=6,
        help=_("Client libraries and service meshes retry as well, and multiply."),
    )
    idempotency_keys: Literal["on", "off"] = choice(
        "on", label=_("Idempotency keys"), group=RETRIES, labels={"on": _("On"), "off": _("Off")}
    )
    broken_streams: Literal["resume", "error"] = choice(
        "resume",
        label=_("A stream that breaks"),
        group=RETRIES,
        labels={"resume": _("Resumed by the gateway"), "error": _("Ends with an error")},
    )

    canary_weight: float = quantity(
        0.05,
        label=_("Weight of the new version"),
        group=CANARY,
        unit="ratio",
        shown="%",
        gt=0,
        lt=1,
        help=_("Share of the traffic it gets."),
    )
    canary_by: Literal["session", "request"] = choice(
        "session",
        label=_("Versions are given by"),
        group=CANARY,
        labels={"session": _("Session"), "request": _("Request")},
    )
    base_error_rate: float = quantity(
        0.001, label=_("Errors of the old version"), group=CANARY, unit="ratio", shown="%", gt=0, lt=0.5
    )
    canary_error_rate: float = quantity(
        0.002, label=_("Errors to be seen"), group=CANARY, unit="ratio", shown="%", gt=0, lt=1
    )
    latency_quantile: float = quantity(
        0.99, label=_("Latency quantile watched"), group=CANARY, unit="ratio", shown="%", gt=0, lt=1, advanced=True
    )
    latency_regression: float = quantity(
        0.1, label=_("Slow-down to be seen"), group=CANARY, unit="ratio", shown="%", gt=0, le=10
    )
    latency_sigma: float = quantity(
        0.8, label=_("Spread of latency"), group=CANARY, unit="σ of log", gt=0.01, le=3, advanced=True
    )
    false_alarm: float = quantity(
        0.05, label=_("False alarms"), group=CANARY, unit="ratio", shown="%", gt=0, lt=0.5, advanced=True
    )
    power: float = quantity(
        0.8,
        label=_("Power"),
        group=CANARY,
        unit="ratio",
        shown="%",
        gt=0.05,
        lt=1,
        advanced=True,
        help=_("Chance that a regression of this size is seen."),
    )

    overload_factor: float = quantity(
        1.5,
        label=_("Overload to survive"),
        group=OVERLOAD,
        unit="× saturation",
        ge=0,
        le=100,
        help=_("Load as a multiple of what the instances can do."),
    )
    queue_limit: int | None = quantity(
        None,
        label=_("Queue limit an instance"),
        group=OVERLOAD,
        unit="requests",
        ge=1,
        le=10_000,
        empty=_("from the objective"),
        help=_("Waiting and in prefill; more are refused at once."),
    )
    urgent_share: float = quantity(
        0.6,
        label=_("Urgent requests"),
        group=OVERLOAD,
        unit="ratio",
        shown="%",
        ge=0,
        le=1,
        help=_("Share that goes first when there is not enough for all."),
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> GatewaySpec:
        if self.prefix_tokens > self.input_tokens:
            raise ValueError("prefix_tokens: a shared prefix cannot be longer than the prompt (input_tokens)")
        if self.canary_error_rate <= self.base_error_rate:
            raise ValueError("canary_error_rate: the errors to be seen must be above base_error_rate")
        if self.instances_lost > self.instances:
            raise ValueError("instances_lost: more than there are instances")
        return self
