"""The language of a text: told where it is sure, English where it is not; and a model's thinking cut off."""

from __future__ import annotations

import pytest

from localeval import evaluate
from localeval.testing import FakeEngine, fake_judge
from localeval.text.language import language, strip_thinking
from tests.patience import timed

# Two sentences each in French, German, Spanish, Italian and Portuguese, and four in others.
FOREIGN = """\
D'après le document, le pont a été fermé pendant deux ans.
Il n'existe aucune preuve que le médicament soit efficace.
Laut dem Dokument war die Brücke zwei Jahre lang gesperrt.
Klicken Sie auf den Link in der E-Mail, um das Passwort zu ändern.
¿Cuántos habitantes tiene la capital de Bélgica?
No hay pruebas de que el medicamento sea eficaz.
La torre fu costruita nel 1889 da un ingegnere francese.
Fare clic sul collegamento nella mail per cambiare la password.
Segundo o documento, a ponte ficou fechada durante dois anos.
Clique na ligação do e-mail para alterar a palavra-passe.
De toren werd in 1889 gebouwd door een ingenieur en is nu een museum.
Der er to grunde til, at han for det meste er i byen.
Wieża została zbudowana w 1889 roku przez inżyniera.
Kule 1889 yılında bir mühendis tarafından yapıldı.
"""


@pytest.mark.parametrize("text", FOREIGN.splitlines())
def test_another_language_in_latin_letters_is_told(text: str) -> None:
    assert language(text) == "other"


@pytest.mark.parametrize(
    "text",
    [
        "Paris.",
        "In 1820.",
        "Il pleut.",  # too short to be sure
        "Simona Halep, Garbiñe Muguruza",
        "Melbourne Metro Rail Project",
        "La Traviata, Rigoletto and Il trovatore are operas by Verdi.",
        "He said that the company was a Gesellschaft mit beschränkter Haftung.",
        "for i in range(10): print(values[i])",
    ],
)
def test_english_names_and_short_texts_stay_english(text: str) -> None:
    assert language(text) == "en"


def test_a_response_in_french_is_noted_and_judged_by_the_english_prompt() -> None:
    engine = FakeEngine([{"statements": ["La tour date de 1889."]}, {"verdict": 0.9}])
    sample = {
        "response": "La tour a été construite en 1889 par un ingénieur.",
        "retrieved_contexts": ["La tour Eiffel a été construite en 1889."],
    }
    result = evaluate([sample], ["faithfulness"], fake_judge(engine))
    assert "neither English nor Chinese" in str(result)
    assert result.to_dict()["samples"][0]["records"]["statements"]["language"] == "other"
    assert "You check statements" in engine.calls[1].prefix.system


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("法院判决被告赔偿。", "zh"),
        ("公司 OpenAI 发布了 GPT 模型的新版本", "zh"),
        ("The word 法院 means court of law.", "en"),
        ("Il était une fois", "en"),
        ("東京へ行きました。とても楽しかったです。", "other"),
        ("Суд принял решение", "other"),
        ("这家店名叫优の良品，味道非常不错", "zh"),
    ],
)
def test_the_language_is_told_by_the_share_of_scripts(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris.", ("Paris.", False)),
        ("<think>\nHm.\n</think>\n\nParis.", ("Paris.", True)),
        ("A <think>x</think>B<think></think> C", ("A B C", True)),
        ("<think>never closed", ("", True)),
        ("\n<think>a</think> <think>never closed", ("", True)),
        ("The tag <think> opens a block.", ("The tag <think> opens a block.", False)),
        ("</think>", ("", True)),
        ("Maybe 1700.\n</think>\n\nIt was 1820.", ("It was 1820.", True)),  # it began in the prompt
        ("Write </think> to end it.", ("Write </think> to end it.", False)),
    ],
)
def test_thinking_is_stripped_and_said(text: str, expected: tuple[str, bool]) -> None:
    assert strip_thinking(text) == expected


def test_long_texts_take_linear_time() -> None:
    with timed() as took:
        for unit in ("<think>", "</think>", "<think></think>", "a<think>", "你a"):
            strip_thinking(unit * 100_000)
            language(unit * 100_000)
    assert took.seconds < 5
