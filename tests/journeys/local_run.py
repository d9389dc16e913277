"""Runs `make run` of a checkout as a stranger would, and talks to it over HTTP."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment() -> dict[str, str]:
    """The environment of somebody who has not heard of our variables."""
    ours = {
        "DATABASE_URL",
        "BROKER_URL",
        "CACHE_URL",
        "LOCAL_MODE",
        "SECRET_KEY",
        "DJANGO_SETTINGS_MODULE",
        "LOCAL_DIR",
        "HTTPS",
        "API_RATE",
    }
    return {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("PYTEST")}


class LocalRun:
    """`make run` in ``folder``; a context manager that stops it with ``stop_signal``.

    With ``data`` the code of this checkout runs, without the set-up, over data of its own.
    """

    def __init__(
        self, folder: Path, *, stop_signal: int = signal.SIGTERM, limit_s: float = 420, data: Path | None = None
    ) -> None:
        self.folder, self.port, self.stop_signal, self.limit_s = folder, free_port(), stop_signal, limit_s
        self.command = ["make", "--no-print-directory", "run", f"PORT={self.port}"]
        self.environment = clean_environment()
        self.data = data or folder / ".local"
        self.out = folder / "run.out"
        if data is not None:
            self.command = [sys.executable, "-m", "planner.config.local", "--port", str(self.port)]
            self.environment["LOCAL_DIR"] = str(data)
            self.out = data / "run.out"
        self.started_s = 0.0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.data / "token").read_text(encoding="utf-8").strip()

    def __enter__(self) -> LocalRun:
        self.log = self.out.open("w+")
        started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        while not self.link():
            if self.process.poll() is not None or time.monotonic() - started > self.limit_s:
                self.__exit__()
                raise AssertionError(f"make run did not come up:\n{self.text()}")
            time.sleep(0.1)
        self.started_s = time.monotonic() - started
        return self

    def text(self) -> str:
        return self.out.read_text(encoding="utf-8")

    def link(self) -> str | None:
        found = re.search(r"http://127\.0\.0\.1:\d+/enter/\S+", self.text())
        return found[0] if found else None

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            # A terminal sends Ctrl-C to the whole group; make passes the end of its child on.
            os.killpg(self.process.pid, self.stop_signal)
            self.process.wait(30)
        self.log.close()

    def leftovers(self) -> list[str]:
        """Command lines of processes that still work in the folder."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                working = os.readlink(entry / "cwd")
            except OSError:
                continue
            if str(self.folder) in command or working.startswith(str(self.folder)):
                found.append(command)
        return found


class Browser:
    """Cookies, forms with their CSRF token, and links: what a browser without JavaScript does."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, path: str, data: dict[str, Any] | None = None) -> tuple[int, str, str]:
        """Status, final address and text of a page; a POST carries the CSRF token of the cookie."""
        body = None
        if data is not None:
            token = next(cookie.value for cookie in self.jar if cookie.name == "csrftoken")
            body = urllib.parse.urlencode({**data, "csrfmiddlewaretoken": token}, doseq=True).encode()
        request = urllib.request.Request(urllib.parse.urljoin(self.base, path), data=body)
        request.add_header("Referer", self.base)
        try:
            with self.opener.open(request, timeout=30) as reply:
                return reply.status, reply.url, reply.read().decode(errors="replace")
        except urllib.error.HTTPError as problem:
            return problem.code, problem.url, problem.read().decode(errors="replace")


class Api:
    """The REST API with the token that `make run` wrote."""

    def __init__(self, base: str, token: str) -> None:
        self.base, self.token = base, token

    def call(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any, dict[str, str]]:
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode()
        )
        for name, value in {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **headers,
        }.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                content, status, got = reply.read(), reply.status, dict(reply.headers)
        except urllib.error.HTTPError as problem:
            content, status, got = problem.read(), problem.code, dict(problem.headers)
        is_json = "json" in got.get("Content-Type", "")
        return status, json.loads(content) if is_json and content else content, got
