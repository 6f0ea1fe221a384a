"""What words say: which have content, and which sentences only greet, point, or say that nothing is told.

The lists are data, in `words/*.toml`. All functions read words, never the form of a line, in linear time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

from localeval.text.display import one_line

_HAN = "㐀-鿿豈-﫿"
_WORD = re.compile(rf"[{_HAN}]+|[^\W{_HAN}]+")
_LATIN_WORD = re.compile(rf"[^\W{_HAN}]+(?:['’][^\W{_HAN}]+)*")
_CURLY = str.maketrans({"’": "'", "‘": "'"})
_VOWEL = re.compile("[aeiouy]")
_LONGEST_PHRASE = 300  # characters of a sentence that may be a courtesy or a refusal: longer ones say more
_LONGEST_QUESTION = 1000  # characters of a question, from its end, in which a favour is asked
_CLAUSE_MARKS = re.compile(r"[,;:()，；：。（）.!?！？—–]+")
_NAME = re.compile(r"(?<=[a-z,;:'’] )[A-Z][\w-]*|(?<=[a-z,;:'’] [\"“(*_])[A-Z][\w-]*")
_CONJUNCTIONS = frozenset(["and", "but", "so", "or", "also", "then", "ok", "well"])
_DIGIT = re.compile(r"\d")


@lru_cache
def _data() -> dict[str, dict[str, Any]]:
    """Read the lists: "en", "zh" or "marks" -> name -> words or phrases."""
    folder = resources.files("localeval.text").joinpath("words")
    return {
        name: tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8"))
        for name in ("en", "zh", "marks")
    }


@lru_cache
def words_of(*names: str) -> frozenset[str]:
    """Return the words of these lists, in all languages.

    >>> "of" in words_of("function"), "步骤" in words_of("frames"), "not" in words_of("function", "frames")
    (True, True, False)
    """
    return frozenset(
        word
        for lists in _data().values()
        for name in names
        if isinstance(lists.get(name), str)
        for word in lists[name].split()
    )


@lru_cache
def _phrases(name: str) -> tuple[str, ...]:
    return tuple(phrase for lists in _data().values() for phrase in lists.get(name, ()))


@lru_cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a list, in all languages; one string makes one pattern."""
    patterns = []
    for lists in _data().values():
        value = lists.get(name, [])
        patterns += [re.compile(pattern) for pattern in ([value] if isinstance(value, str) else value)]
    return tuple(patterns)


