"""Reading: the same states every time, and a head that is fitted to them."""

import errno
import json
import os
import signal
import threading
import time
from functools import partial
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from localeval import Judge, Sample
from localeval.analysis import fit_head
from localeval.engine.engine import Engine
from localeval.fitted.files import FittedFor, file_text
from localeval.fitted.heads import LinearMap
from localeval.judgements.replies import YesOrNo
from localeval.prompts import PromptPrefix
from tests.commands import localeval
from tests.finished_runs import write_rows
from tests.heads import head

PREFIX = PromptPrefix("Judge.", (("One?", '{"verdict":"yes"}'),))
CONTEXT = "Context:\nThe mill on the Arl was built in 1820, of brick."
ITEM = "\n\nQuestion: When?\nResponse: In 1820, 用砖. 🍎"


def test_states_and_replies_have_the_same_bits_again_and_after_other_work(tiny: Engine) -> None:
    first = tiny.read(CONTEXT, ITEM, 0)
    assert len(first.values) == len(first.ends)  # a state for each token
    assert first.ends[-1] == len(ITEM.encode())
    replies = tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo)
    assert not np.array_equal(first.values, tiny.read("Context:\nAnother.", ITEM, 0).values)
    for _ in range(2):
        before = tiny.spent.read
        again = tiny.read(CONTEXT, ITEM, 0)
        assert np.array_equal(first.values, again.values)
        assert first.ends == again.ends
    assert tiny.spent.read - before == tiny.count(ITEM)  # a context that was read last stands
    assert tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo) == replies


