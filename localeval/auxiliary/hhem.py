"""HHEM-2.1-Open, a classifier of English: the encoder of flan-t5-base with a head of two labels."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from localeval.auxiliary.torch_runtime import silence_transformers, torch_threads
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.engine.settings import EngineSettings
from localeval.engine.windows import text_windows
from localeval.errors import InputError, ModelBroken
from localeval.models import ModelFiles, resolve
from localeval.models.catalog import DEFAULT_CLASSIFIER
from localeval.prompts import join
from localeval.system.arguments import whole_number
from localeval.text.display import encodable, shorten

WINDOW = 2000  # tokens of a premise that the model reads well, by its card
MAX_PAIR_TOKENS = 4096  # tokens of a pair; attention takes memory by their square, here 0.8 GB a layer
_MAX_ATTENTION = 1 << 23  # pairs x tokens x tokens of a batch of several pairs: half as many as of one pair


class Classifier:
    """HHEM-2.1-Open: how likely a hypothesis is consistent with a premise. Threads may share it.

    A probability depends on its own pair; other pairs in the same batch move it by less than 1e-6. `support`
    puts no pairs of two samples into one batch, so a sample's probabilities always have the same bits.

    >>> classifier = Classifier.load()                                        # doctest: +SKIP
    >>> classifier.support(["I am in California."], ["I am in the United States."])    # doctest: +SKIP
    ([0.65], 1)
    """

    def __init__(self, files: ModelFiles, device: str, batch_size: int, threads: int) -> None:
        self.name = files.name
        self.sha256 = files.sha256
        self.source = files.source
        self.device = device
        self.batch_size = batch_size
        self.threads = EngineSettings(n_threads=threads).n_threads
        self._folder = files.path
        self._lock = threading.Lock()
        self._network_and_reader: tuple[Any, Reader] | None = None

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] = DEFAULT_CLASSIFIER,
        *,
        device: str = "cpu",
        batch_size: int = 10,
        threads: int = 0,
    ) -> Classifier:
        """Open a catalog name, or a path to a folder of the same files; the first use loads the weights.

        device      "cpu", "cuda", "cuda:1" or "mps"
        batch_size  maximum pairs per batch; fewer where they are long
        threads     number of threads on a CPU; 0 for the physical cores

        Raises ModelMissing or ModelBroken, InputError for a missing device or a number out of range.
        """
        batch_size = whole_number("batch_size", batch_size, 1)
        if device != "cpu":
            import torch

            try:
                torch.ones(1, device=device).item()
            except (RuntimeError, AssertionError) as error:
                raise InputError(
                    f"device is {device!r}, unusable here ({shorten(error, 90)}); choose cpu."
                ) from error
        return cls(resolve(model, kind="classifier"), device, batch_size, threads)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return a number in 0..1 for each (premise, hypothesis), in order; no text is cut off.

        Raises ModelBroken where the folder can't be loaded, ContextTooLong for a pair of more than
        `MAX_PAIR_TOKENS`, EngineError where the device fails.
        """
        net, reader = self._loaded()
        rows = [reader.row(premise, hypothesis) for premise, hypothesis in pairs]
        longest = max((len(row) for row in rows), default=0)
        if longest > MAX_PAIR_TOKENS:
            raise ContextTooLong(f"{longest} tokens of premise and hypothesis, {MAX_PAIR_TOKENS} at most")
        probabilities: list[float] = []
        try:
            for batch in batches(rows, self.batch_size):
                probabilities += self._classify(net, batch, reader.pad)
        except RuntimeError as error:  # most often out of memory
            raise EngineError(f"{self.name} on {self.device}: {shorten(error)}") from error
        return probabilities

    def _classify(self, net: Any, batch: Sequence[list[int]], pad: int) -> list[float]:
        """Return the probability for each row of tokens of a batch, which are padded with `pad`."""
        import torch  # after loading, which silences it and sets it offline

        width = max(len(row) for row in batch)
        padded = [row + [pad] * (width - len(row)) for row in batch]
        ids = torch.tensor(padded, device=self.device)
        lengths = torch.tensor([len(row) for row in batch], device=self.device)
        mask = torch.arange(width, device=self.device) < lengths[:, None]
        with torch.inference_mode(), torch_threads(self.threads):
            logits = net(input_ids=ids, attention_mask=mask.long()).logits[:, 0, :]
            probabilities: list[float] = torch.softmax(logits, dim=-1)[:, 1].tolist()
        return probabilities

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:
        """Return (probability that the joined contexts support each statement; number of windows).

        Contexts of more than WINDOW tokens are read in windows of whole sentences that share a sentence, and
        the highest probability counts. Without statements: ([], 0). Raises as `probabilities` does, and
        ContextTooLong for more than eight windows.
        """
        if not statements:
            return [], 0
        _, reader = self._loaded()
        windows = [join(contexts)]
        if len(reader.ids(windows[0])) > WINDOW:
            windows = text_windows(contexts, lambda part: len(reader.ids(part)), WINDOW)
        pairs = [(window, statement) for statement in statements for window in windows]
        probabilities = self.probabilities(pairs)
        n = len(windows)
        return [max(probabilities[i : i + n]) for i in range(0, len(probabilities), n)], n

    def signature(self) -> dict[str, Any]:
        """Return everything that can change a probability."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "device": self.device,
            "batch_size": self.batch_size,
            "threads": self.threads,
            "packages": {name: version(name) for name in ("transformers", "tokenizers", "torch")},
        }

    def close(self) -> None:
        self._network_and_reader = None

    def _loaded(self) -> tuple[Any, Reader]:
        with self._lock:
            if self._network_and_reader is None:
                try:
                    self._network_and_reader = self._load()
                except Exception as error:  # three libraries, each with errors of its own
                    raise ModelBroken(
                        f"{self._folder} can't be loaded ({shorten(error)}); it needs HHEM-2.1-Open's "
                        "model.safetensors with config.json and tokenizer.json of flan-t5-base."
                    ) from error
            return self._network_and_reader

    def _load(self) -> tuple[Any, Reader]:
        reader = Reader(self._folder / "tokenizer.json")
        net = network(self._folder)
        if reader.size > net.config.vocab_size:
            raise ValueError("tokenizer.json has more tokens than the weights")
        return net.to(self.device), reader


def batches(rows: Sequence[list[int]], batch_size: int) -> list[list[list[int]]]:
    """Group the rows in order into batches of `batch_size`, fewer where they are long.

    >>> [len(batch) for batch in batches([[1] * 20] * 3 + [[1] * 2048] * 2 + [[1] * 2049] * 2, 2)]
    [2, 2, 1, 1, 1]
    """
    result: list[list[list[int]]] = []
    for row in rows:
        if result and _fits([*result[-1], row], batch_size):
            result[-1].append(row)
        else:
            result.append([row])
    return result


def _fits(batch: Sequence[list[int]], batch_size: int) -> bool:
    """Return whether these rows may be one batch, padded to the longest."""
    width = max(len(row) for row in batch)
    return len(batch) <= batch_size and len(batch) * width**2 <= _MAX_ATTENTION


class Reader:
    """A tokenizer by a `tokenizer.json` of the T5 family, for which no text contains a control token.

    The tokenizer's own switch to read control tokens as text is not enough: they are pieces of the vocabulary
    too, with the best score of all. So each gets a name that no piece of text has, with a space in it.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        data = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = data["model"]["vocab"]
        control = {token["content"]: token["id"] for token in data["added_tokens"]}
        for number in set(control.values()) & set(range(len(vocabulary))):
            vocabulary[number][0] = f" {number}"
        self.pad = control["<pad>"]
        self._end = control["</s>"]
        data |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        self._tokenizer: Any = Tokenizer.from_str(json.dumps(data))
        self.size = self._tokenizer.get_vocab_size()

    def ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(encodable(text)).ids)

    def row(self, premise: str, hypothesis: str) -> list[int]:
        question = "Determine if the hypothesis is true given the premise?"
        text = f"{question}\n\nPremise: {premise}\n\nHypothesis: {hypothesis}"
        # The model's own prompt begins with <pad>.
        return [self.pad, *self.ids(text), self._end]


def network(folder: Path) -> Any:
    """Load the weights in fp32, without dropout. Raises ValueError if a tensor does not match the network."""
    fields = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if fields["model_type"] != "t5":
        raise ValueError(f"config.json is of the model type {fields['model_type']}, expected t5")
    with silence_transformers():
        import torch
        from transformers import T5Config, T5ForTokenClassification

        net: Any
        net, report = T5ForTokenClassification.from_pretrained(
            folder,
            config=T5Config.from_dict(fields, num_labels=2),
            key_mapping={r"^t5\.": ""},
            dtype=torch.float32,
            local_files_only=True,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # reported below; transformers would only refer to its log
            output_loading_info=True,
        )
    # transformers fills tensors that are missing or of another shape with random numbers, and only logs it.
    wrong: list[str] = []
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        wrong += [str(tensor) for tensor in report[kind]]
    if wrong:
        wrong.sort()
        raise ValueError(f"tensors missing, unexpected or of another shape: {', '.join(wrong)}")
    return net.eval()
