"""Vendors Plotly's cartesian bundle: ``python -m scripts.vendor_plotly`` (needs npm and a Chromium).

The bundle inserts its style rules at run time, which our CSP forbids. This lets it do so once, in a headless browser,
and keeps the rules as ``plotly.css``; a page that links that file as ``plotly.js-style-global`` keeps the bundle quiet.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PACKAGE = "plotly.js-cartesian-dist-min"
VERSION = "4.1.1"
TARGET = Path(__file__).resolve().parents[1] / "static" / "vendor" / "plotly"
BUNDLE = "plotly-cartesian.min.js"

_DRAW_ONE = "Plotly.newPlot(document.body.appendChild(document.createElement('div')), [{y: [1, 2]}], {})"
_READ_RULES = """() => [...document.styleSheets]
  .filter((sheet) => sheet.ownerNode.id.startsWith("plotly.js-style"))
  .flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText))"""


def main() -> int:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        package = _unpacked(Path(folder))
        shutil.copyfile(package / BUNDLE, TARGET / BUNDLE)
        shutil.copyfile(package / "LICENSE", TARGET / "LICENSE")
    rules = _rules((TARGET / BUNDLE).read_text(encoding="utf-8"))
    if len(rules) < 20:
        sys.stderr.write(f"Only {len(rules)} style rules found: has the bundle changed how it inserts them?\n")
        return 1
    head = f"/* Style rules of {PACKAGE} {VERSION} (MIT, see LICENSE), dumped by scripts/vendor_plotly.py. */\n"
    (TARGET / "plotly.css").write_text(head + "\n".join(rules) + "\n", encoding="utf-8")
    digest = hashlib.sha256((TARGET / BUNDLE).read_bytes()).hexdigest()
    (TARGET / "VERSION").write_text(f"{PACKAGE} {VERSION}\nsha256 {digest}\n", encoding="utf-8")
    sys.stdout.write(f"{PACKAGE} {VERSION}: bundle and {len(rules)} rules in {TARGET}\n")
    return 0


def _unpacked(folder: Path) -> Path:
    """The files of the package as npm delivers them."""
    command = ["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - fixed words
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def _rules(bundle: str) -> list[str]:
    """The rules the bundle puts into a page when it draws."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_content("<!doctype html><body></body>")
        page.add_script_tag(content=bundle)
        page.evaluate(_DRAW_ONE)
        rules: list[str] = page.evaluate(_READ_RULES)
        browser.close()
    return rules


if __name__ == "__main__":
    sys.exit(main())
