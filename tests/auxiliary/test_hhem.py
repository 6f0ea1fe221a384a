"""The classifier on a random checkpoint with the names and files of the real one, a few kB in size."""

import json
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from localeval import Judge, Sample, evaluate
from localeval.auxiliary.hhem import MAX_PAIR_TOKENS, WINDOW, Classifier
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.errors import InputError, ModelBroken
from tests.commands import said
from tests.loopback import HUB, move_in, toml_row

# What flan-t5-base's config.json says, with small numbers.
CONFIG: dict[str, Any] = {"model_type": "t5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
CONFIG |= {"d_ff": 32, "d_kv": 4, "d_model": 16, "num_heads": 2, "num_layers": 2, "vocab_size": 103}
BIAS = "t5.classifier.bias"
PAIRS = [
    ("Tea is grown in Assam.", "Tea grows."),
    ("Tea grows.", "Tea is grown in Assam."),
    ("", "It rains; the river's high, and so is the road to the mill."),
    ("A {premise} with\n\nodd 雨 marks: <b>" * 12, "{hypothesis} of the true"),
]
FILLERS = [f"Filler sentence number {i} says nothing of note." for i in range(450)]


def write_tokenizer(path: Path) -> None:
    """Unigram over characters and a few words, control tokens among the pieces, as flan-t5-base's."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    extra = ["<extra_id_1>", "<extra_id_0>"]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(letter, -5.0 - i / 100) for i, letter in enumerate(f"{string.printable[:94]}▁")]
    pieces += [*((f"▁{word}", -2.0) for word in ("the", "true", "premise")), *((name, 0.0) for name in extra)]
    tokenizer: Any = Tokenizer(models.Unigram(pieces, unk_id=2))
    splitters = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters)
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>", *extra])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.enable_truncation(20)
    tokenizer.save(str(path))


def tensors() -> dict[str, Any]:
    """Random weights under the names of the published file, in which the embedding has only one."""
    import torch
    from transformers import T5Config, T5ForTokenClassification

    generator = torch.Generator().manual_seed(1)
    state = T5ForTokenClassification(T5Config(**CONFIG)).state_dict()
    del state["transformer.encoder.embed_tokens.weight"]
    return {f"t5.{name}": torch.randn(old.shape, generator=generator) * 0.7 for name, old in state.items()}


def write(folder: Path, weights: dict[str, Any]) -> Path:
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    write_tokenizer(folder / "tokenizer.json")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "small", tensors())


@pytest.fixture(scope="module")
def classifier(folder: Path) -> Classifier:
    return Classifier.load(folder)


def test_a_probability_is_the_published_recipes_for_the_pair(folder: Path, classifier: Classifier) -> None:
    """One pair at a time: the encoder, then the head on the first place."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import T5Config, T5EncoderModel

    weights = load_file(folder / "model.safetensors")
    inner = {name.removeprefix("t5.transformer."): tensor for name, tensor in weights.items()}
    encoder: Any = T5EncoderModel(T5Config(**CONFIG)).eval()
    encoder.load_state_dict({name: inner.get(name, inner["shared.weight"]) for name in encoder.state_dict()})
    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    prompt = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
    probabilities = classifier.probabilities(PAIRS)
    for pair, probability in zip(PAIRS, probabilities, strict=True):
        ids = torch.tensor([tokenizer.encode(prompt.format(*pair)).ids])
        with torch.no_grad():
            first = encoder(input_ids=ids).last_hidden_state[0, 0]
        logits = weights["t5.classifier.weight"] @ first + weights[BIAS]
        assert probability == pytest.approx(float(torch.softmax(logits, dim=0)[1]), abs=1e-6)
    one_by_one = Classifier.load(folder, batch_size=1).probabilities(PAIRS)
    assert one_by_one == pytest.approx(probabilities, abs=1e-6)
    assert abs(probabilities[0] - probabilities[1]) > 0.001  # premise and hypothesis not interchangeable
    assert classifier.probabilities([]) == []


def test_control_tokens_in_a_text_are_plain_text(folder: Path, classifier: Classifier) -> None:
    added = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    control = {token["id"] for token in added if token["content"] != "<unk>"}
    row = classifier._loaded()[1].row("a</s>b <pad>", "<extra_id_0> the<extra_id_1> < pad>")
    assert [number for number in row if number in control] == [row[0], row[-1]] == [0, 1]
    half_character, question_mark = classifier.probabilities([("Tea \ud800", "Tea."), ("Tea ?", "Tea.")])
    assert half_character == pytest.approx(question_mark, abs=1e-6)


def test_a_hypothesis_is_never_cut_off_and_what_does_not_fit_is_refused(classifier: Classifier) -> None:
    long = "the end is near " * 100
    plain, negated = classifier.probabilities([("the " * 500, long), ("the " * 500, f"{long} not")])
    assert plain != negated
    assert said(ContextTooLong, classifier.probabilities, [("", "the " * MAX_PAIR_TOKENS)])
    for context in (" ".join(FILLERS), "long" * WINDOW * 9):  # more than eight windows
        assert "fit a window" in said(ContextTooLong, classifier.support, [context], ["Tea grows."])


def test_of_several_windows_the_best_decides(monkeypatch: pytest.MonkeyPatch, classifier: Classifier) -> None:
    alone = classifier.probabilities([("Tea is\ngrown.", "Tea grows.")])
    assert classifier.support(["Tea is", "grown."], ["Tea grows."]) == (alone, 1)
    assert classifier.support(["Tea."], []) == ([], 0)
    monkeypatch.setattr("localeval.auxiliary.hhem.WINDOW", 300)
    asked = Mock(wraps=classifier.probabilities)
    monkeypatch.setattr(classifier, "probabilities", asked)
    statements = ["Tea grows.", "The mill is high."]
    support, count = classifier.support([" ".join(FILLERS[:14]), "Tea grows."], statements)
    windows = {window for call in asked.call_args_list for window, _ in call.args[0]}
    assert len(windows) == count == 3
    assert max(len(classifier._loaded()[1].ids(window)) for window in windows) <= 300
    for text, best in zip(statements, support, strict=True):
        of_windows = classifier.probabilities([(window, text) for window in windows])
        assert min(of_windows) < best - 1e-6
        assert best == pytest.approx(max(of_windows), abs=1e-6)


def lose_a_tensor(folder: Path) -> None:
    weights = tensors()
    del weights[BIAS]
    write(folder, weights)


def shorten_a_tensor(folder: Path) -> None:
    weights = tensors()
    weights[BIAS] = weights[BIAS][:1].clone()
    write(folder, weights)


def spoil_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)


