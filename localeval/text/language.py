"""The language of a text, and a model's thinking, which is no part of what it said."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from localeval.errors import InputError

_BLOCK = re.compile("<think>.*?</think>", re.DOTALL)
_END_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_LETTERS = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_KANA_HANGUL = re.compile(r"[\u1100-\u11ff\u3041-\u30ff\u3131-\u318e\uac00-\ud7af\uff66-\uff9d]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]+")

# Fewer words or letters than these are names as often as not, of which nobody can tell the language.
_FEWEST_WORDS, _FEWEST_LETTERS = 5, 20
_LOOKED_AT = 5000  # characters
# Words that hardly any other language has. Where a tenth of all words are such, it is English.
_ENGLISH = frozenset(["the", "and", "of", "that", "with", "are", "from", "this", "has", "have", "been"])
_NOT_ENGLISH = 0.01  # P(English) below which a text is in another language, for a call that is sure


def strip_thinking(text: str) -> tuple[str, bool]:
    """Drop `<think>...</think>` blocks; give the text, and whether there was one.

    A block that opens the text and is never closed is all of it: the model ran out of room while thinking.
    Where the opening stood in the prompt, a text begins inside: a lone `</think>` at a line's end closes it.

    >>> strip_thinking("<think>Hm.</think>Paris.")
    ('Paris.', True)
    """
    first = text.find("</think>")
    if first >= 0 and "<think>" not in text[:first] and _END_OF_LINE.match(text, first + len("</think>")):
        text = "<think>" + text
    closed, mark, rest = text.rpartition("</think>")
    kept, blocks = _BLOCK.subn("", closed + mark)  # each one is closed: the time stays linear
    before, unclosed, _ = rest.partition("<think>")
    if unclosed and not (kept + before).strip():
        return "", True
    return ((kept + rest).strip(), True) if blocks else (text, False)


@lru_cache(maxsize=16)  # the texts of a sample are asked about by each of its judgements
def language(text: str) -> str:
    """ "zh", "en" or "other": by its script, and in Latin letters by its words.

    English is what may be English: a text of a few words, and what the detector is not sure of.

    >>> language("法院判决 Acme 赔偿"), language("Paris."), language("Il pleut souvent en automne.")
    ('zh', 'en', 'other')
    """
    if (written := script(text)) != "latin":
        return "zh" if written == "han" else "other"
    text = text[:_LOOKED_AT]
    words = _LETTERS.findall(text.lower())
    few = len(words) < _FEWEST_WORDS or sum(map(len, words)) < _FEWEST_LETTERS
    if few or sum(word in _ENGLISH for word in words) >= 0.1 * len(words):
        return "en"
    return "other" if dict(_detector().rank(text))["en"] < _NOT_ENGLISH else "en"


def script(text: str) -> str:
    """ "han", "latin" or "other", by the shares among the letters; with no letter at all "latin".

    >>> script("法院判决 Acme Corporation 赔偿"), script("Il pleut."), script("Идёт дождь.")
    ('han', 'latin', 'other')
    """
    if text.isascii():  # its letters, if it has any, are Latin
        return "latin"
    letters, han, others, latin = (
        sum(map(len, signs.findall(text))) for signs in (_LETTERS, _HAN, _KANA_HANGUL, _LATIN)
    )
    # One Han character says about as much as three Latin letters: at a quarter, half of what is said is
    # Chinese, though names and terms are in Latin. Japanese is mostly kana beside its Han characters, and
    # Chinese has none but in a name.
    if letters and han >= 0.25 * letters and others <= 0.1 * (han + others):
        return "han"
    return "latin" if latin >= 0.5 * letters else "other"


@lru_cache(maxsize=1)
def _detector() -> Any:
    """py3langid's, loaded on first use in a second: of texts in English most do without.

    It unpacks its model into a temporary file. Raises InputError where there is no room for that.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise InputError(
            f"the language detector can't unpack its model ({error.strerror}); make room for a temporary "
            "file of 10 MB, or set TMPDIR to a folder on another disk."
        ) from error
