"""Each import contract holds, and each is shown to fail on a deliberate violation."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).parent / "lint-imports"

# contract -> (file to add or extend in a copy, the import that breaks it)
VIOLATIONS = {
    "layers": ("planner/core/diagram.py", "import planner.kinds"),
    "layers: nothing stands outside them": ("planner/shortcuts/__init__.py", ""),
    "pure": ("planner/formulas/memory.py", "import django"),
    "sims-alone": ("sims/engine/streams.py", "import pydantic"),
    "formulas-plain": ("planner/formulas/memory.py", "import pydantic"),
    "kinds-apart": ("planner/kinds/engine_instance/spec.py", "import planner.kinds.llm_serving.spec"),
    "kinds-registry": ("planner/designs/services.py", "import planner.kinds.engine_instance.spec"),
    "sims-layers": ("sims/engine/streams.py", "import sims.systems"),
    "sims-users": ("planner/jobs/runner.py", "import sims.systems.llm_serving"),
}


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
NAMES = {contract["id"]: contract["name"] for contract in CONTRACTS}


def test_each_contract_is_broken_on_purpose_below() -> None:
    assert {contract.partition(":")[0] for contract in VIOLATIONS} == set(NAMES)


def broken(report: str) -> set[str]:
    """Names of the contracts that the report calls broken."""
    return {line.rsplit(" BROKEN", 1)[0].strip() for line in report.splitlines() if " BROKEN" in line}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(LINT), "--no-cache", "--config", str(folder / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__", "data", "static", "*.toml")
    for name in ("planner", "sims"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_contracts_hold(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_a_violation_is_found(copy: Path, contract: str) -> None:
    file, line = VIOLATIONS[contract]
    path = copy / file
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{text}\n{line}\n", encoding="utf-8")
    done = lint(copy)
    assert done.returncode == 1, done.stdout
    assert broken(done.stdout) == {NAMES[contract.partition(":")[0]]}
