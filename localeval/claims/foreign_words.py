"""Compare the content words of two texts: which words does one have that the other lacks?

Words are compared without their endings, as far as their first letters tell. Chinese is compared by pairs of
characters, since its words have no spaces between them. No model is asked.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.claims.terms import STOP, TERM, terms
from localeval.text.script import begins_with_han
from localeval.text.word_lists import longest_first, read_lists

_PREFIX = 4  # letters that two forms of one word share at least
_PREFIX_SHARE = 0.6  # share of the shorter form that they are at least: "company" is no form of "computer"
_SURE_PREFIX = 6  # letters from which any endings may follow
_SHORTEST_STEM = 3
_FIRST_PART = 3  # letters of a compound before its last part
_HAN_NAME = 3  # characters: of two, many a word is said in others
_ACRONYM = 3  # capital letters
_MOST_ALIKE = 100  # words with the same first or last letters that are compared, which keeps the time linear
_LONGEST_WORD = 30  # letters; longer ones are keys and hashes
_LONG_TOKEN = re.compile(rf"\w{{{_LONGEST_WORD + 1},}}")
_FIRST_WORD = re.compile(r"\W{0,9}(\w{1,9})[,.!;:，。！；：]")
_QUESTION_END = re.compile(r"[?？][\s\"'”’»」』）)\]*_]*$")


class _Words(NamedTuple):
    """The words of questions: English ones as sets of words, Chinese ones as patterns."""

    light: frozenset[str]
    empty: frozenset[str]
    open: frozenset[str]
    choice: frozenset[str]
    decides: frozenset[str]
    forms: dict[str, frozenset[str]]
    endings: frozenset[str]
    han_light: re.Pattern[str]
    han_empty: re.Pattern[str]
    han_open: re.Pattern[str]
    han_choice: re.Pattern[str]


@lru_cache
def _words() -> _Words:
    english = read_lists("claims", "en")["questions"]
    chinese = read_lists("claims", "zh")["questions"]
    forms: dict[str, frozenset[str]] = {}
    for row in english["forms"]:
        group = frozenset(row.split())
        for word in group:
            forms[word] = forms.get(word, frozenset()) | group
    light = " ".join([english["open"], english["asking"], english["generic"]])
    return _Words(
        light=frozenset(light.split()) | STOP,
        empty=frozenset(english["empty"].split()),
        open=frozenset(english["open"].split()),
        choice=frozenset(english["choice"].split()),
        decides=frozenset(f"{english['decides']} {chinese['decides']}".split()),
        forms=forms,
        endings=frozenset(["", *english["endings"].split()]),
        han_light=longest_first(" ".join([chinese["open"], chinese["asking"], chinese["generic"]]).split()),
        han_empty=longest_first(chinese["empty"].split()),
        han_open=longest_first(chinese["open"].split()),
        han_choice=longest_first(chinese["choice"].split()),
    )


def _normal(text: str) -> str:
    """Return the text with full-width letters and digits, ligatures and the like as plain ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def content_words(text: str) -> list[str]:
    """Return the words that say what `text` is about, in order, without words of questions in general.

    A Chinese one is what stands between such words.

    >>> content_words("When was the mill on the Arl built?"), content_words("望澜桥是什么时候通车的？")
    (['mill', 'Arl', 'built'], ['望澜桥', '通车'])
    """
    words = _words()
    text = words.han_light.sub(" ", _LONG_TOKEN.sub(" ", _normal(text)))
    return [
        word
        for word in TERM.findall(text)
        if begins_with_han(word)
        or (len(word) > 1 and not word.isdecimal() and word.lower() not in words.light)
    ]


