"""Processes of `make run`: started in groups of their own, kept alive, and ended without one left behind."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from planner.config.local_folder import CannotStart

ROOT = Path(__file__).resolve().parents[2]
STOP_LIMIT_S = 6.0


def end_orphan(pid_file: Path, marker: str) -> None:
    """End the server that a killed run left behind, recognised by its process id *and* its command line."""
    try:
        pid = int(pid_file.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except (OSError, ValueError):
        return
    if marker in command:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        for _ in range(50):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.1)


def die_with_parent(number: int) -> None:
    """On Linux: the kernel sends this child the signal when the parent is killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6", use_errno=True).prctl(1, number)


@dataclass
class Child:
    """A process of ours: its name, how it was started, and how it is told to stop."""

    name: str
    command: list[str]
    stop_signal: int
    log: Path
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0

    def start(self) -> None:
        out: IO[Any]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=functools.partial(die_with_parent, self.stop_signal),
            )

    def signal(self, number: int) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def ended(self) -> int | None:
        return None if self.process is None else self.process.poll()


def watch(running: list[Child]) -> None:
    """Keep the children alive: one that ends is started again, three times at most."""
    while True:
        time.sleep(0.5)
        for child in running:
            code = child.ended()
            if code is None:
                continue
            if child.restarts >= 3:
                raise CannotStart(f"The {child.name} process keeps ending (code {code}): see {child.log}.")
            print(f"The {child.name} process ended (code {code}); starting it again.")
            child.restarts += 1
            child.start()


def stop_all(running: list[Child]) -> None:
    for child in running:
        child.signal(child.stop_signal)
    deadline = time.monotonic() + STOP_LIMIT_S
    while time.monotonic() < deadline and any(child.ended() is None for child in running):
        time.sleep(0.05)
    for child in running:
        child.signal(signal.SIGKILL)
        if child.process is not None:
            child.process.wait(5)
