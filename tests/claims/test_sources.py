"""Which terms and numbers of a statement its source texts have."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval import evaluate
from localeval.claims.fidelity import omits
from localeval.claims.sources import source_terms, term_recall, unsupported_numbers
from localeval.numbers.values import Value
from localeval.testing import FakeEngine, fake_judge
from tests.patience import timed

SNOW = ["Gary gets 1,200 mm of rain; the first snow falls in November 1996.", "Twelve towns lie by the lake."]
BRIDGE = ["大桥于１９６２年建成，全长一百二十五米。", "总投资3.5亿元，有二十个桥墩。"]


@pytest.mark.parametrize(
    ("statement", "premise"),
    [
        ("It gets 1200 mm, or 1,200.", SNOW),
        ("It is 5.50 or 0.50 degrees.", ["5.5 or 0.5"]),
        ("25, the 21st, 2,001", ["Twenty-five, the twenty-first, two thousand and one"]),
        ("In 2000 5 came.", ["In two thousand, five came."]),
        ("It holds 1200 or 10,000.", ["It holds 1 200, or 1万."]),
        ("1.5 million, 3亿", ["1,500,000 and 300,000,000"]),
        ("2021-05-03, 03.05.2021, 5/3/2021 at 3:00 pm", ["May 3, 2021, at 3 pm"]),
        ("2021-05-12; Sept 1, 2020", ["On 2021.05.12 and 1/9/2020."]),
        ("It opened on 2021.05.12.", ["On 2021-05-12 it opened."]),
        ("3,000,000,000,000 of 2,000,000 cars", ["2 million cars for 2 billion, or three trillion"]),
        ("1,500,000; 5千万; 3万亿", ["1.5 Million, 50000000 and 3000000000000"]),
        ("1.2亿", ["1亿2000万"]),
        ("1,234亿5000万元，1.5亿2000万，5 mıllıon", ["123450000000，170000000，5"]),
        ("It cost 10 000.50 dollars.", ["It cost 10 000.50 dollars."]),
        ("1亿2000万", ["1.2亿"]),
        ("On May 12 300 came.", ["300 on 12 May"]),
    ],
)
def test_numbers_that_the_premise_has_are_supported(statement: str, premise: list[str]) -> None:
    assert unsupported_numbers(statement, source_terms(premise)) == ()


@pytest.mark.parametrize(
    ("statement", "premise"),
    [
        ("According to passages 7, 8 and 9 and [6], it snows (Passage 5).", SNOW),
        ("根据资料7和第8段，大桥有桥墩。", BRIDGE),
        ("Tea grows [1-3], [^2], [Doc 3]【1】。段落1和3，资料1、2。", ["Tea"]),
        ("2.香蕉也好吃，有（1）钾，(2) 糖[citation:12]【4:0†source】。", ["香蕉"]),
        ("Tea [ID:12] ##3$$ [^4^] [[5]](https://a/6) <sup>7</sup> (p. 12) (Source: tea 2020.pdf)", ["Tea"]),
        ("**3. Oil:** it floats", ["Oil"]),
    ],
)
def test_numbers_of_passages_footnotes_and_items_need_no_support(statement: str, premise: list[str]) -> None:
    assert unsupported_numbers(statement, source_terms(premise)) == ()


@pytest.mark.parametrize(
    ("statement", "premise", "unknown"),
    [
        ("It gets 1,300 mm in 1996 and 1,300 in 1997.", SNOW, ("1300", "1997")),
        ("125, 205, 30, 35", ["one hundred and twenty-five, two hundred five, twenty, ten"], ("30", "35")),
        ("2021-06-03 at 3:30 pm; 9-9-9", ["May 3, 2021, at 3 pm"], ("6", "30", "9")),
        ("It is 3.5 metres long.", ["3 of 5 metres"], ("3.5",)),
        ("大桥于１９６３年建成，全长１２６米。", BRIDGE, ("1963", "126")),
        ("总投资3.5亿元，20个桥墩，占70％。", BRIDGE, ("70",)),
        ("10 000 and 20 000", ["10,000"], ("20", "0")),
        ("The team won (2022) twice; f(1) of [tea 1962]", ["Tea"], ("2022", "1", "1962")),
        ("The report documents 1,200 deaths, sources 40% of it.", ["deaths"], ("1200", "40")),
        ("根据资料2023年产量", ["产量"], ("2023",)),
    ],
)
def test_numbers_that_the_premise_lacks_are_found(
    statement: str, premise: list[str], unknown: tuple[str, ...]
) -> None:
    assert unsupported_numbers(statement, source_terms(premise)) == unknown


@settings(max_examples=25)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_coverage_and_knows_its_own_numbers(statement: str, contexts: list[str]) -> None:
    terms = source_terms([*contexts, statement])
    assert term_recall(statement, terms) == 1
    assert unsupported_numbers(statement, terms) == ()
    assert 0 <= term_recall(statement, source_terms(contexts)) <= 1


@pytest.mark.parametrize(
    "text",
    ["1," * 50_000, "1,111" * 20_000, "passage" + " " * 99_999, "万" * 99_999, "9" * 99_999],
    ids=["digits with commas", "groups", "spaces behind a word", "Han scales", "digits"],
)
def test_long_runs_of_signs_take_no_longer_than_others(text: str) -> None:
    with timed() as took:
        unsupported_numbers(text, source_terms([text]))
    # What is quadratic takes minutes.
    assert took.seconds < 10


@pytest.mark.parametrize(
    ("words", "number"),
    [("five hundred and " * 2200, "500"), ("hundred " * 2200, "100")],
    ids=["joined by and", "side by side"],
)
def test_many_words_of_numbers_make_no_endless_number(words: str, number: str) -> None:
    assert Value(number) in source_terms([words]).numbers


def test_a_verdict_keeps_what_was_seen_of_its_statement() -> None:
    sample = {"response": "Hail falls in 1997.", "retrieved_contexts": SNOW}
    judge = fake_judge(FakeEngine([{"verdict": 0.6}]))
    result = evaluate([sample], ["faithfulness"], judge, statements="sentences").to_dict()
    (verdict,) = result["samples"][0]["records"]["support"]["verdicts"]
    assert (verdict["coverage"], verdict["unknown_numbers"]) == (1 / 3, ["1997"])


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("The card is for trams (Source: it costs 95 euros).", "The card is for trams."),
        ("此卡可乘电车【来源：价格是95元】。", "此卡可乘电车。"),
    ],
)
def test_a_claim_behind_the_word_source_is_content(sentence: str, statement: str) -> None:
    assert omits(sentence, [statement])


@pytest.mark.parametrize(
    "mention", ["(Source: tram.pdf)", "(Source: Document 1)", "(Source: Tram News)", "（来源：资料1）"]
)
def test_the_name_of_a_source_is_no_content(mention: str) -> None:
    assert not omits(f"The card is for trams {mention}.", ["The card is for trams."])
