"""The locked sets can be installed one over the other, and `make lock` knows each of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "requirements"


def pins(name: str) -> set[str]:
    """``name==version`` of each line, whatever platform it is for."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {re.split(r"[ ;\\]", line)[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}


def names(pinned: set[str]) -> set[str]:
    return {pin.split("==")[0] for pin in pinned}


@pytest.mark.parametrize("name", ["local", "dev", "measured"])
def test_a_set_pins_what_it_shares_with_the_base_alike(name: str) -> None:
    shared = names(pins("base")) & names(pins(name))
    assert shared
    for package in shared:
        mine = {pin for pin in pins(name) if pin.startswith(f"{package}==")}
        assert mine == {pin for pin in pins("base") if pin.startswith(f"{package}==")}


def test_each_set_is_locked_by_make_lock() -> None:
    script = (ROOT / "tests" / "lock.py").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.in"):
        assert f'"{path.stem}"' in script
        assert path.with_suffix(".txt").exists()


def test_the_extra_asks_for_what_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = (FOLDER / "measured.in").read_text(encoding="utf-8").splitlines()
    assert project["optional-dependencies"]["measured"] == [
        line for line in wanted if line and not line.startswith("#")
    ]
    assert any(re.match(r"aiconfigurator-core==0\.12\.", pin) for pin in pins("measured"))
