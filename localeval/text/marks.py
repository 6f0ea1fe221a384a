"""Marks, tags and sources: what stands in a response and says nothing of its own."""

from __future__ import annotations

import re

from localeval.text.citation_marks import FORMS, FORMS_IN_ROUND_BRACKETS
from localeval.text.content_words import bare, words_of
from localeval.text.display import one_line
from localeval.text.script import BASIC_HAN
from localeval.text.sentences import has_words
from localeval.text.word_lists import read_lists

# Characters: a longer text is no mark and no entry of a list of sources.
_MAX_SOURCE = 250

_NUMBERS = r"\^?[sS]?\d{1,3}(?:\s*[,;、–-]\s*\^?[sS]?\d{1,3})*\^?"
_PASSAGE_NAMES = read_lists("text", "en")["passage_names"] + read_lists("text", "zh")["passage_names"]
_PASSAGE = rf"(?:{'|'.join(_PASSAGE_NAMES)})"
_PASSAGES = (
    rf"{_PASSAGE}\s*[#:：]?\s*\d{{1,3}}"
    rf"(?:\s*(?:,|and|or|to|&|-|–|、|，|和|与|及|至)\s*(?:and\s+)?(?:{_PASSAGE}\s*)?\d{{1,3}})*"
    r"|第\s*\d{1,3}\s*(?:段|篇|页|条资料|份资料)"
)
_MARK = re.compile(
    # "[3]", "[citation:1]", "[4:0†source]", "[S1]", "[[1]](https://...)", "##1$$"
    r"[\[【]\[?\s*(?:(?:citation|ref|source|chunk|doc|document|passage|context|id)s?[\s:：#_]*)?"
    rf"{_NUMBERS}(?::\d{{1,3}})?(?:†\w{{0,20}})?\s*\]?[\]】](?:\([^()\s]{{1,300}}\))?"
    r"|##\d{1,3}\$\$|<sup>\W{0,3}\w{1,3}\W{0,3}</sup>|\{\d{1,2}\}|[⁰¹²³⁴-⁹①-⑳]|<\|\w{1,30}\|>"
    # "(Passages 1 and 2)"
    rf"|[(（\[【]\s*(?:see\s+)?(?:{_PASSAGES})\s*[)）\]】]",
    re.IGNORECASE,
)
_CITATION = re.compile(f"{FORMS}|{FORMS_IN_ROUND_BRACKETS}", re.IGNORECASE)
_NAMED_PASSAGES = re.compile(rf"(?<![^\W\d_])(?:{_PASSAGES})(?!\w)", re.IGNORECASE)
_NUMBER_IN_BRACKETS = re.compile(r"[(（]\s*\d{1,2}\s*[)）]")
_TAG = re.compile(
    r"</?([A-Za-z][A-Za-z0-9]{0,15})"
    r"((?:\s+[A-Za-z-]{1,20}(?:=(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}'|[^\s\"'<>]{1,300}))?)*)\s*/?>"
)
_ATTRIBUTE = re.compile(r"\s([A-Za-z-]{1,20})(?:=(?:\"[^\"]*\"|'[^']*'|[^\s\"']+))?")

_INITIAL = re.compile(r"(?<!\w)[A-Z]\.|\bet al\b")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_ENTRY_MARK = re.compile(r"\s*(?:[-*+•]\s+)?(?:\[\^?\w{1,3}\]:?|\(?\d{1,2}[.)、]|\^?\d{1,2}\.)?\s*")
_LABEL = re.compile(rf"[\W_]*([A-Za-z]{{3,14}}|[{BASIC_HAN}]{{2,4}})[\W_]*?[:：]\s*[*_]*")
_BRACKETED = re.compile(r"[(（\[【<]([^()（）\[\]【】<>]*)[)）\]】>][.。]?")
_ADDRESS = re.compile(
    r"<?(?:https?://|www\.)[^\s<>]+>?|(?:[\w-]+\.)+[a-z]{2,6}(?:/\S*)?|[\w.-]*\.[\w.-]+(?:/[\w.-]+)+/?",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]\n]{0,100})\]\([^()\s]{1,300}\)")
_FILE = re.compile(
    r"(?:\S{1,40}\s+){0,4}\S{0,80}\.(?:pdf|docx?|pptx?|xlsx?|html?|md|txt|csv|jsonl?)"
    r"(?:[\s,;]*(?:pp?\.|pages?|第)?\s*\d{1,4}(?:\s*[-–]\s*\d{1,4})?\s*页?)?",
    re.IGNORECASE,
)
_PAGE = re.compile(r"(?:\S{1,40}\s+){0,8}\S{0,40}\bpp?\.\s*\d{1,4}(?:\s*[-–]\s*\d{1,4})?", re.IGNORECASE)
_TITLE_WITH_YEAR = re.compile(
    r"[^!?。！？:：]{2,120}[(（](?:1[5-9]|20)\d\d[a-z]?[)）](?:[.,][^!?。！？:：]{0,120})?"
)


