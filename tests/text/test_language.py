"""The language of a text: told where it is sure, English where it is not; and a model's thinking cut off."""

from localeval import evaluate
from localeval.testing import FakeEngine, fake_judge
from localeval.text.language import language
from localeval.text.thoughts import strip_thinking

FOREIGN = """\
D'après le document, le pont a été fermé pendant deux ans.
Klicken Sie auf den Link in der E-Mail, um das Passwort zu ändern.
¿Cuántos habitantes tiene la capital de Bélgica?
La torre fu costruita nel 1889 da un ingegnere francese.
Clique na ligação do e-mail para alterar a palavra-passe.
De toren werd in 1889 gebouwd door een ingenieur en is nu een museum.
Wieża została zbudowana w 1889 roku przez inżyniera.
Kule 1889 yılında bir mühendis tarafından yapıldı.
"""


def test_the_language_is_told_where_it_is_sure_and_english_where_it_is_not() -> None:
    for text, expected in (
        *((text, "other") for text in FOREIGN.splitlines()),
        ("Il gatto dorme sul letto", "other"),
        # Texts of four words or 19 letters stay English, and those with an English word among ten.
        ("Guten Morgen zusammen", "en"),
        ("Le chat dort dans le jardin pendant that longue nuit", "en"),
        ("Simona Halep, Garbiñe Muguruza", "en"),
        ("Scientists discovered several unknown beetle species yesterday.", "en"),
        ("La Traviata, Rigoletto and Il trovatore are operas by Verdi.", "en"),
        # The share of scripts decides: a quarter of Han, a half of Latin, a tenth of kana.
        ("法abc", "zh"),
        ("abаб", "en"),
        ("公司 OpenAI 发布了 GPT 模型的新版本", "zh"),
        ("東京へ行きました。とても楽しかったです。", "other"),
        ("这家店名叫优の良品，味", "zh"),
        ("发至 customer@example.com，见 https://example.com/zhengce，或 `pip install localeval`。", "zh"),
        ("在 Windows 中按 Ctrl + Shift + Esc 打开 Task Manager。", "zh"),
        ("GPT-4 和 Claude 3 Opus 均支持 200K context window。", "zh"),
        ("答案是 Massachusetts Institute of Technology。", "zh"),
        ("The word 茶 (cha) means tea in Chinese, and it has spread with the trade.", "en"),
        ("Zhang Yimou (张艺谋)", "en"),
        ("Zhang Yimou 张艺谋 directed Hero.", "en"),
        ("Чай (茶) растёт в горах Китая, и 北京 его пьёт.", "other"),
        ("Le réalisateur 张艺谋 est né à Xi'an en 1950.", "other"),
        ("詳細は www.example.com/help/contact-us をご覧ください。", "other"),
    ):
        assert language(text) == expected, text


def test_a_short_sentence_with_a_verb_or_an_article_of_another_language_is_in_that_language() -> None:
    for text in (
        "Das Haus ist sehr gross",
        "Die Brücke kostet 3 Euro.",
        "La presa es nueva.",
        "Le barrage est neuf.",
        "La diga è nuova.",
        "A barragem foi fechada.",
        "Het is een oude brug.",
    ):
        assert language(text) == "other", text
    # But names and titles with such words may answer an English question.
    for text in (
        "Ludwig van Beethoven",
        "Los Angeles",
        "Der Spiegel",
        "Il trovatore",
        "El Salvador",
        "Acme, est. 1990",
    ):
        assert language(text) == "en", text
    assert language("La casa verde.", "Which novel did he write?") == "en"


def test_japanese_without_kana_is_told_from_chinese_by_its_characters() -> None:
    for text in ("国立国会図書館法", "2020年東京五輪", "経済産業省", "渋谷駅"):
        assert language(text) == "other", text
    for text in ("北京大学图书馆", "中華民國總統府", "東京大學", "他在渋谷的駅前"):
        assert language(text) == "zh", text
    assert language("渋谷駅", "他住在哪个车站附近？") == "zh"  # a name


def test_chinese_around_commands_is_chinese() -> None:
    for text in (
        "使用 kubectl get pods -n kube-system -o wide 命令",
        "先运行 sudo apt update 再重启",
        "在终端输入 ls -la /var/log",
    ):
        assert language(text) == "zh", text
    assert language("北京 is the capital of 中国") == "en"


def test_a_response_in_french_is_noted_and_judged_by_the_english_prompt() -> None:
    response = "La tour a été construite en 1889 par un ingénieur."
    engine = FakeEngine([{"statements": [response]}, {"verdict": 0.9}])
    sample = {"response": response, "retrieved_contexts": ["La tour Eiffel a été construite en 1889."]}
    result = evaluate([sample], ["faithfulness"], fake_judge(engine))
    assert "neither English nor Chinese" in str(result)
    assert result.to_dict()["samples"][0]["records"]["statements"]["language"] == "other"
    assert "You check statements" in engine.calls[1].prefix.system


def test_thinking_is_stripped_and_reported() -> None:
    for text, expected in (
        ("Paris.", ("Paris.", False)),
        ("A <think>x</think>B<think></think> C", ("A B C", True)),
        ("\n<think>a</think> <think>never closed", ("", True)),
        ("The tag <think> opens a block.", ("The tag <think> opens a block.", False)),
        ("Maybe 1700.\n</think>\n\nIt was 1820.", ("It was 1820.", True)),  # it began in the prompt
        ("Use </think>\nto close it. Bob.", ("Use </think>\nto close it. Bob.", False)),
        ("Put it in `<think>` and `</think>`.", ("Put it in `<think>` and `</think>`.", False)),
        ("<Thinking>Hm.</Thinking>B", ("B", True)),
        ("[THINK]Hm.[/THINK]B", ("B", True)),
        ("\u25c1think\u25b7Hm.\u25c1/think\u25b7B", ("B", True)),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>B",
            ("B", True),
        ),
        ("Write </think> to end it.", ("Write </think> to end it.", False)),
    ):
        assert strip_thinking(text) == expected
