"""Which values of a statement have alternatives in the contexts, and which alternatives."""

import subprocess
import sys

import pytest

from localeval.claims.replaceable_values import replaceable_values

MARKDOWN = "| Ferry | Crew | Port |\n| --- | --- | --- |\n| Marit | 24 | Skell |\n| Orla | 31 | Bergen |"
CSV = "Ferry,Crew,Port\nMarit,24,Skell\nOrla,31,Bergen"
JSON = '[{"Ferry": "Marit", "Crew": 24, "Port": "Skell"}, {"Ferry": "Orla", "Crew": 31, "Port": "Bergen"}]'
PAIRS = "Ferry: Marit\nCrew: 24\nPort: Skell\n\nFerry: Orla\nCrew: 31\nPort: Bergen"


def alternatives(statement: str, *contexts: str, question: str = "") -> dict[str, tuple[str, ...]]:
    return {item.value.text: item.alternatives for item in replaceable_values(statement, question, contexts)}


@pytest.mark.parametrize("table", [MARKDOWN, CSV, JSON, PAIRS], ids=["markdown", "csv", "json", "pairs"])
def test_a_cell_has_the_cells_of_its_column_as_alternatives(table: str) -> None:
    found = alternatives(
        "The Marit has a crew of 31 and lies in Skell.", table, question="What is the Marit?"
    )
    assert found == {"31": ("24",), "Skell": ("Bergen",)}


def test_numbers_of_prose_are_compared_with_numbers_of_the_same_unit() -> None:
    text = "The Marit has 24 cabins and the Orla 31 cabins. Both carry 90 cars."
    assert alternatives("The Marit has 31 cabins.", text) == {"31": ("24",)}


def test_years_and_dates_are_kinds_of_their_own() -> None:
    text = (
        "Built in 1954 for 200 people, it sank on 8 June 1960, and was found on 3 May 1975, in 1976 at 40 m."
    )
    found = alternatives("It was built in 1976 and found on 8 June 1960.", text)
    assert found == {"1976": ("1954",), "8 June 1960": ("3 May 1975",)}


def test_names_are_compared_with_names() -> None:
    text = "The bridge was designed by Helga Strand. It was painted by Piet Haan."
    assert alternatives("The bridge was designed by Piet Haan.", text) == {"Piet Haan": ("Helga Strand",)}


def test_chinese_numbers_have_the_characters_behind_them_as_units() -> None:
    text = "望澜桥长412米，桥墩有12座。青岚桥长230米。"
    assert alternatives("望澜桥长230米。", text, question="望澜桥多长？") == {"230": ("412",)}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("望澜桥由顾鸣川设计。", {"顾鸣川": ("沈砚秋",)}),
        ("望澜桥由沈砚秋设计。", {"沈砚秋": ("顾鸣川",)}),
    ],
    ids=["wrong", "right"],
)
def test_people_of_chinese_prose_are_compared(statement: str, found: dict[str, tuple[str, ...]]) -> None:
    text = "望澜桥由沈砚秋设计。青岚桥由顾鸣川设计。"
    assert alternatives(statement, text, question="谁设计了望澜桥和青岚桥？") == found


def test_a_foreign_name_in_chinese_is_one_name_with_its_dots() -> None:
    text = "馆长是埃尔文·哈特曼，副馆长是露西亚·莫雷诺。"
    found = alternatives("馆长是露西亚·莫雷诺。", text, question="馆长是谁？")
    assert found == {"露西亚·莫雷诺": ("埃尔文·哈特曼",)}


def test_a_chinese_place_or_organisation_has_its_noun_behind_it() -> None:
    text = "沈砚秋在杭州大学读书，在苏州图书馆工作。"
    found = alternatives("沈砚秋在苏州图书馆读书。", text, question="沈砚秋在哪里读书？")
    assert found == {"苏州图书馆": ("杭州大学",)}


def test_titles_are_compared_with_titles() -> None:
    text = "沈砚秋写了《雾港来信》，顾鸣川写了《盐田的孩子》。"
    found = alternatives("沈砚秋写了《盐田的孩子》。", text, question="沈砚秋写了什么？")
    assert found == {"《盐田的孩子》": ("《雾港来信》",)}


