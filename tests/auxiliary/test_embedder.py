"""Texts as unit vectors: tiny random networks, compared with the same network asked directly."""

import json
import logging
import os
import re
import shutil
import string
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localeval import Judge, evaluate, models
from localeval.auxiliary.embedder import Embedder
from localeval.auxiliary.models import AuxiliaryModels
from localeval.auxiliary.torch_runtime import silence_transformers
from localeval.errors import ModelBroken, ModelMissing
from localeval.models.conversion import NOTE, PICKLE, SAFE
from localeval.models.files import hash_file
from localeval.testing import FakeEngine
from tests.commands import said
from tests.loopback import BYTES, FILE, HUB, move_in, toml_row

LONG = "tea " * 100
TEXTS = [
    "tea grows on hills",
    "where does tea grow",
    "",
    "tea grows on hills",
    "法院 判决",
    "\0\x1b[31m\x07",
    "\ud83d half",
    LONG,
]
SPECIAL = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
LONGEST = 24  # tokens
MODULES = "sentence_transformers.models"


def write_tokenizer(folder: Path) -> None:
    """A WordPiece tokenizer of letters, `[CLS]` before a text and `[SEP]` behind it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = string.ascii_lowercase
    vocabulary = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), "tea", "grow", "法", "院"]
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    around = [("[CLS]", 0), ("[SEP]", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    special = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(str(folder))


def write_folder(folder: Path, kind: str = "bert", pooling: str = "mean_tokens") -> Any:
    """A sentence-transformer folder around a tiny random network, which is returned."""
    import torch
    from transformers import AutoConfig, AutoModel

    shape = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    shape |= {"intermediate_size": 32, "max_position_embeddings": 40, "pad_token_id": 1}
    config = AutoConfig.for_model(kind, **shape, initializer_range=0.5)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = AutoModel.from_config(config).eval()
    network.save_pretrained(str(folder))
    write_tokenizer(folder)
    modules: list[dict[str, Any]] = [{"idx": 0, "name": "0", "path": "", "type": f"{MODULES}.Transformer"}]
    modules.append({"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{MODULES}.Pooling"})
    write_json(folder / "modules.json", modules)  # what makes the vectors' length 1 is not told
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": LONGEST, "do_lower_case": False})
    modes = {f"pooling_mode_{mode}": mode == pooling for mode in ("cls_token", "mean_tokens")}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, **modes})
    return network


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def tokens(folder: Path, network: Any, text: str) -> Any:
    """The network's vector of each token of a text that is alone in its batch."""
    import torch
    from tokenizers import Tokenizer

    readable = text.encode("utf-8", "replace").decode()  # half a character becomes a question mark
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(readable).ids
    ids = ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]
    with torch.inference_mode():
        return network(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A tiny BERT folder that no test changes, and its network."""
    folder = tmp_path_factory.mktemp("tiny")
    return folder, write_folder(folder)


@pytest.fixture
def copy(tiny: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of it to break."""
    return Path(shutil.copytree(tiny[0], tmp_path / "copy"))


def pickle_state(folder: Path, state: dict[str, Any]) -> None:
    """Put the state in the folder as a pickle and remove its safetensors."""
    import torch

    torch.save(state, folder / PICKLE)
    (folder / SAFE).unlink(missing_ok=True)


def catalog_row(folder: Path) -> str:
    """A catalog's row `small`, with the files of the folder, as they are now."""
    row = '{{ name = "{}", size = {}, sha256 = "{}" }}'.format
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [row(path.relative_to(folder).as_posix(), path.stat().st_size, hash_file(path)) for path in paths]
    return toml_row("small", HUB, kind="embedder", files=", ".join(files))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Any]:
    """A catalog's `small`, made as bge-m3 is: XLM-RoBERTa, the first token's vector, pickled weights."""
    folder = tmp_path / "models" / "small"
    network = write_folder(folder, "xlm-roberta", "cls_token")
    state = network.state_dict()
    state["lm_head.decoder.weight"] = state["embeddings.word_embeddings.weight"]  # shared memory
    state["pooler.dense.weight"] = state["pooler.dense.weight"].t()  # not contiguous
    pickle_state(folder, state)
    move_in(monkeypatch, tmp_path, catalog_row(folder))
    return folder, network


def test_a_row_is_the_mean_of_the_tokens_vectors_scaled_to_length_1(tiny: tuple[Path, Any]) -> None:
    folder, network = tiny
    rows = Embedder.load(folder).embed(TEXTS)
    assert rows.dtype == np.float32
    means = np.array([tokens(folder, network, text).mean(axis=0) for text in TEXTS])
    np.testing.assert_allclose(rows, means / np.linalg.norm(means, axis=1, keepdims=True), atol=2e-6)
    assert np.abs(rows[0] - rows[1]).max() > 0.01
    assert len(tokens(folder, network, LONG)) == LONGEST  # what is beyond it is cut off


