"""The words of a text, with which the words of another text are compared.

Words are compared without their endings, as far as their first letters tell. Chinese is compared by pairs of
characters, since its words have no spaces between them. No model is asked.
"""

from __future__ import annotations

from functools import lru_cache

from localeval.claims.question_words import plain_letters, question_words
from localeval.claims.terms import STOP, TERM, terms

_MIN_PREFIX = 4  # letters that two forms of one word share
_MIN_PREFIX_SHARE = 0.6  # of the shorter form: "company" is no form of "computer"
_LONG_PREFIX = 6  # letters from which any endings may follow
_MIN_STEM = 3
_MIN_FIRST_PART = 3  # letters of a compound before its last part
_MIN_ACRONYM = 3  # capital letters
_MAX_ALIKE = 100  # words with the same first or last letters that are compared, which keeps the time linear


class Vocabulary:
    """The words of a text, with which the words of another text are compared."""

    def __init__(self, text: str) -> None:
        text = plain_letters(text)
        self.terms = terms(text)
        words = [word for word in TERM.findall(text) if word.lower() not in STOP]
        self._initials = "".join(word[0] for word in words).lower()
        self._characters = frozenset("".join(self.terms))
        self._by_start: dict[str, list[str]] = {}
        self._by_end: dict[str, list[str]] = {}
        for word in sorted(self.terms):
            with_start = self._by_start.setdefault(word[:_MIN_STEM], [])
            with_end = self._by_end.setdefault(word[-_MIN_PREFIX:], [])
            for group in (with_start, with_end):
                if len(group) < _MAX_ALIKE:
                    group.append(word)

    def has(self, word: str) -> bool:
        """Return whether a form of the word, in small letters, occurs, also as the end of a compound.

        >>> countries = Vocabulary("The countries were built on dough.")
        >>> [countries.has(word) for word in ("country", "build", "sourdough", "tea")]
        [True, True, True, False]
        """
        for form in sorted(question_words().forms.get(word, frozenset((word,)))):
            if form in self.terms:
                return True
            if any(_is_form(form, known) for known in self._by_start.get(form[:_MIN_STEM], ())):
                return True
        return any(_ends_compound(word, known) for known in self._by_end.get(word[-_MIN_PREFIX:], ()))

    def abbreviates(self, word: str) -> bool:
        """Return whether a word in capital letters has the first letters of words that stand together.

        >>> bureau = Vocabulary("The Bureau of Inland Water")
        >>> bureau.abbreviates("BIW"), bureau.abbreviates("BI")
        (True, False)
        """
        return word.isupper() and len(word) >= _MIN_ACRONYM and word.lower() in self._initials

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
def vocabulary_of(text: str) -> Vocabulary:
    return Vocabulary(text)


def _is_form(word: str, other: str) -> bool:
    """Return whether two words look like forms of one.

    >>> _is_form("country", "countries"), _is_form("tea", "teas"), _is_form("run", "running")
    (True, True, True)
    >>> _is_form("tea", "team"), _is_form("bread", "break"), _is_form("company", "computer")
    (False, False, False)
    """
    shorter, longer = sorted((word, other), key=len)
    shared = _shared_letters(shorter, longer)
    endings = question_words().endings
    rest = longer[shared:]
    if shared == len(shorter) == _MIN_STEM:
        # One letter more makes another word of so short a one; "run" doubles its last letter.
        ending = rest.removeprefix(shorter[-1])
        return rest == "s" or (len(ending) > 1 and ending in endings)
    if shared < _MIN_PREFIX or shared < _MIN_PREFIX_SHARE * len(shorter):
        return False
    return shared >= _LONG_PREFIX or endings.issuperset((shorter[shared:], rest))


def _shared_letters(word: str, other: str) -> int:
    """Return how many letters two words share at their beginning."""
    shared = 0
    for letter, other_letter in zip(word, other, strict=False):
        if letter != other_letter:
            break
        shared += 1
    return shared


def _ends_compound(word: str, other: str) -> bool:
    """Return whether one word is the end of the other, as "dough" is of "sourdough"."""
    shorter, longer = sorted((word, other), key=len)
    return (
        len(shorter) >= _MIN_PREFIX
        and len(longer) - len(shorter) >= _MIN_FIRST_PART
        and longer.endswith(shorter)
    )
