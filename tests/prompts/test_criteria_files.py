"""A file of criteria is used as it stands, or one sentence says what is wrong with it."""

import json
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from localeval import Criterion, InputError
from localeval.prompts import LANGUAGES, load_prompt
from localeval.prompts.criteria import as_criteria, criterion_prefix, read_criteria
from tests.commands import fault, localeval, said

EXAMPLES = Path(str(resources.files("localeval") / "examples" / "criteria.toml"))


def check(folder: Path, text: str) -> str:
    """Return what `criteria check` says of a file that it refuses."""
    (folder / "criteria.toml").write_text(text, encoding="utf-8")
    run = localeval("criteria", "check", "criteria.toml", cwd=folder)
    assert run.returncode == 2, run.stdout
    return fault(run)


def test_an_unknown_key_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "Is it?"\ncolums = ["response"]')
    assert "criteria.toml: polite: colums is not known; did you mean columns?" in message


def test_a_criterion_without_a_question_is_named(tmp_path: Path) -> None:
    assert "polite: it has no question" in check(tmp_path, '[polite]\ncolumns = ["response"]')


def test_a_question_in_an_unknown_language_is_named(tmp_path: Path) -> None:
    assert "question" in check(tmp_path, '[polite]\nquestion.fr = "Est-ce poli ?"')


def test_levels_of_one_sentence_are_too_few(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "How?"\nlevels = ["Rude."]')
    assert "levels has 1 sentence; write 2 to 10" in message


def test_levels_of_eleven_sentences_are_too_many(tmp_path: Path) -> None:
    levels = [f"Level {number}." for number in range(11)]
    message = check(tmp_path, f'[polite]\nquestion = "How?"\nlevels = {levels}')
    assert "levels has 11 sentences; write 2 to 10" in message


def test_two_equal_levels_are_named(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "How?"\nlevels = ["Good.", "Good."]')
    assert "two levels are the same" in message


def test_levels_must_be_there_in_each_language_of_the_question(tmp_path: Path) -> None:
    text = '[polite]\nquestion = { en = "How?", zh = "如何？" }\nlevels = { en = ["Bad.", "Good."] }'
    assert "levels has none in zh" in check(tmp_path, text)


def test_levels_from_best_to_worst_are_refused(tmp_path: Path) -> None:
    text = '[polite]\nquestion = "How?"\nlevels = ["A lot.", "None."]\nhigher_is_better = false'
    assert "levels go from worst to best" in check(tmp_path, text)


def test_a_column_that_is_no_word_is_named(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "Is it?"\ncolumns = ["my column"]')
    assert "the column 'my column' is no word" in message


def test_no_column_at_all_is_refused(tmp_path: Path) -> None:
    assert "columns is empty" in check(tmp_path, '[polite]\nquestion = "Is it?"\ncolumns = []')


def test_columns_that_are_one_text_are_refused(tmp_path: Path) -> None:
    assert "columns is 'response'" in check(tmp_path, '[polite]\nquestion = "Is it?"\ncolumns = "response"')


def test_an_unknown_placeholder_is_named(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "Is the {reply} polite?"')
    assert "{reply} is none of its columns (user_input, response)" in message


def test_the_name_of_a_metric_that_exists_is_refused(tmp_path: Path) -> None:
    message = check(tmp_path, '[faithfulness]\nquestion = "Is it true?"')
    assert "faithfulness is the name of another metric" in message


def test_a_name_that_no_column_of_the_table_could_have_is_refused(tmp_path: Path) -> None:
    assert "can't be a metric's name" in check(tmp_path, '[polite_soft]\nquestion = "Is it?"')


def test_another_name_of_a_field_is_refused_as_a_column(tmp_path: Path) -> None:
    message = check(tmp_path, '[polite]\nquestion = "Is it?"\ncolumns = ["answer"]')
    assert "the column answer is read as response" in message


def test_an_example_without_a_column_is_named(tmp_path: Path) -> None:
    text = '[polite]\nquestion = "Is it?"\nexamples = [{ response = "Go.", answer = "no" }]'
    assert "example 1: it has no user_input" in check(tmp_path, text)


def test_an_answer_that_the_judge_could_not_give_is_named(tmp_path: Path) -> None:
    text = (
        '[polite]\nquestion = "Is it?"\ncolumns = ["response"]\nexamples = [{ response = "Go.", answer = 3 }]'
    )
    assert "example 1: its answer is 3; write yes or no" in check(tmp_path, text)


def test_a_question_above_all_tables_is_named(tmp_path: Path) -> None:
    assert "question stands in no table" in check(tmp_path, 'question = "Is it polite?"')


def test_an_empty_file_has_no_criterion(tmp_path: Path) -> None:
    assert "it has no criterion" in check(tmp_path, "# nothing yet\n")


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    assert "this is no TOML file" in check(tmp_path, "[polite\n")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    run = localeval("criteria", "check", "absent.toml", cwd=tmp_path)
    assert run.returncode == 2
    assert "absent.toml: this file can't be read" in fault(run)


def test_the_shipped_examples_are_right_and_shown_as_the_judge_reads_them(tmp_path: Path) -> None:
    run = localeval("criteria", "check", EXAMPLES, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "clarity: 3 levels; shows user_input, response" in run.stdout
    assert "Criterion: Does the <answer> deal with every part of the <question>?" in run.stdout
    assert "标准：<answer> 是否回应了 <question> 的每一个部分？" in run.stdout


def test_two_files_may_not_give_one_name_to_two_questions() -> None:
    first, second = (Criterion(name="polite", question=question) for question in ("Is it?", "Was it?"))
    assert "two criteria have the name polite" in said(InputError, as_criteria, [first, second])


def test_the_text_of_a_file_is_read_like_the_file() -> None:
    assert read_criteria(EXAMPLES.read_text(encoding="utf-8")) == read_criteria(EXAMPLES)


def test_a_chinese_question_is_put_into_the_chinese_prompt() -> None:
    assert Criterion(name="polite", question="有礼貌吗？").languages == ("zh",)


@pytest.mark.parametrize("language", LANGUAGES)
def test_worked_examples_say_yes_in_both_orders_and_never_oftener_than_no(language: str) -> None:
    template = load_prompt("criterion", language)
    yes_or_no = Criterion(name="polite", question="Is it polite?")
    scale = Criterion(name="grade", question="How?", levels=["Bad.", "Good."])
    shown = [criterion_prefix(criterion, template, "en").examples for criterion in (yes_or_no, scale)]
    verdicts, levels = (Counter(json.loads(reply).popitem()[1] for _, reply in turns) for turns in shown)
    assert verdicts == {"yes": 5, "no": 7}
    assert levels == {"A": 1, "B": 1, "C": 1, "D": 1}
    no_first = [
        reply
        for user, reply in shown[0]
        if user.index("no”" if language == "zh" else '"no"') < user.index("yes")
    ]
    assert Counter(no_first) == {'{"verdict":"yes"}': 2, '{"verdict":"no"}': 4}


def test_a_prompt_of_ones_own_with_an_impossible_example_is_refused() -> None:
    template = load_prompt("criterion", "en")
    broken = template.model_copy(
        update={"examples": [template.examples[0].model_copy(update={"items": [{"question": "Is it?"}]})]}
    )
    criterion = Criterion(name="polite", question="Is it polite?")
    assert "an example has the order None" in said(InputError, criterion_prefix, criterion, broken, "en")
