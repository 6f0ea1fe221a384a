"""Numbers in two languages: what a text knows by another way of writing, and what it does not know."""

import pytest

from localeval.claims.evidence import context_sentences, rank_sentences
from localeval.claims.sources import source_terms, term_recall, unsupported_numbers
from localeval.numbers.find import find_numbers
from localeval.text.normalise import normalise
from tests.patience import timed


def is_known(statement: str, context: str) -> bool:
    """Whether the context has all numbers of the statement."""
    return unsupported_numbers(statement, source_terms([context])) == ()


# Statement, and a context with the same number in another way of writing.
SCALES = [
    ("The ferry carried 8,000 cars.", "The ferry carried 8K cars."),
    ("The ferry carried 8K cars.", "The ferry carried 8,000 cars."),
    ("It cost $2,400,000,000.", "It cost $2.4bn."),
    ("It cost $2.4B.", "It cost 2.4 billion dollars."),
    ("It sold for 7000000 euros.", "It sold for 7m euros."),
    ("The town has 20 lakh people.", "The town has 2,000,000 people."),
    ("It holds 30,00,000 books.", "It holds 3 million books."),
    ("It lent 4 million to 6 million.", "It lent 4 to 6 million."),
    ("Rent was $12.5 million.", "Rents (in thousands): 12,500"),
    ("Losses are 6 million yuan.", "单位：万元 亏损 600"),
    ("It emits 1.5e6 grams.", "It emits 1,500,000 grams."),
    ("It emits 2.5×10⁶ grams.", "It emits 2,500,000 grams."),
    ("It emits 2.5 x 10^6 grams.", "It emits 2,500,000 grams."),
]


@pytest.mark.parametrize(("statement", "context"), SCALES)
def test_an_amount_is_known_with_its_scale_in_words_or_letters(statement: str, context: str) -> None:
    assert is_known(statement, context)


PARTS = [
    ("50% of the crew left.", "Half of the crew left."),
    ("25 percent of it is clay.", "A quarter of it is clay."),
    ("Add 0.5 litres.", "Add ½ litre."),
    ("Add 2.5 litres.", "Add 2½ litres."),
    ("Add 4.25 litres.", "Add 4 1/4 litres."),
    ("Two and a half million came.", "2,500,000 came."),
    ("12 eggs lay there.", "A dozen eggs lay there."),
    ("It lasted 20 years.", "It lasted two decades."),
    ("67% agreed.", "Two thirds agreed."),
    ("Add .75 litres.", "Add 0.75 litres."),
]


@pytest.mark.parametrize(("statement", "context"), PARTS)
def test_a_part_is_known_as_a_fraction_a_percentage_or_a_decimal(statement: str, context: str) -> None:
    assert is_known(statement, context)


MARKS = [
    ("It weighs 4.50 kg.", "Es wiegt 4,50 kg."),
    ("It holds 2345678 litres.", "Sie fasst 2.345.678 Liter."),
    ("It holds 2345678 litres.", "Sie fasst 2’345’678 Liter."),
    ("It holds 2345.67 litres.", "Elle contient 2 345,67 litres."),
    ("It holds 3，４００ litres，５００ a day.", "It holds 3 and 400 litres, 500 a day."),
]


@pytest.mark.parametrize(("statement", "context"), MARKS)
def test_a_number_is_known_with_the_marks_of_another_country(statement: str, context: str) -> None:
    assert is_known(statement, context)


TIMES = [
    ("It opens at 16:00.", "It opens at 4 pm."),
    ("It opens at 4:15 p.m.", "It opens at 16:15."),
    ("It opens at 4.", "It opens at 4 pm."),
    ("From 1984 to 1987 he ruled.", "He ruled 1984-87."),
    ("He died in nineteen forty-one.", "He died in 1941."),
    ("Rents rose in the '70s.", "Rents rose in the 1970s."),
    ("It closed in the 1970s.", "It closed in 1974."),
    ("It was built in the 17th century.", "It was built in 1689."),
    ("It opened on 6/9/23.", "It opened on June 9, 2023."),
    ("It opened on 2023-06-09.", "它于2023年6月9日开放。"),
]


@pytest.mark.parametrize(("statement", "context"), TIMES)
def test_a_date_or_time_is_known_in_another_form(statement: str, context: str) -> None:
    assert is_known(statement, context)


