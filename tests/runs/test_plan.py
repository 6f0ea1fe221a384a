"""What a run is told to take is what it takes: prompts to the row, replies and time by an estimate."""

import json
from importlib import resources
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from localeval import METRICS, Judge, Plan, evaluate, plan
from localeval.engine.benchmark import Speed, measure
from localeval.engine.engine import Engine
from localeval.engine.interface import ContextTooLong, EngineError, TokenUsage
from localeval.engine.settings import EngineSettings
from localeval.errors import InputError
from localeval.fitted.files import file_text
from localeval.judgements import JUDGEMENTS
from localeval.metrics.summary import choose_metrics
from localeval.options import Options
from localeval.runs.plan import PLAN, Work, make_plan, with_stored_speed
from localeval.runs.speed import load_speed, speed_file, store_speed
from localeval.samples import Sample, read_samples
from localeval.testing import FakeClassifier, FakeEngine, fake_judge
from tests.commands import localeval
from tests.heads import head
from tests.steady import SteadyEngine, steady_judge
from tests.tiny import N_EMBD

SHIPPED = read_samples(str(resources.files("localeval") / "examples" / "answers.jsonl"))
TEA: dict[str, Any] = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
YES: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]
NEVER = fake_judge(FakeEngine([]))  # a question to it would end the test
READ = file_text([head("en", width=N_EMBD), head("zh", width=N_EMBD)])
CHOICES = [
    ("faithfulness", {"statements": "sentences"}),
    ("context_relevance,context_precision", {}),
    ("faithfulness", {"statements": "sentences", "verdict": "reasoned"}),
    ("groundedness", {"head": READ}),
]


def planned(judge: Judge, samples: list[Sample], metrics: str, most: int = 0, **options: Any) -> Plan:
    """A plan that measures nothing."""
    return make_plan(
        samples, choose_metrics(metrics.split(",")), judge, Options.read(options), max_counted=most
    )


@pytest.fixture(scope="module")
def tiny_judge(tiny: Engine) -> Judge:
    return Judge(tiny, {"name": "tiny", "sha256": "0" * 64, "size": 0})


@pytest.mark.parametrize(("metrics", "options"), CHOICES)
def test_prompt_rows_are_planned_to_the_row(tiny_judge: Judge, metrics: str, options: dict[str, Any]) -> None:
    """Counted by the schedule's own rules, also where the items are too many for one chunk."""
    samples = [s for s in SHIPPED if s.id in ("en-supported", "zh-contradicted", "en-no-contexts")]
    samples.insert(1, samples[0].model_copy(update={"id": "same contexts", "response": "Tea."}))
    tiny_judge.engine._states.clear()  # type: ignore[attr-defined]  # prefixes of other tests
    tiny_judge.engine._in_cache = None  # type: ignore[attr-defined]
    estimate = planned(tiny_judge, samples, metrics, **options).spent
    before = tiny_judge.engine.spent
    evaluate(samples, metrics.split(","), tiny_judge, **options)
    spent = tiny_judge.engine.spent.since(before)
    assert (*estimate[:3], estimate.read) == (*spent[:3], spent.read)  # of prefix, context and items
    assert (spent.read if metrics == "groundedness" else spent.items) > 0
    if "verdict" not in options:
        assert estimate.forced == spent.forced


def samples_of_lengths() -> list[Sample]:
    """Contexts that fit the model, that take several windows (twice), and that take too many."""
    lengths = (("short", 1), ("long", 300), ("endless", 10_000), ("twin", 300))
    return [
        Sample(id=name, response="Tea grows.", retrieved_contexts=["Tea grows on hills. " * times])
        for name, times in lengths
    ]


def test_windows_are_known_beforehand_as_the_record_has_them(tiny_judge: Judge) -> None:
    samples = samples_of_lengths()
    estimate = planned(tiny_judge, samples, "faithfulness", statements="sentences")
    long = evaluate(samples, ["faithfulness"], tiny_judge, statements="sentences").samples[1]
    windows = long.records["support"].windows  # type: ignore[attr-defined]
    assert estimate.windows == {"long": windows, "twin": windows}


def test_what_is_too_long_is_known_beforehand_as_the_run_finds_it(tiny_judge: Judge) -> None:
    samples = samples_of_lengths()
    estimate = planned(tiny_judge, samples, "faithfulness", statements="sentences")
    endless = evaluate(samples, ["faithfulness"], tiny_judge, statements="sentences").samples[2]
    assert (estimate.too_long, endless.scores["faithfulness"].reason) == (("endless",), "context_too_long")
    assert "context_too_long: 1 sample (endless)" in str(estimate)