def name_another_type(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "HHEMv2"}', encoding="utf-8")


def spoil_tokenizer(folder: Path) -> None:
    tokens = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokens["model"]["vocab"] += [[f"more{n}", -9.0] for n in range(50)]
    (folder / "tokenizer.json").write_text(json.dumps(tokens), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lose_a_tensor, "classifier.bias"),
        (shorten_a_tensor, "classifier.bias"),
        (spoil_weights, "header"),
        (name_another_type, "HHEMv2, expected t5"),
        (spoil_tokenizer, "more tokens than the weights"),
    ],
)
def test_a_broken_folder_is_refused_in_one_sentence(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], Any], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    spoil(copy)
    with pytest.raises(ModelBroken, match=rf"can't be loaded \(.*{why}.* of flan-t5-base\.$") as refused:
        Classifier.load(copy).support(["Tea."], ["Tea."])
    assert str(refused.value).startswith(str(copy))
    assert "\n" not in str(refused.value)
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_failing_device_is_an_engine_error(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert "tape" in said(InputError, Classifier.load, folder, device="tape")
    failing = Classifier.load(folder, device="cpu:0")
    encoder = Mock(side_effect=RuntimeError("out of memory\nTried to allocate"))
    monkeypatch.setattr(failing, "_network_and_reader", (encoder, failing._loaded()[1]))
    with pytest.raises(EngineError, match="small on cpu:0: out of memory Tried to allocate"):
        failing.probabilities(PAIRS)


def test_a_folder_is_named_by_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> None:
    loaded = Classifier.load(folder, batch_size=3, threads=2)
    assert (loaded.name, loaded.source) == ("small", str(folder))
    expected = {"name": "small", "device": "cpu", "batch_size": 3, "threads": 2}
    assert loaded.signature().items() >= expected.items()
    files = ", ".join(f'{{ name = "{path.name}" }}' for path in folder.iterdir())
    models = move_in(monkeypatch, tmp_path, toml_row("hhem-2.1-open", HUB, kind="classifier", files=files))
    shutil.copytree(folder, models / "hhem-2.1-open")
    by_name = Classifier.load()
    assert by_name.name == by_name.source == "hhem-2.1-open"
    assert by_name.sha256 == loaded.sha256


def test_workers_are_refused_a_classifier_with_settings_of_its_own(tiny_path: Path, folder: Path) -> None:
    sample = Sample(response="Tea grows.", retrieved_contexts=["Tea grows."])
    classifier = Classifier.load(folder, batch_size=3)
    refused = pytest.raises(InputError, match="workers")
    with Judge.load(tiny_path, n_threads=1, classifier=classifier) as judge, refused:
        evaluate([sample], ["faithfulness"], judge, workers=2, support_by="hhem")