def test_names_in_chinese_that_are_near_the_statement_come_first() -> None:
    others = "参加年会的有林秀兰、周文斌、陈思远、赵国栋、孙丽华、吴建平、郑晓燕。"
    text = f"{others}望澜桥由沈砚秋设计，青岚桥由顾鸣川设计。"
    (compared,) = alternatives("望澜桥由顾鸣川设计。", text, question="望澜桥由谁设计？").values()
    assert compared[0] == "沈砚秋"


def test_a_latin_name_ends_where_chinese_begins() -> None:
    text = "望澜桥由Marit Strand公司建造，青岚桥由Piet Haan公司建造。"
    found = alternatives("望澜桥由Piet Haan公司建造。", text, question="望澜桥由谁建造？青岚桥由谁建造？")
    assert found == {"Piet Haan": ("Marit Strand",)}


def test_a_lone_surrogate_hides_no_name_in_chinese() -> None:
    text = "望澜桥由沈砚秋设计。\ud800青岚桥由顾鸣川设计。"
    found = alternatives("望澜桥由顾鸣川设计。\ud800", text, question="望澜桥和青岚桥由谁设计？")
    assert found == {"顾鸣川": ("沈砚秋",)}


def test_an_english_statement_does_without_the_chinese_tagger() -> None:
    program = (
        "import sys; from localeval.claims.replaceable_values import replaceable_values;"
        "replaceable_values('It was built by Piet Haan.', '', ['Helga Strand built it.']);"
        "print('rjieba' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "False\n"


def test_values_of_the_question_tell_what_a_statement_is_about() -> None:
    assert alternatives("The Orla carries 31.", MARKDOWN, question="How many does the Orla carry?") == {
        "31": ("24",)
    }


def test_a_value_that_the_contexts_lack_has_no_alternative() -> None:
    assert (
        alternatives("The bridge is 500 metres long.", "It is 412 metres long, the other 230 metres.") == {}
    )


def test_one_value_written_in_two_ways_is_no_alternative() -> None:
    assert alternatives("It cost 1,200 euros.", "It cost 1,200 euros, or 1200 euros.") == {}


def test_a_cell_is_found_as_a_whole_word_only() -> None:
    table = "| Item | Number |\n|---|---|\n| A | 1 |\n| B | 2 |"
    assert alternatives("It was built in 12 days.", table) == {}


def test_a_csv_table_may_have_cells_with_commas_in_quotes() -> None:
    table = 'Museum,Visitors,Town\nKite,"7,200 visitors",Wexley\nLace,"18,500 visitors",Torrin'
    assert alternatives("The museum is in Torrin.", table) == {"Torrin": ("Wexley",)}


def test_lines_that_name_thing_and_attribute_are_columns_by_attribute() -> None:
    lines = (
        "Marit, home port: Skell\nMarit, in service since: 1954\n"
        "Orla, home port: Bergen\nOrla, in service since: 1976"
    )
    assert alternatives("It lies in Bergen.", lines) == {"Bergen": ("Skell",)}
    assert alternatives("It has been in service since 1976.", lines) == {"1976": ("1954",)}


def test_the_unit_of_a_number_does_not_stand_in_the_next_line() -> None:
    text = "The Marit was built in 1954\nThe Orla was built in 1976"
    assert alternatives("The Marit was built in 1976.", text) == {"1976": ("1954",)}


def test_a_capital_within_a_word_begins_no_name() -> None:
    text = "Connect the iPhone or the iPod. The Zune came later."
    assert alternatives("Connect the iPhone.", text) == {}


def test_a_name_that_opens_a_sentence_of_the_contexts_is_compared_without_its_article() -> None:
    text = "The Rose Mill was sold to the Corn Mill. The Wind Mill burnt down."
    assert alternatives("It was sold to the Wind Mill.", text) == {"Wind Mill": ("Rose Mill", "Corn Mill")}


def test_a_full_stop_behind_a_date_is_no_part_of_it() -> None:
    text = "Sales move on 4 May. The others move on 2 October, or on 11 Oct. at the latest."
    assert alternatives("They move on 2 October.", text) == {"2 October": ("4 May", "11 Oct.")}


def test_days_of_the_week_are_compared_with_one_another_and_with_no_name() -> None:
    text = "Paper is collected on Monday and glass on Thursday by Ann Lee."
    assert alternatives("Paper is collected on Thursday.", text) == {"Thursday": ("Monday",)}