def test_the_plan_of_a_finished_run_still_tells_its_windows(tiny_judge: Judge, tmp_path: Path) -> None:
    samples = samples_of_lengths()
    estimate = planned(tiny_judge, samples, "faithfulness", statements="sentences")
    evaluate(samples, ["faithfulness"], tiny_judge, tmp_path, statements="sentences")
    again = plan(samples, ["faithfulness"], tiny_judge, tmp_path, statements="sentences")
    assert (again.to_make, again.windows, again.too_long) == (0, estimate.windows, estimate.too_long)


# What is judged of two responses, and of several ones.
OF_MORE_THAN_ONE_ANSWER = {"preference", "consistency"}


def plan_of_all_metrics() -> Plan:
    """A plan by an engine without an answer to give: a question to it would end the test."""
    sample = Sample(
        user_input="Tea?",
        response="Tea grows.",
        retrieved_contexts=["Tea."],
        reference="Tea.",
        history=[{"role": "user", "content": "Does coffee grow?"}],
    )
    judge = fake_judge(FakeEngine([]), classifier=FakeClassifier({}))
    return planned(judge, [sample], ",".join(METRICS), explain=True, head=READ)


def test_every_judgement_can_be_gone_through_without_an_answer() -> None:
    work = plan_of_all_metrics().work
    assert {row.judgement for row in work if row.to_make == 1} == set(JUDGEMENTS) - OF_MORE_THAN_ONE_ANSWER


def test_a_plan_says_which_model_makes_a_judgement() -> None:
    by = {row.judgement: row.by for row in plan_of_all_metrics().work}
    assert (by["similarity"], by["support_hhem"], by["support"]) == ("embedder", "classifier", "judge")


def test_what_the_journal_holds_is_not_to_be_made_again(tmp_path: Path) -> None:
    evaluate([TEA], ["faithfulness"], fake_judge(FakeEngine(YES)), output=tmp_path)
    samples = [TEA, {**TEA, "id": "b", "response": "Tea sings."}]
    estimate = plan(samples, ["faithfulness"], NEVER, output=tmp_path)
    assert (estimate.to_make, estimate.kept) == (2, 2)
    assert [work.spent.total > 0 for work in estimate.work] == [True, True]


def test_what_the_classifier_decided_is_not_to_be_made_again(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine(YES[:1]), classifier=FakeClassifier({"Tea grows.": 0.9}))
    evaluate([TEA], ["faithfulness_hhem"], judge, output=tmp_path)
    estimate = plan([TEA], ["faithfulness_hhem"], NEVER, output=tmp_path)
    assert (estimate.to_make, estimate.kept) == (0, 2)


def test_an_error_of_the_engine_is_to_be_made_again(tmp_path: Path) -> None:
    failing = fake_judge(FakeEngine([YES[0], EngineError("no cell is free")]))
    evaluate([TEA], ["faithfulness"], failing, output=tmp_path)
    estimate = plan([TEA], ["faithfulness"], NEVER, output=tmp_path)
    assert (estimate.to_make, estimate.kept) == (1, 1)


def test_what_was_too_long_is_not_to_be_made_again(tmp_path: Path) -> None:
    failing = fake_judge(FakeEngine([YES[0], ContextTooLong("too long")]))
    evaluate([TEA], ["faithfulness"], failing, output=tmp_path)
    estimate = plan([TEA], ["faithfulness"], NEVER, output=tmp_path)
    assert (estimate.to_make, estimate.kept) == (0, 2)


# Two that ask for the same, and one with other contexts.
TWINS: list[dict[str, Any]] = [
    TEA,
    {**TEA, "id": "b"},
    {**TEA, "id": "c", "retrieved_contexts": ["Tea sings."]},
]


def test_samples_that_ask_for_the_same_are_judged_once_and_planned_once() -> None:
    engine = FakeEngine([*YES, {"verdict": 0.25}])
    estimate = plan(TWINS, ["faithfulness"], NEVER)
    evaluate(TWINS, ["faithfulness"], fake_judge(engine))
    assert estimate.to_make == len(engine.calls) == 3
    assert [work.again for work in estimate.work] == [2, 1]


def test_a_sample_that_asks_for_the_same_takes_no_tokens() -> None:
    assert plan(TWINS, ["faithfulness"], NEVER).spent == plan(TWINS[1:], ["faithfulness"], NEVER).spent


def test_samples_that_ask_the_classifier_for_the_same_are_planned_once() -> None:
    by_classifier = plan(TWINS, ["faithfulness_hhem"], NEVER)
    assert [work.again for work in by_classifier.work] == [2, 1]


def test_samples_for_which_the_same_questions_are_drawn_are_planned_once() -> None:
    asked = [{"user_input": "Tea?", "response": verb * 40} for verb in ("grows ", "grows ", "sings ")]
    assert [work.again for work in plan(asked, ["answer_relevance"], NEVER).work] == [1, 1]


