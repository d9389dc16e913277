"""The product as `make run` starts it, and pages of it whose console must stay silent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sims.engine import kernel
from tests.journeys.local_run import Api, LocalRun

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def run() -> Iterator[LocalRun]:
    """The planner as `make run` starts it: web, worker and servers of their own over fresh data."""
    data = ROOT / ".local" / f"browser-{os.getpid()}"
    data.mkdir(parents=True)
    started = LocalRun(ROOT, data=data)
    # The machine code that the other tests have left: compiling it takes as long as a dozen of these tests.
    started.environment["SIMS_CACHE_DIR"] = str(kernel.CACHE.parent)
    with started as running:
        yield running
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="session")
def signed_in(chromium: Any, run: LocalRun) -> dict[str, Any]:
    """The cookies of somebody who opened the printed link."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(run.link())
    assert page.url == f"{run.base}/"
    state: dict[str, Any] = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="session")
def api(run: LocalRun) -> Api:
    return Api(run.base, run.token)


@pytest.fixture
def open_page(chromium: Any, run: LocalRun, signed_in: dict[str, Any]) -> Iterator[Any]:
    """``open_page(path, width=…, dark=…, signed_out=…)``: a page whose console must stay silent."""
    contexts = []
    complaints: list[str] = []

    def opened(
        path: str, *, width: int = 1440, dark: bool = False, signed_out: bool = False, script: bool = True
    ) -> Any:
        context = chromium.new_context(
            base_url=run.base,
            storage_state=None if signed_out else signed_in,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    # A refused form answers 422, which Chromium writes to its console; nothing else may stand there.
    assert [line for line in complaints if "status of 422" not in line] == []
