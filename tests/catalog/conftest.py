"""A small catalog folder to break, two teams, and the shipped catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.accounts.models import Team
from planner.catalog import files

FIGURE = '{{ value = {value}, unit = "{unit}", source = "data sheet", as_of = "2026-01" }}'


def figure(value: float, unit: str) -> str:
    return FIGURE.format(value=value, unit=unit)


GPU = f"""
slug = "toy-gpu"
name = "Toy GPU"
vendor = "Toys"
architecture = "First"
aliases = ["TG-1"]

[figures]
memory_bytes = {figure(80e9, "bytes")}
memory_bytes_per_s = {figure(2e12, "bytes/s")}
bf16_flops_per_s = {figure(3e14, "FLOP/s")}
"""
PRICE = f"""
slug = "toy-gpu-shop-on-demand"
gpu = "toy-gpu"
provider = "Shop"
market = "neocloud"
commitment = "on_demand"
price = {figure(2.5, "USD/h")}
"""
ENGINE = f"""
slug = "toy-engine"
name = "Toy engine"

[settings]
hybrid_cache = "pages"
block_size = {figure(16, "tokens")}

[[settings.by_gpu]]
max_num_seqs = {figure(256, "sequences")}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalog folder with one GPU, one price and one engine."""
    write(tmp_path, "gpus/toy-gpu.toml", GPU)
    write(tmp_path, "prices/toy-gpu/toy-gpu-shop-on-demand.toml", PRICE)
    write(tmp_path, "engines/toy-engine.toml", ENGINE)
    write(tmp_path, "calibrations/anything.toml", "[group]\nmfu = 0.5\n")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def shipped() -> files.FileCatalog:
    return files.load()


@pytest.fixture
def team(db) -> Team:
    return Team.objects.create(name="Ours")


@pytest.fixture
def strangers(db) -> Team:
    return Team.objects.create(name="Theirs")
