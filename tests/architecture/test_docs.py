"""What the documents name exists: files, functions, links, commands, make targets, settings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "planner" / "catalog" / "data" / "README.md",
]
TOP = ("planner", "sims", "templates", "static", "tests", "docs", "requirements")
NAMED = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def quoted(document: Path) -> Iterator[str]:
    """Words in backticks outside of blocks."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", text)


def named_paths(document: Path) -> Iterator[str]:
    """Quoted words that read as a path of the tree; what has a placeholder in it is none."""
    for words in quoted(document):
        path = words.partition(":")[0].strip().rstrip("/")
        if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+", path) and path.split("/")[0] in (*TOP, *PARTS):
            yield path


PARTS = tuple(path.name for path in (ROOT / "planner").iterdir() if path.is_dir() and path.name.isidentifier())


def defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@NAMED
def test_each_path_exists(document: Path) -> None:
    missing = [
        path
        for path in named_paths(document)
        if not any(ROOT.glob(path)) and not any((ROOT / "planner").glob(path)) and not any((ROOT / "sims").glob(path))
    ]
    assert not missing


@NAMED
def test_each_link_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8"))
    assert not [target for target in targets if "://" not in target and not (document.parent / target).exists()]


def test_the_tour_names_functions_that_exist() -> None:
    """Its pictures say ``file.py: function``; a file is told from others of its name by having the function."""
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    pairs = re.findall(r"([\w/]+\.py): (\w+)", text)
    assert len(pairs) >= 8
    for file, name in pairs:
        candidates = [path for top in ("planner", "sims") for path in (ROOT / top).rglob(file)]
        assert any(name in defined(path) for path in candidates), f"{file}: {name}"


def test_the_rooms_of_the_tour_are_the_rooms_of_the_tree() -> None:
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^(?:planner/\w+/, )?planner/(\w+)/", text, re.MULTILINE))
    told |= set(re.findall(r"^planner/(\w+)/, planner", text, re.MULTILINE))
    packages = {path.parent.name for path in (ROOT / "planner").glob("*/__init__.py")}
    assert told >= packages


def test_each_make_target_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(r"(?:^|`)make (\w+)", document.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= targets, document.name


def test_each_management_command_exists() -> None:
    for document in DOCUMENTS:
        named = re.findall(r"manage\.py (\w+)", document.read_text(encoding="utf-8"))
        assert set(named) <= set(get_commands()), document.name


def settings_read() -> set[str]:
    text = (ROOT / "planner" / "config" / "settings.py").read_text(encoding="utf-8")
    return set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', text))


def test_each_setting_is_documented() -> None:
    told = (ROOT / ".env.example").read_text(encoding="utf-8")
    told += (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    assert not {name for name in settings_read() if not re.search(rf"\b{name}(_FILE)?\b", told)}


def test_each_line_of_the_example_environment_is_a_setting_with_words_above() -> None:
    """An optional value stands alone on its line: what follows a value belongs to it."""
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    explained = False
    for line in lines:
        found = re.fullmatch(r"(?:# )?([A-Z][A-Z_]+)=(\S*)", line)
        if found is None:
            assert not re.match(r"(# )?[A-Z_]{4,}=", line), line
            explained = line.startswith("#")
            continue
        assert explained, line
        assert found[1] in settings_read() or f"${{{found[1]}" in compose, line
