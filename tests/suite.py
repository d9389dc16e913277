"""`make test`: finds or installs a browser, then runs the whole suite in two passes.

Unit, contract and journey tests run in parallel; browser and fresh-clone tests run alone, for they start whole
servers. `--no-browser-skips` makes a missing browser a failure (continuous integration).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.browser.chromium import find_chromium

HEAVY = "browser or fresh_clone"


def install_chromium() -> None:
    """Install Debian's Chromium where we may; elsewhere the browser tests say that they were skipped."""
    if find_chromium() or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    print("Installing Chromium for the browser tests ...", flush=True)
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def compile_kernels() -> None:
    """Fill the cache once, several simulators at a time; each of the two test processes would compile them all."""
    subprocess.call([sys.executable, "-c", "from planner.jobs import warming; warming.warm_all()"])


def run_pytest(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])


def main(arguments: list[str]) -> int:
    if "--no-browser-skips" in arguments:
        arguments = [argument for argument in arguments if argument != "--no-browser-skips"]
        os.environ["REQUIRE_BROWSER"] = "1"
    install_chromium()
    if arguments:
        return run_pytest(*arguments)
    compile_kernels()
    quick = run_pytest("-n", "2", "--dist", "loadfile", "-m", f"not ({HEAVY})", "-q")
    heavy = run_pytest("-m", HEAVY, "-q")
    return quick or heavy


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
