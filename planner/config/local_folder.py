"""The folder that keeps what `make run` makes: writable, held by one run at a time, with a key of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


class CannotStart(Exception):
    """Something outside keeps the planner from starting; the message says what to do."""


def local_folder(path: Path) -> Path:
    """Make the folder that keeps data, or say why not."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as problem:
        raise CannotStart(
            f"Cannot write to {path} ({problem.strerror}): make it writable, or name another folder with "
            "LOCAL_DIR=/path make run."
        ) from problem
    return path


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel lets go of it when this process ends, however it ends."""
    path = folder / "run.lock"
    with path.open("a+") as file:
        file.seek(0)
        owner = file.read().strip()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise CannotStart(
                f"The planner already runs from this folder (process {owner or 'unknown'}): use that one, or stop it "
                f"with Ctrl-C or `kill {owner}`."
            ) from problem
        if owner:
            print(f"The last run (process {owner}) did not stop cleanly; starting over its data.")
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.seek(0)
            file.truncate()


def secret_key(folder: Path) -> str:
    """The key of this folder, made once and readable by its owner only."""
    path = folder / "secret_key"
    if not path.exists():
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text().strip()
