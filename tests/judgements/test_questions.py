"""Drawn questions that keep to the response, on fakes; and the scale of answer_relevance's soft score."""

from typing import Any

import pytest

from localeval import Judge, Score, evaluate
from localeval.claims.foreign_words import foreign_word
from localeval.claims.question_words import content_terms
from localeval.errors import InputError
from localeval.judgements.questions import example_texts
from localeval.metrics.signature import differences
from localeval.prompts import load_prompt
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import signature

QUESTION = "How is the barley loaf baked?"
RECIPE = "Mix barley flour with salt and water. Bake the loaf in a hot oven for forty minutes."
HONEST, COPIED = "How long does the loaf bake?", "How is green tea made?"
SAMPLE: dict[str, Any] = {"user_input": QUESTION, "response": RECIPE}
ZH_SAMPLE: dict[str, Any] = {
    "user_input": "青稞饼怎么烤？",
    "response": "先把青稞面和水、盐揉成面团，再放进烤箱烤四十分钟，取出来晾凉。",
}


def drawn(*questions: str, sufficient: float = 0.9) -> list[dict[str, Any]]:
    return [{"question": question, "sufficient": sufficient} for question in questions]


def asked(sample: dict[str, Any], *questions: str, count: int = 2) -> tuple[Any, Score, FakeEngine]:
    """The record of `count` draws and the score, where the model writes these questions one after another."""
    engine = FakeEngine([{"sufficient": 0.8}, *drawn(*questions)])
    embedder = FakeEmbedder(dict.fromkeys([sample["user_input"], *questions], (1, 0)))
    result = evaluate([sample], ["answer_relevance"], fake_judge(engine, embedder), questions=count)
    engine.close()  # raises if a question is left over
    return result.samples[0].records["questions"], result.scores[0]["answer_relevance"], engine


def questions_of(record: Any) -> list[str]:
    return [draw.question for draw in record.draws]


@pytest.mark.parametrize(
    ("sample", "copied", "honest"),
    [(SAMPLE, COPIED, HONEST), (ZH_SAMPLE, "绿茶是怎么制作的？", "面团要烤多少分钟？")],
)
def test_a_question_with_words_of_the_worked_examples_alone_is_drawn_again(
    sample: dict[str, Any], copied: str, honest: str
) -> None:
    record, score, engine = asked(sample, copied, honest, honest)
    assert questions_of(record) == [honest, honest]
    assert [draw.foreign for draw in record.draws] == ["", ""]
    assert score.value == 1
    assert [len(call.items) for call in engine.calls] == [1, 2, 1]


def test_a_question_that_is_drawn_again_has_other_seeds_and_the_others_keep_theirs() -> None:
    _, _, engine = asked(SAMPLE, COPIED, HONEST, HONEST)
    first, again = (call.seeds for call in engine.calls[1:])
    _, _, undisturbed = asked(SAMPLE, HONEST, HONEST)
    assert first == undisturbed.calls[1].seeds
    assert first is not None
    assert again is not None
    assert set(again).isdisjoint(first)


def test_the_last_try_shows_the_model_no_worked_example() -> None:
    _, _, engine = asked(SAMPLE, COPIED, HONEST, COPIED, HONEST)
    examples = [bool(call.prefix.examples) for call in engine.calls]
    assert examples == [True, True, True, False]
    assert engine.calls[3].prefix.system == engine.calls[1].prefix.system


def test_a_question_that_stays_foreign_is_flagged_with_its_word_and_counts_as_unanswered() -> None:
    record, score, _ = asked(SAMPLE, COPIED, HONEST, COPIED, COPIED)
    assert questions_of(record) == [COPIED, HONEST]
    assert [(draw.foreign, draw.sufficient) for draw in record.draws] == [("green", 0.0), ("", 0.9)]
    assert (score.value, score.soft) == (1 / 2, 0.8 / 2)


def test_draws_that_keep_to_the_response_cost_no_further_call() -> None:
    _, _, engine = asked(SAMPLE, HONEST, "What is the loaf made of?")
    assert len(engine.calls) == 2


@pytest.mark.parametrize("relevance", ["question", "draws", "ragas"])
def test_a_foreign_question_counts_as_unanswered_whichever_sufficiency_counts(relevance: str) -> None:
    engine = FakeEngine([{"sufficient": 0.8}, *drawn(COPIED, HONEST, COPIED, COPIED)])
    embedder = FakeEmbedder(dict.fromkeys([QUESTION, COPIED, HONEST], (1, 0)))
    options: dict[str, Any] = {"relevance": relevance, "questions": 2, "threshold": 0.0}
    assert fake_judge(engine, embedder).score("answer_relevance", SAMPLE, **options).value == 1 / 2


