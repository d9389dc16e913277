"""Inputs of an engine instance that a start-up of the engine has measured: its log, or the figures in it."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator, model_validator

from planner.core.kind import long_text, quantity
from planner.core.text import gettext_noop as _
from planner.kinds.engine_instance import startup_log as logs
from planner.kinds.engine_instance.spec_engine import ENGINES, EngineFields

START_UP = _("Start-up log")


def _measured(label: str, *, help: str) -> Any:
    return quantity(
        None,
        label=label,
        group=START_UP,
        unit="bytes",
        shown="GiB",
        ge=1e6,
        le=1e13,
        empty=_("not measured"),
        advanced=True,
        help=help,
    )


class StartUpFields(EngineFields):
    """Measured figures replace the model's; other settings are carried over from them."""

    startup_log: str | None = long_text(
        None,
        label=_("Lines of the log"),
        group=START_UP,
        empty=_("none"),
        advanced=True,
        help=_("Paste what the engine printed at start-up: memory is then taken from it. Blank fields follow the log."),
    )
    measured_weights_bytes: float | None = _measured(_("Weights"), help=_("Of the heaviest rank."))
    measured_kv_pool_bytes: float | None = _measured(_("KV pool"), help=_("What the engine calls available KV cache."))
    measured_non_kv_bytes: float | None = _measured(
        _("All but the KV pool"), help=_("Weights, activations and buffers inside the engine's budget.")
    )
    measured_free_before_load_bytes: float | None = _measured(
        _("Free before loading"), help=_("SGLang: “Load weight begin. avail mem”.")
    )
    measured_kv_tokens: int | None = quantity(
        None,
        label=_("Tokens of the pool"),
        group=START_UP,
        unit="tokens",
        ge=1,
        le=10**10,
        empty=_("not measured"),
        advanced=True,
    )
    measured_memory_fraction: float | None = quantity(
        None,
        label=_("Memory fraction then"),
        group=START_UP,
        unit="ratio",
        ge=0.01,
        le=1,
        empty=_("as now"),
        advanced=True,
        help=_("Where the log was taken with another fraction than the one asked for."),
    )

    @field_validator("startup_log")
    @classmethod
    def _log_has_figures(cls, text: str | None) -> str | None:
        if text is not None and text.strip():
            logs.read(text)
            return text
        return None

    @model_validator(mode="after")
    def _log_is_of_the_engine(self) -> StartUpFields:
        if self.startup_log is None:
            return self
        engine = logs.read(self.startup_log).engine
        if engine != self.engine:
            raise ValueError(f"startup_log: these are lines of {ENGINES[engine]}, the engine is {ENGINES[self.engine]}")
        return self


def measured_fields(spec: StartUpFields) -> tuple[str, ...]:
    """Fields that hold something measured; at which fraction it was is not."""
    names = ("startup_log", *(name for name in type(spec).model_fields if name.startswith("measured_")))
    return tuple(name for name in names if getattr(spec, name) is not None and name != "measured_memory_fraction")


def unmeasured(spec: StartUpFields) -> dict[str, None]:
    """The change that takes measured figures back: they hold for the replica they were taken on."""
    names = (*measured_fields(spec), "measured_memory_fraction")
    return {name: None for name in names if getattr(spec, name) is not None}