def test_a_plan_says_that_no_model_is_asked() -> None:
    nothing = plan([{**TEA, "retrieved_contexts": []}], ["faithfulness"], NEVER)
    assert "no model is asked" in nothing.summary()[0]


def short_samples(number: int) -> list[Sample]:
    return [Sample(id=str(i), response=f"Tea {i:04}.", retrieved_contexts=["Tea."]) for i in range(number)]


def test_of_many_samples_a_part_evenly_spread_stands_for_all() -> None:
    part, whole = (planned(NEVER, short_samples(300), "faithfulness", most) for most in (100, 0))
    assert (part.looked_at, part.samples, part.to_make) == (100, 300, 600)
    assert part.spent == whole.spent


def test_a_sample_that_was_not_looked_at_is_not_said_to_be_judged(tmp_path: Path) -> None:
    """All of 200 are judged; of 201 the new one is not among the 100 looked at."""
    for number in (200, 201):
        watch = Mock()
        judge = steady_judge(SteadyEngine())
        samples = short_samples(number)
        evaluate(samples, ["faithfulness"], judge, tmp_path, watch=watch, statements="sentences")
    (line,) = watch.on_plan.call_args.args[0].summary()
    assert "no model is asked" not in line
    assert "100 of 201 samples" in line


def test_the_plan_of_a_run_is_in_its_folder(tmp_path: Path) -> None:
    watch = Mock()
    evaluate([TEA], ["faithfulness"], fake_judge(FakeEngine(YES)), output=tmp_path, watch=watch)
    record = json.loads((tmp_path / PLAN).read_text())
    assert (record["to_make"], record["kept"], record["samples"]) == (2, 0, 1)
    assert record["tokens"] == watch.on_plan.call_args.args[0].spent.total


def test_who_watches_a_run_gets_the_scores_of_a_sample(tmp_path: Path) -> None:
    watch = Mock()
    evaluate([TEA], ["faithfulness"], fake_judge(FakeEngine(YES)), output=tmp_path, watch=watch)
    assert watch.on_sample.call_args.args[2]["faithfulness"].value == 1.0


def test_the_plan_of_a_run_stays_in_its_folder_when_the_run_goes_on(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine(YES))
    evaluate([TEA], ["faithfulness"], judge, output=tmp_path, watch=Mock())
    record = json.loads((tmp_path / PLAN).read_text())
    watch = Mock()
    evaluate([TEA], ["faithfulness"], NEVER, output=tmp_path, watch=watch)
    second = watch.on_plan.call_args.args[0]
    assert (second.to_make, second.kept) == (0, 2)
    assert json.loads((tmp_path / PLAN).read_text()) == record


def long_plan() -> Plan:
    """610 tokens of prompts and forced ones at 0.5 s, and 1,505 others at 2 s: 3,315 s."""
    spent = TokenUsage(100, 200, 300, forced=10, decoded=1500, guessed=5)
    return Plan(
        200,
        100,
        (Work("support", "judge", 90, 40, 2, spent), Work("similarity", "embedder", 7, 3)),
        windows={"a": 2, "b": 3},
        too_long=("c",),
        speed=Speed(0.5, 2, 9),
        memory=6 * 10**9,
        free=5 * 10**9,
    )


@pytest.mark.parametrize(
    "row",
    [
        "support 90 42 600 1,515 55 min",
        "similarity 7 3 by the embedder",
        "all 97 45 600 1,515 55 min",
    ],
)
def test_a_plan_shows_tokens_and_time_of_each_judgement(row: str) -> None:
    assert row in [" ".join(line.split()) for line in str(long_plan()).splitlines()]


def test_a_plan_shows_the_memory_that_is_needed_and_free() -> None:
    shown = str(long_plan())
    assert "6.0 GB" in shown
    assert "5.0 GB" in shown
    assert "embedder beside" in shown


def test_a_plan_shows_which_samples_take_windows_or_are_too_long() -> None:
    shown = str(long_plan())
    assert "(up to 3): 2 samples of 100 (a, b)" in shown
    assert "1 sample of 100 (c)" in shown


def test_a_plan_is_written_with_its_numbers() -> None:
    record = long_plan().to_dict()
    assert [record[name] for name in ("tokens", "kept", "seconds", "fits")] == [2115, 43, 3315, False]
    assert [row["seconds"] for row in record["work"]] == [3315, 0]


def test_a_plan_without_work_takes_no_time() -> None:
    assert Plan(1, 1, ()).seconds == 0


