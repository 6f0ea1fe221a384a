"""Detect the language of a text, and strip a model's thinking from its answer."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

from localeval.errors import InputError

# The marks around a model's thought: of Qwen, DeepSeek, Mistral, Kimi, and the channels of gpt-oss.
_THOUGHT_MARK = re.compile(
    r"<(?P<end_tag>/?)(?P<tag>think|thinking|thoughts?|reasoning)>"
    r"|\[(?P<end_bracket>/?)THINK\]"
    r"|\u25c1(?P<end_triangle>/?)think\u25b7"
    r"|(?P<channel><\|channel\|>\s{0,9}(?:analysis|commentary)[^<]{0,40}<\|message\|>)"
    r"|(?P<end_channel><\|end\|>(?:<\|start\|>assistant)?(?:<\|channel\|>\s{0,9}final[^<]{0,40}<\|message\|>)?"
    r"|<\|channel\|>\s{0,9}final[^<]{0,40}<\|message\|>)",
    re.IGNORECASE,
)
_END_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_QUOTES = frozenset("`'\"\u201c\u201d\u2018\u2019")
# A thought that began in the prompt ends on a line of its own, or right after a sentence.
_THOUGHT_END = re.compile(r"(?:\A|\n[ \t]*|[.!?\u3002\uff01\uff1f\u2026][ \t]*)\Z")
_LETTERS = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_KANA_HANGUL = re.compile(r"[\u1100-\u11ff\u3041-\u30ff\u3131-\u318e\uac00-\ud7af\uff66-\uff9d]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]+")
# What is in no language: code, a URL, an e-mail address.
_NO_LANGUAGE = re.compile(r"`[\x00-\x5f\x61-\x7f]+`|(?<![!-~])[!-~]*(?:://|www\.|@)[!-~]+")
_GLOSS = re.compile(r"[(（][^()（）]*[)）]")
_LOWER_CASE = re.compile(r"\b[a-z]{3,}\b")  # a word that is no name, and no unit such as "km"
_LATIN_END = re.compile(r"[a-z]{2}[.?!](?:\s|\Z)")  # of a sentence

# Texts with fewer words or letters are often names, whose language can't be told.
_MIN_WORDS, _MIN_LETTERS = 5, 20
_MAX_CHARACTERS = 5000  # characters of a text that are examined
# Words that hardly any other language has. A text is English if they are a tenth of its words.
_ENGLISH = frozenset(["the", "and", "of", "that", "with", "are", "from", "this", "has", "have", "been"])
_MIN_ENGLISH = 0.01  # P(English) below which the detector is sure of another language
_MIN_SHORT_ENGLISH = 0.1  # the same for a short text with words of another language
_MAX_SHORT_WORDS = 8  # of a text that is told by its small words, where the detector may be unsure
_MIN_SHORT_WORDS = 3  # of a short sentence whose language is told by its small words
_MARKABLE = re.compile(r"[^\W\d_]+(?!\.[^\W_])(?!\.\s*\S)")  # a word that no dot abbreviates
_SENTENCE_END = re.compile(r"[.!?…]\W*$")
_SMALL_WORD = re.compile(r"\b[^\W\d_A-Z]{4,}\b")
_ASCII_RUN = re.compile(r"[ -~]{4,}")
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z]")  # of a command: "ls -l"


def strip_thinking(text: str) -> tuple[str, bool]:
    """Drop the model's thoughts (see `find_thoughts`); return the text, and whether there was one.

    >>> strip_thinking("<think>Hm.</think>Paris.")
    ('Paris.', True)
    """
    thoughts = find_thoughts(text)
    if not thoughts:
        return text, False
    ends = [0, *(end for _, end in thoughts)]
    starts = [*(start for start, _ in thoughts), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True)).strip(), True


@lru_cache(maxsize=4)  # each judgement of a sample asks for the thoughts of its response
def find_thoughts(text: str) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each thought of a model with its marks, such as `<think>...</think>`, in order.

    An unclosed thought reaches to the end if nothing stands before it: the model ran out of tokens while
    thinking. If the opening mark was in the prompt, the text starts inside the thought: a lone closing mark
    ends it, on a line of its own or at the end of a line that ends a sentence. A mark in quotes, or within a
    sentence, is only mentioned.

    >>> find_thoughts("<think>Hm.</think>Paris.")
    ((0, 18),)
    >>> find_thoughts("Use </think>\\nto close it.")
    ()
    """
    thoughts: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    is_first = True
    for mark in _THOUGHT_MARK.finditer(text):
        if _is_quoted(text, mark.start(), mark.end()):
            continue
        kind, closes = _kind_of_mark(mark)
        if opened is None and not closes:
            opened = (mark.start(), kind)
        elif opened is not None and closes and kind == opened[1]:
            thoughts.append((opened[0], mark.end()))
            opened = None
        elif opened is None and is_first and kind != "channel" and _ends_lone_thought(text, mark):
            thoughts.append((0, mark.end()))
        is_first = False
    if opened is not None:
        outside, position = [], 0
        for start, end in thoughts:
            outside.append(text[position:start])
            position = end
        outside.append(text[position : opened[0]])
        if not "".join(outside).strip():
            thoughts.append((opened[0], len(text)))
    return tuple(thoughts)


