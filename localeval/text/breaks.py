"""Ends of sentences that pysbd misses, and places within a sentence that it takes for an end.

Each function reads one line of prose. Their lists of words are in words/breaks.toml. The time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from localeval.text.word_lists import read_lists

_MAX_TOKEN = 80  # characters before and after a mark that are looked at

# A footnote's mark: [1], [2, 3], [^1^], 【4:0†source】, [citation:5], [[1]](#a), <sup>1</sup>, ##1$$, {1}.
_BRACKET_MARK = (
    r"[\[【]\[?\^?(?:(?:citation|ref|source|chunk|doc|id|ID|s|S)[\s:：#_]?\s?)?\d{1,3}(?:\s?[,、;–-]\s?\^?\d{1,3}){0,9}"
    r"\^?(?:[:†][^\[\]【】\n]{0,40})?\]?[\]】](?:\([^()\s]{1,300}\))?"
    r"|\[\^\w{1,9}\]|<sup>[\d\[\],\s]{1,9}</sup>|\#\#\d{1,3}\$\$|\{\d{1,2}\}"
)
_NOTE_MARKS = re.compile(rf"(?:[¹²³⁰⁴-⁹]|{_BRACKET_MARK})+")
_SPACED_MARKS = re.compile(rf"(?:\s?(?:{_BRACKET_MARK}))+")
_LEADING_MARK = re.compile(rf"\s*(?:{_BRACKET_MARK})")

_OTHER_END = re.compile("[।॥؟۔።։။។]+[\"'”’»)]*")  # of Hindi, Arabic, Urdu, Amharic, Armenian, Burmese, Khmer
_HAN_ELLIPSIS = re.compile(r"(?:…{2,}|\.{6,})")
_MIN_HAN = 3  # characters before an ellipsis that make a sentence; "这……我" hesitates

# A mark with no space after it, then a capital. Straight quotes may as well open what follows.
_NO_SPACE = re.compile(rf"[.!?][”’)\]]*(?:[¹²³⁰⁴-⁹]|{_BRACKET_MARK})*(?=[A-Z])")
_TOKEN_BEFORE = re.compile(r"\S+$")
_PLAIN_WORD = re.compile(r"[(“‘]*([A-Za-z][a-z]*(?:-[a-z]+)?(?:['’][a-z]{1,2})?),?(?=\s|$)")
_NO_WORD = re.compile(r"://|www\.|[@/\\_=`<>{}]")  # in a token: a URL, an address, a path or code
_LOWER_END = re.compile(r"[a-z]{2}[”’)\]]*$")
_NUMBER_END = re.compile(r"(?:^\d{3,4}|[%°])[”’)\]]*$")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]$")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")

_ABBREVIATED = re.compile(r"\b(?:(?:[A-Z]\.){2,4}|Ph\.D\.)(?=\s+[A-Z])")
_NAME_THEN_WORD = re.compile(r"\s+([A-Z][a-z]+)\s+([a-z]+)\b")
_PREPOSITION_THE = re.compile(r"\b(?:at|by|for|from|in|into|of|through|to|with)\s+(?:the\s+)?$")
_WORD = re.compile(r"[A-Za-z]+")
_PAST = re.compile(r"[a-z]{2}ed$")

_ORDINAL = re.compile(r"(?:^|\s)(\S{2,6})\s+\d{1,2}\.$")
_CAPITALIZED = re.compile(r"\s+([A-ZÄÖÜ][a-zäöüß]+)")

_BULLETS = "•●▪◦‣■"
_BULLET = re.compile(rf"(?:(?<=[\s.。!！?？;；:：])|^)[{_BULLETS}](?=\s*\S)")
_CIRCLED = re.compile("[①-⑳]|[⑴-⒇]|[❶-❿]")
_CIRCLED_ONES = frozenset(map(ord, "①⑴❶"))
_BEFORE_ITEM = "：:；;，,。.、！!？?\n\t 　（("

_ANSWER = re.compile(r"\s+([a-z]+)(?=[.,;!]|\s*$)")

# Math and code within a line. Money ("$5 and $6") has a digit after its sign, math one of its own signs.
_PROTECTED = re.compile(
    r"(?<!`)`(?![`\s])[^`\n]{1,300}(?<!\s)`(?!`)"
    r"|\$\$[^$\n]{1,300}\$\$|\\\([^\n]{1,300}?\\\)|\\\[[^\n]{1,300}?\\\]"
    r"|\$(?![\s\d$;,.:!?)])(?=[^$\n]{0,300}[=\\^_{}<>+])[^$\n]{1,300}(?<![\s$])\$(?!\d)"
)


@lru_cache
def _words(name: str) -> frozenset[str]:
    return frozenset(read_lists("text", "breaks")[name])


def missed_ends(line: str, script_name: str) -> list[int]:
    """Return where sentences end that pysbd joins with the next ones, in order.

    >>> missed_ends("It is old.It is big.", "latin"), missed_ends("See e.g.This or example.com.", "latin")
    ([10], [])
    >>> missed_ends("He has an M.D. She is 40.", "latin"), missed_ends("他走了……她来了。", "han")
    ([14], [5])
    """
    ends: set[int] = set()
    if not line.isascii():
        ends.update(found.end() for found in _OTHER_END.finditer(line))
    if script_name == "han":
        ends.update(_han_ellipses(line))
    for found in _NO_SPACE.finditer(line):
        before = line[max(0, found.start() - _MAX_TOKEN) : found.start()]
        if _begins_sentence(before, line[found.end() : found.end() + _MAX_TOKEN]):
            ends.add(found.end())
    for found in _ABBREVIATED.finditer(line):
        if _ends_after_initials(line, found.start(), found.end()):
            ends.add(found.end())
    ends.discard(len(line))
    return sorted(ends)


def _begins_sentence(before: str, after: str) -> bool:
    """Return whether a sentence begins with `after`, which follows a mark with no space between."""
    token_found = _TOKEN_BEFORE.search(before)
    following = _PLAIN_WORD.match(after)
    if not token_found or not following:
        return False
    token = token_found[0].lstrip("(“‘\"'*")
    word = following[1]
    if _NO_WORD.search(token) or word in _words("suffixes"):
        return False
    is_opener = word in _words("openers")
    is_longer = len(word) > 1
    if _INITIALS.search(token):
        return is_opener and is_longer
    if token.lower() in _words("abbreviations") or "." in token:
        return False
    if _NUMBER_END.search(token):
        return is_opener or is_longer
    if not _LOWER_END.search(token):
        return False
    earlier = before[: token_found.start()].rstrip()
    return is_opener or (is_longer and _is_plain_inner_word(token, earlier))


def _is_plain_inner_word(token: str, earlier: str) -> bool:
    """Return whether a token before a mark is no name, and does not begin a sentence.

    "Vue.Js", "fmt.Println" and "self.Name" are names: a name, a word without a vowel, or the first word of a
    sentence ends it only before a word that begins one.
    """
    is_first = not earlier or earlier.endswith((".", "!", "?"))
    return not is_first and token[0].islower() and bool(_VOWEL.search(token))


def _ends_after_initials(line: str, start: int, end: int) -> bool:
    """Return whether a sentence ends with the initials from `start` to `end`.

    It does before a word that begins a sentence. It does before a name with a verb, too, if a sentence with a
    verb has been said ("They met in the U.K. Bob is old."), and the name is no institution of the initials'
    country ("They met in the U.K. Parliament").
    """
    after = line[end : end + _MAX_TOKEN]
    following = _PLAIN_WORD.match(after.lstrip())
    if following and len(following[1]) > 1 and following[1] in _words("openers"):
        return True
    name = _NAME_THEN_WORD.match(after)
    if not name or name[1] in _words("institutions") or name[2] not in _words("verbs"):
        return False
    before = line[max(0, start - _MAX_TOKEN) : start]
    said = _WORD.findall(before.rpartition(". ")[2])
    has_verb = any(word in _words("verbs") or _PAST.search(word) for word in said)
    has_subject = bool(said) and said[0] in _words("pronouns")
    return (has_verb or has_subject) and bool(_PREPOSITION_THE.search(before))


def _han_ellipses(line: str) -> Iterator[int]:
    """Yield where "……" ends a Chinese sentence, and not a list or a hesitation."""
    after_list = tuple(_words("after_han_list"))
    last = 0
    for found in _HAN_ELLIPSIS.finditer(line):
        said = sum(map(str.isalpha, line[max(last, found.start() - _MAX_TOKEN) : found.start()]))
        if said >= _MIN_HAN and not line.startswith(after_list, found.end()):
            yield found.end()
        last = found.end()


def item_starts(line: str, has_bullet: bool) -> list[int]:
    """Return where the items of a list within a line begin: at bullets or circled numbers in order.

    has_bullet  whether a bullet stands before the line

    >>> item_starts("old • big", True), item_starts("Tue • 5 pm", False), item_starts("含：①甲②乙", False)
    ([4], [], [2, 4])
    """
    if line.isascii():
        return []
    starts = _bullets(line, has_bullet) + _circled_numbers(line)
    return sorted(start for start in starts if start)


def _bullets(line: str, has_bullet: bool) -> list[int]:
    """Return where bullets stand; a single one of a line without a bullet before it is none."""
    starts = [found.start() for found in _BULLET.finditer(line)]
    number = len(starts) + 1 if has_bullet else len(starts)
    return starts if number > 1 else []


def _circled_numbers(line: str) -> list[int]:
    """Return where two circled numbers or more stand in order, with text between them."""
    starts: list[int] = []
    run: list[int] = []
    expected: int | None = None
    for found in _CIRCLED.finditer(line):
        number = ord(found[0])
        position = found.start()
        opens = number in _CIRCLED_ONES and (position == 0 or line[position - 1] in _BEFORE_ITEM)
        if number != expected and not opens:
            continue
        if opens:
            if len(run) > 1:
                starts += run
            run = []
        has_text = not run or any(map(str.isalnum, line[run[-1] + 1 : position]))
        if has_text:
            run.append(position)
            expected = number + 1
    if len(run) > 1:
        starts += run
    return starts


def without_bullet(text: str) -> str:
    """Drop white space and bullets before `text`."""
    return text.lstrip(_BULLETS + " \t\u3000\xa0").lstrip()


def after_notes(line: str, end: int, leads: bool) -> int:
    """Return where a sentence ends that has its footnotes' marks after its end mark.

    leads  whether marks with a space before them belong to the next sentence, as in "[1] Tea. [2] Rain."

    >>> after_notes("It is old.¹ It is big.", 10, False), after_notes("It is old. [1] It is big.", 10, False)
    (11, 14)
    """
    marks = _NOTE_MARKS.match(line, end)
    if marks:
        end = marks.end()
    spaced = _SPACED_MARKS.match(line, end)
    if spaced and not leads:
        end = spaced.end()
    return end


def begins_with_note(line: str) -> bool:
    """Return whether the line begins with a mark in brackets, as an entry of a list of sources does."""
    return bool(_LEADING_MARK.match(line))


def protected_spans(line: str) -> list[tuple[int, int]]:
    """Return (start, end) of code and math within the line, which no end of a sentence breaks.

    >>> protected_spans("If $x = 1. Y$ holds, it costs $5. It is $6.")
    [(3, 13)]
    """
    return [found.span() for found in _PROTECTED.finditer(line)]


def is_ordinal(before: str, after: str) -> bool:
    """Return whether the dot that ends `before` makes a number ordinal, as in "am 3. Mai".

    >>> is_ordinal("Er kam am 3.", " Mai an."), is_ordinal("I am 30.", " My name is Ann.")
    (True, False)
    """
    found = _ORDINAL.search(before)
    following = _CAPITALIZED.match(after)
    if not found or not following:
        return False
    word = found[1].lower()
    is_day = word in _words("before_day") and following[1] in _words("months")
    return is_day or word in _words("before_ordinal")


def begins_with_answer(after: str) -> bool:
    """Return whether a one-word answer in small letters follows: " yes. Is it big?"."""
    found = _ANSWER.match(after)
    return bool(found and found[1] in _words("answers"))
