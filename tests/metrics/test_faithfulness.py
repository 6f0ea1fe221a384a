"""Faithfulness, long contexts and draws of answer relevance: every expected number is a counted fraction."""

import re
from typing import Any

import pytest

from localeval import Sample, Score, evaluate, plan
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge
from tests.originals import PAIR, VECTORS, Asking

CONTEXTS = ["Tea is grown in Assam. It was first planted there in 1837.", "Coffee is grown in Kodagu."]


def sample(response: str, contexts: list[str] = CONTEXTS) -> Sample:
    return Sample(user_input="Where is tea grown?", response=response, retrieved_contexts=contexts)


def judged(answered: Sample, *replies: dict[str, Any], **options: Any) -> tuple[Score, list[str]]:
    """The score, and the last line of each question of the last call; no reply may be left."""
    engine = FakeEngine(replies)
    score = fake_judge(engine).score("faithfulness", answered, **options)
    engine.close()
    return score, [item.splitlines()[-1] for item in engine.calls[-1].items]


MAYOR = "Ann Lee, the mayor, left in May."
MONKS = "Coffee was planted in Kodagu by monks from Arabia."
HOT = "Assam is hot. As Assam is hot, tea grows there."  # the second repeats the first
RAIN = "Trams run.|Trams run if it rains."
PLAY = "The play is *Who's Afraid of Tea?*"
LIST = "# Where tea is grown\n**Summary:**\n- Tea.\nWhere? 在哪里?\n如下\uff1a\n(Passages 1, 2)"


@pytest.mark.parametrize(
    ("response", "written", "asked"),  # statements, of each sentence; those asked about
    [
        ("A is so. B is not.", [], "A is so.|B is not."),  # with sentences as statements
        (HOT, ["Assam is hot.", "Assam is hot|Tea grows there."], "Assam is hot.|Tea grows there."),
        # What says less is judged with what says more, but not where it says another thing.
        (MAYOR, [f"Ann Lee left.|{MAYOR}|In May Lee left Ann."], f"{MAYOR}|In May Lee left Ann."),
        ("Trams run, if it rains.", [RAIN], RAIN),
        ("茶安全，也不安全。", ["茶安全。|茶不安全。"], "茶安全。|茶不安全。"),
        # A sentence is judged as well where its number is left out. It stands for itself where a name or
        # subject is made up, nothing or only strays were written, and where it is no more than a mention.
        ("Tea was planted in 1837.", ["Tea was planted."], "Tea was planted in 1837."),
        ("Tea keeps for 7 days.", ["Tea keeps."], "Tea keeps.|Tea keeps for 7 days."),
        ("Tea is dear.", [""], "Tea is dear."),
        ("It opened in 1962.", ["The Orrin Bridge opened in 1962."], "It opened in 1962."),
        ("It opened in 1962.", ["The mill opened in 1962."], "It opened in 1962."),
        ("茶又轻又便宜。", ["塔恩三型又轻又便宜。"], "茶又轻又便宜。"),
        (f"Tea in Assam was sung. {MONKS}", [MONKS] * 2, f"Tea in Assam was sung.|{MONKS}"),
        (PLAY, [PLAY.replace("*", "")], PLAY.replace("*", "")),
        ("[1962]", ["[1962]"], "[1962]"),
        ("Tea grows (Passage 2) [3].", ["Tea grows.|(Passage 2)|[3]"], "Tea grows."),
        (LIST, ["Tea."], "Tea."),  # headings, introductions and questions claim nothing
    ],
)
def test_the_statements_that_are_asked_about(response: str, written: list[str], asked: str) -> None:
    expected = [text for text in asked.split("|") if text]
    statements = [{"statements": [text for text in texts.split("|") if text]} for texts in written]
    verdicts = [{"verdict": float(place == 0)} for place in range(len(expected))]
    options = {} if written else {"statements": "sentences"}
    score, lines = judged(sample(response), *statements, *verdicts, **options)
    label = "陈述：" if "茶" in response else "Statement: "  # the contexts are English
    if expected:
        assert (score.value, lines) == (1 / len(expected), [label + text for text in expected])
    else:
        assert score == Score.undefined("no_statements")


def test_a_refusal_that_repeats_a_number_of_its_question_makes_no_statement() -> None:
    text = "The documents do not say who won in 1998."
    refusal = Sample(user_input="Who won in 1998?", response=text, retrieved_contexts=["Tea grows."])
    assert fake_judge(FakeEngine([])).score("faithfulness", refusal) == Score.undefined("refusal")
    another = refusal.model_copy(update={"response": "The documents end in 1997."})
    assert judged(another, {"statements": []}, {"verdict": 0.0})[0].value == 0


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("Sure! I hope this helps.", "courtesy"),
        ("您好！希望对您有帮助。", "courtesy"),
        ("I'm sorry! I cannot answer that from the documents.", "refusal"),
        ("资料中没有提到。", "refusal"),
        ("What would you like to know?", "question"),
        ("- tea.pdf\n- https://a.org/tea", "source"),
        ("<think>Tea is grown in Assam.</think>", "thought"),
        ("<thinking>Tea is grown in Assam.</thinking>Sure!", "thought"),
        ("The price is not mentioned in the texts. What would you like to know?", "nothing_judged"),
        ("...", "no_statements"),
    ],
)
def test_a_response_of_which_nothing_is_judged_is_undefined_by_its_reason(response: str, reason: str) -> None:
    judge = fake_judge(FakeEngine([]))
    for metric in ("faithfulness", "full_support"):
        assert judge.score(metric, sample(response)) == Score.undefined(reason)


