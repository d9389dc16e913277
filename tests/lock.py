"""`make lock`: resolve requirements/*.in anew for every supported Python and platform, with hashes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
OPTIONS = [
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-annotate",
    "--quiet",
]


def main() -> int:
    uv = Path(sys.executable).parent / "uv"
    for name in ("base", "local", "dev", "measured"):
        constraint = [] if name == "base" else ["--constraint", str(FOLDER / "base.txt")]
        command = [str(uv), "pip", "compile", *OPTIONS, "--custom-compile-command", "make lock", *constraint]
        code = subprocess.call([*command, str(FOLDER / f"{name}.in"), "--output-file", str(FOLDER / f"{name}.txt")])
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
