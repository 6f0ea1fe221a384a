"""Which statements does the response or the reference make?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from typing import Any

from pydantic import BaseModel

from localeval.engine.interface import Reply
from localeval.judgements import grounding
from localeval.judgements.context import (
    JudgeContext,
    Record,
    UnjudgedText,
    account_of,
    language_of,
    texts_of,
    unjudged_of,
)
from localeval.samples import Sample
from localeval.text.claims import is_claim
from localeval.text.display import one_line
from localeval.text.language import strip_thinking
from localeval.text.marks import has_content
from localeval.text.numbers import counts
from localeval.text.overlap import STOP, TERM, long_numbers, omits_content, terms

VERSION = "14"

_WORD = re.compile(r"[㐀-鿿豈-﫿]|[^\W㐀-鿿豈-﫿]+")
# Words that change what a statement means. The t is that of "can't", 几 and 差 are those of 几乎 and 差点.
_MEANING_CHANGERS = frozenset("不没无未非否若只仅几差称说据").union(
    ("not", "no", "never", "neither", "nor", "without", "hardly", "rarely", "seldom", "t", "if", "unless"),
    ("only", "almost", "nearly", "fewer", "less", "might", "could", "allegedly", "reportedly"),
    ("said", "says", "claims", "claimed", "denies", "denied", "alleged", "supposedly"),
)
_SUBJECT = re.compile(r"^(?:The|An?) ([^\W\d_]+)\b(?! of\b)")  # "the height of" names what the question asks
# A name of two characters between others makes three pairs of them new, which overlap.
_PAIR = "([㐀-鿿豈-﫿]{2})"
_THREE_PAIRS = re.compile(f"(?={_PAIR})(?=.{_PAIR})(?=..{_PAIR})")
_ARTICLES = frozenset(("the", "a", "an"))
LEFT_OUT = 0.35  # share of the words of a sentence below which a statement leaves out most of them
WHOLE_CLAUSE = 8  # words; a name that replaces a pronoun has fewer


class SentenceStatements(Record):
    """One sentence of the text, its offsets there, and the statements that it makes.

    A short heading is one sentence with the sentence below it. A short answer is judged with its question, a
    row of a table with the names of its columns (see `localeval.text.claims.Claim`).

    cut  "" or why the list is not as the model wrote it: "budget" or "repetition" ended it; with "strays" it
         was not about this sentence, with "invented" it had a name, number or subject of its own, with
         "details" it left out a number or a clause: the sentence itself is the statement
    """

    sentence: str
    start: int
    end: int
    statements: tuple[str, ...]
    cut: str = ""


class StatementsRecord(Record):
    """Offsets count in the text; in a response, without its `<think>` blocks, if it had any.

    Every letter and digit of the text is in one of `sentences` or of `unjudged`.
    """

    sentences: tuple[SentenceStatements, ...]
    language: str
    thinking_removed: bool = False
    unjudged: tuple[UnjudgedText, ...] = ()

    def flat(self) -> list[tuple[int, str]]:
        """Return (sentence number, statement) pairs in order."""
        return [(i, text) for i, s in enumerate(self.sentences) for text in s.statements]


class StatementsReply(BaseModel):
    statements: list[str]


@dataclass(frozen=True)
class StatementsTask:
    """The judgement which statements `column`, the response or the reference, makes."""

    column: str

    def key_fields(self, context: JudgeContext, sample: Sample) -> dict[str, Any]:
        if self._are_sentences(context, sample):
            return {"statements": "sentences"}
        language_code = language_of(sample, self.column)
        return {"statements": "llm", "prompt": context.options.prompt("statements", language_code).sha256}

    def _are_sentences(self, context: JudgeContext, sample: Sample) -> bool:
        """Return whether the sentences are the statements: by choice, or because the response is read."""
        if context.options.statements == "sentences":
            return True
        return self.column == "response" and grounding.decides(context, sample)

    def ask(self, context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> StatementsRecord:
        """Ask for the statements of each claim (see `localeval.text.claims.account`), and drop repeated ones.

        A sentence is its own statement if the model finishes no statement for it, adds a name, number or
        subject, or omits a number or a clause of it. Where sentences are the statements, no model is asked.
        """
        sentences = account_of(sample, self.column).claims
        lists: list[tuple[Sequence[str], str]] = []  # each sentence's statements, and why they were cut
        if self._are_sentences(context, sample):
            lists += (([one_line(s.standalone)], "") for s in sentences)
        else:
            lists += write_statements(context, sample, self.column)
        unique = _without_duplicates(texts for texts, _ in lists)
        return StatementsRecord(
            sentences=tuple(
                SentenceStatements(sentence=s.text, start=s.start, end=s.end, statements=texts, cut=cut)
                for s, texts, (_, cut) in zip(sentences, unique, lists, strict=True)
            ),
            language=language_of(sample, self.column),
            thinking_removed=self.column == "response" and strip_thinking(sample.response or "")[1],
            unjudged=unjudged_of(sample, self.column),
        )


def write_statements(
    context: JudgeContext, sample: Sample, column: str = "response"
) -> list[tuple[Sequence[str], str]]:
    """Return the statements that the model writes for each sentence of `column`, and why they were cut."""
    [text], question = texts_of(sample, column), sample.user_input or ""
    sentences = account_of(sample, column).claims
    if not sentences:
        return []
    prompt = context.options.prompt("statements", language_of(sample, column))
    # A small model forgets to escape double quotes, and ends its string at one.
    requoted = [one_line(s.standalone).replace('"', "'") for s in sentences]
    replies = context.engine.generate(
        prompt.prefix("statements", StatementsReply),
        prompt.render_context(user_input=question, response=text.replace('"', "'")),
        [prompt.render_item("statements", sentence=sentence) for sentence in requoted],
        StatementsReply,
        # A statement repeats its subject, so together they are longer than the sentence.
        budget=[48 + 2 * context.engine.count(s.standalone) for s in sentences],
    )
    statement_filter = StatementFilter([s.standalone for s in sentences], question, text)
    return [statement_filter.choose(i, reply) for i, reply in enumerate(replies)]


class StatementFilter:
    """Chooses from what a model wrote for each sentence of a text the statements that the sentence makes."""

    def __init__(self, sentences: Sequence[str], question: str = "", text: str = "") -> None:
        self._sentences, self._question = sentences, question
        sentence_terms = [terms(sentence) for sentence in sentences]
        counts = Counter(chain(*sentence_terms, terms(question)))
        # The words by which sentences are told apart: that no other sentence has, nor the question.
        self._distinctive = [{t for t in of_one if counts[t] == 1} - STOP for of_one in sentence_terms]
        self._known = terms(text) | counts.keys()

    def choose(self, i: int, reply: Reply[StatementsReply]) -> tuple[Sequence[str], str]:
        """Return the statements of sentence `i`, and why they are not as the model wrote them (or "").

        >>> rain = Reply(StatementsReply(statements=["Rain falls in May."]), "", {})
        >>> StatementFilter(["Tea sings.", "Rain falls in May."]).choose(0, rain)
        (['Tea sings.'], 'strays')
        >>> StatementFilter(["Rain falls in May 1962."]).choose(0, rain)
        (['Rain falls in May 1962.'], 'details')
        """
        whole, written = one_line(self._sentences[i]), [*map(one_line, reply.value.statements)]
        if any(map(self.invents, written)):
            return [whole], "invented"
        texts = [text for text in written if is_claim(text) and not self.strays(text, i)]
        # What was written may fail `is_claim` only because a title at its end is a question, or because the
        # sentence itself is no more than a mention ("[1962]").
        if not texts and (reply.truncated or any(map(has_content, written)) or not has_content(whole)):
            return [whole], reply.truncated or "strays"
        # A refusal repeats the question; a number that is not in the question is a claim that was overlooked.
        if omits_content(whole, texts) if texts else long_numbers(whole) - long_numbers(self._question):
            return [whole], "details"
        return texts, reply.truncated

    def strays(self, statement: str, i: int) -> bool:
        """Return whether a statement that was written for sentence `i` says what another sentence says.

        It has more of the words that only the other sentence has than of those that only its own has; and it
        leaves out most of its own, or adds a whole clause. A name that replaces a pronoun is neither.

        >>> StatementFilter(["The colours are:", "Red is warm.", "Blue is cold."]).strays("Red is warm.", 0)
        True
        >>> answer = StatementFilter(["The mill was built in 1820.", "It is made of oak."], "How old is it?")
        >>> answer.strays("The mill was made of oak.", 0), answer.strays("The mill is made of oak.", 1)
        (True, False)
        >>> StatementFilter(["Ann Lee came in May.", "She left."]).strays("Ann Lee left.", 1)
        False
        """
        statement_terms = terms(statement)
        shared = [len(words & statement_terms) for words in self._distinctive]
        own, shared[i] = shared[i], 0
        other, leaves_out = max(shared), own < LEFT_OUT * len(self._distinctive[i])
        return other > own and (leaves_out or other >= WHOLE_CLAUSE)

    def invents(self, statement: str) -> bool:
        """Return whether a statement has a name, number or subject that neither text nor question has.

        Where these do not tell what "it" is, a small model takes a name of its worked examples.

        >>> answer = StatementFilter(["1889"], "When was it completed?")
        >>> answer.invents("The Orrin Bridge was completed in 1889."), answer.invents("The mill is of 1889.")
        (True, True)
        >>> answer.invents("It was completed in 1889."), answer.invents("The year of completion is 1889.")
        (False, False)
        """
        if terms(statement) <= self._known:  # no new word, so no new name
            return False
        names = [word for word in TERM.findall(statement) if word[0].isdigit() or word[0].isupper()]
        if names and names[0][0].isupper() and statement.startswith(names[0]):
            del names[0]  # any sentence begins with a capital
        if not self._known.issuperset(map(str.lower, names + _SUBJECT.findall(statement))):
            return True
        return any(map(self._known.isdisjoint, _THREE_PAIRS.findall(statement)))


def _without_duplicates(lists: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    seen: set[str] = set()
    unique = []
    for texts in lists:
        by_key: dict[str, str] = {}
        for text in texts:
            by_key.setdefault(text.casefold().rstrip(".。 "), text)
        new = [text for key, text in by_key.items() if key not in seen]
        seen.update(by_key)
        subsumed = {text for text, other in permutations(new, 2) if _is_subsumed(text, other)}
        unique.append(tuple(text for text in new if text not in subsumed))
    return unique


def _is_subsumed(text: str, other: str) -> bool:
    """Return whether `other` has all words of `text` in the same order, and further words that keep it true.

    Han text is compared by characters.

    >>> _is_subsumed("Ann Lee left.", "Ann Lee, the mayor, left in May.")
    True
    >>> _is_subsumed("Ann thanked Lee.", "Lee thanked Ann in May.")
    False
    >>> _is_subsumed("Tea is safe.", "Tea is not safe."), _is_subsumed("Bob left.", "Bob's wife left.")
    (False, False)
    >>> _is_subsumed("Ann met Bob.", "Ann met Bob's wife."), _is_subsumed("三日到访。", "十三日到访。")
    (False, False)
    >>> _is_subsumed("Bob left.", "Friends of Bob left.")
    False
    >>> costs = [f"It costs {number} dollars." for number in ("3", "3,000", "three", "three thousand")]
    >>> _is_subsumed(*costs[:2]), _is_subsumed(*costs[2:])
    (False, False)
    >>> _is_subsumed("It opened on 12 May.", "It opened on 12 May 1962.")
    True
    >>> _is_subsumed("桥于5月通车。", "望澜桥于5月正式通车。")
    True
    """
    words, longer = _WORD.findall(text.casefold()), _WORD.findall(other.casefold())
    added: list[list[str]] = [[]]  # runs of further words: before, between and after the words of `text`
    for word in longer:
        if len(added) <= len(words) and word == words[len(added) - 1]:
            added.append([])
        else:
            added[-1].append(word)
    if len(added) <= len(words) or len(words) == len(longer):
        return False
    for i, run in enumerate(added):
        # "Bob's wife left", "Ann met Bob's wife" and "The wife of Bob left" are about somebody else than Bob.
        possessive = "of" in run[1:] and _ARTICLES.issuperset(words[:i])
        if possessive or run[:1] in (["s"], ["的"]) or _MEANING_CHANGERS & set(run):
            return False
        # A number next to a number makes a different one: 2 becomes 2.1, 3 becomes 3,000, 三 becomes 十三.
        if any(map(counts, run)) and any(map(counts, words[max(0, i - 1) : i + 1])):
            return False
    return True