def _kind_of_mark(mark: re.Match[str]) -> tuple[str, bool]:
    """Return which kind of thought a mark belongs to, and whether it closes one."""
    if mark["tag"]:
        return mark["tag"].lower(), mark["end_tag"] == "/"
    if mark["end_bracket"] is not None:
        return "bracket", mark["end_bracket"] == "/"
    if mark["end_triangle"] is not None:
        return "triangle", mark["end_triangle"] == "/"
    return "channel", mark["end_channel"] is not None


def _is_quoted(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start] in _QUOTES and text[end : end + 1] in _QUOTES


def _ends_lone_thought(text: str, mark: re.Match[str]) -> bool:
    ends_line = _END_OF_LINE.match(text, mark.end())
    return bool(ends_line and _THOUGHT_END.search(text[max(0, mark.start() - 80) : mark.start()]))


@lru_cache(maxsize=16)  # each judgement of a sample asks for the language of its texts
def language(text: str, question: str = "") -> str:
    """Return "zh", "en" or "other": by the script, and for Latin letters by the words.

    A name or a number in Latin letters is Chinese if it answers a Chinese question. Other Latin text counts
    as English if it has few words and none that only another language has, or if the detector is not sure of
    another language. Japanese in Han characters alone is "other" where one of them is in no Chinese text.

    >>> language("法院判决 Acme 赔偿"), language("Paris."), language("Il pleut souvent en automne.")
    ('zh', 'en', 'other')
    >>> language("1962"), language("1962", "望澜桥哪年通车？")
    ('en', 'zh')
    >>> language("El molino es viejo."), language("El Salvador"), language("国立国会図書館法")
    ('other', 'en', 'other')
    """
    if (script_name := script(text)) != "latin":
        is_chinese = script_name == "han" and not (_is_japanese(text) and script(question) != "han")
        return "zh" if is_chinese else "other"
    text = text[:_MAX_CHARACTERS]
    words = _LETTERS.findall(text.lower())
    too_short = len(words) < _MIN_WORDS or sum(map(len, words)) < _MIN_LETTERS
    if too_short and not _LOWER_CASE.search(text) and script(question) == "han":
        return "zh"
    if len(words) < _MAX_SHORT_WORDS and _is_foreign_sentence(text, words, question):
        return "other" if dict(_detector().rank(text))["en"] < _MIN_SHORT_ENGLISH else "en"
    if too_short or sum(map(_ENGLISH.__contains__, words)) >= 0.1 * len(words):
        return "en"
    return "other" if dict(_detector().rank(text))["en"] < _MIN_ENGLISH else "en"


