"""Which statements are taken from the judge's list of a sentence, and which are judged only once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval.engine.interface import Reply
from localeval.judgements.duplicates import without_duplicates
from localeval.judgements.statement_filter import StatementFilter, StatementsReply
from tests.patience import timed


def choose(sentence: str, *written: str, truncated: str = "", question: str = "") -> tuple[list[str], str]:
    """What is judged of a sentence for which the judge wrote these statements, and why it is not the list."""
    reply = Reply(StatementsReply(statements=list(written)), "", truncated=truncated)
    # The names of the statements stand elsewhere in the text, as those that replace a pronoun do.
    text = " ".join((sentence, *written))
    statements, cut = StatementFilter([sentence], question, text).choose(0, reply)
    return list(statements), cut


REWORDED = [
    ("She can't be reached after six.", ["Ida Colm cannot be reached after 6."]),
    ("He isn't a member any more.", ["Otto Brandt is no longer a member."]),
    ("No trams run at night.", ["Trams do not run at night."]),
    ("The oil may weaken the seal.", ["The oil might weaken the seal."]),
    ("It could harm bees.", ["Velmin can harm bees."]),
    ("It holds roughly twelve litres.", ["The tank holds about 12 litres."]),
    ("Guests may stay up to five nights.", ["Guests can stay at most 5 nights."]),
    ("More than 300 people came.", ["Over 300 people came."]),
    ("The former mayor, Lena Holt, opened it.", ["Lena Holt was mayor.", "Lena Holt opened the library."]),
    ("It was designed by Ida Colm in 1923.", ["Ida Colm designed the dome in 1923."]),
    ("In 1934, Ida Colm moved to Torn.", ["Ida Colm moved to Torn in 1934."]),
    ("The capital of Veld is Torn.", ["Torn is the capital of Veld."]),
    ("According to passage 2, it appears that Skell is old.", ["Skell is old."]),
    ("The passages say that Skell is old.", ["Skell is old."]),
    ("In addition, it sells honey, jam, and wax.", ["The shop sells honey, jam, and wax."]),
    ("Ann Lee and Bob Kerr won the cup.", ["Ann Lee won the cup.", "Bob Kerr won the cup."]),
    ("Neither the lift nor the ramp works.", ["The lift does not work.", "The ramp does not work."]),
    ("A opened in May, but B did not.", ["A opened in May.", "B did not open."]),
    ("It isn't sold by Acme but by Belo.", ["Belo sells the oil.", "The oil is not sold by Acme."]),
    ("Is the oil safe? No.", ["The oil is not safe."]),
    ("Is the oil safe? Yes.", ["The oil is safe."]),
    ("No, schedules cannot be exported to Excel.", ["Schedules cannot be exported to Excel."]),
    ("这种油安全吗？不是。", ["这种油不安全。"]),
    ("Not only Torn but also Skell has a port.", ["Torn has a port.", "Skell has a port."]),
    ("他无法参加会议。", ["林华不能参加会议。"]),
    ("水塔尚未建成。", ["水塔还没有建成。"]),
    ("这种油可能损坏密封圈。", ["这种油会损坏密封圈。"]),
    ("水箱容量大约十二升。", ["水箱容量约12升。"]),
    ("此外，客人最多可住五晚。", ["客人至多可以住5晚。"]),
    ("根据资料1，她1934年迁居上海。", ["沈兰于1934年迁居上海。"]),
    ("该楼由沈兰设计，高九十米。", ["沈兰设计了该楼。", "该楼高90米。"]),
    ("这里不仅产茶，还产蜂蜜。", ["青川产茶。", "青川产蜂蜜。"]),
]


@pytest.mark.parametrize(("sentence", "written"), REWORDED)
def test_a_list_in_other_words_is_taken_as_it_is(sentence: str, written: list[str]) -> None:
    assert choose(sentence, *written) == (written, "")


OMITTED = [
    ("The inn closed in 1990 and Otto burned it.", ["The inn closed in 1990."]),
    ("Ann Lee wrote the report and was fired.", ["Ann Lee wrote the report."]),
    ("The paint is safe for toys but toxic to fish.", ["The paint is safe for toys."]),
    ("The inn has thirty rooms.", ["The inn has rooms."]),
    ("The inn was sold to Brandt.", ["The inn was sold."]),
    ("旅馆于1990年关闭，后由何丽买下。", ["旅馆于1990年关闭。"]),
    ("油漆可用于玩具，但对鱼有毒。", ["油漆可用于玩具。"]),
    ("旅馆有三十间客房。", ["旅馆有客房。"]),
]


@pytest.mark.parametrize(("sentence", "written"), OMITTED)
def test_a_sentence_is_judged_as_well_where_its_list_omits_something(
    sentence: str, written: list[str]
) -> None:
    assert choose(sentence, *written) == ([*written, sentence], "details")


WRONG = [
    ("negation", "Velmin is never given to infants.", ["Velmin is given to infants."]),
    ("negation", "Velmin is given to infants.", ["Velmin is not given to infants."]),
    ("negation", "Otto refused to sign the deal.", ["Otto signed the deal."]),
    ("negation", "It is not sold in Veld or Torn.", ["It is not sold in Veld.", "It is sold in Torn."]),
    ("negation", "Acme opened in Torn but did not open in Veld.", ["Acme opened in Veld."]),
    ("negation", "Is the oil safe? No.", ["The oil is safe."]),
    ("negation", "Is the oil safe? Yes.", ["The oil is not safe."]),
    ("negation", "这种油安全吗？不是。", ["这种油安全。"]),
    ("negation", "He isn't rich and he isn't old.", ["Otto isn't rich, and Otto is old."]),
    ("negation", "该药从未用于婴儿。", ["该药用于婴儿。"]),
    ("negation", "林华拒绝签署协议。", ["林华签署了协议。"]),
    ("negation", "该药在甲国获批，在乙国未获批。", ["该药在乙国获批。"]),
    ("qualifier", "No more than 20 guests fit.", ["20 guests fit."]),
    ("qualifier", "The herb may cure headaches.", ["The herb cures headaches."]),
    ("qualifier", "The herb cures headaches.", ["The herb may cure headaches."]),
    ("qualifier", "Only members vote.", ["Members vote."]),
    ("qualifier", "Unless booked, the hall is shut.", ["The hall is shut."]),
    ("qualifier", "Otto is the former head of Acme.", ["Otto is the head of Acme."]),
    ("qualifier", "The tower is about 90 metres high.", ["The tower is 90 metres high."]),
    ("qualifier", "Half of the houses burned.", ["The houses burned."]),
    ("qualifier", "Usually, the lily blooms in June.", ["The lily blooms in June."]),
    ("qualifier", "It is believed that the tomb is Roman.", ["The tomb is Roman."]),
    ("qualifier", "Otto says prices fell.", ["Prices fell."]),
    ("qualifier", "最多允许20位客人入场。", ["允许20位客人入场。"]),
    ("qualifier", "仅会员有投票权。", ["会员有投票权。"]),
    ("qualifier", "除非预约，礼堂关闭。", ["礼堂关闭。"]),
    ("qualifier", "林华是前董事长。", ["林华是董事长。"]),
    ("qualifier", "林华是副董事长。", ["林华是董事长。"]),
    ("qualifier", "部分用户丢失了数据。", ["用户丢失了数据。"]),
    ("exchange", "Carol sued Dave in 2003.", ["Dave sued Carol in 2003."]),
    ("exchange", "Carol was sued by Dave.", ["Carol sued Dave."]),
    ("exchange", "Carol is older than Dave.", ["Dave is older than Carol."]),
    ("exchange", "The road leads from Skell to Torn.", ["The road leads from Torn to Skell."]),
    ("exchange", "A has 30 rooms and B has 45.", ["A has 45 rooms.", "B has 30 rooms."]),
    ("exchange", "The dose is 5 mg for adults and 10 mg for children.", ["The dose is 10 mg for adults."]),
    ("exchange", "Oslo is the capital of Norway and Riga of Latvia.", ["Riga is the capital of Norway."]),
    ("exchange", "Plants A and B have 50 and 70 men, respectively.", ["Plant A has 70 men."]),
    ("exchange", "A套餐10元，B套餐20元。", ["A套餐20元。"]),
    ("exchange", "陈勇起诉了赵敏。", ["赵敏起诉了陈勇。"]),
    ("exchange", "甲厂有50名工人，乙厂有70名。", ["甲厂有70名工人。", "乙厂有50名工人。"]),
    ("exchange", "张涛生于上海，刘芳生于北京。", ["张涛生于北京。", "刘芳生于上海。"]),
    ("exchange", "甲厂和乙厂分别有50名和70名工人。", ["甲厂有70名工人。"]),
]


@pytest.mark.parametrize(("why", "sentence", "written"), WRONG)
def test_a_sentence_stands_for_itself_where_its_list_says_something_else(
    why: str, sentence: str, written: list[str]
) -> None:
    assert choose(sentence, *written) == ([sentence], why)


@pytest.mark.parametrize("sentence", ["Lena Holt is the mayor.", "何丽是市长。", "Velmin kills newborns."])
def test_an_empty_list_leaves_the_sentence_to_be_judged(sentence: str) -> None:
    assert choose(sentence) == ([sentence], "empty")
    assert choose(sentence, "...") == ([sentence], "empty")


def test_a_list_that_was_ended_keeps_its_reason_beside_the_whole_sentence() -> None:
    sentence = "The inn closed in 1990 and Otto burned it."
    begun = "The inn closed in 1990."
    assert choose(sentence, begun, truncated="budget") == ([begun, sentence], "budget")
    assert choose(sentence, truncated="repetition") == ([sentence], "repetition")


def test_a_name_that_no_text_has_makes_the_list_invalid() -> None:
    reply = Reply(StatementsReply(statements=["The Orrin Bridge opened in 1962."]), "")
    assert StatementFilter(["It opened in 1962."]).choose(0, reply) == (["It opened in 1962."], "invented")


@settings(max_examples=100)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_list_leaves_something_to_judge(sentence: str, written: list[str]) -> None:
    assert choose(sentence, *written)[0]


PARTS = ["Ann", "Bob", "paid", "to", "from", "50", "7", ",", "and", "but", "not", "no", "only", "may", "in"]
HAN_PARTS = ["王明", "不", "可能", "副", "约", "七", "。", "到", "若"]


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PARTS + HAN_PARTS)))
def test_a_sentence_says_what_it_says_itself(parts: list[str]) -> None:
    sentence = " ".join(["Ann", *parts])
    assert choose(sentence, sentence) == ([sentence], "")


def test_long_sentences_are_compared_in_a_time_that_grows_with_them() -> None:
    with timed() as took:
        for text in (
            "Ann, " * 20_000,
            "不" * 50_000,
            "not a " * 20_000,
            "50 and " * 20_000,
            "Ann paid Bob " * 130,
        ):
            choose(text, text, "Bob paid Ann.")
    assert took.seconds < 20


def judged_once(sentences: Sequence[str], *lists: Sequence[str]) -> list[list[str]]:
    return [list(texts) for texts in without_duplicates(sentences, lists or [[s] for s in sentences])]


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Torn lies south.",
            "It has 300,000 inhabitants.",
            "Skell lies north.",
            "It has 300,000 inhabitants.",
        ],
        ["| yes | no |", "| no | no |", "| yes | no |"],
        ["Plan A is new.", "The price is 10 euros.", "Plan B is old.", "The price is 10 euros."],
        ["石浦在南方。", "人口三十万。", "青川在北方。", "人口三十万。"],
    ],
)
def test_equal_sentences_about_different_subjects_are_all_judged(sentences: list[str]) -> None:
    assert judged_once(sentences) == [[sentence] for sentence in sentences]


def test_a_statement_that_names_its_subject_is_judged_once() -> None:
    sentences = ["Ida Colm was born in Torn.", "So it was in Torn that Ida Colm was born."]
    assert judged_once(
        sentences, ["Ida Colm was born in Torn."], ["ida colm was born in Torn", "X is y."]
    ) == [
        ["Ida Colm was born in Torn."],
        ["ida colm was born in Torn", "X is y."],
    ]
    once = judged_once(sentences, ["Ida Colm was born in Torn."], ["Ida Colm was born in Torn"])
    assert once == [["Ida Colm was born in Torn."], []]


def test_a_subject_that_the_judge_put_for_a_pronoun_is_known() -> None:
    sentences = ["望澜桥长412米。", "因此它长412米。"]
    assert judged_once(sentences, ["望澜桥长412米。"], ["望澜桥长412米。"]) == [["望澜桥长412米。"], []]


def test_the_same_sentence_twice_in_a_row_is_judged_once() -> None:
    assert judged_once(["It is old.", "It is old.", "So it is."]) == [["It is old."], [], ["So it is."]]


def test_the_us_is_not_us() -> None:
    texts = ["The law protects US.", "The law protects us."]
    assert judged_once(["The law protects US and us."], texts) == [texts]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("Otto resigned.", "Otto, the mayor, resigned in May."),
        ("The dam was opened.", "The dam was officially opened."),
        ("The dam was opened in May.", "The dam was opened in May 1962."),
        ("The dam was opened.", "The dam was opened in Torn."),
        ("大坝于5月竣工。", "大坝于5月正式竣工。"),
        ("大坝竣工。", "大坝于1962年竣工。"),
    ],
)
def test_of_two_statements_the_one_with_only_time_place_or_apposition_more_is_judged(
    less: str, more: str
) -> None:
    assert judged_once(["The sentence."], [less, more]) == [[more]]


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The drug is safe.", "The drug is safe in small doses."),
        ("The drug is safe.", "The drug is safe in Torn."),
        ("Otto signed the deal.", "Otto refused to have signed the deal."),
        ("Otto is the owner.", "Otto is the former owner."),
        ("Otto left.", "Nobody but Otto left."),
        ("Otto owned Acme.", "Otto owned half of Acme."),
        ("Otto left.", "Otto's wife left."),
        ("Otto left.", "Friends of Otto left."),
        ("Otto was seen.", "Otto was seldom seen."),
        ("Otto did not come.", "Otto did not come in May."),
        ("It cost 3 euros.", "It cost 3,000 euros."),
        ("It cost three euros.", "It cost three thousand euros."),
        ("王明是总经理。", "王明是副总经理。"),
        ("王明是总经理。", "王明是前总经理。"),
        ("桥长90米。", "桥长约90米。"),
        ("王明去世。", "王明的父亲去世。"),
        ("三日去世。", "十三日去世。"),
    ],
)
def test_both_of_two_statements_are_judged_where_the_words_more_may_change_what_is_said(
    less: str, more: str
) -> None:
    assert judged_once(["The sentence."], [less, more]) == [[less, more]]