def test_a_network_in_a_subfolder_gives_the_same_rows(tiny: tuple[Path, Any], copy: Path) -> None:
    inner = copy / "0_Transformer"
    inner.mkdir()
    for path in copy.glob("*.*"):
        shutil.copy(path, inner)
    (copy / SAFE).unlink()
    modules = json.loads((copy / "modules.json").read_text(encoding="utf-8"))
    modules[0]["path"] = inner.name
    write_json(copy / "modules.json", modules)
    assert (Embedder.load(copy).embed(TEXTS) == Embedder.load(tiny[0]).embed(TEXTS)).all()


def test_bits_depend_on_texts_and_threads(tiny: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    before = torch.get_num_threads()
    counted: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", counted.append)
    loaded = Embedder.load(tiny[0], threads=3)
    texts = [f"{'tea ' * (n % 7)}grows {chr(97 + n % 26)}" for n in range(70)]
    first = loaded.embed(texts)
    loaded.embed(["something else", "法"])
    assert (loaded.embed(texts[::-1])[::-1] == first).all()
    assert loaded.signature()["threads"] == 3
    assert counted == [3, before] * 3


def test_an_embedder_tells_what_it_is_and_where_it_is_found_again(
    tiny: tuple[Path, Any], small: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny[0]
    monkeypatch.chdir(folder.parent)
    by_path = Embedder.load(f"./{folder.name}")
    by_name = Embedder.load("small")
    assert (by_path.name, by_path.source, by_path.languages) == (folder.name, str(folder), ())
    assert (by_name.name, by_name.source, by_name.languages) == ("small", "small", ("en",))
    assert by_path.signature()["sha256"] == models.resolve(folder).sha256


def test_torch_comes_with_the_first_text_in_silence_and_opens_no_socket(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Without the pooler transformers would print a report.
    change_weights(copy, lambda weights: weights.pop("pooler.dense.bias"))
    with monkeypatch.context() as patch:
        for name in ("torch", "transformers", "sentence_transformers"):
            patch.setitem(sys.modules, name, None)  # whoever imports it now fails
        loaded = Embedder.load(copy)
        loaded.signature()
        assert loaded.embed([]).shape == (0, 0)
    for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(switch, raising=False)
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a socket is connected"))
    assert loaded.embed(["tea"]).shape == (1, 16)
    assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
    assert tuple(capfd.readouterr()) == ("", "")


def test_two_threads_leave_transformers_as_loud_as_it_was() -> None:
    logger = logging.getLogger("transformers")
    before = logger.level
    entered = threading.Event()
    leave = threading.Event()

    def second() -> None:
        with silence_transformers():
            entered.set()
            leave.wait(5)

    thread = threading.Thread(target=second)
    with silence_transformers():
        thread.start()
        entered.wait(0.2)  # it has to wait for the end of this block
    leave.set()
    thread.join()
    assert logger.level == before


def test_a_catalogs_pickle_is_converted_once_and_again_when_changed(small: tuple[Path, Any]) -> None:
    folder, network = small
    before = models.resolve("small").sha256
    (folder / SAFE).write_bytes(b"of unknown origin: it is replaced")
    first = Embedder.load("small").embed(TEXTS)
    states = np.array([tokens(folder, network, text)[0] for text in TEXTS])
    np.testing.assert_allclose(first, states / np.linalg.norm(states, axis=1, keepdims=True), atol=2e-6)
    assert models.resolve("small", read_again=True).sha256 == before
    weights = (folder / SAFE).read_bytes()
    (folder / SAFE).write_bytes(weights[:-1] + b"\x42")
    assert (Embedder.load("small").embed(TEXTS) == first).all()
    assert (folder / SAFE).read_bytes() == weights


class Bomb(str):
    """The path of a file that is written when this is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self),)


@pytest.mark.parametrize("known", ["", "unpinned", "pinned"])
def test_only_a_pinned_pickle_is_opened_and_it_runs_no_code(
    small: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: str
) -> None:
    folder = small[0]
    pickle_state(folder, {"embeddings.word_embeddings.weight": Bomb(tmp_path / "boom")})
    row = catalog_row(folder)
    if known == "unpinned":
        row = row.replace(f', sha256 = "{hash_file(folder / PICKLE)}"', "")
    move_in(monkeypatch, tmp_path, row)
    why = "cannot be converted" if known == "pinned" else "a pickle is not opened"
    with pytest.raises(ModelBroken, match=why):
        Embedder.load("small" if known else folder).embed(["tea"])
    assert not (tmp_path / "boom").exists()
    assert not [path for path in folder.iterdir() if path.name in (SAFE, NOTE) or path.name.startswith(".")]


def change_weights(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / SAFE)
    change(weights)
    save_file(weights, folder / SAFE, metadata={"format": "pt"})


NORM = "encoder.layer.0.output.LayerNorm.weight"


def lose_a_tensor(folder: Path) -> None:
    change_weights(folder, lambda weights: weights.pop(NORM))


def fill_a_tensor_with_nan(folder: Path) -> None:
    change_weights(folder, lambda weights: weights[NORM].fill_(float("nan")))


def name_a_class_of_ones_own(folder: Path) -> None:
    write_json(folder / "modules.json", [{"type": "own.T", "path": ""}])


def promise_more_tokens_than_there_are_places(folder: Path) -> None:
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 400})


def name_another_network(folder: Path) -> None:
    write_json(folder / "config.json", {"model_type": "nothing"})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lose_a_tensor, f"lack 1 tensors, as {NORM}"),
        (fill_a_tensor_with_nan, "NaN"),
        (name_a_class_of_ones_own, "names 'own.T'"),
        (promise_more_tokens_than_there_are_places, "on a text"),
        (name_another_network, "cannot be loaded"),
    ],
)
def test_a_folder_that_does_not_work_is_refused_in_one_sentence(
    copy: Path, spoil: Callable[[Path], object], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil(copy)
    with pytest.raises(ModelBroken, match=message) as refused:
        Embedder.load(copy).embed(["tea " * 60])
    assert str(refused.value).startswith(f"{copy}: ")
    assert "\n" not in str(refused.value)
    assert tuple(capfd.readouterr()) == ("", "")


# Which embedder is taken where none is named, and what is left out where there is none
FROM_BEST = ["bge-m3", "multilingual-e5-small", "multilingual-e5-small-q4", "all-minilm-l6-v2"]
SAMPLE = {"question": "What grows?", "answer": "Tea grows.", "contexts": ["Tea grows."]}


@pytest.fixture
def models_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty models folder, of a catalog that has all embedders."""
    return move_in(monkeypatch, tmp_path, *(toml_row(name, HUB, kind="embedder") for name in FROM_BEST))


def fake(*answers: dict[str, Any]) -> Judge:
    return Judge(FakeEngine(answers), {"name": "fake", "sha256": "0" * 64, "size": 0})


def test_the_best_embedder_is_taken_and_told_and_so_is_one_that_is_not_there(models_folder: Path) -> None:
    for name in ("bge-m4", "nowhere/at-all"):
        judge = Judge(FakeEngine([]), fake().model, auxiliary_models=AuxiliaryModels(name))
        message = said(ModelMissing, evaluate, [SAMPLE], ["answer_relevance"], judge)
        assert "--embedder" in message
        assert not re.search(r"[.?][.,]", message)  # whole sentences
    for name in reversed(FROM_BEST):
        (models_folder / name).mkdir(parents=True)
        (models_folder / name / FILE).write_bytes(BYTES)
        assert fake().auxiliary_models.sources()["embedder"] == name


def test_metrics_without_a_model_are_left_out(models_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And the command that brings it is named."""
    judge = fake({"statements": ["Tea grows."]}, {"verdict": 0.9})
    command = "localeval models fetch multilingual-e5-small"
    with caplog.at_level("WARNING", "localeval"):
        result = evaluate([{**SAMPLE, "question": None}, {**SAMPLE, "contexts": None}], judge=judge)
    assert result.metrics == ["faithfulness", "full_support", "context_relevance"]
    assert command in caplog.text
    assert "answer_relevance" in caplog.text
    # No metric is left, or one was asked for by its name.
    assert command in said(ModelMissing, evaluate, [{**SAMPLE, "contexts": None}], None, fake())
    assert command in said(ModelMissing, evaluate, [SAMPLE], ["faithfulness", "answer_relevance"], fake())


def test_a_catalogs_prefix_stands_before_each_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "small"
    write_folder(folder)
    move_in(monkeypatch, tmp_path, catalog_row(folder) + 'prefix = "query: "\n')
    texts = ["where does tea grow", "tea"]
    bare = Embedder.load(folder)
    named = Embedder.load("small")
    assert (named.embed(texts) == bare.embed([f"query: {text}" for text in texts])).all()
    assert named.signature()["prefix"] == "query: "


@pytest.mark.model
def test_the_quick_start_embedder_gives_the_similarities_of_its_makers_readme() -> None:
    """They stand in the README.md of huggingface/sentence-transformers, under "Getting Started"."""
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    rows = Embedder.load("all-minilm-l6-v2").embed(texts)
    expected = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-4)
