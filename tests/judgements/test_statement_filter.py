"""Which statements are taken from the judge's list of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localeval.engine.interface import Reply
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


NEGATED = [
    ("Velmin is never given to infants.", ["Velmin is given to infants."]),
    ("Velmin is given to infants.", ["Velmin is not given to infants."]),
    ("Otto refused to sign the deal.", ["Otto signed the deal."]),
    ("It is not sold in Veld or Torn.", ["It is not sold in Veld.", "It is sold in Torn."]),
    ("Acme opened in Torn but did not open in Veld.", ["Acme opened in Veld."]),
    ("Is the oil safe? No.", ["The oil is safe."]),
    ("Is the oil safe? Yes.", ["The oil is not safe."]),
    ("这种油安全吗？不是。", ["这种油安全。"]),
    ("He isn't rich and he isn't old.", ["Otto isn't rich, and Otto is old."]),
    ("该药从未用于婴儿。", ["该药用于婴儿。"]),
    ("林华拒绝签署协议。", ["林华签署了协议。"]),
    ("该药在甲国获批，在乙国未获批。", ["该药在乙国获批。"]),
]


@pytest.mark.parametrize(("sentence", "written"), NEGATED)
def test_a_sentence_stands_for_itself_where_its_list_loses_or_adds_a_negation(
    sentence: str, written: list[str]
) -> None:
    assert choose(sentence, *written) == ([sentence], "negation")


QUALIFIED = [
    ("No more than 20 guests fit.", ["20 guests fit."]),
    ("The herb may cure headaches.", ["The herb cures headaches."]),
    ("The herb cures headaches.", ["The herb may cure headaches."]),
    ("Only members vote.", ["Members vote."]),
    ("Unless booked, the hall is shut.", ["The hall is shut."]),
    ("Otto is the former head of Acme.", ["Otto is the head of Acme."]),
    ("The tower is about 90 metres high.", ["The tower is 90 metres high."]),
    ("Half of the houses burned.", ["The houses burned."]),
    ("Usually, the lily blooms in June.", ["The lily blooms in June."]),
    ("It is believed that the tomb is Roman.", ["The tomb is Roman."]),
    ("Otto says prices fell.", ["Prices fell."]),
    ("最多允许20位客人入场。", ["允许20位客人入场。"]),
    ("仅会员有投票权。", ["会员有投票权。"]),
    ("除非预约，礼堂关闭。", ["礼堂关闭。"]),
    ("林华是前董事长。", ["林华是董事长。"]),
    ("林华是副董事长。", ["林华是董事长。"]),
    ("部分用户丢失了数据。", ["用户丢失了数据。"]),
]


@pytest.mark.parametrize(("sentence", "written"), QUALIFIED)
def test_a_sentence_stands_for_itself_where_its_list_loses_or_adds_a_qualifier(
    sentence: str, written: list[str]
) -> None:
    assert choose(sentence, *written) == ([sentence], "qualifier")


EXCHANGED = [
    ("Carol sued Dave in 2003.", ["Dave sued Carol in 2003."]),
    ("Carol was sued by Dave.", ["Carol sued Dave."]),
    ("Carol is older than Dave.", ["Dave is older than Carol."]),
    ("The road leads from Skell to Torn.", ["The road leads from Torn to Skell."]),
    ("A has 30 rooms and B has 45.", ["A has 45 rooms.", "B has 30 rooms."]),
    ("The dose is 5 mg for adults and 10 mg for children.", ["The dose is 10 mg for adults."]),
    ("Oslo is the capital of Norway and Riga of Latvia.", ["Riga is the capital of Norway."]),
    ("Plants A and B have 50 and 70 men, respectively.", ["Plant A has 70 men."]),
    ("A套餐10元，B套餐20元。", ["A套餐20元。"]),
    ("陈勇起诉了赵敏。", ["赵敏起诉了陈勇。"]),
    ("甲厂有50名工人，乙厂有70名。", ["甲厂有70名工人。", "乙厂有50名工人。"]),
    ("张涛生于上海，刘芳生于北京。", ["张涛生于北京。", "刘芳生于上海。"]),
    ("甲厂和乙厂分别有50名和70名工人。", ["甲厂有70名工人。"]),
    ("甲廠和乙廠分別有50名和70名工人。", ["甲廠有70名工人。"]),
]


@pytest.mark.parametrize(("sentence", "written"), EXCHANGED)
def test_a_sentence_stands_for_itself_where_its_list_exchanges_parties_or_values(
    sentence: str, written: list[str]
) -> None:
    assert choose(sentence, *written) == ([sentence], "exchange")


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


@pytest.mark.parametrize(
    "text",
    ["Ann, " * 20_000, "不" * 50_000, "not a " * 20_000, "50 and " * 20_000, "Ann paid Bob " * 130],
    ids=["names", "Chinese negations", "negations", "numbers", "clauses without a mark"],
)
def test_long_sentences_are_compared_in_a_time_that_grows_with_them(text: str) -> None:
    with timed() as took:
        choose(text, text, "Bob paid Ann.")
    assert took.seconds < 10
