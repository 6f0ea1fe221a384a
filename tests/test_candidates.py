"""What each model on this machine can do, told without loading it."""

import json
import struct
from pathlib import Path

import pytest

from localeval.candidates import Candidate, describe
from localeval.models.found import Found, FoundModel
from tests.tiny import write_tiny_model


def candidate_of(path: Path, kind: str = "judge", fault: str = "") -> Candidate:
    model = FoundModel(("ollama:x:1b",), path, kind, fault=fault)  # type: ignore[arg-type]
    return describe(Found((model,), ()))[0]


def write_embedder(folder: Path, header: bytes) -> Path:
    """Write a folder of sentence-transformers whose weights have this header, and no values."""
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return folder


def test_a_judge_has_size_parameters_context_and_memory(tiny_path: Path) -> None:
    judge = candidate_of(tiny_path)
    assert judge.kind == "judge"
    assert judge.size == tiny_path.stat().st_size
    assert judge.context_length == 16384
    assert judge.memory > judge.size
    assert judge.needed_n_ctx == 0


def test_a_judge_trained_on_few_tokens_needs_another_n_ctx(tmp_path: Path) -> None:
    assert candidate_of(write_tiny_model(tmp_path / "m.gguf", trained=4096)).needed_n_ctx == 4096


def test_a_model_that_can_do_nothing_says_why(tmp_path: Path) -> None:
    judge = candidate_of(write_tiny_model(tmp_path / "m.gguf", template=None))
    assert judge.kind is None
    assert judge.fault == "it has no chat template"


def test_a_file_that_is_no_gguf_says_so(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(100))
    assert "expected b'GGUF'" in candidate_of(path).fault


def test_a_fault_of_finding_it_is_kept(tmp_path: Path) -> None:
    assert candidate_of(tmp_path, fault="its file is missing").fault == "its file is missing"


def test_an_embedder_has_the_numbers_of_its_weights(tmp_path: Path) -> None:
    tensor = {"dtype": "F32", "shape": [7, 3], "data_offsets": [0, 84]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "a": tensor, "b": tensor}).encode()
    embedder = candidate_of(write_embedder(tmp_path, header), "embedder")
    assert embedder.kind == "embedder"
    assert embedder.parameters == 2 * 7 * 3
    assert embedder.quantization == "F32"
    assert embedder.context_length == 256


@pytest.mark.parametrize("header", [b"{", b"[]", b'{"a": 3}'], ids=["cut off", "a list", "no tensor"])
def test_an_embedder_with_damaged_weights_can_do_nothing(tmp_path: Path, header: bytes) -> None:
    assert "its weights can't be read" in candidate_of(write_embedder(tmp_path, header), "embedder").fault


def test_an_embedder_that_would_run_code_can_do_nothing(tmp_path: Path) -> None:
    write_embedder(tmp_path, b"{}")
    (tmp_path / "modules.json").write_text('[{"type": "mine.Module", "path": ""}]')
    assert "its modules.json names" in candidate_of(tmp_path, "embedder").fault
