"""Pytest plugin: PostgreSQL and Valkey for the suite, started before Django reads its settings.

Uses DATABASE_URL and BROKER_URL when they name servers. PYTEST_DB names the test database, so that two runs on
one machine do not meet.
"""

from __future__ import annotations

import os
from pathlib import Path

from planner.config.embedded import start_postgres, start_valkey

ROOT = Path(__file__).resolve().parents[1]
_handles = []

os.environ.setdefault("LOCAL_MODE", "1")
os.environ.setdefault("HTTPS", "0")
os.environ.setdefault("API_RATE", "1000000/min")
os.environ.setdefault("LOG_LEVEL", "WARNING")
(ROOT / ".local" / "staticfiles").mkdir(parents=True, exist_ok=True)
if "DATABASE_URL" not in os.environ:
    handle, url = start_postgres(ROOT / ".local" / "test" / "postgres", database=os.environ.get("PYTEST_DB", "planner"))
    _handles.append(handle)
    os.environ["DATABASE_URL"] = url
if "BROKER_URL" not in os.environ:
    handle, url = start_valkey(None)
    _handles.append(handle)
    os.environ["BROKER_URL"] = url
# Each process of a parallel run has a cache of its own: one that empties it must not take another's counts away.
_process = os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")
os.environ["CACHE_URL"] = f"{os.environ['BROKER_URL'].rsplit('/', 1)[0]}/{int(_process) + 2}"
