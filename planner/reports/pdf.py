"""typst: content as data in, a PDF out. Texts reach the template as JSON strings and are never read as markup."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import typst

TEMPLATE = Path(__file__).parent / "template"
PAPERS = {"a4": "a4", "letter": "us-letter"}


class PaperError(ValueError):
    """The paper is neither A4 nor Letter."""

    def __init__(self, paper: str) -> None:
        super().__init__(f"paper “{paper}” is not one of {', '.join(PAPERS)}")


def make(content: Mapping[str, Any], *, template: str, paper: str, language: str) -> bytes:
    """Return the PDF of ``content`` in ``template``; the same content gives the same bytes."""
    if paper not in PAPERS:
        raise PaperError(paper)
    inputs = {
        "content": json.dumps(content, ensure_ascii=False, allow_nan=False),
        "paper": PAPERS[paper],
        "language": language.split("-", maxsplit=1)[0],
    }
    document: bytes = typst.compile(
        TEMPLATE / f"{template}.typ",
        root=TEMPLATE,
        font_paths=_fonts(),
        sys_inputs=inputs,
        timestamp=0,
    )
    return document


@cache
def _fonts() -> typst.Fonts:
    """Our own fonts first; those of the system only fill in what they lack (rare characters, other scripts)."""
    return typst.Fonts(include_system_fonts=True, include_embedded_fonts=True, font_paths=[TEMPLATE / "fonts"])
