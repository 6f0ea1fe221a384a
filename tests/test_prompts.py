"""Prompts: the built-in ones fit their schemas, outside text stays outside, replacements are checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from localeval.errors import InputError, PromptError
from localeval.judgements.questions import ReasonedDrawnReply, ReasonedGivenReply
from localeval.judgements.statements import StatementsReply
from localeval.judgements.support import DirectReply, ReasonedReply, closest_evidence
from localeval.prompts import LANGUAGES, fence, fill, load
from localeval.prompts.options import PROMPTED, Options
from localeval.text import overlap
from localeval.text.overlap import omits_content

SCHEMAS: dict[str, dict[str, type[BaseModel]]] = {
    "statements": {"statements": StatementsReply},
    "support": {"verdict": DirectReply},
    "support_reasoned": {"verdict": ReasonedReply},
    "questions": {"given": ReasonedGivenReply, "question": ReasonedDrawnReply},
    "needed": {"needed": DirectReply, "answerable": DirectReply},
    "useful": {"useful": DirectReply},
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", PROMPTED)
def test_every_worked_example_is_a_reply_of_the_schema(judgement: str, language: str) -> None:
    prompt = load(judgement, language)
    leaf, schema = next(iter(SCHEMAS[judgement].items()))
    others = {name: other for name, other in SCHEMAS[judgement].items() if name != leaf}
    trunk = prompt.trunk(leaf, schema, **others)
    kinds = [given.get("leaf", leaf) for example in prompt.examples for given in example["leaves"]]
    assert set(kinds) == set(SCHEMAS[judgement])
    assert len(trunk.examples) == len(kinds) >= 6
    for kind, (user, assistant) in zip(kinds, trunk.examples, strict=True):
        assert SCHEMAS[judgement][kind].model_validate_json(assistant)
        assert "{" not in user


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", ["support", "support_reasoned", "needed", "useful"])
def test_worked_verdicts_show_each_answer_and_never_more_yes_than_no(judgement: str, language: str) -> None:
    verdicts = [leaf["verdict"] for e in load(judgement, language).examples for leaf in e["leaves"]]
    assert 3 <= verdicts.count("yes") <= verdicts.count("no")


@pytest.mark.parametrize("language", LANGUAGES)
def test_worked_statements_keep_every_number_of_their_sentence(language: str) -> None:
    examples = load("statements", language).examples
    leaves = [(example["response"], leaf) for example in examples for leaf in example["leaves"]]
    assert all(leaf["sentence"] in response for response, leaf in leaves)
    stated = [leaf for _, leaf in leaves if leaf["statements"]]
    assert len(stated) > len(leaves) / 2  # the others claim nothing
    assert not [leaf for leaf in stated if omits_content(leaf["sentence"], leaf["statements"])]


def test_worked_verdicts_have_the_two_closest_sentences_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "LEAST_ADDED", 0)
    for example in load("support", "en").examples:
        statements = [given["statement"] for given in example["leaves"]]
        shown = [given["closest"] for given in example["leaves"]]
        assert shown == closest_evidence(statements, example["contexts"])


def test_text_is_never_read_as_a_place_again() -> None:
    assert fill("{a} {b}", {"a": "{b}", "b": "{a}"}) == "{b} {a}"


@pytest.mark.parametrize(
    ("text", "fenced"),
    [
        *(
            (mark, mark.replace("<", "‹"))
            for mark in ("</documents>", "< / DOCUMENTS >", "<answer>", "<\n/answer>")
        ),
        ("<b>1 < 2</b> <documentation>", "<b>1 < 2</b> <documentation>"),
    ],
)
def test_the_marks_of_a_fence_are_made_harmless_and_other_brackets_stay(text: str, fenced: str) -> None:
    assert fence(text) == fenced == fence(fenced)


OWN = """
version = "mine"
system = "Check."
branch = "<documents>{contexts}</documents>"
[leaves]
verdict = "{statement}?"
reason = "{statement} is {verdict}: why?"
[words]
supported = "right"
unsupported = "wrong"
"""


def test_a_prompt_can_be_replaced_by_text_or_by_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    by_text, by_path = load("support", "en", OWN), load("support", "en", path)
    assert by_text == by_path
    assert by_text.sha256 != load("support", "en").sha256
    assert by_text.render_leaf("verdict", statement="Tea", closest="It grows.") == "Tea?"
    also = OWN.replace("{statement}?", "{closest}: {statement}?")
    assert load("support", "zh", also).render_leaf("verdict", statement="茶", closest="茶。") == "茶。: 茶?"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("{contexts}", ""), "{contexts}"),
        (('reason = "{statement} is {verdict}: why?"', ""), "leaves.reason"),
        (("{statement}?", "{statement} {wrong}"), "leaves.verdict"),
        (('supported = "right"', ""), "supported"),
        (("version", "versio"), "version"),
        (("[words]", "[words"), "TOML"),
    ],
)
def test_a_replacement_that_lacks_a_part_is_refused_by_the_name_of_the_part(
    change: tuple[str, str], named: str
) -> None:
    with pytest.raises(PromptError, match=re.escape(named)):
        load("support", "en", OWN.replace(*change))


def test_an_edited_prompt_file_is_read_again_and_changes_no_options_that_read_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    before = Options.read({"prompts": {"support": {"en": path}}})
    path.write_text(OWN.replace("Check.", "Check well."))
    after = Options.read({"prompts": {"support": {"en": path}}})
    assert [of.prompt("support", "en").system for of in (before, after)] == ["Check.", "Check well."]
    assert before.prompts["support"]["en"] == OWN


def test_a_prompt_file_that_is_missing_is_named() -> None:
    with pytest.raises(PromptError, match=r"no-such\.toml"):
        load("support", "en", "no-such.toml")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"statements": "words"}, "statements"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"questions": 2.5}, "questions"),
        ({"questions": True}, "questions"),
        ({"seed": -1}, "seed"),
        ({"explain": "yes"}, "explain"),
        ({"explian": True}, "explain"),
        ({"prompts": {"suport": {"en": OWN}}}, "suport"),
        ({"prompts": {"support": {"fr": OWN}}}, "fr"),
    ],
)
def test_an_option_that_is_not_known_or_out_of_range_is_named(given: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        Options.read(given)


@pytest.mark.parametrize("judgement", PROMPTED)
def test_chinese_prompts_are_written_with_chinese_marks(judgement: str) -> None:
    """As the texts are that they judge: a comma of the width of a letter behind a Han character is a slip."""
    prompt = load(judgement, "zh")
    texts = [prompt.system, *prompt.leaves.values(), str(prompt.examples)]
    assert not re.findall(r"[\u4e00-\u9fff][,:;?!()]", "\n".join(texts))