def test_the_record_lists_what_is_not_judged_with_its_place() -> None:
    response = "<think>Hm.</think>Sure! Tea grows."
    engine = FakeEngine([{"verdict": 1.0}])
    [judged_sample] = evaluate(
        [sample(response)], ["faithfulness"], fake_judge(engine), statements="sentences"
    ).samples
    record: Any = judged_sample.records["statements"]
    thought, courtesy = record.unjudged
    assert (thought.reason, response[thought.start : thought.end]) == ("thought", "<think>Hm.</think>")
    assert (courtesy.reason, courtesy.start, courtesy.end) == ("courtesy", 0, 5)  # without the thought
    assert judged_sample.to_dict()["unjudged"] == {"courtesy": 1, "thought": 1}


def test_a_short_answer_is_asked_about_with_its_question() -> None:
    engine = FakeEngine([{"verdict": 0.0}])
    asked = Sample(user_input="Is tea deadly?", response="No.", retrieved_contexts=CONTEXTS)
    fake_judge(engine).score("faithfulness", asked, statements="sentences")
    assert engine.calls[0].items[0].splitlines()[-1] == "Statement: Is tea deadly? No."


def test_the_judge_sees_single_quotes_and_the_two_sentences_that_share_most_with_a_statement() -> None:
    engine = FakeEngine([{"statements": ["'Tea' from Arl needs rain."]}, {"verdict": 1.0}])
    contexts = ["Coffee needs sun. It needs much rain.", "Tea sells well. Tea from Arl grows."]
    tea = sample('"Tea" from Arl needs rain.', contexts)
    support: Any = evaluate([tea], ["faithfulness"], fake_judge(engine)).samples[0].records["support"]
    evidence = support.verdicts[0].evidence
    assert (evidence.context, contexts[1][evidence.start : evidence.end]) == (1, "Tea from Arl grows.")
    assert engine.calls[0].items[0].endswith("Sentence: 'Tea' from Arl needs rain.")
    assert '"' not in engine.calls[0].context
    closest = "Closest in the documents: It needs much rain. … Tea from Arl grows."
    assert engine.calls[1].items[0].splitlines() == [closest, "Statement: 'Tea' from Arl needs rain."]


# Long contexts. The fake engine has room for about 3,300 characters of them, beside the examples.
FILLER = " ".join(f"Filler sentence number {i} says nothing." for i in range(190))


@pytest.fixture(scope="module")
def n_ctx() -> int:
    engine = FakeEngine([{"verdict": 1.0}])
    fake_judge(engine).score("faithfulness", sample("Tea grows."), statements="sentences")
    examples = engine.settings.n_ctx - engine.room(engine.calls[0].prefix)
    return (examples + 100 + 3300) * 8 // 7


def test_long_contexts_are_cut_into_windows_and_the_best_one_decides(n_ctx: int) -> None:
    engine = FakeEngine([{"verdict": p} for p in (0.1, 0.8, 0.3)], n_ctx=n_ctx)
    answer = sample("Tea grows.", [FILLER, "Tea grows."])
    result = evaluate([answer], ["faithfulness"], fake_judge(engine), statements="sentences")
    assert result.samples[0].scores["faithfulness"].soft == 0.8
    assert "contexts read in windows: 3" in str(result)
    numbers = [re.findall(r"number (\d+) says", call.context) for call in engine.calls]
    assert [window[0] for window in numbers[1:]] == [
        window[-1] for window in numbers[:-1]
    ]  # one sentence shared
    assert "Tea grows." in engine.calls[-1].context


def test_windows_keep_the_numbers_and_marks_of_their_text(n_ctx: int) -> None:
    """Each is a part of the document as it is, so that "the third step" can be judged."""
    steps = "\n".join(f"{i}. Turn the wheel of the mill to the left and wait." for i in range(1, 90))
    document = f"# How to stop it\n{steps}\n```sh\nstop --now\n```\n{steps}"
    engine = FakeEngine([{"verdict": 0.5} for _ in range(8)], n_ctx=n_ctx)
    evaluate([sample("Tea.", [document])], ["faithfulness"], fake_judge(engine), statements="sentences")
    windows = [
        re.search(r"<documents>\n(.*)\n</documents>", call.context, re.DOTALL) for call in engine.calls
    ]
    assert len(windows) > 2
    assert all(window and window[1] in document for window in windows)


