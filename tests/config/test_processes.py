"""What `make run` does with the processes it starts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.config.processes import ROOT

CHILD = """
import pathlib, signal, sys
def told(number, _frame):
    pathlib.Path(sys.argv[1]).write_text(str(number))
    sys.exit()
signal.signal(signal.SIGQUIT, told)
pathlib.Path(sys.argv[2]).touch()
signal.pause()
"""
PARENT = """
import os, pathlib, signal, sys, time
from planner.config.processes import Child
told, ready, log = map(pathlib.Path, sys.argv[1:4])
Child("x", [sys.executable, "-c", sys.argv[4], str(told), str(ready)], signal.SIGQUIT, log).start()
while not ready.exists():
    time.sleep(0.02)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_child_of_a_killed_run_is_told_to_stop_as_at_a_clean_stop(tmp_path: Path) -> None:
    """A worker told otherwise would first finish its job, beside the worker of the next run."""
    told, ready, log = (tmp_path / name for name in ("told", "ready", "log"))
    parent = subprocess.run([sys.executable, "-c", PARENT, told, ready, log, CHILD], cwd=ROOT, timeout=30, check=False)
    assert parent.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert told.read_text() == str(int(signal.SIGQUIT))
