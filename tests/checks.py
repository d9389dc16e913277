"""`make check`: every static check, each by its own name; all run, the worst one decides."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
SCRIPTS = Path(PYTHON).parent


def templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))


def checks() -> dict[str, list[str]]:
    ruff = [PYTHON, "-m", "ruff"]
    return {
        "format": [*ruff, "format", "--check", "--quiet", "."],
        "lint": [*ruff, "check", "--quiet", "."],
        "imports": [str(SCRIPTS / "lint-imports")],
        "types": [PYTHON, "-m", "mypy", "planner", "sims"],
        "templates": [str(SCRIPTS / "djade"), "--check", "--target-version", "5.2", *templates()],
        "migrations": [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"],
        "django": [PYTHON, "manage.py", "check", "--fail-level", "WARNING"],
        "deployment": [PYTHON, "-W", "ignore", "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
    }


def environment(name: str) -> dict[str, str]:
    if name == "deployment":
        key = secrets.token_urlsafe(60)
        return {**os.environ, "SECRET_KEY": key, "ALLOWED_HOSTS": "planner.example.org", "HSTS_PRELOAD": "1"}
    return {**os.environ, "LOCAL_MODE": "1"}


def main() -> int:
    worst = 0
    for name, command in checks().items():
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment(name), capture_output=True, text=True, check=False)
        print(
            f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name:<11} {time.monotonic() - started:5.1f} s", flush=True
        )
        if done.returncode != 0:
            print(done.stdout[-6000:], done.stderr[-3000:], sep="\n")
            worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main())
