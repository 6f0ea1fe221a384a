"""Do the contexts that a statement cites support it, and is each citation needed?

After ALCE (Gao et al. 2023).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import ClassVar, Literal

from localeval.claims.cited_sentences import (
    CitedContexts,
    Place,
    cited_contexts,
    counts_from_zero,
    marks_of_sentences,
)
from localeval.claims.evidence import Evidence, context_sentences, rank_sentences
from localeval.claims.terms import STOP, terms
from localeval.judgements.base import (
    AnsweredBy,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.deciders import (
    ASKED_PROMPT,
    MAX_CLOSEST,
    REASONED_PROMPT,
    Asked,
    Hhem,
    Statement,
    choose_asking_decider,
)
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import UnjudgedText, response_of
from localeval.judgements.statements import StatementsRecord
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.citation_marks import find_citation_marks, without_citation_marks
from localeval.text.sentences import has_words
from localeval.text.word_lists import read_lists

# Of the contexts that a sentence cites; further ones are not asked about by themselves, and count as wrong.
MAX_CHECKED = 8
# Below it the judge is asked whether one of the closest contexts that are not cited supports the statement.
MAX_ELSEWHERE_PROBABILITY = 0.75
MAX_ELSEWHERE = 2  # contexts


class SentenceCitations(Record):
    """What a sentence of the response cites; see `localeval.claims.cited_sentences.CitedContexts`."""

    cited: tuple[int, ...] = ()
    out_of_range: tuple[int, ...] = ()
    unreadable: tuple[str, ...] = ()


class CitedStatement(Record):
    """A statement, without its marks, and what the contexts that its sentence cites say of it.

    sentence     number of its sentence, from 0
    probability  P(the cited contexts together support it); 0 where none is cited
    alone        of the first `MAX_CHECKED` of `cited`: P(this context alone supports it)
    without      of the same: P(the other cited contexts support it)
    elsewhere    the context that is not cited and is likeliest to support it; None where none was asked about
    elsewhere_probability  P(that context supports it)
    evidence     the sentence of the cited contexts that shares most with it; None where none does
    """

    statement: str
    sentence: int
    probability: float = 0.0
    alone: tuple[float, ...] = ()
    without: tuple[float, ...] = ()
    elsewhere: int | None = None
    elsewhere_probability: float = 0.0
    evidence: Evidence | None = None

    def needs(self, place: int, threshold: float) -> bool:
        """Return whether the citation at this place of `cited` supports the statement, and is no idle one.

        So it is if all together support the statement, and it does so alone, or the others do not.
        """
        if place >= len(self.alone) or self.probability < threshold:
            return False
        return self.alone[place] >= threshold or self.without[place] < threshold

    def need(self, place: int) -> float:
        """Return the probability of the same, 0 to 1."""
        if place >= len(self.alone):
            return 0.0
        return self.probability * max(self.alone[place], 1 - self.without[place])


class CitationsRecord(Record):
    """What each sentence of the response cites, and what was decided about its statements.

    from_zero           whether the marks count contexts from 0
    number_of_contexts  that the sample has
    """

    sentences: tuple[SentenceCitations, ...]
    statements: tuple[CitedStatement, ...]
    from_zero: bool = False
    number_of_contexts: int
    language: str
    windows: int = 1
    by: Literal["llm", "hhem"] = "llm"

    decides: ClassVar[Kind] = "other"
    texts_of: ClassVar[str] = "response"

    def by_sentence(self) -> Iterator[tuple[SentenceCitations, list[CitedStatement]]]:
        """Yield each sentence that makes a statement with its statements."""
        statements = defaultdict[int, list[CitedStatement]](list)
        for statement in self.statements:
            statements[statement.sentence].append(statement)
        for number, citations in enumerate(self.sentences):
            if statements[number]:
                yield citations, statements[number]

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether the cited contexts support each statement, and what is wrong with its citations."""
        made = context.records.get("statements")
        places = made.sentences if isinstance(made, StatementsRecord) else ()
        listed = []
        for citations, statements in self.by_sentence():
            for statement in statements:
                place = places[statement.sentence] if statement.sentence < len(places) else None
                listed.append(
                    Decision(
                        text=statement.statement,
                        label="cited",
                        probability=statement.probability,
                        is_yes=bool(citations.cited) and statement.probability >= context.threshold,
                        threshold=context.threshold,
                        column="response",
                        start=place.start if place else None,
                        end=place.end if place else None,
                        sentence=place.sentence if place else "",
                        by=self.by,
                        against="retrieved_contexts",
                        premise=self._marks(citations.cited),
                        evidence=statement.evidence,
                        reason=self._reason(citations, statement, statements, context.threshold),
                    )
                )
        return tuple(listed)

    def _reason(
        self,
        citations: SentenceCitations,
        statement: CitedStatement,
        statements: Sequence[CitedStatement],
        threshold: float,
    ) -> str:
        """Say what a statement cites, and what is wrong with that: "cites [1]; [3] says it"."""
        words = read_lists("judgements", "zh" if self.language == "zh" else "en")["citations"]
        parts = self._cited_parts(citations, words)
        if is_misattributed(statement, threshold):
            parts.append(words["says_it"].format(marks=self._marks([statement.elsewhere or 0])))
        elif statement.probability >= threshold:
            needless = _needless(citations.cited, statements, threshold)
            if needless:
                parts.append(words["needless"].format(marks=self._marks(needless)))
        between: str = words["between"]
        return between.join(parts)

    def _cited_parts(self, citations: SentenceCitations, words: Mapping[str, str]) -> list[str]:
        """Say which contexts a sentence cites, and which of its marks name none."""
        parts = []
        if citations.cited or citations.out_of_range:
            numbers = [*self._numbers(citations.cited), *citations.out_of_range]
            parts.append(words["cites"].format(marks=_written(numbers)))
        elif not citations.unreadable:
            parts.append(words["none"])
        if citations.out_of_range:
            marks = _written(citations.out_of_range)
            parts.append(words["out_of_range"].format(marks=marks, count=self.number_of_contexts))
        if citations.unreadable:
            parts.append(words["unreadable"].format(marks=" ".join(citations.unreadable)))
        return parts

    def _numbers(self, contexts: Iterable[int]) -> list[int]:
        """Return the numbers of contexts as the response counts them."""
        first = 0 if self.from_zero else 1
        return [context + first for context in contexts]

    def _marks(self, contexts: Iterable[int]) -> str:
        return _written(self._numbers(contexts))


