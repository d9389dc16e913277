"""docker-compose.yml, Dockerfile and .env.example speak of entry points and names that exist."""

from __future__ import annotations

import importlib.util
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SETTINGS = (ROOT / "planner/config/settings.py").read_text(encoding="utf-8")
OURS = [name for name, service in COMPOSE["services"].items() if service.get("image") == "fleet-planner"]


def known_settings() -> set[str]:
    return set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', SETTINGS))


@pytest.mark.parametrize("service", OURS)
def test_each_environment_name_is_read_by_the_settings(service: str) -> None:
    for name in COMPOSE["services"][service]["environment"]:
        assert name.removesuffix("_FILE") in known_settings(), name


def modules(command: list[str]) -> list[str]:
    found = [after for before, after in itertools.pairwise(command) if before in {"-A", "-m"}]
    return found + [part for part in command if part.startswith("planner.config.wsgi")]


def commands() -> list[list[str]]:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [re.findall(r'"([^"]+)"', line) for line in re.findall(r"^\s*CMD (\[.*\])", dockerfile, re.M)]
    for service in COMPOSE["services"].values():
        lines += [service.get("command", []), (service.get("healthcheck") or {}).get("test", [])]
    return [line for line in lines if any("planner." in part for part in line)]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_each_entry_point_exists(command: list[str]) -> None:
    names = modules(command)
    assert names
    for name in names:
        assert importlib.util.find_spec(name) is not None, name


def hardened(service: dict[str, Any]) -> bool:
    return service.get("read_only") is True


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_each_service_has_a_read_only_root(service: str) -> None:
    assert hardened(COMPOSE["services"][service])


def test_the_image_runs_as_a_user() -> None:
    assert re.search(r"^USER planner$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M)


def test_every_name_compose_asks_for_is_in_the_example() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "docker-compose.yml").read_text(encoding="utf-8")))
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    given = set(re.findall(r"^#? ?([A-Z_]+)=", example, re.M))
    assert asked <= given
    assert {name for name in given if name not in asked and name not in {"SITE_ADDRESS"}} <= known_settings()


def test_copied_files_exist() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.M):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