WORDS = [
    ("Nine people drowned.", "9 people drowned."),
    ("The 3rd gate is shut.", "The third gate is shut."),
    ("Chapter 4 says so.", "Chapter IV says so."),
    ("Leo XIII wrote it.", "Leo the thirteenth wrote it."),
    ("It fell by 6%.", "Sales changed by -6%."),
    ("Sales changed by -6%.", "Sales fell by 6%."),
    ("It was -8 degrees.", "It was minus 8 degrees."),
    ("COVID-19 shut the shop.", "The pandemic shut the shop."),
    ("The desk is staffed 24/7.", "The desk is always staffed."),
    ("GPT-4 wrote it.", "It was written with GPT-4."),
]


@pytest.mark.parametrize(("statement", "context"), WORDS)
def test_a_number_is_known_in_words_in_roman_signs_with_its_sign_and_within_a_name(
    statement: str, context: str
) -> None:
    assert is_known(statement, context)


CHINESE = [
    ("共有23000人。", "共有2万3千人。"),
    ("共有2万3千人。", "共有两万三千人。"),
    ("奖金为45000元。", "奖金为4万5。"),
    ("年产13600吨。", "年产一万三千六百吨。"),
    ("年产16500吨。", "年产一万六千五。"),
    ("房租为350元。", "房租为三百五。"),
    ("他今年26岁。", "他今年廿六岁。"),
    ("合计2345元。", "合计贰仟叁佰肆拾伍元。"),
    ("建于2019年。", "建于二○一九年。"),
    ("建于2019年。", "建于二〇一九年。"),
    ("课时为0.5小时。", "课时为半小时。"),
    ("车程1.5小时。", "车程一个半小时。"),
    ("兴起于1970年代。", "兴起于七十年代。"),
    ("全长１３０公里。", "全长一百三十公里。"),
    ("占百分之六十。", "占60%。"),
    ("九人受伤。", "受伤9人。"),
    ("第三季度盈利。", "3季度盈利。"),
    ("下午四点开馆。", "16:00开馆。"),
    ("约占三分之一。", "约占1/3。"),
    ("該館於1985年落成。", "该馆于一九八五年落成。"),
    ("價值五萬元。", "价值5万元。"),
]


@pytest.mark.parametrize(("statement", "context"), CHINESE)
def test_a_number_is_known_in_chinese_words_and_in_digits(statement: str, context: str) -> None:
    assert is_known(statement, context)


# Statement, and a context with another number.
ANOTHER = [
    ("It was -8 °C.", "It was 8 °C."),
    ("It was 8 °C.", "It was -8 °C."),
    ("Fat is .5% of it.", "Fat is 5% of it."),
    ("It cost $4.", "It cost $4 million."),
    ("It cost $4 million.", "It cost $4."),
    ("It sold 1,000,000 copies.", "It sold 6 million copies."),
    ("It sold 4000 copies.", "It sold four thousand and one copies."),
    ("It has 6 wings.", "It has thirty-six wings."),
    ("It has 30 wings.", "It has thirty-six wings."),
    ("Paragraph 23 applies.", "Paragraph 7 applies."),
    ("It has (35) rooms.", "It has 7 rooms."),
    ("It was built in [1873].", "It was built in 1850."),
    ("It documents 80 years of war.", "It documents the war."),
    ("35. That is the number of its rooms.", "It has 7 rooms."),
    ("Eleven people drowned.", "Nine people drowned."),
    ("The second quarter was best.", "The third quarter was best."),
    ("Add ¼ litre.", "Add ½ litre."),
    ("Two thirds agreed.", "Three quarters agreed."),
    ("It opens at 4 pm.", "It opens at 4 am."),
    ("It happened in World War II.", "It happened in World War I."),
    ("He died in nineteen forty-one.", "He died in 1942."),
    ("GPT-4 wrote it.", "GPT-3 wrote it."),
    ("第35份协议无效。", "第7份协议无效。"),
    ("达到⑤级。", "达到④级。"),
    ("肿瘤为Ⅲ期。", "肿瘤为Ⅱ期。"),
    ("九人受伤。", "八人受伤。"),
    ("占百分之六十。", "占百分之五十。"),
    ("第三季度盈利。", "第二季度盈利。"),
    ("共有2万3千人。", "共有2万4千人。"),
    ("车程一个半小时。", "车程两小时。"),
    ("三百人到场。", "三千人到场。"),
]


@pytest.mark.parametrize(("statement", "context"), ANOTHER)
def test_another_number_is_not_known(statement: str, context: str) -> None:
    assert not is_known(statement, context)


