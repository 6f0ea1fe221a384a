"""What the header of a GGUF file says of its model is what the engine says once the file is open."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from localeval.engine.engine import Engine
from localeval.engine.settings import EngineSettings
from localeval.engine.suitability import fault_as_judge, needed_bytes
from localeval.models.gguf import GgufHeader, read_header
from tests.tiny import CHATML, write_tiny_model, write_tiny_spm

THINKING = CHATML.replace("<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}")


def header_of(path: Path) -> GgufHeader:
    return read_header([path])


def test_a_header_names_context_parameters_and_special_tokens(tmp_path: Path) -> None:
    template = CHATML + "{# bos_token eos_token #}"
    path = write_tiny_model(tmp_path / "m.gguf", template=template, trained=4096)
    header = header_of(path)
    assert header.architecture == "qwen2"
    assert header.number("context_length") == 4096
    assert header.quantization == "unknown"  # the tiny model names none
    assert (header.bos, header.eos) == ("<|endoftext|>", "<|im_end|>")
    # 4 bytes each are nearly the whole file.
    assert 0.9 < header.parameters * 4 / path.stat().st_size < 1


def test_a_split_model_has_the_parameters_of_all_its_files(tiny_path: Path) -> None:
    assert read_header([tiny_path, tiny_path]).parameters == 2 * header_of(tiny_path).parameters


def test_a_file_type_is_told_by_its_name() -> None:
    assert GgufHeader({"general.file_type": 15}, 0, "", "").quantization == "Q4_K_M"


def test_an_instruct_model_can_judge(tiny_path: Path) -> None:
    assert fault_as_judge(header_of(tiny_path)) == ""


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"template": None}, "it has no chat template"),
        ({"template": THINKING}, "it opens a thought that it does not close"),
        ({"template": "{{ messages[0].content }}"}, "it does not write every turn once"),
        ({"template": "{% if %}"}, "its chat template can't be used"),
        ({"pooling": 1}, "it is a model for embeddings"),
        ({"tokenizer": "bert"}, "it has a tokenizer of the kind 'bert'"),
        ({"trained": 1024}, "it was trained on 1024 tokens"),
    ],
    ids=["base", "thinking", "lost turns", "broken template", "embeddings", "tokenizer", "short context"],
)
def test_a_model_that_cannot_judge_is_told_from_its_header(
    tmp_path: Path, options: dict[str, Any], fault: str
) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", **options)
    assert fault in fault_as_judge(header_of(path))


NESTED_LOOPS = "{% for a in range(9999) %}" * 4 + "{% endfor %}" * 4


@pytest.mark.skipif(os.name == "nt", reason="the limit by the clock takes half a minute")
def test_a_template_that_loops_without_end_is_told_and_hangs_nothing(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", template=NESTED_LOOPS + CHATML)
    assert fault_as_judge(header_of(path)) == "its chat template does not come to an end"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_template_that_fills_the_memory_is_told(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", template="{{ 'a' * 10000000000 }}" + CHATML)
    assert fault_as_judge(header_of(path)) == "its chat template can't be used: MemoryError"


@pytest.mark.parametrize("prefix", [True, False])
def test_a_tokenizer_that_puts_a_space_before_texts_cannot_judge(tmp_path: Path, prefix: bool) -> None:
    fault = fault_as_judge(header_of(write_tiny_spm(tmp_path / "m.gguf", prefix)))
    assert fault == ("its tokenizer puts a space before every text" if prefix else "")


@pytest.mark.parametrize("architecture", ["mamba", "jamba", "dream", "t5"])
def test_what_is_no_plain_decoder_cannot_judge(architecture: str) -> None:
    header = GgufHeader({"general.architecture": architecture}, 0, "", "")
    assert fault_as_judge(header) == "it is no plain text decoder"


def test_the_memory_is_what_the_engine_estimates(tiny_path: Path, tiny: Engine) -> None:
    settings = EngineSettings(n_ctx=8192, n_threads=1)
    assert needed_bytes(header_of(tiny_path), tiny_path.stat().st_size, settings) == tiny.memory()


def test_every_truncation_of_a_header_is_refused(tiny_path: Path, tmp_path: Path) -> None:
    content = tiny_path.read_bytes()
    end = content.index(b"output.weight") + 13 + 4 + 16 + 4 + 8  # the description of one tensor
    path = tmp_path / "cut.gguf"
    path.write_bytes(content[:end])
    for length in range(end - 1, 24, -97):
        os.truncate(path, length)
        with pytest.raises(ValueError, match=r"expected more metadata|expected a GGUF header"):
            read_header([path])