def test_a_plan_without_a_measured_speed_has_no_time() -> None:
    assert Plan(1, 1, long_plan().work).seconds is None


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a GB is free, and nothing may load a second model to measure the speed with."""
    monkeypatch.setattr("localeval.runs.plan.available", lambda: 500_000_000)
    monkeypatch.setattr("localeval.engine.benchmark.measure", lambda *_: pytest.fail("loaded a second"))


@pytest.mark.usefixtures("little_memory")
def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(tiny_path: Path) -> None:
    with (
        Judge.load(tiny_path, n_threads=1, n_ctx=16384) as judge,
        pytest.raises(InputError, match=r"tiny needs about 0\.7 GB"),
    ):
        evaluate([TEA], ["faithfulness"], judge, watch=Mock(), statements="sentences")


@pytest.mark.usefixtures("little_memory")
def test_a_loaded_judge_needs_no_more_memory(tiny_path: Path) -> None:
    """What is free stands beside it; a second one, to measure the speed with, has to fit in there."""
    watch = Mock()
    more = {**TEA, "response": "Tea sings."}
    with Judge.load(tiny_path, n_threads=1, n_ctx=16384) as judge:
        evaluate([TEA], ["faithfulness"], judge, statements="sentences")
        evaluate([more], ["faithfulness"], judge, watch=watch, statements="sentences")
        second = watch.on_plan.call_args.args[0]
        assert (second.to_make, second.memory) == (2, None)
        assert plan([more], ["faithfulness"], judge).speed is None


def test_the_speed_is_of_the_faster_of_two_rounds(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind 100 tokens: 512 of one text, then 8 calls with a token of each of 16 texts, and 8 with one."""
    seconds = [1, 1024, 512, 1, 512, 768, 1, 24, 32]  # a warm-up and two rounds of each kind
    clock = Mock(perf_counter=Mock(side_effect=[time for taken in seconds for time in (9, 9 + taken)]))
    monkeypatch.setattr("localeval.engine.benchmark.time", clock)
    speed = measure(tiny_path, EngineSettings(n_ctx=2048, n_threads=1, width=8), behind=100)
    assert speed == Speed(prefill=512 / 512, token=512 / 8 / 16, step=24 / 8)


SPEED = Speed(prefill=0.01, token=0.02, step=0.05)


def test_the_plan_before_a_run_has_the_speed_that_was_measured_last(tiny_judge: Judge) -> None:
    before = planned(tiny_judge, SHIPPED[:1], "faithfulness", statements="sentences")
    assert with_stored_speed(before, tiny_judge).seconds is None
    store_speed(tiny_judge, SPEED)
    assert with_stored_speed(before, tiny_judge).seconds == SPEED.cost(before.spent)


def test_a_speed_is_known_for_the_same_model_and_settings_only() -> None:
    store_speed(fake_judge(FakeEngine([], n_ctx=2048)), SPEED)
    assert load_speed(fake_judge(FakeEngine([], n_ctx=2048))) == SPEED
    assert load_speed(fake_judge(FakeEngine([], n_ctx=4096))) is None


@pytest.mark.parametrize("content", ["", "{}", "[1, 2, 3]", '{"prefill": "fast", "token": 1, "step": 1}'])
def test_a_speed_whose_file_is_damaged_is_not_known(content: str) -> None:
    judge = fake_judge(FakeEngine([], n_ctx=3072))
    store_speed(judge, SPEED)
    speed_file(judge).write_text(content)
    assert load_speed(judge) is None


@pytest.fixture
def plan_command(tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """A command that plans a run of one sample, in a folder with its data."""
    (tmp_path / "data.jsonl").write_text(json.dumps(TEA) + "\n")
    monkeypatch.setattr("localeval.engine.benchmark.measure", lambda *_: Speed(0.01, 0.02, 0.05))
    return ("evaluate", "data.jsonl", "--judge", tiny_path, "--n-ctx", "16384", "--plan")


def test_the_command_shows_a_plan(plan_command: tuple[Any, ...], tmp_path: Path) -> None:
    done = localeval(*plan_command, cwd=tmp_path)
    assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["statements", "support"]
    assert (done.returncode, "Memory: 0.7 GB needed" in done.stdout) == (0, True)


def test_the_command_writes_a_plan_as_json(plan_command: tuple[Any, ...], tmp_path: Path) -> None:
    done = localeval(*plan_command, "--json", cwd=tmp_path)
    record = json.loads(done.stdout)
    assert (record["samples"], record["to_make"], record["seconds"] > 0) == (1, 2, True)
    assert done.returncode == 0


def test_the_command_makes_no_run_where_it_only_plans(plan_command: tuple[Any, ...], tmp_path: Path) -> None:
    localeval(*plan_command, cwd=tmp_path)
    assert not (tmp_path / "runs").exists()


def test_the_command_refuses_a_plan_that_does_not_fit(
    plan_command: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.runs.plan.available", lambda: 500_000_000)
    done = localeval(*plan_command, cwd=tmp_path)
    assert (done.returncode, "choose a smaller model" in done.stdout) == (2, True)