def _written(numbers: Iterable[int]) -> str:
    return " ".join(f"[{number}]" for number in numbers)


def _needless(cited: Sequence[int], statements: Sequence[CitedStatement], threshold: float) -> list[int]:
    """Return the cited contexts that no statement of the sentence needs."""
    return [
        context
        for place, context in enumerate(cited)
        if not any(statement.needs(place, threshold) for statement in statements)
    ]


def is_misattributed(statement: CitedStatement, threshold: float) -> bool:
    """Return whether a context supports the statement, but none that it cites."""
    if statement.elsewhere is None or statement.probability >= threshold:
        return False
    return statement.elsewhere_probability >= threshold


class CitationsInputs(Inputs):
    """The contexts, the statements without marks, what their sentences cite, and who decides."""

    contexts: tuple[str, ...]
    statements: tuple[Statement, ...]
    sentences: tuple[SentenceCitations, ...]
    from_zero: bool
    language: str
    decider: Asked | Hhem


class Citations(Judgement[CitationsInputs, CitationsRecord]):
    """Whether the contexts that each statement of the response cites support it."""

    name = "citations"
    version = "1"
    needs = ("statements",)
    record = CitationsRecord
    prompts = (ASKED_PROMPT, REASONED_PROMPT)

    def answered_by(self, options: Options) -> AnsweredBy:
        return "classifier" if options.support_by == "hhem" else "judge"

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> CitationsInputs:
        """Read the marks. Of a response that a head reads, the sentences are asked about."""
        made: StatementsRecord = records["statements"]
        contexts = tuple(sample.retrieved_contexts or ())
        text = response_of(sample)
        marks = marks_of_sentences(text, _places(text, made), len(made.sentences))
        from_zero = counts_from_zero([mark for of_one in marks for mark in of_one], len(contexts))
        named = [cited_contexts(of_one, len(contexts), from_zero=from_zero) for of_one in marks]
        return CitationsInputs(
            contexts=contexts,
            statements=tuple(
                Statement(sentence=i, text=without_citation_marks(statement) or statement)
                for i, statement in made.flat()
            ),
            sentences=tuple(_as_record(one) for one in named),
            from_zero=from_zero,
            language=made.language,
            decider=choose_asking_decider(sample, choices, made.language),
        )

    def ask(self, inputs: CitationsInputs, models: Models) -> CitationsRecord:
        """Decide on each statement that cites a context.

        With k contexts cited: by all of them, by each alone, and by all but each; with one, one question.
        A statement that these leave in doubt is compared with the closest contexts that it does not cite.
        """
        decided = _Decided(inputs, models)
        decided.ask_all((i, premise) for i, cited in decided.citing() for premise in _premises(cited))
        decided.ask_elsewhere()
        return CitationsRecord(
            sentences=inputs.sentences,
            statements=tuple(decided.statement(i) for i in range(len(inputs.statements))),
            from_zero=inputs.from_zero,
            number_of_contexts=len(inputs.contexts),
            language=inputs.language,
            windows=decided.windows,
            by=inputs.decider.by,
        )


