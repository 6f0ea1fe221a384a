"""Slips of a caller: each is refused in one sentence before anything is judged, and nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import localeval
from localeval import METRICS, Judge, evaluate, prompts
from localeval.compat import Faithfulness, RunConfig
from localeval.compat import evaluate as compat_evaluate
from localeval.engine.companions import Companions
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError, PromptError
from localeval.prompts import LANGUAGES, load
from localeval.prompts.options import PROMPTED, Options
from localeval.runs.evaluate import plan
from localeval.runs.folder import RESULTS
from localeval.runs.rescore import rescore
from localeval.testing import FakeEngine, fake_judge
from tests.originals import INPUTS
from tests.runs import judged
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEA: dict[str, Any] = {
    "id": "a",
    "user_input": "What grows?",
    "response": "Tea grows.",
    "retrieved_contexts": ["Tea grows."],
}


def idle() -> Judge:
    """A judge that may not be asked."""
    return fake_judge(FakeEngine([]))


def refused(call: Callable[[], object]) -> str:
    """What an InputError says, in one sentence that ends as one."""
    with pytest.raises(InputError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?"))
    return said


# Names of metrics

NO_NAMES: list[tuple[Any, str]] = [
    ([], "metrics is empty"),
    (iter([]), "metrics is empty"),
    ("faithfulness", 'give a list, as ["faithfulness"]'),
    (5, 'give a list, as ["faithfulness"]'),
    (METRICS["faithfulness"], 'give a list, as ["faithfulness"]'),
    ([None], 'by its name, as "faithfulness"'),
    ([METRICS["faithfulness"]], 'by its name, as "faithfulness"'),
    ([["faithfulness"]], 'by its name, as "faithfulness"'),
]


@pytest.mark.parametrize(("metrics", "said"), NO_NAMES)
def test_what_is_no_list_of_names_of_metrics_is_refused_with_one_that_is(metrics: Any, said: str) -> None:
    assert said in refused(lambda: plan([TEA], metrics, idle()))
    # A generator that was used up is as empty as before.
    assert said in refused(lambda: evaluate([TEA], metrics, idle()))


@pytest.mark.parametrize("metrics", [[], "faithfulness", [None]])
def test_a_slip_in_the_metrics_leaves_a_finished_run_as_it_is(metrics: Any, tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(lambda: evaluate(folder / "samples.jsonl", metrics, idle(), folder, statements="sentences"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_metrics_from_a_generator_are_computed_and_written(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    written = (folder / RESULTS).read_bytes()
    samples, names = folder / "samples.jsonl", (name for name in ["faithfulness"])
    result = evaluate(samples, names, idle(), folder, statements="sentences")
    assert result["faithfulness"].value == 1
    assert (folder / RESULTS).read_bytes() == written


def test_a_run_is_scored_again_by_metrics_from_a_generator_and_refuses_a_lone_name(tmp_path: Path) -> None:
    folder = judged(tmp_path / "run", [0.9])
    names: Any = (name for name in ["faithfulness"])
    assert rescore(folder, names)["faithfulness"].value == 1
    assert "give a list" in refused(lambda: rescore(folder, "faithfulness"))


# Replaced prompts


def changed(judgement: str, *change: str, language: str = "en") -> str:
    """The text of a built-in prompt with one place changed."""
    path = Path(prompts.__file__).parent / language / f"{judgement}.toml"
    text = path.read_text(encoding="utf-8")
    old, new = change
    assert old in text
    return text.replace(old, new, 1)


NAUSEA = '{ statement = "Side effects of Kelvane include a dry mouth, headaches and nausea.",'

IN_EXAMPLES: list[tuple[str, tuple[str, str], str]] = [
    ("support", ('verdict = "no"', 'verdit = "no"'), "example 1, leaf 1: verdict is missing"),
    ("support", ('verdict = "yes"', 'verdict = "maybe"'), "example 1, leaf 2: verdict is 'maybe'"),
    ("support", ('verdict = "yes"', "verdict = true"), "example 1, leaf 2: verdict is True"),
    ("support", (NAUSEA, NAUSEA.replace("statement", "statment")), "example 2, leaf 2: statement is missing"),
    ("support", (NAUSEA, "{ statement = 5,"), "example 2, leaf 2: statement is 5"),
    ("support", (NAUSEA, '{ statement = ["a"],'), "example 2, leaf 2: statement is ['a']"),
    ("support", (NAUSEA, '{ leaf = "reason", statement = "a",'), "example 2, leaf 2: leaf is 'reason'"),
    ("support", (NAUSEA, '{ leaf = ["verdict"], statement = "a",'), "example 2, leaf 2: leaf is ['verdict']"),
    ("support", ('closest = "', 'closes = "'), "example 1, leaf 1: closest is missing"),
    ("support", ("contexts = [", "context = ["), "example 1: contexts is missing"),
    ("support", ('contexts = ["', 'contexts = [5, "'), "example 1: contexts is [5"),
    ("support", ("leaves = [", "leafs = ["), "example 1: leaves is missing"),
    ("support", ("leaves = [", 'leaves = "x"\nother = ['), "example 1: leaves is 'x'"),
    ("support", ("leaves = [", 'leaves = ["x",'), "example 1: leaves, item 1 is 'x'"),
    ("statements", ("user_input =", "question ="), "example 1: user_input is missing"),
    ("statements", ("statements = []", 'statements = "x"'), "example 2, leaf 1: statements is 'x'"),
    ("statements", ("statements = []", "statements = [5]"), "example 2, leaf 1: statements, item 1 is 5"),
    ("support_reasoned", ("reason = ", "because = "), "example 1, leaf 1: reason is missing"),
    ("questions", ('question = "When', 'query = "When'), "example 1, leaf 4: question is missing"),
    ("questions", ("sufficient = ", "enough = "), "example 1, leaf 1: sufficient is missing"),
    ("questions", ('leaf = "question"', 'leaf = "query"'), "example 1, leaf 4: leaf is 'query'"),
    ("needed", ('leaf = "answerable"', 'leaf = "needed"'), "sentence is missing"),
    ("useful", ("answer = ", "response = "), "example 1: answer is missing"),
]
IN_TEMPLATES: list[tuple[str, tuple[str, str], str]] = [
    ("support", ("[[examples]]", "[examples]"), "TOML"),
    ("support", ('system = """', 'system = 5\nother = """'), "system is 5"),
    ("support", ('branch = """', 'branch = ["a"]\nother = """'), "branch is ['a']"),
    ("support", ("branch_once = true", 'branch_once = "yes"'), "branch_once is 'yes'"),
    ("support", ('reason = """', 'reason = 5\nother = """'), "leaves.reason is 5"),
    ("questions", ('question = """', 'query = """'), "leaves.question is missing"),
    ("needed", ('answerable = """', 'answered = """'), "leaves.answerable is missing"),
    ("support", ('unsupported = "', 'unsupported = 5\nother = "'), "words.unsupported is 5"),
]


@pytest.mark.parametrize(("judgement", "change", "said"), IN_EXAMPLES + IN_TEMPLATES)
def test_a_slip_in_a_prompt_is_told_with_its_file_its_language_and_its_place(
    judgement: str, change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(changed(judgement, *change), encoding="utf-8")
    told = refused(lambda: Options.read({"prompts": {judgement: {"en": path}}}))
    assert told.startswith(f"{path} ({judgement}, en): ")
    assert said in told


OWN = """
version = "mine"
system = "Check."
branch = "<documents>{contexts}</documents>"
leaves = { verdict = "{statement}?", reason = "{statement} is {verdict}: why?" }
words = { supported = "right", unsupported = "wrong" }
"""
EXAMPLE = '[[examples]]\ncontexts = "Tea grows."\nleaves = [{ statement = "Tea grows.", verdict = "yes" }]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN + EXAMPLE.replace("[[examples]]", "[examples]"), "examples is"),
        (OWN + "examples = 5", "examples is 5"),
        (OWN + "examples = [5]", "examples, item 1 is 5"),
        (OWN.replace("leaves = {", "leaves = [] # {"), "leaves is []"),
        (OWN.replace("words = {", "words = [] # {"), "words is []"),
        (OWN + EXAMPLE.replace("contexts =", "other = [5]\ncontexts ="), "example 1: other is [5]"),
        (OWN.replace("{statement}?", "{closest} {statement}?") + EXAMPLE, "leaf 1: closest is missing"),
        ("a = " + "[" * 100_000 + "\n", "not a TOML prompt file"),
        (OWN.replace("Check.", "Check \ud800."), "not a TOML prompt file"),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_slip_in_a_prompt_given_as_text_is_told_with_its_judgement_and_language(
    text: str, said: str, language: str
) -> None:
    told = refused(lambda: Options.read({"prompts": {"support": {language: text}}}))
    assert told.startswith(f"the prompt given for support ({language}): ")
    assert said in told


@pytest.mark.parametrize(
    "example",
    [
        "",
        EXAMPLE,
        EXAMPLE.replace("contexts =", 'self = "a"\nnote = "mine"\ncontexts ='),
        EXAMPLE.replace("{ statement", '{ leaf = "verdict", self = "a", note = 5, statement'),
        EXAMPLE.replace("leaves = [", "leaves = [] # ["),
    ],
)
def test_what_a_prompt_may_leave_out_or_add_is_rendered(example: str) -> None:
    from localeval.judgements.support import DirectReply

    trunk = load("support", "en", OWN + example).trunk("verdict", DirectReply)
    assert set(trunk.examples) <= {("<documents>Tea grows.</documents>Tea grows.?", '{"verdict":"yes"}')}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judgement", PROMPTED)
def test_a_copy_of_a_built_in_prompt_is_taken_as_it_is(judgement: str, language: str) -> None:
    path = Path(prompts.__file__).parent / language / f"{judgement}.toml"
    own, built_in = load(judgement, language, path), load(judgement, language)
    assert own == built_in


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, '{"support": {"en": "my-prompt.toml"}}'),
        ("my.toml", '{"support": {"en": "my-prompt.toml"}}'),
        ([], '{"support": {"en": "my-prompt.toml"}}'),
        ({"support": "my.toml"}, '{"support": {"en": "my-prompt.toml"}}'),
        ({"support": None}, '{"support": {"en": "my-prompt.toml"}}'),
        ({"support": {"en": 5}}, "the prompt given for support (en) is 5"),
        ({"support": {"en": None}}, "the prompt given for support (en) is None"),
        ({"support": {"en": b"my.toml"}}, "the prompt given for support (en) is b'my.toml'"),
        ({"support": {"en": "my\0.toml"}}, "can't be read"),
        ({5: {"en": "my.toml"}}, "there is no prompt for 5"),
        ({"support": {None: "my.toml"}}, "in None"),
    ],
)
def test_prompts_of_another_form_are_refused_with_the_right_one(given: Any, said: str) -> None:
    assert said in refused(lambda: Options.read({"prompts": given}))
    assert said in refused(lambda: evaluate([TEA], ["faithfulness"], idle(), prompts=given))


def test_a_prompt_given_to_load_as_no_text_and_no_path_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(PromptError, match="5"):
        load("support", "en", wrong)


# Numbers


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("seed", np.int64(7), 7),
        ("questions", np.uint8(3), 3),
        ("threshold", np.float32(0.25), 0.25),
        ("threshold", np.float64(0.25), 0.25),
        ("threshold", np.int64(1), 1.0),
        ("temperature", 0, 0.0),
        ("beta", Fraction(1, 2), 0.5),
    ],
)
def test_a_number_of_another_library_becomes_a_plain_one(name: str, value: Any, plain: float) -> None:
    read = getattr(Options.read({name: value}), name)
    assert (read, type(read)) == (plain, type(plain))


def test_a_run_with_numbers_of_numpy_is_judged_and_written(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"seed": np.int64(3), "questions": np.int32(2), "threshold": np.float32(0.5)}
    metrics = ["faithfulness", "answer_relevance"]
    result = evaluate([TEA], metrics, steady_judge(SteadyEngine()), tmp_path / "run", **numbers)
    assert json.loads(result.to_json())["signature"]["options"]["seed"] == 3
    same = evaluate([TEA], metrics, steady_judge(SteadyEngine()), seed=3, questions=2)
    assert result.scores == same.scores


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n_ctx", 8192.5, "n_ctx is 8192.5"),
        ("n_ctx", 8192.0, "n_ctx is 8192.0"),
        ("n_threads", 1.0, "n_threads is 1.0"),
        ("n_threads", True, "n_threads is True"),
        ("n_batch", 512.0, "n_batch is 512.0"),
        ("width", None, "width is None"),
        ("n_gpu_layers", "all", "n_gpu_layers is 'all'"),
        ("mmap", "no", "mmap is 'no'; choose True or False."),
        ("mmap", 0, "mmap is 0; choose True or False."),
        ("mmap", None, "mmap is None; choose True or False."),
        ("flash_attention", "x", "flash_attention is 'x'; choose True, False or None."),
        ("flash_attention", 1, "flash_attention is 1; choose True, False or None."),
        ("cache_type", ["f16"], "cache_type is ['f16']"),
    ],
)
def test_a_setting_of_another_type_is_refused_by_its_name(name: str, value: Any, said: str) -> None:
    assert said in refused(lambda: EngineSettings.read({name: value}))
    assert said in refused(lambda: EngineSettings(**{name: value}))


def test_settings_from_numpy_are_plain_numbers() -> None:
    settings = EngineSettings(n_ctx=np.int64(4096), n_threads=np.int32(2), n_batch=np.uint16(64))
    assert settings == EngineSettings(n_ctx=4096, n_threads=2, n_batch=64)
    assert json.loads(json.dumps(vars(settings)))["n_ctx"] == 4096


# Values of another type


@pytest.mark.parametrize("given", [None, 5, ["auto"]])
def test_a_calibration_that_is_no_text_and_no_path_is_told_of_none(given: Any) -> None:
    said = refused(lambda: evaluate([TEA], ["faithfulness"], idle(), calibration=given))
    assert said.startswith(f"calibration is {given!r}; ")
    assert '"none"' in said


@pytest.mark.parametrize("given", ["text", ["text"], None, 5])
def test_what_is_no_sample_is_refused_with_what_is(given: Any) -> None:
    assert "a Sample or a dict" in refused(lambda: idle().score("faithfulness", given))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("limit", 1.5, "limit is 1.5; choose a whole number"),
        ("limit", "3", "limit is '3'; choose a whole number"),
        ("limit", True, "limit is True; choose a whole number"),
        ("sample", "2", "sample is '2'; choose a whole number"),
        ("sample", 1.5, "sample is 1.5; choose a whole number"),
    ],
)
def test_an_option_of_reading_that_is_of_another_type_is_refused(option: str, value: Any, said: str) -> None:
    assert said in refused(lambda: localeval.read_samples([TEA], **{option: value}))


def test_an_encoding_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(TEA))
    wrong: Any = 5
    assert "encoding 5 is not known" in refused(
        lambda: localeval.read_samples(tmp_path / "data.jsonl", encoding=wrong)
    )


def test_a_sample_with_a_column_whose_name_is_no_text_is_refused() -> None:
    odd: dict[Any, Any] = {**TEA, 5: "x"}
    assert "string" in refused(lambda: idle().score("faithfulness", odd))


@pytest.mark.parametrize("given", [["faithfulness"], None, METRICS["faithfulness"]])
def test_score_takes_the_name_of_one_metric(given: Any) -> None:
    assert 'by its name, as "faithfulness"' in refused(lambda: idle().score(given, TEA))


@pytest.mark.parametrize("given", [None, 5, Judge, ["qwen2.5-coder-1.5b"]])
def test_what_is_no_judge_is_refused_with_what_is(given: Any) -> None:
    for call in (lambda: evaluate([TEA], judge=given), lambda: Judge.load(given)):
        said = refused(call)
        assert said.endswith("give a Judge, a catalog name or a path.")


@pytest.mark.parametrize("timeout", ["600", True, [5], float("nan")])
def test_a_timeout_that_is_no_number_is_refused(timeout: Any) -> None:
    assert refused(lambda: RunConfig(timeout=timeout)).startswith(f"timeout is {timeout!r}; ")


@pytest.mark.parametrize("config", [{"timeout": 5}, 5, "600", []])
def test_a_run_config_of_another_type_is_refused(config: Any) -> None:
    said = refused(lambda: compat_evaluate([INPUTS], [Faithfulness(idle())], run_config=config))
    assert "RunConfig(timeout=600)" in said


def test_a_run_config_of_ragas_is_read_by_its_fields_and_a_timeout_set_later_is_checked() -> None:
    theirs: Any = SimpleNamespace(timeout=None, seed=3)
    undefined = {"answer": "Tea grows.", "document_list": [""]}
    result = compat_evaluate([undefined], [Faithfulness(idle())], run_config=theirs, show_progress=False)
    assert result.judged["faithfulness"][0].scores["faithfulness"].status == "undefined"
    theirs.timeout = "5"
    assert "timeout is '5'" in refused(
        lambda: compat_evaluate([undefined], [Faithfulness(idle())], run_config=theirs)
    )


@pytest.mark.parametrize("metrics", [None, 5, "faithfulness", Faithfulness()])
def test_original_metrics_that_are_no_list_are_refused_with_one(metrics: Any) -> None:
    assert "[Faithfulness()]" in refused(lambda: compat_evaluate([INPUTS], metrics))


@pytest.mark.parametrize("given", [None, "my.toml", {"support": "my.toml"}])
def test_an_original_metric_refuses_prompts_of_another_form(given: Any) -> None:
    said = '{"support": {"en": "my-prompt.toml"}}'
    assert said in refused(lambda: Faithfulness(prompts=given))
    assert said in refused(lambda: Faithfulness(prompts=given, statement_generator_prompt=built_in()))


def built_in() -> str:
    return changed("statements", "You take", "You carefully take")


# An embedder of the caller's


class Own(SteadyEmbedder):
    """Tells of itself what it was made with."""

    def __init__(self, told: Any) -> None:
        self.told = told

    def signature(self) -> dict[str, Any]:
        told: dict[str, Any] = self.told
        return told


GOOD: dict[Any, Any] = {"name": "own", "sha256": "1" * 64}


@pytest.mark.parametrize(
    "told",
    [
        None,
        "own",
        {},
        {"name": "own"},
        {"name": "own", "sha256": None},
        {"sha256": "1" * 64},
        {"name": 5, "sha256": "1" * 64},
        {**GOOD, "device": object()},
        {**GOOD, "size": np.int64(5)},
        {**GOOD, 5: "x"},
    ],
)
def test_an_embedder_that_does_not_tell_what_it_is_is_refused_before_anything_is_judged(told: Any) -> None:
    engine = SteadyEngine()
    judge = Judge(engine, GOOD, companions=Companions(Own(told)))
    for call in (
        lambda: evaluate([TEA], ["answer_relevance"], judge),
        lambda: judge.score("answer_relevance", TEA),
        lambda: judge.ready([METRICS["answer_relevance"]], Options()),
    ):
        said = refused(call)
        assert "embedder" in said
        assert "name and sha256" in said
    assert engine.asked == 0


@pytest.mark.parametrize("embedder", [None, 5, SimpleNamespace(embed=len)])
def test_what_is_no_embedder_is_refused_before_anything_is_judged(embedder: Any) -> None:
    judge = Judge(SteadyEngine(), GOOD, companions=Companions(embedder))
    assert "name and sha256" in refused(lambda: evaluate([TEA], ["answer_relevance"], judge))


def test_a_classifier_that_does_not_tell_what_it_is_is_refused_before_anything_is_judged() -> None:
    classifier: Any = SimpleNamespace(support=None, signature=lambda: {"name": "own"})
    judge = Judge(SteadyEngine(), GOOD, companions=Companions(SteadyEmbedder(), classifier))
    assert "the classifier" in refused(lambda: evaluate([TEA], ["faithfulness_hhem"], judge))


class Lists(SteadyEmbedder):
    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed(texts).tolist()


def test_vectors_may_come_as_lists() -> None:
    scores = [
        evaluate([TEA], ["answer_relevance"], Judge(SteadyEngine(), GOOD, companions=Companions(one))).scores
        for one in (Lists(), SteadyEmbedder())
    ]
    assert scores[0] == scores[1]


# The package


def test_the_package_says_that_it_is_typed() -> None:
    assert (resources.files(localeval) / "py.typed").is_file()