@lru_cache
def _han_words(*names: str) -> re.Pattern[str]:
    """Return a pattern of the Chinese words of these lists, longest first."""
    words = [word for word in words_of(*names) if not word.isascii()]
    return re.compile("|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a word in lower case without the common endings of English, to compare words by.

    >>> [stem(word) for word in ("Baking", "baked", "bake", "studies", "study", "processes", "1820s")]
    ['bak', 'bak', 'bak', 'studi', 'studi', 'process', '1820s']
    """
    if word[:-1].isupper() and word.endswith("s"):  # "BMIs"
        return word[:-1].lower()
    word = word.lower()
    if not word.isascii() or not word.isalpha():
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y"):
        word = word[:-1] + "i"
    return word


@lru_cache(maxsize=64)
def known_words(*texts: str) -> frozenset[str]:
    """Return all words of the texts as `content` has them: stems, Chinese characters and their pairs."""
    known: set[str] = set()
    for text in texts:
        for run in _WORD.findall(text):
            if "㐀" <= run[0] <= "﫿":
                known.update(run)
                known.update(map("".join, pairwise(run)))
            else:
                known.add(stem(run))
    return frozenset(known)


@lru_cache(maxsize=512)
def content(text: str, *names: str) -> tuple[str, ...]:
    """Return the words of `text` that are not in these lists: stems, and pairs of Chinese characters.

    A Chinese character between words of the lists is returned alone.

    >>> content("The steps to bake the bread are:", "function", "frames")
    ('bak', 'bread')
    >>> content("青岚茶的主要功效如下：", "function", "frames")
    ('青岚', '岚茶', '功效')
    """
    text = _PRONOUN.sub(" ", text)
    listed = words_of(*names)
    listed_stems = _stems_of(*names)
    found: list[str] = []
    for run in _WORD.findall(text.translate(_CURLY)):
        if "㐀" <= run[0] <= "﫿":
            for rest in _han_words(*names).split(run):
                found += map("".join, pairwise(rest)) if len(rest) > 1 else [rest] if rest else []
        elif run.lower() not in listed and stem(run) not in listed_stems:
            found.append(stem(run))
    return tuple(found)


@lru_cache
def _stems_of(*names: str) -> frozenset[str]:
    """Return the longer stems of the English words of these lists: that of "notes" is another word."""
    stems = {stem(word) for word in words_of(*names) if word.isascii()}
    return frozenset(word for word in stems if len(word) > 3)


def news(text: str, known: frozenset[str], *names: str) -> tuple[str, ...]:
    """Return the words of `text` with content (see `content`) that are not `known`."""
    return tuple(word for word in content(text, *names) if word not in known)


def names_in(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the capitalized words within the sentence that are not known; none where all have a capital.

    >>> names_in("The mill of Napoleon has two parts:", frozenset()), names_in("History of Tea:", frozenset())
    (('Napoleon',), ())
    """
    words = _LATIN_WORD.findall(text)
    long_words = [word for word in words if len(word) > 3]
    if long_words and all(word[0].isupper() for word in long_words):
        return ()
    listed = words_of("function", "frames", "reader")
    return tuple(
        name for name in _NAME.findall(text) if stem(name) not in known and name.lower() not in listed
    )


_PRONOUN = re.compile(
    r"\bone(?= (?:should|can|could|must|may|might|would|will|needs?|has to)\b)", re.IGNORECASE
)


def numbers_in(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the words with a digit, and the English names of numbers, that are not known."""
    text = _PRONOUN.sub(" ", text)
    counted = words_of("names_of_numbers")
    return tuple(
        word
        for word in _WORD.findall(text)
        if word.lower() not in known and (_DIGIT.search(word) or (word.isascii() and word.lower() in counted))
    )


def bare(text: str) -> str:
    """Return `text` in lower case on one line, without marks at both ends and with plain apostrophes."""
    line = one_line(text).translate(_CURLY).lower()
    first = next((i for i, character in enumerate(line) if character.isalnum()), len(line))
    last = next((i for i in range(len(line), first, -1) if line[i - 1].isalnum()), first)
    return line[first:last]


def is_answer_word(text: str) -> bool:
    """Return whether `text` is no more than "yes", "no" or the like."""
    return bare(text) in words_of("answers")


def says_only_yes_or_no(text: str) -> bool:
    """Return whether all words with content of `text` are "yes", "no" or the like, and there is one.

    >>> says_only_yes_or_no("Yes, it is."), says_only_yes_or_no("是的，可以。"), says_only_yes_or_no("It is.")
    (True, True, False)
    """
    words = _LATIN_WORD.findall(bare(text))
    if any(word in words_of("answers") for word in words[:1]):
        return not news(text, frozenset(), "function", "answers")
    parts = [part for part in _CLAUSE_MARKS.split(bare(text)) if part.strip()]
    return bool(parts) and all(part.strip() in words_of("answers") for part in parts)


def asks_yes_or_no(question: str) -> bool:
    """Return whether a clause of `question` asks for yes or no.

    >>> asks_yes_or_no("Is tea safe, and why?"), asks_yes_or_no("茶安全吗？"), asks_yes_or_no("When?")
    (True, True, False)
    """
    text = question.translate(_CURLY).lower()
    for clause in _CLAUSE_MARKS.split(text):
        words = _LATIN_WORD.findall(clause)
        first = next((word for word in words if word not in _CONJUNCTIONS), "")
        if first.removesuffix("n't") in words_of("polar") or first in words_of("polar"):
            return True
    return any(word in text for word in words_of("polar") if not word.isascii())


def affirms(text: str, question: str) -> bool:
    """Return whether `text` is a word such as "absolutely" that says yes to a question, not to a favour.

    >>> affirms("Of course!", "Is tea safe?"), affirms("Of course!", "Can you describe tea?")
    (True, False)
    """
    word = bare(text).removeprefix("of ")
    if word not in words_of("affirmations"):
        return False
    return asks_yes_or_no(question) and not asks_favour(question)


def asks_favour(question: str) -> bool:
    """Return whether `question` asks the answerer to do something, so that "yes" is no answer to it.

    >>> asks_favour("Can you describe tea?"), asks_favour("Can you drink tea?")
    (True, False)
    >>> asks_favour("Can you tell me if tea is safe?")
    False
    """
    end = question[-_LONGEST_QUESTION:].lower()
    return any(pattern.search(end) for pattern in _patterns("favour"))


def is_polar(question: str) -> bool:
    """Return whether `question` may be answered with yes or no: it asks for it, or asks for nothing else.

    >>> is_polar("Tea is safe?"), is_polar("When was it built?"), is_polar("茶是谁种的？")
    (True, False, False)
    """
    if asks_yes_or_no(question):
        return True
    text = question.translate(_CURLY).lower()
    words = {word.split("'")[0] for word in _LATIN_WORD.findall(text)}
    asks = words_of("wh")
    return asks.isdisjoint(words) and not any(word in text for word in asks if not word.isascii())


_LETTERED = re.compile(r"(?<!\w)([A-H])[.):、．）]")


def lettered_options(question: str) -> frozenset[str]:
    """Return the letters of the options that `question` lists.

    >>> sorted(lettered_options("Which? A. zinc B) tin"))
    ['A', 'B']
    """
    return frozenset(_LETTERED.findall(question))


def offers_choice(question: str) -> bool:
    """Return whether `question` names answers to choose from, by a word or as two lettered options.

    >>> offers_choice("Sydney or Canberra?"), offers_choice("是悉尼还是堪培拉？"), offers_choice("Where?")
    (True, True, False)
    >>> offers_choice("哪个？A. 锌 B. 镍"), offers_choice("Who is J. Lee?")
    (True, False)
    """
    text = question.lower()
    if len(lettered_options(question)) > 1:
        return True
    listed = words_of("alternatives")
    return bool(listed & {*_WORD.findall(text)}) or any(word in text for word in listed if not word.isascii())


def is_courtesy(text: str, question: str = "") -> bool:
    """Return whether the whole sentence is a courtesy, and nothing more.

    >>> is_courtesy("Sure!"), is_courtesy("I hope this helps you."), is_courtesy("希望以上信息对您有帮助！")
    (True, True, True)
    >>> is_courtesy("Please do not hesitate to double the dose."), is_courtesy("希望工程由李嘉诚发起。")
    (False, False)
    """
    if len(text) > _LONGEST_PHRASE:
        return False
    line = bare(text)
    if not line:
        return False
    whole = _phrases("courtesies")
    clauses = [clause.strip() for clause in _CLAUSE_MARKS.split(line) if clause.strip()]
    if line in whole or all(clause in whole for clause in clauses):
        return True
    if len(clauses) > 1 and all(is_courtesy(clause, question) for clause in clauses):
        return True
    if not any(phrase in line for phrase in _phrases("courtesy_phrases")):
        return False
    asked = known_words(question)
    for separator in sorted(words_of("courtesy_about")):
        about = f" {separator} " if separator.isascii() else separator
        head, found, topic = line.rpartition(about)
        is_known = not _has_verb(topic) and not news(topic, asked, "function", "courtesy_words")
        if found and is_known and _all_listed(head, "courtesy_words"):
            return True
    return _all_listed(line, "courtesy_words")


def _all_listed(line: str, name: str) -> bool:
    listed = words_of(name)
    for run in _WORD.findall(_LATIN_WORD.sub(lambda word: " " if word[0] in listed else word[0], line)):
        if not ("㐀" <= run[0] <= "﫿") or _han_words(name).sub("", run):
            return False
    return True


def is_refusal(text: str, question: str = "") -> bool:
    """Return whether the sentence says only that the contexts, or whoever answers, can't tell.

    It may name what is not told, with no name or number that the question lacks; any other clause may say
    nothing at all.

    >>> is_refusal("The price is not mentioned in the passages."), is_refusal("资料中没有提到价格。")
    (True, True)
    >>> is_refusal("No, schedules cannot be exported to Excel.")
    False
    >>> is_refusal("I don't know the price, but the CEO of Acme is Bob Smith.")
    False
    """
    if len(text) > _LONGEST_PHRASE:
        return False
    line = one_line(text).translate(_CURLY)
    lower = line.lower()
    markers = _refusals()
    if not any(marker.search(lower) for marker in markers):
        return False
    known = known_words(question)
    if numbers_in(line, known) or names_in(line, known):
        return False
    opening = ""  # "Based on the passages," belongs to the clause behind it
    for clause in _clauses(lower):
        if any(marker.search(opening + clause) for marker in markers):
            opening = ""
        elif _says_nothing(clause, known):
            opening += clause + " "
        else:
            return False
    return True


@lru_cache
def _refusals() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of refusals, with the names of documents filled in."""
    return tuple(
        re.compile(pattern.replace("{documents}", lists["documents"]))
        for lists in _data().values()
        for pattern in lists.get("refusals", ())
    )


def _says_nothing(clause: str, known: frozenset[str]) -> bool:
    """Return whether a clause beside a refusal has no content: at most words of the question, and no verb."""
    lists = ("function", "frames", "reader", "courtesy_words")
    if not news(clause, frozenset(), *lists):
        return True
    return not _has_verb(clause) and not news(clause, known, *lists)


def _clauses(line: str) -> Iterator[str]:
    """Yield the clauses of a line in lower case: what marks and conjunctions part."""
    patterns = _clause_words()
    for part in _CLAUSE_MARKS.split(line):
        for clause in patterns.split(part):
            if clause.strip():
                yield clause


@lru_cache
def _clause_words() -> re.Pattern[str]:
    english = _data()["en"]["clauses"]
    chinese = _data()["zh"]["clauses"]
    return re.compile(rf"\b(?:{english})\b|(?:{chinese})")


def _has_verb(text: str) -> bool:
    verbs = words_of("verbs")
    found = any(word in verbs for word in _LATIN_WORD.findall(text.lower()))
    return found or any(verb in text for verb in verbs if not verb.isascii() and len(verb) == 1)


def is_complete(text: str) -> bool:
    """Return whether a heading or lead-in is a clause of its own: a verb stands between words with content.

    >>> is_complete("Kelvane is safe for children and has these uses:"), is_complete("The main uses are:")
    (True, False)
    """
    words = _LATIN_WORD.findall(text.translate(_CURLY).lower())
    listed = words_of("function", "frames")
    while words and words[-1] in listed:
        words.pop()
    verbs = words_of("verbs")
    return any(word in verbs and before != "here" for before, word in pairwise(["", *words]))


def is_phrase(text: str) -> bool:
    """Return whether a heading or lead-in is no clause, and begins with a preposition.

    >>> is_phrase("For women aged 19-30:"), is_phrase("In 1812 it was new:"), is_phrase("Take 500 mg")
    (True, False, False)
    """
    line = bare(text)
    first = line.partition(" ")[0]
    listed = words_of("prepositions")
    begins = first in listed or line.startswith(tuple(sorted(word for word in listed if not word.isascii())))
    return begins and not is_complete(text)


def states_as_question(text: str) -> bool:
    """Return whether a question makes a statement: with a tag, as rhetoric, or by its form.

    >>> states_as_question("It was built in 1999, right?"), states_as_question("When was it built?")
    (True, False)
    >>> states_as_question("该桥不是由拿破仑建造的吗？"), states_as_question("该桥由谁建造？")
    (True, False)
    """
    line = bare(text)[:_LONGEST_PHRASE]
    if any(pattern.search(line) for name in ("tags", "rhetorical") for pattern in _patterns(name)):
        return True
    return not any(pattern.search(line) for pattern in _patterns("asks"))


def offers_help(text: str) -> bool:
    """Return whether a question offers something to the reader.

    >>> offers_help("Would you like to know more?"), offers_help("Who built it?")
    (True, False)
    """
    return bare(text).startswith(_phrases("offers"))


def points_around(text: str) -> bool:
    """Return whether a sentence points at what stands around it: "Here are the steps."

    >>> points_around("Here are the steps."), points_around("It is blue.")
    (True, False)
    """
    listed = words_of("pointing")
    words = _LATIN_WORD.findall(text.translate(_CURLY).lower())
    return not listed.isdisjoint(word.removesuffix("'s") for word in words) or any(
        word in text for word in listed if not word.isascii()
    )