def script(text: str) -> str:
    """Return "han", "latin" or "other", by the shares of the letters; "latin" for a text without letters.

    Chinese with more Latin letters is "han" too, if they look like names and terms.

    >>> script("法院判决 Acme Corporation 赔偿"), script("Il pleut."), script("Идёт дождь.")
    ('han', 'latin', 'other')
    """
    if text.isascii():  # its letters, if it has any, are Latin
        return "latin"
    text = _ASCII_RUN.sub(_without_command, _NO_LANGUAGE.sub(" ", text))
    letters, han, kana_hangul, latin = (
        sum(map(len, pattern.findall(text))) for pattern in (_LETTERS, _HAN, _KANA_HANGUL, _LATIN)
    )
    # One Han character carries about as much as three Latin letters: at a quarter, half of the content is
    # Chinese, though names and terms are in Latin letters. Japanese mixes its Han characters with mostly
    # kana, and Chinese has kana only in names.
    chinese = han > 0 and kana_hangul <= 0.1 * (han + kana_hangul)
    if chinese and han >= 0.25 * letters:
        return "han"
    if latin < 0.5 * letters:
        return "other"
    # Names and terms in Latin letters begin with a capital. Most words of a language with these letters do
    # not, and its sentences end with its own marks.
    text = _GLOSS.sub(" ", text)
    han, words = sum(map(len, _HAN.findall(text))), _LATIN.findall(text)
    prose = sum(word.islower() + (word.lower() in _ENGLISH) for word in words)
    if chinese and 2 * prose <= len(words) < 2 * han and not _LATIN_END.search(text):
        return "han"
    # Han characters around words that are in no sentence of another language: names of commands, for example.
    said = "".join(_LETTERS.findall(text))
    is_framed = chinese and _HAN.match(said[:1]) and _HAN.match(said[-1:])
    if is_framed and not any(word.lower() in _all_small_words() for word in words):
        return "han"
    return "latin"


def _without_command(run: re.Match[str]) -> str:
    """Return " " for a run of ASCII that is a command with an option and no English, else the run."""
    words = _LETTERS.findall(run[0].lower())
    is_command = _OPTION.search(run[0]) and not any(word in _small_words("english") for word in words)
    return " " if is_command else run[0]


def _is_foreign_sentence(text: str, words: list[str], question: str) -> bool:
    """Return whether a short text reads like a sentence of a language that is not English.

    It does with a verb of such a language. With an article it does if it is a whole sentence with another
    word in small letters, and answers no English question: names and titles have articles, too.
    """
    if len(words) < _MIN_SHORT_WORDS or any(word in _small_words("english") for word in words):
        return False
    if any(word in _small_words("sentence_words") for word in _MARKABLE.findall(text)):
        return True
    asked = _LETTERS.findall(question[:_MAX_CHARACTERS].lower())
    if any(word in _small_words("english") for word in asked) or not _SENTENCE_END.search(text):
        return False
    has_article = any(word in _small_words("name_words") for word in words)
    others = (word for word in _SMALL_WORD.findall(text) if word not in _small_words("name_words"))
    return has_article and any(others)


def _is_japanese(text: str) -> bool:
    """Return whether text in Han characters is Japanese: it has some that no Chinese text has together.

    A character is of a language if its old national character set has it: Japan's JIS X 0208, China's
    GB 2312, Taiwan's Big5. A text with a common Chinese function word is Chinese, whatever names it has.

    >>> _is_japanese("経済産業省"), _is_japanese("中華民國總統府"), _is_japanese("他在渋谷的駅前")
    (True, False, False)
    """
    characters = {c for c in text[:_MAX_CHARACTERS] if _HAN.match(c)}
    chinese = _data()["chinese"]["only"]
    if not characters.isdisjoint(chinese):
        return False
    sets = {_character_sets(c) for c in characters}
    is_mixed = _SIMPLIFIED in sets and _TRADITIONAL in sets
    return _JAPANESE in sets or is_mixed or any(word in text for word in _data()["japanese"]["words"])


# Which of the sets for Japanese, simplified and traditional Chinese have a character.
_JAPANESE, _SIMPLIFIED, _TRADITIONAL = (True, False, False), (True, True, False), (True, False, True)


@lru_cache(maxsize=4096)
def _character_sets(character: str) -> tuple[bool, bool, bool]:
    def has(encoding: str) -> bool:
        return bool(character.encode(encoding, "ignore"))

    return has("shift_jis"), has("gb2312"), has("big5")


@lru_cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files("localeval.text").joinpath("language.toml").read_text("utf-8"))


@lru_cache
def _small_words(name: str) -> frozenset[str]:
    """Return the words of a list, or those of all languages of a table of lists."""
    words = _data()[name]
    return frozenset(words if isinstance(words, list) else [word for lst in words.values() for word in lst])


@lru_cache
def _all_small_words() -> frozenset[str]:
    return _small_words("english") | _small_words("sentence_words") | _small_words("name_words") | _ENGLISH


@lru_cache
def _detector() -> Any:
    """Load py3langid's detector on first use: that takes a second, and most English texts need none.

    It unpacks its model into a temporary file. Raises InputError if there is no room for that.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise InputError(
            f"the language detector can't unpack its model ({error.strerror}); make room for a temporary "
            "file of 10 MB, or set TMPDIR to a folder on another disk."
        ) from error
