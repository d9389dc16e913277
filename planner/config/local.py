"""`make run`: embedded servers, migrations, catalog, web and worker, one sign-in link, and a clean stop.

Everything it keeps lies in `.local/`. It speaks plain sentences: each thing that can go wrong ends with what to do.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import io
import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType
from typing import Any

from planner.config.local_folder import CannotStart, local_folder, only_one, secret_key
from planner.config.processes import ROOT, Child, end_orphan, stop_all, watch

HOST = "127.0.0.1"
START_LIMIT_S = 60.0


def check_port(port: int) -> None:
    """Say so when somebody else listens on ``port``."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as problem:
            reason = (
                "is taken by another program"
                if problem.errno == errno.EADDRINUSE
                else f"cannot be used ({problem.strerror})"
            )
            raise CannotStart(f"Port {port} {reason}: choose another with `make run PORT={port + 123}`.") from problem
        except OverflowError as problem:
            raise CannotStart(f"{port} is not a port: choose one from 1024 to 65535.") from problem


class Servers:
    """The embedded PostgreSQL and Valkey, unless the environment names others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres: Any = None
        self.valkey: Any = None

    def start(self) -> None:
        from planner.config.embedded import start_postgres, start_valkey

        if "DATABASE_URL" not in os.environ:
            try:
                self.postgres, os.environ["DATABASE_URL"] = start_postgres(self.folder / "postgres")
            except Exception as problem:
                raise CannotStart(
                    f"The embedded PostgreSQL did not start ({problem}): see {self.folder / 'postgres' / 'log'}, or "
                    "name a server with DATABASE_URL=postgres://user:password@host/database make run."
                ) from problem
        if "BROKER_URL" not in os.environ:
            pid_file = self.folder / "valkey.pid"
            data = self.folder / "valkey"
            end_orphan(pid_file, "valkey-server")
            try:
                self.valkey, os.environ["BROKER_URL"] = start_valkey(data, persist=True)
            except Exception as problem:
                raise CannotStart(
                    f"The embedded Valkey did not start ({problem}): see {data / 'valkey.log'}, or name a server with "
                    "BROKER_URL=redis://host:6379/0 make run."
                ) from problem
            pid_file.write_text(str(self.valkey._process.pid))  # noqa: SLF001 - the wheel has no public accessor

    def stop(self) -> None:
        if self.valkey is not None:
            self.valkey.stop()
            (self.folder / "valkey.pid").unlink(missing_ok=True)
        if self.postgres is not None:
            self.postgres.stop()
            # At exit it would stop the server once more, and complain when the process is not quite gone yet.
            atexit.unregister(self.postgres._cleanup)  # noqa: SLF001 - the wheel has no public way
            self.postgres.global_process_id_list.get_and_remove(os.getpid())


def prepare_database(folder: Path) -> str:
    """Migrate, load the catalog and make the local user; return the path of a fresh sign-in link."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_catalog", verbosity=0)
    out = io.StringIO()
    call_command("local_start", token_file=folder / "token", stdout=out)
    return str(json.loads(out.getvalue())["link_path"])


def children(port: int, folder: Path) -> list[Child]:
    logs = folder / "logs"
    for made in (logs, folder / "staticfiles"):
        made.mkdir(exist_ok=True)
    python = sys.executable
    web = [
        python,
        "-m",
        "gunicorn",
        "planner.config.wsgi",
        "--bind",
        f"{HOST}:{port}",
        "--workers",
        "1",
        "--threads",
        "8",
    ]
    worker = [
        python,
        "-m",
        "celery",
        "-A",
        "planner.config.celery",
        "worker",
        "--beat",
        "--schedule",
        str(folder / "beat"),
    ]
    return [
        Child("web", [*web, "--graceful-timeout", "2", "--log-level", "warning"], signal.SIGTERM, logs / "web.log"),
        # SIGQUIT: stop now. A job that was running is taken up again at the next start.
        Child("worker", [*worker, "--concurrency", "2", "--loglevel", "warning"], signal.SIGQUIT, logs / "worker.log"),
    ]


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:  # noqa: S310 - a loopback address of ours
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def wait_until_ready(port: int, web: Child) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if web.ended() is not None:
            raise CannotStart(f"The web process ended at once: see {web.log}.")
        if answers(f"http://{HOST}:{port}/healthz"):
            return
        time.sleep(0.1)
    raise CannotStart(f"The web process did not answer within {START_LIMIT_S:.0f} s: see {web.log}.")


class Stopped(BaseException):
    """Ctrl-C or SIGTERM."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    # Once is enough: a terminal and `make` may both tell us, and stopping must not be interrupted.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise Stopped


def said(path: Path) -> str:
    """A path as one would type it here: from this folder where it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def serve(port: int, folder: Path) -> None:
    started = time.monotonic()
    servers, running = Servers(folder), children(port, folder)
    try:
        print("Starting the database and the queue ...", flush=True)
        servers.start()
        link = prepare_database(folder)
        for child in running:
            child.start()
        wait_until_ready(port, running[0])
        print(
            f"\n  Fleet planner runs at http://{HOST}:{port}/  (started in {time.monotonic() - started:.1f} s)\n"
            f"  Sign in, once:   http://{HOST}:{port}{link}\n"
            f"  API token in     {said(folder / 'token')}\n"
            f"  Ctrl-C stops it; data stay in {said(folder)}\n",
            flush=True,
        )
        watch(running)
    finally:
        print("Stopping ...", flush=True)
        stop_all(running)
        servers.stop()
        print("Stopped; nothing is left running.", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the planner on this computer.")
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.config.settings")
    os.environ["LOCAL_MODE"] = "1"
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        folder = local_folder(Path(os.environ.get("LOCAL_DIR", ROOT / ".local")).resolve())
        os.environ["LOCAL_DIR"] = str(folder)
        os.environ.setdefault("SIMS_CACHE_DIR", str(folder / "kernels"))
        with only_one(folder):
            check_port(port)
            os.environ.setdefault("SECRET_KEY", secret_key(folder))
            serve(port, folder)
    except CannotStart as problem:
        print(problem, file=sys.stderr)
        return 1
    except Stopped:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