@pytest.mark.parametrize(
    "statement",
    [
        "First of all, one of them left, and no one else did.",
        "There are three main reasons, and these four are minor.",
        "A third-party app plays the Four Seasons.",
        "Hundreds of people came to the Thousand Islands.",
        "一些人用一种办法，第一次十分成功，万一失败，千万别急。",
        "一半的人走了。",
        "两者一起吃三明治，来自四川的百姓说，这是唯一的办法。",
        "The plot is measured in km2 and cm3.",
    ],
)
def test_words_that_hold_a_number_but_count_nothing_are_no_numbers(statement: str) -> None:
    assert unsupported_numbers(statement, source_terms([])) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "As passage 2 and the third passage say, tea grows [3].",
        "Tea grows[citation:12], see documents 1, 2 and 3.",
        "Paragraph 4 says that tea grows.",
        "Tea grows in (1) Arl and (2) Bor.",
        "12. Tea grows.",
        "**Step 6:** tea grows",
        "根据资料7和第8段，茶树生长①。",
        "第3篇文档说，茶树生长。",
    ],
)
def test_mentions_of_the_given_texts_are_no_numbers(statement: str) -> None:
    five_contexts = source_terms(["Tea grows."] * 5)
    assert unsupported_numbers(statement, five_contexts) == ()


def test_an_unknown_amount_is_reported_as_the_text_writes_it() -> None:
    source = source_terms(["Nothing was sold."])
    assert unsupported_numbers("It made 3.5 million, sold 7,000 and 3万5, and fired eleven.", source) == (
        "3.5 million",
        "7000",
        "3万5",
        "11",
    )


def test_the_place_of_a_number_points_into_the_text_as_it_was_given() -> None:
    given = "Soft\u00adly, the oﬃce sold １２ cups at ½ price."
    assert [given[n.start : n.end].strip() for n in find_numbers(given)] == ["１２", "½"]


WRITTEN_OTHERWISE = [
    ("Café Zürich", "Cafe\u0301 Zu\u0308rich"),
    ("the final office", "the ﬁnal oﬃce"),
    ("the foundation", "the foun-\ndation"),
    ("the foundation", "the foun\u00addation"),
    ("a well-known mill", "a well-\nknown mill"),
    ("ABC公司", "ＡＢＣ公司"),
    ("臺灣的總統府", "台湾的总统府"),
    ("桥长412米", "橋長４１２米"),
    ("a pond of 3 km²", "a pond of 3 km2"),
    ("zero\u200bwidth", "zerowidth"),
]


@pytest.mark.parametrize(("statement", "context"), WRITTEN_OTHERWISE)
def test_one_word_written_in_several_ways_is_one_term(statement: str, context: str) -> None:
    assert term_recall(statement, source_terms([context])) == 1


@pytest.mark.parametrize(("statement", "context"), WRITTEN_OTHERWISE)
def test_a_sentence_is_close_to_a_statement_in_another_way_of_writing(statement: str, context: str) -> None:
    assert rank_sentences([statement], context_sentences([context]), 1)[0]


def test_plain_ascii_text_is_normalised_to_itself() -> None:
    text = "A well-known mill - of 1,200 tons; (see below)\n- and a list\n"
    assert normalise(text) == (text, None, None)


def test_each_place_of_a_normalised_text_stands_for_a_piece_of_the_given_text() -> None:
    given = "ﬁne foun-\ndation，Cafe\u0301 ２½ 臺"
    normalised = normalise(given)
    assert normalised.text == "fine foundation，Café 2 1⁄2 台"
    for word, written in (
        ("fine", "ﬁne"),
        ("foundation", "foun-\ndation"),
        ("Café", "Cafe\u0301"),
        ("台", "臺"),
    ):
        place = normalised.text.index(word)
        start, end = normalised.span(place, place + len(word))
        assert given[start:end] == written


@pytest.mark.parametrize(
    "piece",
    [
        "1,",
        "1,111",
        "1.111",
        "1'111",
        "1/2",
        "1 to ",
        "9",
        "½",
        "twenty ",
        "half a ",
        "百分之",
        "一",
        "II ",
    ],
)
def test_numbers_of_any_length_and_number_take_a_few_seconds_at_most(piece: str) -> None:
    text = piece * 8000
    with timed() as took:
        unsupported_numbers(text, source_terms([text, "fell 5"]))
    assert took.seconds < 5