def test_a_response_in_a_language_without_word_lists_is_not_checked() -> None:
    french = {
        **SAMPLE,
        "response": "La farine est mélangée avec de l'eau et du sel, puis la pâte repose au four.",
    }
    record, _, engine = asked(french, COPIED, COPIED)
    assert (questions_of(record), len(engine.calls)) == ([COPIED, COPIED], 2)


@pytest.mark.parametrize(
    ("question", "response"),
    [
        ("When was the mill built?", "The mill was built in 1820."),
        ("Which countries border Arland?", "Arland has a border with one country, Norrow."),
        ("Who wrote The Grey Heron?", "The Grey Heron was written by Ada Moll in 1931 and sold badly."),
        ("How many people live in Skarby?", "Skarby has 12,400 inhabitants, most of them near the harbour."),
        ("What does the NLB do?", "The National Lake Bureau measures how deep and how clean every lake is."),
        ("What is the main purpose of the sluice?", "The sluice keeps salt water out of the meadows."),
        ("Can invoices be sent by fax?", "No, invoices cannot be sent by fax, only by mail."),
        ("How do you bake barley bread?", RECIPE),
        ("海燕电影院是哪一年建成的？", "海燕电影院建于1936年，有六百个座位，现在是剧场。"),
        ("这座剧场有多少座位？", "海燕电影院建于1936年，有六百个座位，现在是剧场。"),
        ("发票可以用传真发送吗？", "不可以，发票不能用传真发送，只能寄送纸质的。"),
    ],
)
def test_an_honest_question_is_not_foreign(question: str, response: str) -> None:
    for language in ("en", "zh"):
        examples = content_terms(example_texts(load_prompt("questions", language)))
        assert foreign_word(question, response, examples) == ""


@pytest.mark.parametrize(
    ("question", "response", "word"),
    [
        ("When did Orvika join the league?", "The league has nine members and meets twice a year.", "Orvika"),
        ("What happened in 1987?", "The league has nine members and meets twice a year.", "1987"),
        ("How do penguins raise chicks?", "The league has nine members and meets twice a year.", "penguins"),
        ("林海文是哪个队的教练？", "联盟有九个成员，每年开两次会，会议轮流在各成员所在城市举行。", "林海文"),
        ("企鹅怎么养育小企鹅？", "联盟有九个成员，每年开两次会，会议轮流在各成员所在城市举行。", "企鹅"),
    ],
)
def test_a_name_a_number_or_another_subject_is_foreign(question: str, response: str, word: str) -> None:
    assert word in foreign_word(question, response, frozenset())


@pytest.mark.parametrize(
    ("response", "own", "copied"),
    [
        ("1820", "When was the mill built?", "When was the Orrin Bridge opened?"),
        ("1820年", "水磨坊建于哪一年？", "望澜桥是哪一年通车的？"),
    ],
)
def test_a_brief_response_may_be_asked_with_other_words_but_those_of_the_examples(
    response: str, own: str, copied: str
) -> None:
    examples = content_terms(
        tuple(t for code in ("en", "zh") for t in example_texts(load_prompt("questions", code)))
    )
    assert foreign_word(own, response, examples, brief=True) == ""
    assert foreign_word(copied, response, examples, brief=True) != ""


@pytest.mark.parametrize(
    ("response", "sentence", "shown"),
    [
        ("No. It costs five dollars.", "The tour costs five dollars.", "No. The tour costs five dollars."),
        ("No, it is not free.", "No, the tour is not free.", "No, the tour is not free."),
        ("不是。票价五元。", "导览票价五元。", "不是。 导览票价五元。"),
    ],
)
def test_a_brief_no_stays_in_the_sentences_that_stand_beside_the_real_question(
    response: str, sentence: str, shown: str
) -> None:
    asking = "Is the tour free?" if response.isascii() else "导览免费吗？"
    judge = fake_judge(Completing(sentence), FakeEmbedder({asking: (1, 0), "Is it free?": (1, 0)}))
    result = evaluate([{"user_input": asking, "response": response}], ["answer_relevance"], judge)
    record: Any = result.samples[0].records["questions"]
    assert shown in record.completed


class Completing(FakeEngine):
    """Makes one sentence of each part of a brief response, and draws the question that was asked."""

    def __init__(self, sentence: str) -> None:
        super().__init__([])
        self._sentence = sentence

    def _reply(self, schema: type[Any]) -> Any:
        values = {"statements": [self._sentence], "sufficient": 0.9, "question": "Is it free?"}
        self._answers = [{name: values[name] for name in schema.model_fields}]
        return super()._reply(schema)


# The scale of the soft score


