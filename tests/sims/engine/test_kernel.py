from __future__ import annotations

import gc
from pathlib import Path

import numba
import numpy as np
import pytest

from sims.engine import inlined, kernel


def test_the_cache_folder_is_named_by_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = tmp_path / "part.py"
    part.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(kernel, "SOURCES", tmp_path)
    before = kernel.digest()
    assert kernel.digest() == before
    part.write_text("a = 2\n", encoding="utf-8")
    assert kernel.digest() != before


def test_the_cache_goes_where_it_is_told_or_to_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMS_CACHE_DIR", str(tmp_path))
    assert kernel.cache_folder().parent == tmp_path
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("SIMS_CACHE_DIR", str(blocked))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    private = kernel.cache_folder()
    assert private.is_dir()
    private.rmdir()


def test_code_of_sources_long_gone_is_forgotten(tmp_path: Path) -> None:
    folders = [tmp_path / f"{number:020d}" for number in range(kernel.KEPT_FOLDERS + 5)]
    for folder in folders:
        folder.mkdir()
    (tmp_path / "something else").mkdir()
    kernel._prune(folders[0])
    assert folders[0].exists()
    assert (tmp_path / "something else").exists()
    assert len([folder for folder in folders if folder.exists()]) == kernel.KEPT_FOLDERS + 1


def test_a_private_folder_leaves_its_neighbours_alone(tmp_path: Path) -> None:
    folders = [tmp_path / f"sims-{number:08d}" for number in range(kernel.KEPT_FOLDERS + 5)]
    for folder in folders:
        folder.mkdir()
    kernel._prune(folders[0])
    assert all(folder.exists() for folder in folders)


@pytest.mark.skipif(not kernel.JIT, reason="JIT is off in this run")
def test_kernels_count_no_references_and_so_cannot_allocate() -> None:
    """Counting them is most of the run time of a large loop; the flag that stops it belongs to numba's inside."""

    def allocates(count: int) -> np.ndarray:
        return np.zeros(count)

    assert len(numba.njit(allocates)(3)) == 3
    with pytest.raises(numba.core.errors.TypingError):
        numba.njit(**kernel.UNCOUNTED)(allocates)(3)


def test_garbage_is_seldom_looked_for_until_the_outermost_compilation_ends() -> None:
    usual, listener = gc.get_threshold(), kernel._CollectSeldom()
    for seen in (listener.on_start, listener.on_start, listener.on_end):
        seen(None)
        assert gc.get_threshold() == listener.SELDOM != usual
    listener.on_end(None)
    assert gc.get_threshold() == usual


@pytest.mark.skipif(not kernel.JIT, reason="JIT is off in this run")
def test_a_handler_is_no_machine_code_and_tells_who_calls_it_how_to() -> None:
    @kernel.handler
    def twice(value):  # type: ignore[no-untyped-def]
        return 2 * value

    with pytest.raises(AttributeError, match="twice, which only loops call; Python goes in through from_python"):
        twice(3)
    compiled = twice.overloads[twice.signatures[0]]
    assert isinstance(compiled.library, inlined._ToLinkOnly)
    names = [each.name for each in compiled.library.get_defined_functions()]
    assert names
    assert not any(compiled.library.codegen._engine.is_symbol_defined(name) for name in names)


def test_python_reaches_a_handler_through_a_way_in() -> None:
    @kernel.handler
    def add(record, more):  # type: ignore[no-untyped-def]
        record.total += more
        return record.total

    books = np.zeros(1, np.dtype([("total", "i8")])).view(np.recarray)
    assert kernel.from_python(add)(books[0], 3) == 3
    assert books[0].total == 3