@lru_cache(maxsize=16)  # the worked examples of a prompt are the same for all samples
def content_terms(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the `terms` of the content words of several texts, for `foreign_word`.

    >>> sorted(content_terms(("How is green tea made?", "绿茶是怎么制作的？")))
    ['green', 'tea', '制作', '绿茶']
    """
    return frozenset[str]().union(*(terms(word) for text in texts for word in content_words(text)))


class Vocabulary:
    """The words of a text, with which the words of another text are compared."""

    def __init__(self, text: str) -> None:
        text = _normal(text)
        self.terms = terms(text)
        self._initials = "".join(word[0] for word in TERM.findall(text) if word.lower() not in STOP).lower()
        self._characters = frozenset("".join(self.terms))
        self._by_start: dict[str, list[str]] = {}
        self._by_end: dict[str, list[str]] = {}
        for word in sorted(self.terms):
            for group in (
                self._by_start.setdefault(word[:_SHORTEST_STEM], []),
                self._by_end.setdefault(word[-_PREFIX:], []),
            ):
                if len(group) < _MOST_ALIKE:
                    group.append(word)

    def has(self, word: str) -> bool:
        """Return whether a form of the word, in small letters, occurs, also as the end of a compound.

        >>> countries = Vocabulary("The countries were built on dough.")
        >>> [countries.has(word) for word in ("country", "build", "sourdough", "tea")]
        [True, True, True, False]
        """
        for form in sorted(_words().forms.get(word, frozenset((word,)))):
            if form in self.terms:
                return True
            if any(_is_form(form, known) for known in self._by_start.get(form[:_SHORTEST_STEM], ())):
                return True
        return any(_ends_compound(word, known) for known in self._by_end.get(word[-_PREFIX:], ()))

    def abbreviates(self, word: str) -> bool:
        """Return whether a word in capital letters has the first letters of words that stand together.

        >>> bureau = Vocabulary("The Bureau of Inland Water")
        >>> bureau.abbreviates("BIW"), bureau.abbreviates("BI")
        (True, False)
        """
        return word.isupper() and len(word) >= _ACRONYM and word.lower() in self._initials

    def missing_parts(self, run: str) -> list[str]:
        """Return the parts of a run of Chinese characters, two or more each, of which no character occurs.

        >>> Vocabulary("面团发酵四小时。").missing_parts("绿茶发酵"), Vocabulary("茶。").missing_parts("绿茶")
        (['绿茶'], [])
        """
        parts = "".join(c if c not in self._characters else " " for c in run).split()
        return [part for part in parts if len(part) > 1]

    def unknown_pairs(self, run: str) -> list[str]:
        """Return the pairs of adjacent characters of a run that share no character with a known pair.

        At least one of the two does not occur at all.

        >>> Vocabulary("铁路很长。").unknown_pairs("铸铁锅"), Vocabulary("把铁锅刷净。").unknown_pairs("铁锅")
        (['铸铁', '铁锅'], [])
        """
        covered = self.covered(run)
        pairs = []
        for i in range(len(run) - 1):
            pair = run[i : i + 2]
            occurs = all(character in self._characters for character in pair)
            if not (covered[i] or covered[i + 1] or occurs):
                pairs.append(pair)
        return pairs

    def covered(self, run: str) -> list[bool]:
        """Return for each character of a run whether a pair with it occurs; or a lone one by itself."""
        if len(run) == 1:
            return [run in self._characters]
        covered = [False] * len(run)
        for i in range(len(run) - 1):
            if run[i : i + 2] in self.terms:
                covered[i] = covered[i + 1] = True
        return covered


@lru_cache(maxsize=4)  # a sample's draws are compared with one response
def _vocabulary(text: str) -> Vocabulary:
    return Vocabulary(text)


def _is_form(word: str, other: str) -> bool:
    """Return whether two words look like forms of one.

    >>> _is_form("country", "countries"), _is_form("tea", "teas"), _is_form("run", "running")
    (True, True, True)
    >>> _is_form("tea", "team"), _is_form("bread", "break"), _is_form("company", "computer")
    (False, False, False)
    """
    shorter, longer = sorted((word, other), key=len)
    shared = 0
    while shared < len(shorter) and shorter[shared] == longer[shared]:
        shared += 1
    endings = _words().endings
    rest = longer[shared:]
    if shared == len(shorter) == _SHORTEST_STEM:
        # One letter more makes another word of so short a one; "run" doubles its last letter.
        ending = rest.removeprefix(shorter[-1])
        return rest == "s" or (len(ending) > 1 and ending in endings)
    if shared < _PREFIX or shared < _PREFIX_SHARE * len(shorter):
        return False
    return shared >= _SURE_PREFIX or endings.issuperset((shorter[shared:], rest))


def _ends_compound(word: str, other: str) -> bool:
    """Return whether one word is the end of the other, as "dough" is of "sourdough"."""
    shorter, longer = sorted((word, other), key=len)
    return len(shorter) >= _PREFIX and len(longer) - len(shorter) >= _FIRST_PART and longer.endswith(shorter)


def foreign_word(question: str, response: str, examples: frozenset[str], *, brief: bool = False) -> str:
    """Return a word which shows that `question` was not made from `response`; "" where there is none.

    examples  `content_terms` of the worked examples that a model saw: it may have taken a word from there
    brief     whether the response is so short that a question must have words of its own

    Foreign is a word of the examples, a name or a number that the response lacks. So is the first missing
    word where the response lacks more than half of the content words: one of two or more may be said in other
    words. In Chinese, where names have no capital letters, three adjacent characters are foreign of which
    none is in the response, and two where such characters are more than half. To a brief response only words
    of the examples are foreign.

    >>> foreign_word("When was the mill built?", "The mill was built in 1820.", frozenset())
    ''
    >>> foreign_word("How is green tea made?", "Mix flour and water.", content_terms(("How is tea made?",)))
    'tea'
    >>> foreign_word("Where is Skell?", "The ferry leaves at nine.", frozenset())
    'Skell'
    """
    known = _vocabulary(response)
    words = content_words(question)
    missing: list[str] = []
    for word in words:
        if begins_with_han(word):
            copied = [pair for pair in known.unknown_pairs(word) if pair in examples]
            if copied:
                return copied[0]
            missing += known.missing_parts(word)
        elif not (known.has(word.lower()) or known.abbreviates(word)):
            if word.lower() in examples:
                return word
            missing.append(word)
    if brief:
        return ""
    names = [word for word in missing if _is_name(word, question)]
    numbers = unsupported_numbers(_LONG_TOKEN.sub(" ", question), source_terms([response]))
    if names or numbers:
        return [*names, *numbers][0]
    return missing[0] if 2 * _size(missing) > _size(words) else ""


def _size(words: list[str]) -> int:
    """Count Latin words as two, as many as the characters of most Chinese words."""
    return sum(len(word) if begins_with_han(word) else 2 for word in words)


def _is_name(word: str, question: str) -> bool:
    """Return whether a word has a capital letter that does not begin the question, or three characters.

    >>> [_is_name(word, "Open today, is Skell?") for word in ("Open", "today", "Skell")]
    [False, False, True]
    """
    if begins_with_han(word):
        return len(word) >= _HAN_NAME
    return word != word.lower() and not _normal(question).lstrip("\"'“‘*_ ").startswith(word)


def only_repeats(text: str, question: str) -> bool:
    """Return whether a text says nothing but what the question says.

    It may ask the same, in other words of questions; or it has no word or number of its own, and the question
    asks for something that it does not name itself. An answer to "Is it old?", or to "Is A or B older?", can
    have all its words from the question.

    >>> question = "When was the mill on the Arl built?"
    >>> [only_repeats(text, question) for text in ("The mill was built.", "In which year was it built?")]
    [True, True]
    >>> [only_repeats(text, question) for text in ("The mill was not built.", "It was built in 1820.")]
    [False, False]
    >>> only_repeats("The Arl is longer.", "Which is longer, the Arl or the Orrin?")
    False
    >>> question = "望澜桥是什么时候通车的？"
    >>> only_repeats("望澜桥通车了。", question), only_repeats("1962年通车。", question)
    (True, False)
    """
    known = _vocabulary(question)
    words = _words()
    if _QUESTION_END.search(text):
        own = content_words(text)
    elif _is_open(question):
        tokens = TERM.findall(words.han_empty.sub(" ", _normal(text)))
        own = [token for token in tokens if token.lower() not in words.empty]
    else:
        return False
    if any(_is_new(word, known) for word in dict.fromkeys(own)):
        return False
    return not unsupported_numbers(text, source_terms([question]))


def _is_new(word: str, known: Vocabulary) -> bool:
    if begins_with_han(word):
        return not all(known.covered(word))
    return not known.has(word.lower())


def decision_of(answer: str) -> str:
    """Return the "Yes" or "No" with which an answer begins, with the mark behind it; "" without one.

    >>> decision_of("No, it is not."), decision_of("Nobody knows."), decision_of("不是。是木头。")
    ('No,', '', '不是。')
    """
    start = _FIRST_WORD.match(answer)
    return start[0].strip() if start and start[1].lower() in _words().decides else ""


def _is_open(question: str) -> bool:
    """Return whether the question can't be answered by yes or no, nor by a choice of what it names.

    >>> [_is_open(question) for question in ("Who built it?", "Is it old?", "Which is older, A or B?")]
    [True, False, False]
    >>> [_is_open(question) for question in ("桥有多长？", "桥很长吗？", "桥和塔哪个高？")]
    [True, False, False]
    """
    words = _words()
    tokens = frozenset(terms(question))
    asks = not tokens.isdisjoint(words.open) or words.han_open.search(question)
    chooses = not tokens.isdisjoint(words.choice) or words.han_choice.search(question)
    return bool(asks) and not chooses