def without_marks(text: str) -> str:
    """Replace tags of HTML and the numbers of passages by a space; a tag with words of its own stays.

    >>> without_marks("It is red</b> [3] (Passages 1 and 2) [1812] <Napoleon>")
    'It is red      [1812] <Napoleon>'
    """
    # Before the tags: the number in <cite>1</cite> is no word.
    return _MARK.sub(" ", without_tags(_CITATION.sub(" ", text)))


def without_tags(text: str) -> str:
    """Replace tags of HTML by a space, except those with words of their own."""
    return _TAG.sub(_replacement_of_tag, text)


def _replacement_of_tag(tag: re.Match[str]) -> str:
    attributes = {name.lower() for name in _ATTRIBUTE.findall(tag[2])}
    is_plain = tag[1].lower() in words_of("tags") and attributes <= words_of("attributes")
    return " " if is_plain else tag[0]


def without_passages(text: str) -> str:
    """Replace the numbers of passages by a space, also those in a sentence: "Passage 1:"."""
    return _NAMED_PASSAGES.sub(" ", without_marks(text))


def is_mark(text: str) -> bool:
    """Return whether `text` has no word beside tags, the numbers of passages and a number in brackets.

    >>> is_mark("[3]"), is_mark("(Passages 1 and 2)."), is_mark("</p>"), is_mark("(12)")
    (True, True, True, True)
    >>> is_mark("[1812]"), is_mark("(Napoleon)"), is_mark("<img alt='Napoleon'>")
    (False, False, False)
    """
    return not has_words(_NUMBER_IN_BRACKETS.sub(" ", without_marks(text)))


def has_content(text: str) -> bool:
    """Return whether `text` has letters or digits apart from marks, and is not the name of a source.

    >>> has_content("[3]"), has_content("(Source: mill.pdf)"), has_content("(Source: Napoleon built it.)")
    (False, False, True)
    """
    return not is_mark(text) and not is_source(text)


def is_source_heading(text: str) -> bool:
    """Return whether `text` is a heading of sources, such as "References:".

    >>> is_source_heading("**Sources:**"), is_source_heading("参考资料："), is_source_heading("Results")
    (True, True, False)
    """
    return bare(text) in words_of("source_labels")


def is_source(text: str, listed: bool = False) -> bool:
    """Return whether `text` is recognizably a source: a file, an address, a numbered passage, a page.

    After a label, or with `listed` below a heading of sources, a title with its year in brackets is one.

    >>> is_source("Source: mill.pdf"), is_source("[1]: https://a.org/b"), is_source("（来源：资料1）")
    (True, True, True)
    >>> is_source("Sources: 12 people praised her"), is_source("The Mill (1820)", listed=True)
    (False, True)
    """
    if len(text) > _MAX_SOURCE:
        return False
    entry = _without_frame(text)
    label = _LABEL.match(entry)
    if label and label[1].lower() in words_of("source_labels"):
        listed = True
        entry = entry[label.end() :]
    unmarked = _ENTRY_MARK.sub("", entry, count=1)
    name = without_passages(unmarked).strip("*_ .。")
    if not has_words(name):
        # Only the number of a passage, or of an entry behind a label.
        return has_words(unmarked) or bool(label and has_words(entry))
    if _names_place(name):
        return True
    link = _LINK.fullmatch(name)
    if link:
        return listed or _names_file(link[1]) or not has_words(link[1])
    return listed and _is_dated_title(_LINK.sub(" ", name))


def _without_frame(text: str) -> str:
    """Return an entry of a list of sources on one line, without the marks and brackets around it."""
    entry = one_line(text).strip("*_>• ")
    in_brackets = _BRACKETED.fullmatch(entry)
    if in_brackets:
        entry = in_brackets[1].strip()
    mark = _ENTRY_MARK.match(entry)
    if mark and mark.end() < len(entry):
        entry = entry[mark.end() :].strip("*_ ")
    return entry


def _names_file(text: str) -> bool:
    return bool(_ADDRESS.fullmatch(text) or _FILE.fullmatch(text))


def _names_place(text: str) -> bool:
    """Return whether a text is an address, a file, or a title with its page."""
    return _names_file(text) or bool(_PAGE.fullmatch(text))


def _is_dated_title(text: str) -> bool:
    return bool(_TITLE_WITH_YEAR.fullmatch(text)) and _is_title(text)


def _is_title(entry: str) -> bool:
    """Return whether an entry is no sentence: it has an initial, or the capitals or marks of a title.

    >>> _is_title("Lee, A. (1820). The mill"), _is_title("The Mill (1820)"), _is_title("Ann built it (1820)")
    (True, True, False)
    """
    if _INITIAL.search(entry) or entry.startswith(("《", '"', "“")):
        return True
    words = _LATIN_WORD.findall(entry)
    if not words:
        return False
    # Short words, as "of", are written small within a title.
    capitalized = [word for word in words if len(word) > 3 or word == words[-1]]
    return all(word[0].isupper() for word in capitalized)
