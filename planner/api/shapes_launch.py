"""The shape of a launch: commands, manifests, and each setting with where it comes from and where it is documented."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from planner.api.shapes import Shape


class LaunchTarget(Shape):
    slug: str
    label: str


class LaunchRefusal(Shape):
    flag: str
    value: str
    role: str = Field(description="prefill or decode, where the design has pools of their own; else empty.")
    reason: str
    change: str = Field(description="What to do about it.")
    field: str = Field(description="The input to change; empty where no single one is.")
    label: str


class LaunchCommand(Shape):
    title: str
    where: str
    text: str = Field(description="A line for a POSIX shell.")


class LaunchManifest(Shape):
    filename: str
    media_type: str
    title: str
    text: str


class Documented(Shape):
    url: str
    as_of: str
    since: str = Field(description="The first version known to document the option; empty where that is not known.")
    until: str = Field(description="The first version without it.")


class LaunchSetting(Shape):
    program: str
    role: str
    flag: str
    value: Any
    text: str
    why: str
    field: str = Field(description="The input it comes from.")
    metric: str = Field(description="The figure it comes from, where it is no input.")
    label: str
    shown: str
    place: Literal["argument", "environment", "file", "manifest"]
    documented: Documented


class LaunchAnswer(Shape):
    kind: str
    spec: dict[str, Any]
    target: str
    targets: list[LaunchTarget] = Field(description="What the design can be started with, its own first.")
    offered: bool = Field(description="Whether it is offered: false while a setting is refused.")
    refusals: list[LaunchRefusal]
    commands: list[LaunchCommand]
    manifests: list[LaunchManifest]
    settings: list[LaunchSetting]
    notes: list[str]
    provenance: dict[str, Any]
