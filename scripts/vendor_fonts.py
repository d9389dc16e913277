"""Makes the fonts of the PDF: ``uv run --no-project --with fonttools --with brotli python -m scripts.vendor_fonts``.

typst takes neither WOFF2 nor variable fonts. So the page's Source Sans 3 is cut into two static weights, and Noto Sans
SC (its simplified Chinese subset, from npm) is unpacked. Both are under the SIL Open Font License, kept beside them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from fontTools.varLib import instancer  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "static" / "css" / "fonts"
TARGET = ROOT / "planner" / "reports" / "template" / "fonts"
CHINESE = "@fontsource/noto-sans-sc"
CHINESE_VERSION = "5.3.0"
WEIGHTS = {"Regular": 400, "Semibold": 600}


def main() -> int:
    TARGET.mkdir(parents=True, exist_ok=True)
    for style, weight in WEIGHTS.items():
        _latin(style, weight).save(TARGET / f"SourceSans3-{style}.ttf")
    shutil.copyfile(SOURCE / "OFL.txt", TARGET / "OFL-SourceSans3.txt")
    with tempfile.TemporaryDirectory() as folder:
        package = _unpacked(Path(folder))
        font = TTFont(package / "files" / "noto-sans-sc-chinese-simplified-400-normal.woff2")
        font.flavor = None
        _named(font, family="Noto Sans SC", style="Regular", weight=400)
        font.save(TARGET / "NotoSansSC-Regular.ttf")
        shutil.copyfile(package / "LICENSE", TARGET / "OFL-NotoSansSC.txt")
    return 0


def _latin(style: str, weight: int) -> TTFont:
    font = TTFont(SOURCE / "source-sans-3-latin-wght-normal.woff2", recalcTimestamp=False)
    cut = instancer.instantiateVariableFont(font, {"wght": weight})
    cut.flavor = None
    _named(cut, family="Source Sans 3", style=style, weight=weight)
    return cut


def _named(font: TTFont, *, family: str, style: str, weight: int) -> None:
    """Say family, style and weight so that a font book files all weights under one family."""
    words = {1: f"{family} {style}" if style != "Regular" else family, 2: "Regular", 4: f"{family} {style}"}
    words |= {6: f"{family}-{style}".replace(" ", ""), 16: family, 17: style}
    for name_id, text in words.items():
        font["name"].setName(text, name_id, 3, 1, 0x409)
    font["OS/2"].usWeightClass = weight


def _unpacked(folder: Path) -> Path:
    command = ["npm", "pack", "--silent", f"{CHINESE}@{CHINESE_VERSION}"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - fixed words
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


if __name__ == "__main__":
    sys.exit(main())