def test_an_interrupt_ends_the_work_wherever_it_comes(tiny: Engine, request: pytest.FixtureRequest) -> None:
    """A signal that is answered inside the engine's callback would be lost, and the work would go on."""
    # What a shell starts in the background ignores Ctrl-C; here it is heard.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    end = time.monotonic() + 60
    # An import that is interrupted leaves its file open, of which pytest warns.
    tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo)

    def work(timer: threading.Timer) -> None:
        timer.start()  # the signal may come before this returns
        while time.monotonic() < end:
            tiny.read(CONTEXT, ITEM, 0)
            tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo)

    for i in range(7):
        timer = threading.Timer(0.001 * (1 + i % 7), os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            work(timer)
        timer.join()


def labelled(path: Path, number: int, telling: bool = True) -> Path:
    """Write labelled answers; `telling` if words tell the right ones from the wrong ones."""
    rows = []
    for i in range(number):
        text = f"{'Tea grows' if i % 2 or not telling else 'Cars roll'} on hill {i // 2}."
        row = {"id": f"s{i}", "response": text, "retrieved_contexts": ["Tea grows."]}
        rows.append({**row, "label": i % 2, "group": f"g{i // 2}"})
    return write_rows(path, rows)


def test_a_fitted_head_acts(tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a second call to fit one reads nothing anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    head = tmp_path / "head.json"
    options = ("--judge", tiny_path, "--threads", "1", "-o", head, "--layer", "0")
    fit = partial(localeval, "fit", labelled(tmp_path / "l.jsonl", 300), *options, cwd=tmp_path)
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", Mock(side_effect=OSError(errno.ENOSPC, "No space left")))
        done = fit()
    assert (done.returncode, "states can't be written there (No space left)" in done.stderr) == (2, True)
    done = fit()
    content = head.read_bytes()
    assert (done.returncode, "cross-validated auroc" in done.stdout) == (0, True)
    monkeypatch.setattr(Engine, "read", lambda *_: pytest.fail("read again"))
    assert (fit().returncode, head.read_bytes()) == (0, content)
    monkeypatch.undo()
    mill = Sample(response="The mill was built in 1820.", retrieved_contexts=["It was built in 1820."])
    with Judge.load(tiny_path, n_threads=1) as judge:
        assert judge.score("groundedness", mill, head=head).status == "scored"


@pytest.mark.parametrize(
    ("states", "layer", "told"),
    [
        ((1.0,), 0, "has 1 weights for the states of a word, but states of tiny.gguf have 64 numbers"),
        ((1.0,) * 65, 0, "has 65 weights"),
        ((1.0,) * 64, 1, "reads layer 1, but tiny.gguf has 2 layers, and the highest that can be read is 0"),
    ],
    ids=["fewer weights", "more weights", "a higher layer"],
)
def test_a_head_of_another_shape_than_the_model_is_refused(
    tiny_path: Path, tmp_path: Path, states: tuple[float, ...], layer: int, told: str
) -> None:
    judge = FittedFor(name="tiny.gguf", sha256=sha256(tiny_path.read_bytes()).hexdigest())
    shape = {"judge": judge, "layer": layer, "word": LinearMap(states=states)}
    file = tmp_path / "head.json"
    file.write_text(file_text([head().model_copy(update=shape)]), encoding="utf-8")
    rows = [{"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}]
    samples = write_rows(tmp_path / "samples.jsonl", rows)
    options = ("--judge", tiny_path, "-m", "groundedness", "--head", file, "-o", tmp_path / "run")
    done = localeval("evaluate", samples, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


def said_by_fit(model: Path, answers: Path, layer: int = 0) -> str:
    """Fit a head, which is refused and not written; return what the command says."""
    head = answers.with_name("head.json")
    options = ("--judge", model, "--threads", "1", "-o", head, "--layer", str(layer))
    done = localeval("fit", answers, *options, cwd=answers.parent)
    assert done.returncode == 2
    assert not head.exists()
    return done.stderr


def test_a_head_that_decides_by_chance_is_not_written(tiny_path: Path, tmp_path: Path) -> None:
    answers = labelled(tmp_path / "l.jsonl", 300, telling=False)
    assert "chance" in said_by_fit(tiny_path, answers)


def test_no_head_is_fitted_to_too_few_answers(tiny_path: Path, tmp_path: Path) -> None:
    answers = labelled(tmp_path / "l.jsonl", 40)
    assert "too few" in said_by_fit(tiny_path, answers)


def test_no_head_is_fitted_to_a_layer_above_the_last_that_can_be_read(
    tiny_path: Path, tmp_path: Path
) -> None:
    answers = labelled(tmp_path / "l.jsonl", 300)
    refusal = said_by_fit(tiny_path, answers, layer=1)
    assert "--layer is 1, but the model has 2 layers; choose at most 0" in refusal


def test_no_head_is_fitted_to_a_marked_span_outside_of_its_response(tiny_path: Path, tmp_path: Path) -> None:
    answers = labelled(tmp_path / "l.jsonl", 300)
    first, *others = answers.read_text(encoding="utf-8").splitlines()
    row = {**json.loads(first), "hallucination_spans": [{"start": 5, "end": 900}]}
    answers.write_text("\n".join([json.dumps(row), *others]), encoding="utf-8")
    assert "hallucination_spans" in said_by_fit(tiny_path, answers)


def test_too_long_answers_are_counted_and_the_rest_has_to_be_enough(tiny_path: Path, tmp_path: Path) -> None:
    answers = labelled(tmp_path / "l.jsonl", 310)
    rows = answers.read_text(encoding="utf-8").splitlines(keepends=True)
    rows[:20] = [row.replace('["Tea grows."]', json.dumps(["Tea grows. " * 9000])) for row in rows[:20]]
    answers.write_text("".join(rows), encoding="utf-8")
    refusal = said_by_fit(tiny_path, answers)
    assert "20 of 310 answers are left out" in refusal
    assert "145 answers with label 1 and 145 with label 0 are too few" in refusal


def test_groups_are_those_of_a_file(tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without id and group are in none with rows of another file."""
    rows = [json.loads(row) for row in labelled(tmp_path / "l.jsonl", 300).read_text("utf-8").splitlines()]
    for row in rows:
        del row["id"], row["group"]
    for name, part in (("good.jsonl", rows[1::2]), ("bad.jsonl", rows[::2])):
        write_rows(tmp_path / name, part)
    fit = Mock(return_value=[])
    monkeypatch.setattr(fit_head, "fit", fit)
    localeval("fit", "good.jsonl", "bad.jsonl", "--judge", tiny_path, "-o", "head.json", cwd=tmp_path)
    assert len({answer.group for answer in fit.call_args.args[0]}) == 300


def test_the_state_before_a_reply_has_the_same_bits_again_and_changes_no_reply(tiny: Engine) -> None:
    replies = tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo)
    first = tiny.states_before_replies(PREFIX, "context", ["One.", "Two."], YesOrNo, 0)
    assert first.shape == (2, tiny.width())
    assert not np.array_equal(first[0], first[1])
    tiny.read(CONTEXT, ITEM, 0)
    assert np.array_equal(tiny.states_before_replies(PREFIX, "context", ["One.", "Two."], YesOrNo, 0), first)
    assert tiny.generate(PREFIX, "context", ["One.", "Two."], YesOrNo) == replies
    # It depends on what stands before the reply, and on nothing that is asked beside it.
    alone = tiny.states_before_replies(PREFIX, "context", ["Two."], YesOrNo, 0)
    assert np.allclose(alone[0], first[1], atol=1e-4)
    other = tiny.states_before_replies(PREFIX, "another context", ["Two."], YesOrNo, 0)
    assert not np.allclose(other[0], first[1], atol=1e-4)