def _places(text: str, made: StatementsRecord) -> list[Place]:
    """Return the stretches of the response that say something, in order, mere marks left out."""
    places = [Place(sentence.start, sentence.end, i) for i, sentence in enumerate(made.sentences)]
    places += [
        Place(stretch.start, stretch.end, None)
        for stretch in made.unjudged
        if stretch.reason not in ("thought", "no_words") and not _is_mark_behind_words(text, stretch)
    ]
    return sorted(places)


def _is_mark_behind_words(text: str, stretch: UnjudgedText) -> bool:
    """Return whether a stretch is only citation marks, with words before it on its line: "(Source: 2)"."""
    if stretch.reason != "source" or has_words(without_citation_marks(stretch.text)):
        return False
    line_start = text.rfind("\n", 0, stretch.start) + 1
    return bool(find_citation_marks(stretch.text)) and has_words(text[line_start : stretch.start])


def _as_record(named: CitedContexts) -> SentenceCitations:
    return SentenceCitations(**named._asdict())


def _premises(cited: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of contexts that a statement is to be compared with, each in the order of contexts.

    >>> list(_premises((3, 1, 2)))
    [(1, 2, 3), (3,), (1,), (2,), (1, 2), (2, 3), (1, 3)]
    >>> list(_premises((2,)))
    [(2,), (2,)]
    """
    yield tuple(sorted(cited))
    checked = cited[:MAX_CHECKED]
    for context in checked:
        yield (context,)
    if len(cited) > 1:
        for context in checked:
            yield _without(cited, context)


def _without(cited: Iterable[int], context: int) -> tuple[int, ...]:
    return tuple(sorted(other for other in cited if other != context))


class _Decided:
    """Asks about statements and sets of contexts, each pair once, and knows the probabilities."""

    def __init__(self, inputs: CitationsInputs, models: Models) -> None:
        self._inputs = inputs
        self._models = models
        # Number of the statement and its premise -> P(supported), and the closest sentence of that premise.
        self._probabilities: dict[tuple[int, tuple[int, ...]], float] = {}
        self._closest: dict[tuple[int, tuple[int, ...]], Evidence | None] = {}
        # Number of the statement -> contexts that it does not cite, about which the judge is asked.
        self._elsewhere = defaultdict[int, list[int]](list)
        self.windows = 1

    def citing(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the number of each statement that cites a context, and the contexts that it cites."""
        for i, statement in enumerate(self._inputs.statements):
            cited = self._inputs.sentences[statement.sentence].cited
            if cited:
                yield i, cited

    def ask_all(self, pairs: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        """Ask about pairs of a statement and a set of contexts, the statements of a set together."""
        by_premise: dict[tuple[int, ...], dict[int, None]] = {}
        for i, premise in pairs:
            if premise and (i, premise) not in self._probabilities:
                by_premise.setdefault(premise, {})[i] = None
        for premise, numbers in by_premise.items():
            self._ask(premise, list(numbers))

    def _ask(self, premise: tuple[int, ...], numbers: Sequence[int]) -> None:
        contexts = [self._inputs.contexts[context] for context in premise]
        statements = [self._inputs.statements[i] for i in numbers]
        texts = [statement.text for statement in statements]
        closest = rank_sentences(texts, context_sentences(contexts), MAX_CLOSEST)
        probabilities = [0.0] * len(numbers)
        if any(map(has_words, contexts)):
            decisions = self._inputs.decider.decide(contexts, statements, closest, self._models)
            probabilities = [decided.probability for decided in decisions.decided]
            self.windows = max(self.windows, decisions.windows)
        for i, probability, sentences in zip(numbers, probabilities, closest, strict=True):
            self._probabilities[i, premise] = probability
            self._closest[i, premise] = _in_sample(sentences[0], premise) if sentences else None

    def ask_elsewhere(self) -> None:
        """Ask of the doubtful statements about the closest contexts that they do not cite.

        The closest are those that have most of its words, the first of equals; the next one is asked about
        where the one before does not support the statement.
        """
        doubtful = [
            (i, cited)
            for i, cited in self.citing()
            if self._probabilities[i, tuple(sorted(cited))] < MAX_ELSEWHERE_PROBABILITY
        ]
        if not doubtful:
            return
        of_contexts = [terms(text) for text in self._inputs.contexts]
        for i, cited in doubtful:
            stated = terms(self._inputs.statements[i].text) - STOP
            self._elsewhere[i] = _closest_others(stated, cited, of_contexts)[:MAX_ELSEWHERE]
        for rank in range(MAX_ELSEWHERE):
            self.ask_all(
                (i, (self._elsewhere[i][rank],))
                for i, _ in doubtful
                if rank < len(self._elsewhere[i])
                and self._likeliest_elsewhere(i)[1] < MAX_ELSEWHERE_PROBABILITY
            )

    def statement(self, i: int) -> CitedStatement:
        """Return what is known about a statement."""
        statement = self._inputs.statements[i]
        cited = self._inputs.sentences[statement.sentence].cited
        if not cited:
            return CitedStatement(statement=statement.text, sentence=statement.sentence)
        checked = cited[:MAX_CHECKED]
        premise = tuple(sorted(cited))
        elsewhere, elsewhere_probability = self._likeliest_elsewhere(i)
        return CitedStatement(
            statement=statement.text,
            sentence=statement.sentence,
            probability=self._probabilities[i, premise],
            alone=tuple(self._probabilities[i, (context,)] for context in checked),
            # The others of a single one are none, and support nothing.
            without=tuple(self._probabilities.get((i, _without(cited, context)), 0.0) for context in checked),
            elsewhere=elsewhere,
            elsewhere_probability=elsewhere_probability,
            evidence=self._closest[i, premise],
        )

    def _likeliest_elsewhere(self, i: int) -> tuple[int | None, float]:
        """Return the context that is not cited and is likeliest to support a statement, and how likely."""
        likeliest: int | None = None
        highest = 0.0
        for context in self._elsewhere[i]:
            probability = self._probabilities.get((i, (context,)))
            if probability is not None and (likeliest is None or probability > highest):
                likeliest = context
                highest = probability
        return likeliest, highest


def _closest_others(stated: Set[str], cited: Sequence[int], of_contexts: Sequence[Set[str]]) -> list[int]:
    """Return the contexts with terms of a statement that it does not cite, those with most of them first.

    >>> _closest_others({"tea", "hill"}, [1], [{"tea"}, {"tea", "hill"}, {"salt"}, {"hill", "tea"}])
    [3, 0]
    """
    shared = {context: len(stated & words) for context, words in enumerate(of_contexts)}
    others = [context for context, count in shared.items() if count and context not in cited]
    return sorted(others, key=lambda context: shared[context], reverse=True)


def _in_sample(sentence: Evidence, premise: tuple[int, ...]) -> Evidence:
    """Return a sentence of a premise with the index of its context in the sample."""
    return sentence.model_copy(update={"context": premise[sentence.context]})


register_judgement(Citations())
