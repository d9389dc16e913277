"""Rules of the tree that no linter knows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from planner import kinds

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("planner", "sims", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]
FIXED_NAMES = {
    "__init__.py",
    "spec.py",
    "estimate.py",
    "charts.py",
    "architecture.py",
    "advice.py",
    "examples.toml",
    "METHOD.md",
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    return [ROOT / name for name in listed if name]


def test_no_kind_is_named_outside_its_folder() -> None:
    slugs = re.compile(r"\b(" + "|".join(kinds.all_kinds()) + r")\b")
    outside = [
        path
        for path in (ROOT / "planner").rglob("*.py")
        if "kinds" not in path.parts and "migrations" not in path.parts
    ]
    outside += list((ROOT / "templates").rglob("*.html")) + list((ROOT / "static" / "js").rglob("*.js"))
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in outside
        for match in slugs.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found


@pytest.mark.parametrize("slug", kinds.all_kinds())
def test_each_kind_has_the_same_file_names(slug: str) -> None:
    present = {path.name for path in (ROOT / "planner" / "kinds" / slug).iterdir()}
    assert present >= FIXED_NAMES


def test_files_stay_readable() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in SOURCES
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert not long


def test_no_room_for_leftovers() -> None:
    assert not [path for path in SOURCES if path.stem in {"utils", "helpers", "common"}]
    pattern = re.compile(r"\b(TODO|FIXME|XXX)\b|import \*$", re.MULTILINE)
    own = Path(__file__)
    assert not [path for path in SOURCES if path != own and pattern.search(path.read_text(encoding="utf-8"))]


def test_pages_carry_no_inline_script_style_or_foreign_address() -> None:
    pattern = re.compile(r"""\sstyle\s*=|\son[a-z]+\s*=\s*["']|hx-on|<style|(?:src|href)\s*=\s*["']https?://""")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in (ROOT / "templates").rglob("*.html")
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
        if 'rel="external' not in path.read_text(encoding="utf-8")[match.start() - 80 : match.end() + 200]
    ]
    assert not found


def test_nothing_tracked_is_large_or_built() -> None:
    large = [path for path in tracked() if path.exists() and path.stat().st_size > 3_000_000]
    assert not large
    assert not [path for path in tracked() if path.suffix in {".pyc", ".sqlite3", ".log"}]
