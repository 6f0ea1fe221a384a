"""Which statements does the response make, or the reference?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from typing import Any

from pydantic import BaseModel

from localeval.engine.interface import Reply
from localeval.judgements import grounding
from localeval.judgements.context import JudgeContext, Record, texts_of
from localeval.samples import Sample
from localeval.text.claims import extract_claims, has_content, is_claim
from localeval.text.display import one_line
from localeval.text.language import language, strip_thinking
from localeval.text.numbers import counts
from localeval.text.overlap import long_numbers, omits_content, shared_weight, term_positions, terms

VERSION = "8"

_WORD = re.compile(r"[㐀-鿿豈-﫿]|[^\W㐀-鿿豈-﫿]+")
# A statement with one of these words does not say what it says without it. The t is that of "can't", 几 and
# 差 are those of 几乎 and 差点.
_MEANING_CHANGERS = frozenset("不没无未非否若只仅几差称说据").union(
    ("not", "no", "never", "neither", "nor", "without", "hardly", "rarely", "seldom", "t", "if", "unless"),
    ("only", "almost", "nearly", "fewer", "less", "might", "could", "allegedly", "reportedly"),
    ("said", "says", "claims", "claimed", "denies", "denied", "alleged", "supposedly"),
)
_ARTICLES = frozenset(("the", "a", "an"))
WHOLE_CLAUSE = 8  # terms; a name in the place of a pronoun has fewer


class SentenceStatements(Record):
    """One sentence of the text, its place there, and the statements that it makes.

    cut  "" or why the list is not as the model wrote it: "budget" and "repetition" ended it; with "strays" it
         said nothing of this sentence, with "details" it left out a number or a clause: the sentence stands
         for itself
    """

    sentence: str
    start: int
    end: int
    statements: tuple[str, ...]
    cut: str = ""


class StatementsRecord(Record):
    """Offsets count in the text, that of a response without its `<think>` blocks, if it had any."""

    sentences: tuple[SentenceStatements, ...]
    language: str
    thinking_removed: bool = False

    def flat(self) -> list[tuple[int, str]]:
        """List (sentence number, statement) in order."""
        return [(i, text) for i, s in enumerate(self.sentences) for text in s.statements]


class StatementsReply(BaseModel):
    """What the model writes for one sentence."""

    statements: list[str]


@dataclass(frozen=True)
class StatementsTask:
    """The judgement of the statements that `column` makes: the response, or the reference."""

    column: str

    def recipe(self, context: JudgeContext, sample: Sample) -> dict[str, Any]:
        if self._are_sentences(context, sample):
            return {"statements": "sentences"}
        [text] = texts_of(sample, self.column)
        return {"statements": "llm", "prompt": context.options.prompt("statements", language(text)).sha256}

    def _are_sentences(self, context: JudgeContext, sample: Sample) -> bool:
        """Tell whether the sentences are the statements: by choice, or because the response is read."""
        if context.options.statements == "sentences":
            return True
        return self.column == "response" and grounding.decides(context, sample)

    def ask(self, context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> StatementsRecord:
        """Ask for the statements of each sentence (see `extract_claims`); what repeats is dropped.

        A sentence stands for itself where the model leaves it without a finished statement, or leaves out a
        number or a clause of it. Where the sentences are the statements, no model is asked.
        """
        [text], question = texts_of(sample, self.column), sample.user_input or ""
        spoken = language(text)
        sentences = extract_claims(text)
        lists: list[tuple[Sequence[str], str]] = []  # the statements of each sentence, and why they were cut
        if self._are_sentences(context, sample):
            lists += (([one_line(s.text)], "") for s in sentences)
        elif sentences:
            prompt = context.options.prompt("statements", spoken)
            # A small model forgets to escape double quotes, and ends its string at one.
            shown = [one_line(s.text).replace('"', "'") for s in sentences]
            replies = context.engine.generate(
                prompt.prefix("statements", StatementsReply),
                prompt.render_context(user_input=question, response=text.replace('"', "'")),
                [prompt.render_item("statements", sentence=one) for one in shown],
                StatementsReply,
                # A statement repeats its subject, so together they are longer than the sentence.
                budget=[48 + 2 * context.engine.count(s.text) for s in sentences],
            )
            said = StatementFilter([s.text for s in sentences], question)
            lists += (said.choose(i, reply) for i, reply in enumerate(replies))
        unique = _without_duplicates(texts for texts, _ in lists)
        return StatementsRecord(
            sentences=tuple(
                SentenceStatements(sentence=s.text, start=s.start, end=s.end, statements=texts, cut=cut)
                for s, texts, (_, cut) in zip(sentences, unique, lists, strict=True)
            ),
            language=spoken,
            thinking_removed=self.column == "response" and strip_thinking(sample.response or "")[1],
        )


class StatementFilter:
    """Chooses, of what a model wrote for each sentence of a text, what the sentence says."""

    def __init__(self, sentences: Sequence[str], question: str = "") -> None:
        self._sentences, self._question = sentences, question
        self._of = [terms(sentence) for sentence in sentences]
        self._places = term_positions(self._of)
        # A term of all sentences tells nothing of any.
        spread = Counter(chain(*self._of, terms(question)))
        self._weights = {term: math.log(1 + len(self._of) / count) for term, count in spread.items()}

    def choose(self, i: int, reply: Reply[StatementsReply]) -> tuple[Sequence[str], str]:
        """Return the statements of sentence `i`, and why they are not as the model wrote them (or "")."""
        whole, written = one_line(self._sentences[i]), [*map(one_line, reply.value.statements)]
        texts = [text for text in written if is_claim(text) and not self.strays(text, i)]
        # What was written may end as a question for a title at its end; and an answer that is no more than a
        # mention ("[1962]") is none.
        if not texts and (reply.truncated or any(map(has_content, written)) or not has_content(whole)):
            return [whole], reply.truncated or "strays"
        # A refusal repeats what it was asked; a number of its own is a claim that the model overlooked.
        if omits_content(whole, texts) if texts else long_numbers(whole) - long_numbers(self._question):
            return [whole], "details"
        return texts, reply.truncated

    def strays(self, statement: str, i: int) -> bool:
        """Tell whether a statement that was written for sentence `i` says what another sentence says.

        Either it leaves out most of what is special in its own sentence and has more of another one, or what
        it adds to its own is a whole clause of another one. A name in the place of a pronoun is neither.

        >>> StatementFilter(["The colours are:", "Red is warm.", "Blue is cold."]).strays("Red is warm.", 0)
        True
        >>> StatementFilter(["Ann Lee came in May.", "She left."]).strays("Ann Lee left.", 1)
        False
        """
        said, own = terms(statement), self._of[i]
        shares = shared_weight(said, len(self._of), self._places, self._weights)
        here, shares[i] = shares[i], 0.0
        most = max(shares)
        leaves_out = here < 0.35 * self._weight(own) and most > here
        clause = (said & self._of[shares.index(most)]) - own if most else frozenset[str]()
        return leaves_out or (len(clause) >= WHOLE_CLAUSE and self._weight(clause) > here)

    def _weight(self, some: frozenset[str]) -> float:
        """Sum the weights of terms of the text, by their letters, so that the bits are always the same."""
        return sum(self._weights[term] for term in sorted(some))


def _without_duplicates(lists: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    seen: set[str] = set()
    kept = []
    for texts in lists:
        own: dict[str, str] = {}
        for text in texts:
            own.setdefault(text.casefold().rstrip(".。 "), text)
        first = [text for key, text in own.items() if key not in seen]
        seen.update(own)
        less = {text for text, other in permutations(first, 2) if _is_subsumed(text, other)}
        kept.append(tuple(text for text in first if text not in less))
    return kept


def _is_subsumed(text: str, other: str) -> bool:
    """Tell whether `other` has all words of `text` in their order, and more that leaves it true.

    Han text is compared by characters.

    >>> _is_subsumed("Ann Lee left.", "Ann Lee, the mayor, left in May.")
    True
    >>> _is_subsumed("Ann thanked Lee.", "Lee thanked Ann in May.")
    False
    >>> _is_subsumed("Tea is safe.", "Tea is not safe."), _is_subsumed("Bob left.", "Bob's wife left.")
    (False, False)
    >>> _is_subsumed("It costs 3 dollars.", "It costs 3,000 dollars.")
    False
    """
    words, longer = _WORD.findall(text.casefold()), _WORD.findall(other.casefold())
    added: list[list[str]] = [[]]  # between the words of `text`, before them and behind
    for word in longer:
        if len(added) <= len(words) and word == words[len(added) - 1]:
            added.append([])
        else:
            added[-1].append(word)
    if len(added) <= len(words) or len(words) == len(longer):
        return False
    for i, run in enumerate(added):
        # "Bob's wife left", "Ann met Bob's wife" and "The wife of Bob left" speak of somebody else than Bob.
        of = i < len(words) and "of" in run[1:] and _ARTICLES.issuperset(words[:i])
        if of or run[:1] in (["s"], ["的"]) or _MEANING_CHANGERS & set(run):
            return False
        # Beside a number it makes another one: 2.1 of 2, 3,000 of 3, 十三 of 三.
        if any(map(counts, run)) and any(map(counts, words[max(0, i - 1) : i + 1])):
            return False
    return True
