"""A stranger clones the project, types `make run`, opens the link and walks the whole way over HTTP."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.journeys.local_run import Api, Browser, LocalRun, clean_environment

pytestmark = pytest.mark.fresh_clone
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stranger") / "fleet-planner"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    # pytest keeps its folders private; the embedded PostgreSQL runs as a user of its own when we are root.
    for parent in [folder, *folder.parents]:
        if parent.owner() == Path.home().owner() and parent != Path("/") and not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    return folder


def finish(api: Api, location: str, *, limit_s: float = 180) -> dict:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        status, job, _ = api.call("GET", location)
        assert status == 200
        if job["state"] in {"succeeded", "failed", "cancelled"}:
            return job
        time.sleep(0.3)
    raise AssertionError(f"the job did not end: {job}")


def test_a_stranger_plans_simulates_compares_shares_and_exports(clone: Path) -> None:
    with LocalRun(clone) as run:
        base = f"http://127.0.0.1:{run.port}"
        link = run.link()
        assert link is not None
        browser = Browser(base)
        status, address, home = browser.open(link)
        assert (status, address) == (200, base + "/")
        assert "DeepSeek-V3 at 500 req/s" in home
        assert "$0.756" in home
        assert Browser(base).open(link)[0] in {403, 404, 410}, "the link works once"

        token_file = clone / ".local" / "token"
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        api = Api(base, token_file.read_text().strip())

        status, estimate, _ = api.call("POST", "/api/v1/estimates/", {"kind": "llm_serving", "spec": {}})
        assert status == 200
        assert estimate["metrics"]["nodes"]["value"] == 68
        assert "decode_not_n_plus_1" in {finding["code"] for finding in estimate["findings"]}

        ids = []
        for name, spec in (("Reference", {}), ("N+1", {"spare_decode_units": 1})):
            status, design, headers = api.call(
                "POST", "/api/v1/designs/", {"kind": "llm_serving", "name": name, "spec": spec}
            )
            assert status == 201, design
            ids.append(design["id"])
        assert browser.open(f"/designs/{ids[0]}/")[0] == 200

        status, job, headers = api.call(
            "POST", f"/api/v1/designs/{ids[0]}/simulations/", {"workload": "azure-2023-conversation", "duration_s": 300}
        )
        assert status == 202, job
        ended = finish(api, headers["Location"])
        assert ended["state"] == "succeeded", ended
        status, result, _ = api.call("GET", headers["Location"] + "result/")
        assert status == 200
        assert result["metrics"]["ttft_p99_s"]["value"] > 0

        status, comparison, _ = api.call("POST", "/api/v1/comparisons/", {"designs": ids})
        assert status in {200, 201}, comparison
        status, _, page = browser.open("/compare/?" + "&".join(f"d={one}" for one in ids))
        assert status == 200
        assert "N+1" in page

        status, share, _ = api.call("POST", f"/api/v1/designs/{ids[0]}/shares/", {})
        assert status == 201, share
        stranger = Browser(base)
        assert stranger.open(share["link"])[0] == 200
        assert stranger.open(f"/designs/{ids[0]}/")[1].startswith(f"{base}/sign-in/")
        assert api.call("DELETE", f"/api/v1/designs/{ids[0]}/shares/{share['id']}/")[0] == 204
        assert stranger.open(share["link"])[0] in {404, 410}

        status, pdf, _ = api.call("GET", f"/api/v1/designs/{ids[0]}/report.pdf")
        assert status == 200
        assert pdf.startswith(b"%PDF-")
    assert run.process.returncode is not None
    assert run.leftovers() == []


def test_a_second_start_is_quick_keeps_data_and_ctrl_c_stops_it(clone: Path) -> None:
    with LocalRun(clone, stop_signal=signal.SIGINT) as run:
        assert run.started_s < 5 * float(os.environ.get("SLOW_MACHINE", "1.6")), run.started_s
        api = Api(f"http://127.0.0.1:{run.port}", (clone / ".local" / "token").read_text().strip())
        status, designs, _ = api.call("GET", "/api/v1/designs/")
        assert status == 200
        assert {"Reference", "N+1"} <= {design["name"] for design in designs["results"]}
        blocked = subprocess.run(
            ["make", "--no-print-directory", "run"],
            cwd=clone,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert blocked.returncode != 0
        assert "already runs from this folder" in blocked.stderr
    assert run.leftovers() == []


def sentence(clone: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        ["make", "--no-print-directory", "run", *arguments],
        cwd=clone,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_taken_port_says_what_to_do(clone: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Port {port} is taken by another program: choose another with `make run PORT=" in sentence(
            clone, f"PORT={port}"
        )


def test_an_unwritable_folder_says_what_to_do(clone: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert "make it writable, or name another folder" in sentence(clone, LOCAL_DIR=str(file / "below"))


def old_python(tmp_path: Path, *, version: str, body: str) -> str:
    """A stand-in interpreter: runs the bootstrap with a changed idea of itself."""
    script = tmp_path / "python"
    script.write_text(
        f"#!{sys.executable}\nimport sys, runpy\n{body}\nsys.argv = sys.argv[1:]\n"
        f"sys.version_info = {version}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    script.chmod(0o755)
    return str(script)


def test_a_python_that_is_too_old_says_what_to_do(clone: Path, tmp_path: Path) -> None:
    python = old_python(tmp_path, version="(3, 9, 2)", body="import shutil; shutil.which = lambda name: None")
    assert "Python 3.11 or newer is needed and this is 3.9" in sentence(clone, f"PYTHON={python}")


def test_a_missing_venv_module_says_what_to_do(clone: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(clone, bare, ignore=shutil.ignore_patterns(".venv", ".local", ".git"))
    python = old_python(tmp_path, version="(3, 11, 7)", body="sys.modules['ensurepip'] = None")
    assert "has no `venv` module" in sentence(bare, f"PYTHON={python}")


def test_a_stale_lock_is_no_obstacle(clone: Path) -> None:
    (clone / ".local" / "run.lock").write_text("999999")
    with LocalRun(clone) as run:
        assert "did not stop cleanly; starting over its data" in run.text()
    assert run.leftovers() == []
