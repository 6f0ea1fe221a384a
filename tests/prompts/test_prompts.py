"""Prompts: the built-in ones fit their schemas, outside text stays outside, replacements are checked."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from localeval import prompts
from localeval.claims import evidence
from localeval.claims.fidelity import changes_negation, changes_qualifier, exchanges, omits
from localeval.errors import InputError, PromptError
from localeval.judgements.abstention import ShortAnswerReply
from localeval.judgements.deciders import ReasonedReply, closest_evidence
from localeval.judgements.preference import Better
from localeval.judgements.questions import ReasonedDrawnReply, ReasonedGivenReply
from localeval.judgements.replies import YesOrNo
from localeval.judgements.standalone_question import ReplyQuestion
from localeval.judgements.statements import StatementsReply
from localeval.options import Options
from localeval.prompts import LANGUAGES, fence, fill, load_prompt
from tests.commands import said

# The examples of `criterion` are criteria: see test_criteria_files.
PROMPTED = sorted(
    path.stem for path in Path(prompts.__file__).with_name("en").glob("*.toml") if path.stem != "criterion"
)
SCHEMAS: dict[str, dict[str, type[BaseModel]]] = {
    "statements": {"statements": StatementsReply},
    "support": {"verdict": YesOrNo},
    "support_reasoned": {"verdict": ReasonedReply},
    "questions": {"given": ReasonedGivenReply, "question": ReasonedDrawnReply},
    "needed": {"needed": YesOrNo, "answerable": YesOrNo},
    "useful": {"useful": YesOrNo},
    "preference": {"better": Better},
    "abstention": {"gives": YesOrNo, "lacks": YesOrNo, "whole": YesOrNo},
    "short_answer": {"answer": ShortAnswerReply},
    "answerable": {"answerable": YesOrNo},
    "standalone_question": {"standalone": ReplyQuestion},
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", PROMPTED)
def test_worked_examples_fit_the_schema_and_yes_is_not_oftener(judgement: str, language: str) -> None:
    prompt = load_prompt(judgement, language)
    (usual, schema), *rest = SCHEMAS[judgement].items()
    prefix = prompt.prefix(usual, schema, **dict(rest))
    items = [item for example in prompt.examples for item in example.items]
    kinds = [item.get("item", usual) for item in items]
    assert set(kinds) == set(SCHEMAS[judgement])
    assert len(prefix.examples) == len(kinds) >= 6
    for kind, (user, assistant) in zip(kinds, prefix.examples, strict=True):
        assert SCHEMAS[judgement][kind].model_validate_json(assistant)
        assert "{" not in user
    verdicts = [item["verdict"] for item in items if "verdict" in item]
    without_verdicts = ("statements", "questions", "preference", "short_answer", "standalone_question")
    assert bool(verdicts) == (judgement not in without_verdicts)
    assert not verdicts or 3 <= verdicts.count("yes") <= verdicts.count("no")
    if language == "zh":  # a comma of the width of a letter behind a Han character is a slip
        texts = [prompt.system, *prompt.items.values(), str(prompt.examples)]
        assert not re.findall(r"[\u4e00-\u9fff][,:;?!()]", "\n".join(texts))


@pytest.mark.parametrize("language", LANGUAGES)
def test_worked_preferences_are_shown_in_both_orders_and_length_decides_none(language: str) -> None:
    longer = []
    for example in load_prompt("preference", language).examples:
        one, other = example.items
        assert (one["first"], one["second"]) == (other["second"], other["first"])
        assert one["criterion"] == other["criterion"]
        assert {one["better"], other["better"]} == {"first", "second"}
        better = one[one["better"]]
        worse = other[one["better"]]
        longer.append(len(better) > len(worse))
    assert 2 <= sum(longer) <= len(longer) / 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_worked_statements_say_what_their_sentence_says(language: str) -> None:
    items = [item for example in load_prompt("statements", language).examples for item in example.items]
    stated = [item for item in items if item["statements"]]
    assert len(stated) > len(items) / 2  # the others claim nothing
    for item in stated:
        for is_lost in (omits, changes_negation, changes_qualifier, exchanges):
            assert not is_lost(item["sentence"], item["statements"]), item["sentence"]


def test_worked_verdicts_have_the_two_closest_sentences_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MIN_ADDED_SHARE", 0)
    for example in load_prompt("support", "en").examples:
        statements = [item["statement"] for item in example.items]
        closest = closest_evidence(statements, (example.model_extra or {})["contexts"])
        assert [item["closest"] for item in example.items] == closest


def test_the_marks_of_a_fence_are_made_harmless_and_other_brackets_stay() -> None:
    fenced = fence("</documents> < / DOCUMENTS > <answer> <\n/answer> <b>1 < 2</b> <documentation>")
    assert fenced == "‹/documents> ‹ / DOCUMENTS > ‹answer> ‹\n/answer> <b>1 < 2</b> <documentation>"
    assert fenced == fence(fenced)
    assert fill("{a} {b}", {"a": "{b}", "b": "{a}"}) == "{b} {a}"  # nor is text read as a place again


OWN = """
version = "mine"
system = "Check."
context = "<documents>{contexts}</documents>"
[items]
verdict = "{statement}?"
reason = "{statement} is {verdict}: why?"
[words]
supported = "right"
unsupported = "wrong"
"""
EXAMPLE = 'examples = [{contexts = "A.", items = [{statement = "B."%s}]}]\n'


def test_a_prompt_can_be_replaced_by_text_or_by_file_which_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    by_text, by_path = load_prompt("support", "en", OWN), load_prompt("support", "en", path)
    assert by_text == by_path
    assert by_text.sha256 != load_prompt("support", "en").sha256
    assert by_text.render_item("verdict", statement="Tea", closest="It grows.") == "Tea?"
    other = load_prompt("support", "zh", OWN.replace("{statement}?", "{closest}: {statement}?"))
    assert other.render_item("verdict", statement="茶", closest="茶。") == "茶。: 茶?"
    for system in ("Check.", "Check well."):
        path.write_text(OWN.replace("Check.", system))
        assert Options.read({"prompts": {"support": {"en": path}}}).prompt("support", "en").system == system
    assert "fr" in said(InputError, Options.read, {"prompts": {"support": {"fr": OWN}}})


def test_files_with_a_byte_order_mark_are_read_as_those_without(tmp_path: Path) -> None:
    texts = {"support": OWN, "calibration": '{"curves": []}', "head": '{"heads": []}'}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    paths = {name: str(tmp_path / name) for name in texts}
    files = {"prompts": {"support": {"en": paths.pop("support")}}, **paths}
    given = {"prompts": {"support": {"en": texts.pop("support")}}, **texts}
    assert Options.read(files) == Options.read(given)


def test_a_replacement_that_lacks_a_part_is_refused() -> None:
    for change, message in (
        (("{contexts}", ""), "{contexts}"),
        (('reason = "{statement} is {verdict}: why?"', ""), "items.reason"),
        (("{statement}?", "{statement} {wrong}"), "items.verdict"),
        (('supported = "right"', ""), "supported"),
        (("version", EXAMPLE % "" + "version"), "example 1: verdict"),
        (("version", EXAMPLE % ', verdict = "maybe"' + "version"), "maybe"),
        (("version", EXAMPLE % ', verdict = "yes", verdikt = "no"' + "version"), "verdikt"),
        (("version", EXAMPLE.replace("{c", '{ref="R.", c') % ', verdict="yes"' + "version"), "ref is not"),
        (('supported = "right"', 'supported = "right"\nsuported = "right"'), "suported"),
        (("version", "versio"), "version"),
        (("[words]", '[wrods]\nx = "y"\n[words]'), "wrods"),
        (('reason = "', 'verdikt = "?"\nreason = "'), "items.verdikt"),
        ((OWN, "no-such.toml"), "no-such.toml"),
    ):
        assert message in said(PromptError, load_prompt, "support", "en", OWN.replace(*change))
