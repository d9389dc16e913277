"""The only place that names numba: decorators of the data plane, the folder of its compiled code, warming up.

A handler is inlined into the loop that calls it: numba counts references for every array in a tuple that
crosses a call, which without inlining is most of the run time. numba's own cache does not notice that a callee
in another file was edited, so the folder's name is a digest of everything the machine code depends on.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]

SOURCES = Path(__file__).resolve().parents[1]
KEPT_FOLDERS = 6
DIGEST = re.compile("[0-9a-f]{20}")


def source_digest() -> str:
    """A name for these sources: the code part of a result's provenance."""
    state = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        state.update(path.relative_to(SOURCES).as_posix().encode())
        state.update(path.read_bytes())
    return state.hexdigest()[:20]


def digest() -> str:
    """A name for the machine code these sources give with these libraries on this processor."""
    versions = [metadata.version(library) for library in ("numba", "numpy", "llvmlite")]
    processor = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    return hashlib.sha256("\n".join([source_digest(), *versions, *processor]).encode()).hexdigest()[:20]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _home_cache() -> Path:
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return Path(tempfile.gettempdir())


def cache_folder() -> Path:
    """Where compiled code is kept: SIMS_CACHE_DIR, the user's cache, or a private folder beside temporary files."""
    asked = os.environ.get("SIMS_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or _home_cache())
    candidates = ([Path(asked)] if asked else []) + [user / "fleet-planner" / "sims"]
    for base in candidates:
        if _writable(base / digest()):
            return base / digest()
    return Path(tempfile.mkdtemp(prefix="sims-"))


def _prune(folder: Path) -> None:
    """Forget the code of sources that are long gone; a process that still needs it compiles again."""
    if not DIGEST.fullmatch(folder.name):
        return
    siblings: list[tuple[float, Path]] = []
    for path in folder.parent.iterdir():
        # Another process may be pruning at the same time.
        with contextlib.suppress(OSError):
            if path != folder and DIGEST.fullmatch(path.name):
                siblings.append((path.stat().st_mtime, path))
    for _, old in sorted(siblings, reverse=True)[KEPT_FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)


CACHE = cache_folder()
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)

import numba  # noqa: E402 - the folder must be known before
from numba.core import event  # noqa: E402

from sims.engine.inlined import InlinedCompiler  # noqa: E402

setattr(numba.config, "CACHE_DIR", str(CACHE))  # noqa: B010 - in case numba was imported before
_prune(CACHE)

# No kernel allocates, so no reference needs to be counted; numba leaves hundreds of atomic counts in a loop of this
# size otherwise, which is three quarters of its run time. The flag is numba's own for its internals: it makes the
# compiler refuse code that allocates, and a test fails should a new version of numba drop it.
UNCOUNTED: dict[str, Any] = {"_nrt": False}

NOT_FROM_C: dict[str, Any] = {"no_cfunc_wrapper": True}
"""Nothing calls a kernel from C, and its way in takes time to compile."""

NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, **NOT_FROM_C}

handler: Callable[[Any], Any] = numba.njit(
    forceinline=True, pipeline_class=InlinedCompiler, **UNCOUNTED, **NOT_FROM_PYTHON
)
"""Decorates a function of the data plane that loops call, never Python, which goes in through `from_python`."""

loop: Callable[[Any], Any] = numba.njit(cache=True, **UNCOUNTED, **NOT_FROM_C)
"""Decorates an entry of the data plane. Coerce its arguments: another type compiles a second time."""


def from_python(function: Any) -> Any:
    """A way into a handler for Python, which tests and audits want."""

    def enter(*given: Any) -> Any:
        return function(*given)

    return numba.njit(**UNCOUNTED, **NOT_FROM_C)(enter)


JIT = not bool(getattr(numba.config, "DISABLE_JIT"))  # noqa: B009 - set by numba at run time


class _CollectSeldom(event.Listener):
    """While something compiles: the compiler makes millions of small objects that live until it is through, and an
    eighth of its time goes into looking for garbage among them."""

    SELDOM = (100_000, 50, 50)

    def __init__(self) -> None:
        self._depth = 0
        self._usual = gc.get_threshold()

    def on_start(self, _: event.Event) -> None:
        if self._depth == 0:
            self._usual = gc.get_threshold()
            gc.set_threshold(*self.SELDOM)
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            gc.set_threshold(*self._usual)


event.register("numba:compile", _CollectSeldom())  # type: ignore[no-untyped-call]

_warmers: list[Callable[[], object]] = []


def warms(function: Callable[[], object]) -> Callable[[], object]:
    """Register a tiny run that makes a system's kernels compile or load."""
    _warmers.append(function)
    return function


def warm() -> None:
    """Compile or load the kernels of every system imported so far."""
    for function in _warmers:
        function()


def signatures(kernel: Any) -> int:
    """How often a kernel was compiled for different argument types (one is right)."""
    return len(getattr(kernel, "signatures", [None]))
