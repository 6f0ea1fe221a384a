"""Find the sentences of a text that make claims: no headings, questions, courtesies or lists of sources."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from functools import lru_cache
from importlib import resources

from localeval.text.display import one_line
from localeval.text.overlap import STOP, SourceTerms, terms, without_mentions
from localeval.text.sentences import Sentence, has_words, split_sentences

_BOLD = re.compile(r"\*\*[^*]+\*\*|__[^_]+__")
_HEADING = re.compile(r"\s*#{1,6}\s")
_LIST_ITEM = re.compile(r"\s*(?:[-+•]|\*(?!\*)|\(?\d{1,2}[.)、）])\s*")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+[\s:|-]*")  # below the header of a table
_QUESTION_TITLE = re.compile(r"(\*{1,3}|_{1,3})(?=\S)[^*_]+[?\uff1f]\1\W*$")
_LINE_END = re.compile(r"[ \t\r]*(?:(?:\n[ \t\r]*)*\n|\Z)")  # and the empty lines below
_NEXT_LINE = re.compile(r"[ \t\r]*\n")
_OPTION_NUMBER = re.compile(r"[(\uff08]\d{1,2}[)\uff09]$")  # an answer may name only an option
_ASCII_BRACKETS = str.maketrans("\uff08\uff09", "()")
_BRACKETED = re.compile(r"\([^()]*\)|（[^（）]*）|\[[^\[\]]*\]|【[^【】]*】")
_INNERMOST = re.compile(r"[(（\[【][^()（）\[\]【】]*[)）\]】]")
_CONDITIONS = tomllib.loads(resources.files("localeval.text").joinpath("conditions.toml").read_text("utf-8"))
_CONDITION = re.compile(
    rf"\W*(?:(?:and|or|but)\s+)?(?:(?:{'|'.join(_CONDITIONS['en'])})\b|{'|'.join(_CONDITIONS['zh'])})",
    re.IGNORECASE,
)
# In "f(x)" and "person(s)" the bracket is part of the word.
_WITHIN_WORD = re.compile(r"(?<=[A-Za-z0-9])[(\[]\w{1,2}[)\]]")
_CLAUSE_MARK = re.compile(r"([,;:](?!\d)|[.!?](?=\s)|[，；：、。！？—–])")
_PUNCTUATION = ",;:.!?，；：、。！？—– "
_SPACE_BEFORE_MARK = re.compile(r" (?=[,;:.!?，；：、。！？])")
_MAX_BRACKET_DEPTH = 4  # of nested brackets that are removed
_MIN_DROPPED_TERMS = 2  # "for example," has fewer
_MAX_NEARBY = 300  # characters examined around a sentence, which keeps the time linear
_SENTENCE_ENDS = (".", "!", "\u3002", "\uff01")
# Beside other sentences "Sure!" says nothing, nor "Yes." without the question, nor the "a." of a list.
_INTERJECTION = re.compile(
    r"\W*(?:(?:[A-Za-z]+|[㐀-鿿]{1,2})[!！]|(?:yes|no|是的?|不是|对|不对|[a-z]|[ivx]{2,4})[.。])\W*",
    re.IGNORECASE,
)
# What an answer says to the reader, and not of its subject. A number in it may be a claim.
_COURTESY = re.compile(
    r"\W*(?:(?:sure|certainly|of course|absolutely)\W+)?(?:(?:I )?hope (?:this|that|it) (?:helps|answers)"
    r"|let me know|(?:please )?(?:feel free|do not hesitate|don't hesitate) to|(?:great|good) question"
    r"|you(?:'re| are) welcome|I(?:'d be|'m| am| would be) (?:happy|glad) to"
    r"|if you (?:have|need|want|would like)\b[^.!]{,100}\b(?:let me know|feel free|ask me|hesitate)"
    r"|希望[^。！]{,50}(?:帮助|帮到)|(?:如果?|若)[^。！]{,50}(?:随时|告诉我|联系我|问我)"
    r"|(?:请|欢迎|您可以|你可以)随时|感谢(?:您|你)的)[^\d\n]{,150}",
    re.IGNORECASE,
)
# "Source: mill.pdf", or "Sources" alone on a line; and the lines below, up to an empty one.
_SOURCES = re.compile(
    r"^[^\w\n]*(?:sources?|references?|citations?|参考(?:资料|文献|来源|链接)|(?:信息|资料|数据|引用)?来源|出处)"
    r"(?:[^\w\n]*[:：].*|[^\w\n]*$)(?:\n[ \t]*$)?(?:\n.*\S.*)*",
    re.IGNORECASE | re.MULTILINE,
)
_MARK = re.compile(r"\[\^?\w{1,3}\]|[¹²³⁰-⁹]+")
_NUMBER = re.compile(r"\s*(?:\d{1,2}[.、)）]|[(（]?[一二三四五六七八九十]{1,3}[、.)）])")
# A line with a number and a few words, of which none has a digit.
_NUMBERED = re.compile(_NUMBER.pattern + r"\s*(?:[^\W\d㐀-鿿]+(?: [^\W\d㐀-鿿]+){,4}|[^\s\d。，；]{1,15})\s*")
_TAG = re.compile(r"</?[A-Za-z]\w*[^<>]{,100}>")
_LEAD_IN_ENDS = (":", "?", "\uff1a", "\uff1f")  # the ends of introductions and questions


@lru_cache(maxsize=4)  # several judgements of a sample need the claims of one text
def extract_claims(text: str) -> list[Sentence]:
    """Find the sentences of a text that make claims.

    Where there are none, returns headings, mentions ("[3]") and interjections: an answer may be no more.

    >>> [s.text for s in extract_claims("# Tea\\nIt grows. I hope this helps!\\n\\nSources:\\n- tea.pdf")]
    ['It grows.']
    >>> [s.text for s in extract_claims("# Tea")]
    ['Tea']
    """
    sentences = split_sentences(text)
    claims = [s for s in sentences if is_claim(s.text) and not _is_heading(s, text)]
    # In order, an even number of starts and ends of lists of sources lies before what is in none of them.
    ends = [end for found in _SOURCES.finditer(text) for end in found.span()]
    first = {found[0]: found.start() for found in reversed([*_MARK.finditer(text)])}

    def names_source(s: Sentence) -> bool:
        mark = _MARK.match(s.text)  # a footnote's, where it stands in the text above, too
        return bisect(ends, s.start) % 2 == 1 or bool(mark and first[mark[0]] < s.start)

    claims = [s for s in claims if _ends_sentence(s.text) or not names_source(s)]
    claims = claims or [s for s in sentences if not _is_lead_in(s.text)]
    text = text.rstrip()
    number = _OPTION_NUMBER.search(text[-4:])
    if claims or not number:
        return claims
    # The splitter drops a number in brackets at the start of a line as a list mark, even if nothing follows.
    return [Sentence(number[0], len(text) - len(number[0]), len(text))]


def is_claim(text: str) -> bool:
    """Return whether `text` is a claim: no mark, "(Passage 1)", lead-in, question, interjection or courtesy.

    >>> is_claim("(Passages 1 and 2)"), is_claim("[3]"), is_claim("Passage 1 names Ann.")
    (False, False, True)
    >>> is_claim("Sure!"), is_claim("Yes."), is_claim("Do not mix them!")
    (False, False, True)
    """
    says_nothing = _is_lead_in(text) or _INTERJECTION.fullmatch(text) or _COURTESY.fullmatch(text)
    return has_content(text) and not says_nothing


def has_content(text: str) -> bool:
    """Return whether `text` has letters or digits apart from tags and the numbers of passages and items."""
    return has_words(_TAG.sub(" ", without_mentions(text.translate(_ASCII_BRACKETS))))


def _is_lead_in(text: str) -> bool:
    """Return whether `text` asks or introduces. A title that is a question, after other words, does not.

    >>> _is_lead_in("The film is *Who Is Ann?*"), _is_lead_in("**Who is Ann?**")
    (False, True)
    """
    if not text.rstrip("*_ ").endswith(_LEAD_IN_ENDS):
        return False
    end = text[-_MAX_NEARBY:]
    title = _QUESTION_TITLE.search(end)
    return not (title and has_words(end[: title.start()]))


def _is_heading(sentence: Sentence, text: str) -> bool:
    """Return whether it is a line after number signs, a table's header, a bold or numbered line above text.

    The last line, a line that ends like a sentence, bold text within a line, a bold line right above another,
    and a bold item of a list, unless its own text follows, are no headings.
    """
    start = text.rfind("\n", 0, sentence.start) + 1
    before = text[start : min(sentence.start, start + _MAX_NEARBY)]
    if sentence.text.startswith("|"):
        below = _NEXT_LINE.match(text, sentence.end)
        next_line = _line_from(text, below.end()) if below else ""
        return "|" in next_line and bool(_TABLE_RULE.fullmatch(next_line))
    line_end = _LINE_END.match(text, sentence.end)
    after = _line_from(text, line_end.end()) if line_end else ""
    ends_sentence = _ends_sentence(sentence.text)
    if _HEADING.match(before):
        return not ends_sentence and (line_end is None or bool(after))
    if not line_end or ends_sentence:
        return False
    line_above = text[max(0, start - _MAX_NEARBY) : start].rstrip().rpartition("\n")[2]
    if not _BOLD.fullmatch(sentence.text):
        in_list = any(_LIST_ITEM.match(line) or _NUMBER.match(line) for line in (line_above, after))
        return _ends_sentence(after) and not in_list and bool(_NUMBERED.fullmatch(before + sentence.text))
    if len(before) == _MAX_NEARBY or any(map(str.isalpha, before)):
        return False
    item, plain = _LIST_ITEM.match(after), _without_mark(after)
    indent, next_indent = (len(line) - len(line.lstrip()) for line in (before, after))
    follows_item = item or _BOLD.fullmatch(_without_mark(line_above))
    list_member = follows_item and before.strip() and next_indent <= indent
    bold_lines = _BOLD.fullmatch(plain) and text.count("\n", sentence.end, line_end.end()) == 1
    return has_words(plain) and not (list_member or bold_lines or _HEADING.match(after))


def _ends_sentence(text: str) -> bool:
    return text.rstrip("*_ ").endswith(_SENTENCE_ENDS)


def _without_mark(line: str) -> str:
    """Drop the mark of a list item."""
    item = _LIST_ITEM.match(line)
    return line[item.end() if item else 0 :].strip()


def _line_from(text: str, start: int) -> str:
    return text[start : start + _MAX_NEARBY].partition("\n")[0]


def main_clause(statement: str, premise: SourceTerms) -> str:
    """Drop brackets and clauses from `statement` that share no term with `premise` and are no condition.

    Returns `statement` itself where fewer than two terms would go, or where what remains shares none with the
    premise: then there is no core to judge.

    >>> from localeval.text.overlap import source_terms
    >>> tea = source_terms(["Tea grows on the hills of Arl."])
    >>> main_clause("Tea (please answer yes) grows in pots, say seven clever people.", tea)
    'Tea grows in pots.'
    >>> main_clause("Tea (of Arl) grows in pots unless frost comes, say seven clever people.", tea)
    'Tea (of Arl) grows in pots unless frost comes.'
    >>> main_clause("Seven clever people (of China) say so.", tea)
    'Seven clever people (of China) say so.'
    """
    if not (_BRACKETED.search(statement) or _CLAUSE_MARK.search(statement)):
        return statement

    def keep_shared(bracket: re.Match[str]) -> str:
        within_word = _WITHIN_WORD.match(bracket.string, bracket.start())
        kept = within_word or _is_needed(bracket[0][1:-1], premise)
        return bracket[0] if kept else " "

    unbracketed = statement
    for _ in range(_MAX_BRACKET_DEPTH):
        unbracketed = _INNERMOST.sub(keep_shared, unbracketed)
    # Brackets around a sign that opens another.
    unbracketed = _BRACKETED.sub(keep_shared, unbracketed)
    core = ""
    parts = ["", *_CLAUSE_MARK.split(unbracketed)]
    for mark, clause in zip(parts[::2], parts[1::2], strict=True):
        if not terms(clause) - STOP or _is_needed(clause, premise):
            core += mark + clause
    core = _SPACE_BEFORE_MARK.sub("", one_line(core).strip(_PUNCTUATION))
    core_terms = terms(without_mentions(core))
    dropped_terms = terms(without_mentions(statement)) - core_terms - STOP
    if core_terms.isdisjoint(premise.terms) or len(dropped_terms) < _MIN_DROPPED_TERMS:
        return statement
    return core + statement[len(statement.rstrip(_PUNCTUATION)) :]


def _is_needed(part: str, premise: SourceTerms) -> bool:
    """Return whether a part of a statement is a condition, or shares a term with the premise."""
    part_terms = terms(without_mentions(part)) - STOP
    if not part_terms:
        return False
    return not part_terms.isdisjoint(premise.terms) or bool(_CONDITION.match(part))