def test_a_window_shows_beside_a_statement_only_what_it_has_itself(n_ctx: int) -> None:
    engine = FakeEngine([{"verdict": 0.5} for _ in range(3)], n_ctx=n_ctx)
    answer = sample("Tea grows on hills.", ["Tea grows in Assam.", FILLER, "Hills are steep."])
    evaluate([answer], ["faithfulness"], fake_judge(engine), statements="sentences")
    for words in ("Tea grows in Assam.", "Hills are steep."):
        shown = [words in call.items[0] for call in engine.calls]
        assert shown == [words in call.context for call in engine.calls]
        assert sum(shown) == 1


@pytest.mark.parametrize("unit", ["hay and straw ", "乾草和稻草；", "稻", "धान"])
def test_a_context_without_sentence_marks_is_read_in_windows(n_ctx: int, unit: str) -> None:
    engine = FakeEngine([{"verdict": p} for p in (0.1, 0.8, 0.3, 0.2)], n_ctx=n_ctx)
    document = (unit * 5_000)[:6_000] + "Tea grows"
    result = evaluate(
        [sample("Tea.", [document])], ["faithfulness"], fake_judge(engine), statements="sentences"
    )
    assert result.samples[0].scores["faithfulness"].soft == 0.8
    assert sum(call.context.count("Tea grows") for call in engine.calls) == 1


def test_a_reason_is_asked_for_where_the_window_holds_its_evidence(n_ctx: int) -> None:
    verdicts = [{"verdict": p} for p in (0.1, 0.1, 0.1, 0.1, 0.5, 0.5)]
    engine = FakeEngine([*verdicts, {"reason": "It says little."}, {"reason": "It says so."}], n_ctx=n_ctx)
    answer = sample("Tea grows. Filler sentence number 3 says nothing.", [FILLER, "Tea grows."])
    result = evaluate([answer], ["faithfulness"], fake_judge(engine), statements="sentences", explain=True)
    first, last = engine.calls[-2:]
    assert ("number 3 says" in first.context, "Tea grows." in first.context) == (True, False)
    assert "Tea grows." in last.context
    assert "is supported" in last.items[0]  # from the threshold on
    record: Any = result.samples[0].records["reasons"]
    assert record.reasons == ("It says so.", "It says little.")


def test_a_context_too_long_by_itself_is_of_use_where_its_best_window_is(n_ctx: int) -> None:
    engine = FakeEngine([{"verdict": p} for p in (0.1, 0.8, 0.3)], n_ctx=n_ctx)  # two windows, and one
    result = evaluate([sample("Tea grows.", [FILLER, "Coffee."])], ["context_precision"], fake_judge(engine))
    record: Any = result.samples[0].records["useful"]
    assert record.contexts == (0.8, 0.3)


@pytest.mark.parametrize(
    ("response", "context", "why"),
    [
        ("Tea grows.", "A sentence of filler here. " * 3000, "8 windows"),
        ("Tea grows.", "hay " * 50_000, "8 windows"),
        ("tea " * 5_000, "Tea grows.", "no room"),
    ],
)
def test_what_fits_no_eight_windows_fails_with_why(n_ctx: int, response: str, context: str, why: str) -> None:
    judge = fake_judge(FakeEngine([], n_ctx=n_ctx))
    result = evaluate([sample(response, [context])], ["faithfulness"], judge, statements="sentences")
    assert result.scores == [{"faithfulness": Score.failed("context_too_long")}]
    failure: Any = result.samples[0].records["support"]
    assert why in failure.detail


@pytest.mark.parametrize("metric", ["faithfulness", "context_relevance"])
@pytest.mark.parametrize("verdict", ["direct", "reasoned"])
def test_no_length_of_the_contexts_is_refused_where_a_longer_one_is_not(metric: str, verdict: str) -> None:
    """A character is a token here; what is counted is the schedule of a real engine."""
    long, filler, sizes = "It grows " + "and grows " * 190 + ".", "x" * 198 + ". ", range(1, 40, 3)
    question = "When was it, " * 150 + "?"
    whole = Sample(user_input=question, response=long)
    changes = [{"id": str(i), "retrieved_contexts": [long, filler * i]} for i in (*sizes, 500)]
    samples = [whole.model_copy(update=change) for change in changes]
    judge = fake_judge(FakeEngine([], n_ctx=16_000))
    planned = plan(samples, [metric], judge, statements="sentences", verdict=verdict)
    assert planned.too_long == ("500",)
    windows = [planned.windows.get(str(i), 1) for i in sizes]
    assert (windows[0], windows) == (1, sorted(windows))
    assert 2 <= windows[-1] <= 8


def test_ten_draws_are_asked_at_one_half_each_with_its_own_seed_and_the_real_question_at_zero() -> None:
    engine = Asking(list(VECTORS))
    for answer in (PAIR["answer"], "Tea grows.", PAIR["answer"]):
        fake_judge(engine, FakeEmbedder(VECTORS)).score("answer_relevance", {**PAIR, "answer": answer})
    _, real, drawn = engine.calls[:3]  # the first asks for the statement of a brief answer
    assert (len(real.items), real.temperature, real.seeds) == (1, 0.0, None)
    assert (len(drawn.items), drawn.temperature) == (10, 0.5)
    first, other, again = (set(call.seeds) for call in engine.calls if call.seeds is not None)
    assert (len(first), first & other, first) == (10, set(), again)
