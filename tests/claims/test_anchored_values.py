"""Which values of a sentence in a long response are compared, and with which others."""

import time

import pytest

from localeval.claims.anchored_values import anchored_values

PLANS = "The Lark plan costs 18 crowns and is sold in Arl. The Wren plan costs 9 crowns and is sold in Bern."


@pytest.mark.parametrize(
    ("sentence", "compared"),
    [
        ("The Lark plan costs 9 crowns.", ["9"]),
        ("Customers of the Lark plan pay 9 crowns.", ["9"]),
        ("9 crowns is the price of the Lark plan.", ["Lark"]),
        ("For the Lark plan, the price is 9 crowns in Arl.", ["9", "Arl"]),
        ("The cheap one is sold in Arl.", ["Arl"]),
        ("9 crowns.", []),
        ("It costs 9 crowns.", ["9"]),
    ],
)
def test_what_a_sentence_is_about_is_not_compared_but_what_it_says_of_that(
    sentence: str, compared: list[str]
) -> None:
    assert [item.value.text for item in anchored_values(sentence, "", [PLANS])] == compared


def test_of_names_side_by_side_none_is_an_alternative_to_the_other() -> None:
    text = "Ann Lee and Bert Roe came. The mill was built for the town by Carl Finch."
    found = anchored_values("It was built for the town by Bert Roe and Ann Lee.", "", [text])
    assert [item.alternatives for item in found] == [("Carl Finch",), ("Carl Finch",)]


def test_the_first_name_is_compared_where_something_is_said_to_be_it() -> None:
    text = "The new chief of the firm is Ann Lee. Bert Roe leads the board. Carl Finch owns a shop."
    found = anchored_values("The chief of the firm is Bert Roe, not Carl Finch.", "", [text])
    assert [item.value.text for item in found] == ["Bert Roe", "Carl Finch"]


def test_a_number_of_a_rare_unit_is_compared_with_those_of_any_unit_in_a_response_that_is_read() -> None:
    text = "The old plant employs 340 people. The new one has 215 employees."
    [item] = anchored_values("The old plant has 215 employees.", "", [text])
    assert item.alternatives == ("340",)


RECIPES = "Roast the pork in the oven at 350 degrees. For fish, heat the oven to 200 degrees."


def test_a_value_is_not_compared_with_one_of_a_sentence_that_shares_less_with_the_rest() -> None:
    assert anchored_values("Put the pork into the oven and roast it at 350 degrees.", "", [RECIPES]) == []


def test_a_value_is_compared_with_one_of_a_sentence_that_shares_more_or_as_much() -> None:
    [more] = anchored_values("Put the pork into the oven and roast it at 200 degrees.", "", [RECIPES])
    [as_much] = anchored_values("The oven has 200 degrees.", "", [RECIPES])
    assert more.alternatives == as_much.alternatives == ("350",)


def test_small_words_bring_no_sentence_near() -> None:
    text = (
        "The Tolver Bridge was opened in 1931 and designed by Casper Dunn. "
        "The Osier Bridge was opened in 1958; its architect is Dorthe Vail."
    )
    [item] = anchored_values("The Osier Bridge is older and was designed by Casper Dunn.", "", [text])
    assert "Dorthe Vail" in item.alternatives


def test_cells_of_a_table_are_compared_whatever_their_lines_share() -> None:
    table = "| Ferry | Crew | Port |\n| --- | --- | --- |\n| Marit | 24 | Skell |\n| Orla | 31 | Bergen |"
    found = anchored_values("The Marit has a crew of 24.", "", [table])
    assert [(item.value.text, item.alternatives) for item in found] == [("24", ("31",))]


def test_a_context_of_a_hundred_thousand_characters_full_of_values_takes_bounded_time() -> None:
    lines = [f"House {i} of the town was built in {1000 + i} and has {i + 3} rooms." for i in range(1500)]
    contexts = [" ".join(lines)]
    start = time.process_time()
    for i in range(10):
        anchored_values(f"House {i} of the town was built in {1001 + i} and has {i + 5} rooms.", "", contexts)
    assert time.process_time() - start < 5.0
