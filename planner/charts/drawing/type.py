"""How wide a text is in Source Sans 3, so that labels can be placed on the server without a browser."""

from __future__ import annotations

from functools import lru_cache

SIZE = 12.5
LINE = 15.0

# Advance widths of U+0020..U+007E in thousandths of an em, regular (400) and semibold (600).
_REGULAR = (
    "200,289,426,497,497,824,609,249,303,303,418,497,249,311,249,350,497,497,497,497,497,497,497,497,497,497,249,249,497,"
    "497,497,425,847,543,588,571,615,527,494,617,652,263,479,579,486,727,647,664,566,664,569,534,536,645,515,786,513,476,"
    "539,303,350,303,497,500,542,504,553,456,555,496,292,504,544,246,247,495,255,829,547,542,555,555,347,419,338,544,467,"
    "719,446,467,425,303,241,303,497"
)
_BOLD = (
    "200,315,482,513,513,841,639,275,324,324,438,513,275,322,275,344,513,513,513,513,513,513,513,513,513,513,275,275,513,"
    "513,513,444,875,558,597,576,625,538,510,628,663,282,494,597,502,745,657,674,582,674,592,545,546,655,536,800,541,501,"
    "540,324,344,324,513,500,549,516,563,462,564,507,317,520,558,262,263,522,271,843,560,549,564,564,373,431,361,556,495,"
    "748,481,495,443,324,255,324,513"
)
_WIDTHS = {False: [int(n) for n in _REGULAR.split(",")], True: [int(n) for n in _BOLD.split(",")]}
_OTHERS = {"…": 956, "—": 800, "→": 838, "←": 838, "↓": 838, "↑": 838, "≥": 838, "≤": 838, "≈": 838}
"""Wider than most characters beyond those, in either weight."""
_WIDE_FROM = 0x2E80  # CJK and full-width forms take a whole em


@lru_cache(maxsize=4096)
def width(text: str, *, bold: bool = False, size: float = SIZE) -> float:
    """Width of ``text`` in user units at ``size``."""
    table = _WIDTHS[bold]
    thousandths = 0
    for character in text:
        code = ord(character)
        if 0x20 <= code <= 0x7E:
            thousandths += table[code - 0x20]
        elif code == 0xA0:
            thousandths += table[0]
        else:
            thousandths += 1000 if code >= _WIDE_FROM else _OTHERS.get(character, 560)
    return thousandths * size / 1000


def shorten(text: str, room: float, *, bold: bool = False) -> str:
    """Cut ``text`` with an ellipsis where it is wider than ``room``."""
    if width(text, bold=bold) <= room:
        return text
    kept = text
    while kept and width(kept + "…", bold=bold) > room:
        kept = kept[:-1]
    return kept.rstrip(" ,·") + "…"


def wrap(text: str, room: float, *, lines: int = 2, bold: bool = False) -> list[str]:
    """Break ``text`` into at most ``lines`` lines no wider than ``room``; the last one is cut if it must be."""
    rows: list[str] = []
    words = _words(text, room, bold=bold)
    while words and len(rows) < lines - 1:
        row = words.pop(0)
        while words and width(row + words[0], bold=bold) <= room:
            row += words.pop(0)
        rows.append(row.strip())
    if words:
        rows.append(shorten("".join(words).strip(), room, bold=bold))
    return rows or [""]


def _words(text: str, room: float, *, bold: bool) -> list[str]:
    """Pieces a line may end after: at spaces, between CJK characters, and anywhere in a word too wide by itself."""
    pieces: list[str] = [""]
    for character in text:
        breaks = pieces[-1] and (
            pieces[-1][-1] == " " or ord(character) >= _WIDE_FROM or width(pieces[-1], bold=bold) > room * 0.9
        )
        if breaks and character != " ":
            pieces.append(character)
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece]
