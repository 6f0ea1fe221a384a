"""The language of a text: told where it is certain, English where it is not."""

import pytest

from localeval import evaluate
from localeval.testing import FakeEngine, fake_judge
from localeval.text.language import language


@pytest.mark.parametrize(
    "text",
    [
        "D'après le document, le pont a été fermé pendant deux ans.",
        "Klicken Sie auf den Link in der E-Mail, um das Passwort zu ändern.",
        "¿Cuántos habitantes tiene la capital de Bélgica?",
        "La torre fu costruita nel 1889 da un ingegnere francese.",
        "Clique na ligação do e-mail para alterar a palavra-passe.",
        "De toren werd in 1889 gebouwd door een ingenieur en is nu een museum.",
        "Wieża została zbudowana w 1889 roku przez inżyniera.",
        "Kule 1889 yılında bir mühendis tarafından yapıldı.",
        "Il gatto dorme sul letto",
        "Le réalisateur 张艺谋 est né à Xi'an en 1950.",
    ],
)
def test_a_sentence_of_another_language_in_latin_letters_is_told(text: str) -> None:
    assert language(text) == "other"


@pytest.mark.parametrize(
    "text",
    [
        "Guten Morgen zusammen",
        "Le chat dort dans le jardin pendant that longue nuit",
        "Simona Halep, Garbiñe Muguruza",
        "Scientists discovered several unknown beetle species yesterday.",
        "La Traviata, Rigoletto and Il trovatore are operas by Verdi.",
    ],
    ids=["few words", "an English word among ten", "names", "English", "English with foreign titles"],
)
def test_latin_text_is_english_where_no_other_language_is_certain(text: str) -> None:
    assert language(text) == "en"


@pytest.mark.parametrize(
    "text",
    [
        "法abc",
        "公司 OpenAI 发布了 GPT 模型的新版本",
        "这家店名叫优の良品，味",
        "发至 customer@example.com，见 https://example.com/zhengce，或 `pip install localeval`。",
        "在 Windows 中按 Ctrl + Shift + Esc 打开 Task Manager。",
        "GPT-4 和 Claude 3 Opus 均支持 200K context window。",
        "答案是 Massachusetts Institute of Technology。",
    ],
)
def test_chinese_with_names_and_terms_in_latin_letters_is_chinese(text: str) -> None:
    assert language(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "abаб",
        "The word 茶 (cha) means tea in Chinese, and it has spread with the trade.",
        "Zhang Yimou (张艺谋)",
        "Zhang Yimou 张艺谋 directed Hero.",
    ],
)
def test_english_with_names_in_another_script_is_english(text: str) -> None:
    assert language(text) == "en"


@pytest.mark.parametrize(
    "text",
    [
        "東京へ行きました。とても楽しかったです。",
        "Чай (茶) растёт в горах Китая, и 北京 его пьёт.",
        "詳細は www.example.com/help/contact-us をご覧ください。",
    ],
)
def test_text_in_another_script_is_in_another_language(text: str) -> None:
    assert language(text) == "other"


@pytest.mark.parametrize(
    "text",
    [
        "Das Haus ist sehr gross",
        "Die Brücke kostet 3 Euro.",
        "La presa es nueva.",
        "Le barrage est neuf.",
        "La diga è nuova.",
        "A barragem foi fechada.",
        "Het is een oude brug.",
    ],
)
def test_a_short_sentence_with_a_verb_or_an_article_of_another_language_is_in_that_language(
    text: str,
) -> None:
    assert language(text) == "other"


@pytest.mark.parametrize(
    "text",
    [
        "Ludwig van Beethoven",
        "Los Angeles",
        "Der Spiegel",
        "Il trovatore",
        "El Salvador",
        "Acme, est. 1990",
    ],
)
def test_a_name_with_an_article_of_another_language_is_english(text: str) -> None:
    assert language(text) == "en"


def test_a_title_in_another_language_that_answers_an_english_question_is_english() -> None:
    assert language("La casa verde.", "Which novel did he write?") == "en"


@pytest.mark.parametrize("text", ["国立国会図書館法", "2020年東京五輪", "経済産業省", "渋谷駅"])
def test_japanese_without_kana_is_told_by_its_characters(text: str) -> None:
    assert language(text) == "other"


@pytest.mark.parametrize("text", ["北京大学图书馆", "中華民國總統府", "東京大學", "他在渋谷的駅前"])
def test_chinese_in_simplified_or_traditional_characters_is_no_japanese(text: str) -> None:
    assert language(text) == "zh"


def test_a_japanese_name_that_answers_a_chinese_question_is_chinese() -> None:
    assert language("渋谷駅", "他住在哪个车站附近？") == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "使用 kubectl get pods -n kube-system -o wide 命令",
        "先运行 sudo apt update 再重启",
        "在终端输入 ls -la /var/log",
    ],
)
def test_chinese_around_commands_is_chinese(text: str) -> None:
    assert language(text) == "zh"


def test_english_between_chinese_names_is_english() -> None:
    assert language("北京 is the capital of 中国") == "en"


def test_a_response_in_french_is_noted_and_judged_by_the_english_prompt() -> None:
    response = "La tour a été construite en 1889 par un ingénieur."
    engine = FakeEngine([{"statements": [response]}, {"verdict": 0.9}])
    sample = {"response": response, "retrieved_contexts": ["La tour Eiffel a été construite en 1889."]}
    result = evaluate([sample], ["faithfulness"], fake_judge(engine))
    assert "neither English nor Chinese" in str(result)
    assert result.to_dict()["samples"][0]["records"]["statements"]["language"] == "other"
    assert "You check statements" in engine.calls[1].prefix.system