class Embedding(FakeEmbedder):
    """Unrelated questions have a mean cosine of 0.75 in English and of 0.6 in Chinese."""

    def __init__(self, vectors: Any, unrelated: Any = None) -> None:
        super().__init__(vectors)
        self.unrelated = unrelated or {"en": 0.75, "zh": 0.6}

    def signature(self) -> dict[str, Any]:
        return {**super().signature(), "unrelated": self.unrelated}


def judged(embedder: FakeEmbedder, sample: dict[str, Any], question: str) -> tuple[Score, Any]:
    judge = fake_judge(FakeEngine([{"sufficient": 0.5}, *drawn(question)]), embedder)
    result = evaluate([sample], ["answer_relevance"], judge, questions=1)
    return result.scores[0]["answer_relevance"], result.samples[0].records["similarity"]


@pytest.mark.parametrize(
    ("sample", "question", "cosine", "soft"),
    [
        (SAMPLE, HONEST, 0.875, 0.5 * 0.5),
        (SAMPLE, HONEST, 0.7, 0.0),
        (ZH_SAMPLE, "面团要烤多少分钟？", 0.8, 0.5 * 0.5),
    ],
)
def test_soft_begins_at_the_cosine_of_unrelated_questions_and_value_at_zero(
    sample: dict[str, Any], question: str, cosine: float, soft: float
) -> None:
    vectors = {sample["user_input"]: (1.0, 0.0), question: (cosine, (1 - cosine**2) ** 0.5)}
    score, record = judged(Embedding(vectors), sample, question)
    assert score.value == pytest.approx(cosine)
    assert score.soft == pytest.approx(soft, abs=1e-6)
    assert record.cosines == pytest.approx([cosine])


def test_an_embedder_of_ones_own_has_the_cosine_itself_as_its_soft_score() -> None:
    vectors = {QUESTION: (1, 0), HONEST: (4, 3)}
    score, record = judged(FakeEmbedder(vectors), SAMPLE, HONEST)
    assert score.soft == pytest.approx(0.8 * 0.5)
    assert record.unrelated is None


@pytest.mark.parametrize("wrong", [{"en": 1.0}, {"en": "high"}, 0.75])
def test_a_cosine_of_unrelated_questions_that_can_be_none_is_refused(wrong: Any) -> None:
    embedder = Embedding({QUESTION: (1, 0), HONEST: (4, 3)}, wrong)
    assert "unrelated" in said(InputError, judged, embedder, SAMPLE, HONEST)


def test_runs_with_another_scale_of_soft_differ_also_where_one_has_none() -> None:
    plain = signature(["answer_relevance"])
    first, second = (
        plain.model_copy(update={"embedder": {**plain.embedder, "unrelated": {"en": cosine}}})
        for cosine in (0.75, 0.8)
    )
    for a, b in ((first, second), (plain, first), (first, plain)):
        assert any("embedder.unrelated" in line for line in differences(a, b)[0])
    assert not any("unrelated" in line for line in differences(first, first)[0])


# Contexts that only repeat the question


def useful(question: str, contexts: list[str], *verdicts: float) -> Any:
    """The record of a judge that is asked about as many contexts as there are `verdicts`."""
    judge: Judge = fake_judge(FakeEngine([{"verdict": p} for p in verdicts]))
    sample = {"user_input": question, "response": "In 1820.", "retrieved_contexts": contexts}
    record = evaluate([sample], ["context_precision"], judge).samples[0].records["useful"]
    judge.close()
    return record


@pytest.mark.parametrize(
    ("question", "repeats"),
    [
        ("When was the mill on the Arl built?", "The mill on the Arl was built."),
        ("When was the mill on the Arl built?", "In which year was the mill built?"),
        ("水磨坊是什么时候建造的？", "水磨坊是什么时候建造的？"),
        ("水磨坊是什么时候建造的？", "建造了水磨坊。"),
    ],
)
def test_a_context_that_only_repeats_the_question_is_not_useful_and_is_not_asked_about(
    question: str, repeats: str
) -> None:
    record = useful(question, ["Coffee is brown, and a mill grinds it.", repeats], 0.4)
    assert (record.contexts, record.repeats) == ((0.4, 0.0), (1,))


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("When was the mill built?", "The mill was built in 1820."),
        ("When was the mill built?", "The mill was never built."),
        ("Who owns the mill?", "Moll owns the mill."),
        ("Is the mill old?", "The mill is old."),
        ("Which is older, the mill or the bridge?", "The mill is older."),
        ("水磨坊是哪年建造的？", "水磨坊是1820年建造的。"),
        ("水磨坊老吗？", "水磨坊老。"),
        ("水磨坊和石桥哪个老？", "水磨坊老。"),
    ],
)
def test_a_context_that_can_answer_the_question_is_asked_about(question: str, context: str) -> None:
    assert useful(question, [context], 0.9).contexts == (0.9,)
