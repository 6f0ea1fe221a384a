"""Who decides whether statements are supported: the judge is asked, its head read, or HHEM classified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from localeval.claims.evidence import Evidence, context_sentences, rank_sentences
from localeval.claims.main_clause import main_clause
from localeval.claims.sources import source_terms
from localeval.engine.interface import Reply, TreeEngine
from localeval.judgements.base import Choices, Inputs, Models
from localeval.judgements.bindings import Binding, bounded, find_bindings
from localeval.judgements.reading import ReadingInputs, is_read, read, reading_inputs
from localeval.judgements.replies import YesOrNo, probability_of_yes
from localeval.judgements.windows import MAX_SHOWN_CHARACTERS, ask_in_windows
from localeval.prompts import PromptBySha256, PromptForm, join
from localeval.samples import Sample
from localeval.text.display import one_line

MAX_REASON_TOKENS = 120
MAX_CLOSEST = 2  # sentences of the premise that are repeated next to a statement
_BETWEEN_CLOSEST = " … "


class ReasonedReply(BaseModel):
    reason: str
    verdict: Literal["yes", "no"]


ASKED_PROMPT = PromptForm("support", replies={"verdict": YesOrNo}, optional={"verdict": ("closest",)})
REASONED_PROMPT = PromptForm(
    "support_reasoned", replies={"verdict": ReasonedReply}, optional={"verdict": ("closest",)}
)


class Statement(Inputs):
    """A statement, and the number of its sentence in the text that makes it, from 0."""

    sentence: int
    text: str


class Decided(NamedTuple):
    """The fields of a `Verdict` that a model decides."""

    probability: float
    reason: str | None = None
    core: str | None = None
    mass: float = 1.0
    binding: Binding | None = None


class Decisions(NamedTuple):
    """What was decided on each statement.

    windows        into how many the premise was cut; the best one decides
    all_supported  P(all are supported), where a head read
    """

    decided: list[Decided]
    windows: int
    all_supported: float | None = None


class Asked(Inputs):
    """The judge is asked about each statement.

    reasoned  whether it writes a reason first
    question  beside which the values of a response are compared; None where they are not
    """

    by: Literal["llm"] = "llm"
    prompt: PromptBySha256
    reasoned: bool
    question: str | None

    def decide(
        self,
        premise: Sequence[str],
        statements: Sequence[Statement],
        closest: Sequence[Sequence[Evidence]],
        models: Models,
    ) -> Decisions:
        texts = [statement.text for statement in statements]
        decisions = ask_about(self, premise, texts, closest, models.engine)
        if self.question is None:
            return decisions
        bindings = find_bindings(models.engine, self.question, premise, texts)
        decided = [
            decision._replace(binding=binding, probability=bounded(decision.probability, binding))
            for decision, binding in zip(decisions.decided, bindings, strict=True)
        ]
        return decisions._replace(decided=decided)


class Hhem(Inputs):
    """The classifier decides on pairs of premise and statement. `classifier` is its signature."""

    by: Literal["hhem"] = "hhem"
    classifier: dict[str, Any]

    def decide(
        self,
        premise: Sequence[str],
        statements: Sequence[Statement],
        closest: Sequence[Sequence[Evidence]],  # noqa: ARG002 (as of all deciders)
        models: Models,
    ) -> Decisions:
        texts = [statement.text for statement in statements]
        probabilities, windows = models.classifier.support(premise, texts)
        return Decisions([Decided(probability) for probability in probabilities], windows)


class Read(Inputs):
    """A head decides each sentence of the response, and a sentence is its own statement."""

    by: Literal["head"] = "head"
    reading: ReadingInputs

    def decide(
        self,
        premise: Sequence[str],  # noqa: ARG002 (as of all deciders)
        statements: Sequence[Statement],
        closest: Sequence[Sequence[Evidence]],  # noqa: ARG002
        models: Models,
    ) -> Decisions:
        record = read(self.reading, models.engine)
        sentences = [record.sentences[statement.sentence] for statement in statements]
        decided = [Decided(sentence.probability, binding=sentence.binding) for sentence in sentences]
        return Decisions(decided, record.windows, record.all_supported)


def choose_decider(
    sample: Sample, choices: Choices, language: str, *, of_response: bool, by_hhem: bool
) -> Asked | Hhem | Read:
    """Choose by the options and the sample who decides.

    language     of the text that makes the statements
    of_response  whether the contexts are to support the response, which was written from them
    by_hhem      whether the classifier decides whatever the options say
    """
    options = choices.options
    if by_hhem or options.support_by == "hhem":
        return Hhem(classifier=dict(choices.classifier))
    if of_response and is_read(sample, choices):
        return Read(reading=reading_inputs(sample, choices))
    reasoned = options.verdict == "reasoned"
    form = REASONED_PROMPT if reasoned else ASKED_PROMPT
    return Asked(
        prompt=options.prompt(form.name, language),
        reasoned=reasoned,
        question=(sample.user_input or "") if of_response else None,
    )


def choose_asking_decider(sample: Sample, choices: Choices, language: str) -> Asked | Hhem:
    """Choose who decides on statements that a head does not read, as it reads the response with all contexts.

    Their values are compared as values of the response are.
    """
    decider = choose_decider(sample, choices, language, of_response=False, by_hhem=False)
    if isinstance(decider, Asked):
        return decider.model_copy(update={"question": sample.user_input or ""})
    if isinstance(decider, Hhem):
        return decider
    raise TypeError("a head reads all contexts at once")


def ask_about(
    asked: Asked,
    premise: Sequence[str],
    statements: Sequence[str],
    closest: Sequence[Sequence[Evidence]],
    engine: TreeEngine,
) -> Decisions:
    """Ask about each statement.

    A prompt may repeat next to a statement the `closest` sentences that the window has. A statement
    with asides is asked about without them too, and gets the lower of both probabilities (see `main_clause`).
    """
    cores = _cores(statements, premise)
    texts = [*statements, *cores.values()]
    closest_to_cores = rank_sentences([*cores.values()], context_sentences(premise), MAX_CLOSEST)
    prompt = asked.prompt
    schema: type[BaseModel] = ReasonedReply if asked.reasoned else YesOrNo

    def render_items(part: str) -> list[str]:
        shown = [*format_evidence(closest, part), *format_evidence(closest_to_cores, part)]
        return [
            prompt.render_item("verdict", statement=text, closest=evidence)
            for text, evidence in zip(texts, shown, strict=True)
        ]

    replies, windows = ask_in_windows(
        engine,
        prompt.prefix("verdict", schema),
        lambda part: prompt.render_context(contexts=part),
        premise,
        render_items,
        schema,
        MAX_REASON_TOKENS if asked.reasoned else 0,
    )
    decided = [_decided(reply) for reply in replies[: len(statements)]]
    for (i, core), reply in zip(cores.items(), replies[len(statements) :], strict=True):
        of_core = _decided(reply)
        if of_core.probability < decided[i].probability:
            decided[i] = of_core._replace(core=core)
    return Decisions(decided, windows)


def _cores(statements: Sequence[str], premise: Sequence[str]) -> dict[int, str]:
    """Return the statements with asides, without these: number of the statement -> its main clause."""
    source = source_terms(premise)
    cores = {}
    for i, text in enumerate(statements):
        core = main_clause(text, source)
        if core != text:
            cores[i] = core
    return cores


def _decided(reply: Reply[Any]) -> Decided:
    return Decided(
        probability=probability_of_yes(reply),
        reason=getattr(reply.value, "reason", None),
        mass=reply.mass.get("verdict", 1.0),
    )


def closest_evidence(statements: Sequence[str], premise: Sequence[str]) -> list[str]:
    """Join the sentences of the premise that share most with each statement; "" where none does.

    >>> closest_evidence(["Tea needs rain."], ["Tea grows. It needs rain.", "Coffee does not."])
    ['Tea grows. … It needs rain.']
    """
    closest = rank_sentences(statements, context_sentences(premise), MAX_CLOSEST)
    return format_evidence(closest, join(premise))


def format_evidence(closest: Sequence[Sequence[Evidence]], part: str) -> list[str]:
    """Join the closest sentences of each statement, as far as `part` of the premise has them.

    The sentences of most statements come first, then by position: prompts that begin alike share that part's
    computation. A sentence of more than `MAX_SHOWN_CHARACTERS` is left out, so that there is room for the
    contexts.
    """
    shown = [
        [s for s in sentences if s.text in part and len(s.text) <= MAX_SHOWN_CHARACTERS]
        for sentences in closest
    ]
    counts = Counter(sentence for sentences in shown for sentence in sentences)
    joined = []
    for sentences in shown:
        ordered = sorted(sentences, key=lambda s: (-counts[s], s.context, s.start))
        joined.append(_BETWEEN_CLOSEST.join(one_line(sentence.text) for sentence in ordered))
    return joined
