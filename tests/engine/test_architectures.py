"""An architecture is registered from outside; what is not known of one is said before anything is judged."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from localeval import Architecture, InputError, Judge, ModelError, Sample, register_architecture
from localeval.engine.architectures import ARCHITECTURES
from localeval.engine.engine import Engine
from localeval.fitted.files import FittedFor, file_text
from tests.commands import localeval, said
from tests.finished_runs import write_rows
from tests.heads import head
from tests.tiny import N_EMBD, write_tiny_model

# llama.cpp knows it, localeval does not.
NAME = "llama"
MILL = Sample(
    response="The mill was built in 1820. It is of brick. It stands on the Arl.",
    retrieved_contexts=["The mill on the Arl was built in 1820, of brick."],
)


@pytest.fixture(autouse=True)
def architectures_as_they_were(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = dict(ARCHITECTURES)
    yield
    ARCHITECTURES.clear()
    ARCHITECTURES.update(before)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("llama") / "own.gguf", architecture=NAME)


@pytest.fixture(scope="module")
def fitted(model: Path) -> str:
    """The text of a file with a head for this model."""
    judge = FittedFor(name="own", sha256=sha256(model.read_bytes()).hexdigest())
    return file_text([head(width=N_EMBD).model_copy(update={"judge": judge})])


def test_a_registered_architecture_is_read(model: Path, fitted: str) -> None:
    register_architecture(Architecture(NAME, residual_node="l_out-{layer}"))
    with Judge.load(model, n_threads=1) as judge:
        assert judge.score("groundedness", MILL, head=fitted).status == "scored"


def test_a_registered_node_is_the_one_that_is_read(model: Path) -> None:
    """What a layer adds by attention is another vector than the residual stream after it."""
    states = []
    for node in ("l_out-{layer}", "attn_norm-{layer}"):
        register_architecture(Architecture(NAME, residual_node=node))
        with Judge.load(model, n_threads=1) as judge:
            states.append(judge.engine.read("Context:\nThe mill.", "Response: In 1820.", 0).values)
    residual, normed = states
    assert residual.shape == normed.shape
    assert (residual != normed).any()


def test_a_model_of_an_unknown_architecture_still_judges(model: Path) -> None:
    with Judge.load(model, n_threads=1) as judge:
        assert judge.score("faithfulness", MILL, statements="sentences").status == "scored"


def test_a_head_for_a_model_of_an_unknown_architecture_is_refused_before_the_first_sample(
    model: Path, fitted: str, tmp_path: Path
) -> None:
    head_file = tmp_path / "head.json"
    head_file.write_text(fitted, encoding="utf-8")
    samples = write_rows(tmp_path / "samples.jsonl", [{"response": "Tea.", "retrieved_contexts": ["Tea."]}])
    options = ("--judge", model, "-m", "groundedness", "--head", head_file, "-o", tmp_path / "run")
    done = localeval("evaluate", samples, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "own.gguf has the architecture 'llama', of which localeval does not know" in done.stderr
    assert not (tmp_path / "run").exists()


def test_no_head_is_fitted_for_a_model_of_an_unknown_architecture(model: Path, tmp_path: Path) -> None:
    rows = [
        {"response": f"Tea {i}.", "retrieved_contexts": ["Tea."], "label": i % 2, "group": f"{i}"}
        for i in range(300)
    ]
    answers = write_rows(tmp_path / "labelled.jsonl", rows)
    done = localeval("fit", answers, "--judge", model, "-o", tmp_path / "head.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "make the architecture known with localeval.register_architecture" in done.stderr


def test_a_model_is_read_by_default_after_its_architectures_share_of_the_layers(model: Path) -> None:
    register_architecture(Architecture(NAME, residual_node="l_out-{layer}", depth=0.25))
    with Judge.load(model, n_threads=1) as judge:
        assert isinstance(judge.engine, Engine)
        # A quarter of 28 layers are 7, of which the last is number 6.
        assert judge.engine.architecture.default_layer(28) == 6


def test_a_model_of_an_architecture_that_may_not_judge_is_refused(model: Path) -> None:
    register_architecture(Architecture(NAME, may_judge=False))
    with Judge.load(model, n_threads=1) as judge:
        refusal = said(ModelError, judge.score, "faithfulness", MILL, statements="sentences")
    assert "its architecture, llama, is registered as one that may not judge" in refusal


@pytest.mark.parametrize(
    ("architecture", "fault"),
    [
        (Architecture(""), "no name"),
        (Architecture("own", residual_node="l_out"), r"write \{layer\} in it"),
        (Architecture("own", depth=1.5), "the depth of own is 1.5"),
        (Architecture("own", read_share=0), "the read_share of own is 0"),
    ],
    ids=["no name", "no layer in the node", "depth above 1", "read_share of 0"],
)
def test_a_wrong_value_of_an_architecture_is_refused(architecture: Architecture, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        register_architecture(architecture)
    assert architecture.name not in ARCHITECTURES
