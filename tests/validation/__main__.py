"""`make validate`: computes every row, prints the errors, and writes what the pages and the documents show."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from planner.catalog.validation import FOLDER, read
from tests.validation import SOURCES, report, store
from tests.validation.collect import collected
from tests.validation.document import text_of
from tests.validation.shipped import catalog

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "methods" / "validation.md"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.validation", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="QUANTITY", help="compute only this; may repeat")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs from the stored rows")
    asked = parser.parse_args(arguments)
    found = collected(SOURCES, only=asked.only)
    if unknown := [name for name in asked.only if name not in found]:
        parser.error(f"no source gives {', '.join(unknown)}")
    whole = not asked.only
    if asked.check:
        differences = store.changes(FOLDER, found, whole=whole)
        print("\n".join(differences) or "The stored rows are those of this code.")
        return 1 if differences else 0
    store.written(FOLDER, found, date=_today(), digest=catalog().digest, whole=whole)
    _publish()
    return 0


def _publish() -> None:
    """Print and write what follows from the stored rows."""
    stored = read(FOLDER)
    for line in report.lines(stored.rows):
        print(line)
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    report_text = json.dumps(report.as_json(stored.rows), indent=1, allow_nan=False)
    (folder / "validation.json").write_text(report_text + "\n", encoding="utf-8")
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(text_of(stored), encoding="utf-8")


def _today() -> str:
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
