"""What a worker does before its first job leaves nothing to compile for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sims.engine import kernel

ROOT = Path(__file__).resolve().parents[3]
SYSTEMS = sorted(path.parent.name for path in (ROOT / "sims" / "systems").glob("*/run.py"))
ENTRIES = """
import importlib, pkgutil, sys
from pathlib import Path
name = "sims.systems." + sys.argv[1]
package = importlib.import_module(name)
from sims.engine import kernel
kernel.warm()
for found in pkgutil.iter_modules(package.__path__):
    module = importlib.import_module(f"{name}.{found.name}")
    for one in vars(module).values():
        options = getattr(one, "targetoptions", None)
        if options is not None and not options.get("forceinline") and one.py_func.__module__ == module.__name__:
            print(found.name, one.py_func.__name__, kernel.signatures(one))
"""


@pytest.mark.skipif(not kernel.JIT, reason="JIT is off in this run")
@pytest.mark.parametrize("system", SYSTEMS)
def test_warming_compiles_every_entry_of_a_system_once(system: str) -> None:
    """In a process of its own, where no other test has called them."""
    told = subprocess.run([sys.executable, "-c", ENTRIES, system], cwd=ROOT, capture_output=True, text=True, check=True)
    entries = dict(line.rsplit(maxsplit=1) for line in told.stdout.splitlines())
    assert len(entries) >= 2
    assert [name for name, signatures in entries.items() if signatures != "1"] == []
