"""HHEM-2.1-Open, a classifier: how likely a hypothesis is consistent with a premise. English only.

It is the encoder of flan-t5-base with a head of two labels. The only package that imports
transformers directly, and only when a model's weights are needed: importing it loads neither that nor torch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from localeval.engine.hhem.checkpoint import Reader, network, tokenizer
from localeval.engine.interface import ContextTooLong, EngineError, EngineSettings
from localeval.engine.torch_runtime import on_threads
from localeval.engine.windows import cut
from localeval.errors import InputError, ModelBroken
from localeval.models import ModelFiles, resolve
from localeval.models.catalog import DEFAULT_CLASSIFIER
from localeval.prompts import join
from localeval.system.arguments import whole
from localeval.text.display import said
from localeval.text.language import language
from localeval.text.sentences import split

WINDOW = 2000  # tokens of a premise that the model reads well, by its card
LONGEST = 4096  # tokens of a pair; the memory of attention grows by the square, here to 0.8 GB a layer
_MOST_PLACES = 1 << 23  # of a batch, pairs x tokens x tokens: half of that


class Classifier:
    """HHEM-2.1-Open: how likely a hypothesis is consistent with a premise. Threads may share it.

    A probability depends on its own pair; the pairs computed beside it move it by less than 1e-6. `support`
    computes no pairs of two samples together, so a sample's probabilities are the same bits in any company.

    >>> classifier = Classifier.load()                                        # doctest: +SKIP
    >>> classifier.support(["I am in California."], ["I am in the United States."])    # doctest: +SKIP
    ([0.65], 1)
    """

    def __init__(
        self, files: ModelFiles, device: str = "cpu", batch_size: int = 10, threads: int = 0
    ) -> None:
        self.name, self.sha256 = files.name, files.sha256
        self.source = files.name if files.row else str(files.path)
        self.languages = files.row.languages if files.row else ("en",)
        self.device, self.batch_size = device, batch_size
        self.threads = EngineSettings(n_threads=threads).n_threads
        self._folder, self._lock = files.path, threading.Lock()
        self._held: tuple[Any, Reader] | None = None

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] = DEFAULT_CLASSIFIER,
        *,
        device: str = "cpu",
        batch_size: int = 10,
        threads: int = 0,
    ) -> Classifier:
        """A classifier on a catalog name, or on a path to a folder of the same files.

        The files are checked now; the weights are loaded at the first question. device is "cpu", "cuda",
        "cuda:1" or "mps"; batch_size is the most pairs computed together (fewer where they are long);
        threads compute, where it is the processor that does: 0 for the physical cores.

        Raises ModelMissing or ModelBroken, InputError for a device that is not here, or a batch_size or
        number of threads that can't be.
        """
        together = whole("batch_size", batch_size, 1)
        _check_device(device)
        return cls(resolve(model, kind="classifier"), device, together, threads)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (premise, hypothesis) a number in 0..1, in order; nothing is ever cut off.

        Raises ModelBroken where the folder can't be loaded, ContextTooLong for a pair of more than LONGEST
        tokens, EngineError where the device fails.
        """
        if not pairs:
            return []
        net, reader = self._loaded()
        rows = [reader.row(premise, hypothesis) for premise, hypothesis in pairs]
        if (longest := max(map(len, rows))) > LONGEST:
            raise ContextTooLong(f"{longest} tokens of premise and hypothesis, {LONGEST} at most")
        return [p for batch in batches(rows, self.batch_size) for p in self._ask(net, batch, reader.pad)]

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]:
        """(Probability that the contexts, joined, support each statement; number of windows).

        Contexts of more than WINDOW tokens are read in windows of whole sentences, one sentence shared, and
        the best window decides. No statements: ([], 0). Raises as `probabilities` does, and ContextTooLong
        where more than eight windows, or a window for a single sentence, would be needed.
        """
        if not statements:
            return [], 0
        parts = self._windows(contexts)
        found = self.probabilities([(part, text) for text in statements for part in parts])
        return [max(found[at : at + len(parts)]) for at in range(0, len(found), len(parts))], len(parts)

    def signature(self) -> dict[str, Any]:
        """What of this classifier can change a probability."""
        names = ("name", "sha256", "device", "batch_size", "threads")
        fields = {name: getattr(self, name) for name in names}
        packages = {name: version(name) for name in ("transformers", "tokenizers", "torch")}
        return {**fields, "packages": packages}

    def close(self) -> None:
        """Free the model."""
        self._held = None

    def _windows(self, contexts: Sequence[str]) -> list[str]:
        reader = self._loaded()[1]
        whole = join(contexts)
        if len(reader.ids(whole)) <= WINDOW:
            return [whole]
        sentences = [s.text for text in contexts for s in split(text, language(text))]
        return cut(sentences, [len(reader.ids(s)) for s in sentences], WINDOW)

    def _ask(self, net: Any, rows: Sequence[list[int]], pad: int) -> list[float]:
        import torch

        width = max(map(len, rows))
        try:
            ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows], device=self.device)
            lengths = torch.tensor([len(row) for row in rows], device=self.device)
            mask = torch.arange(width, device=self.device) < lengths[:, None]
            with torch.inference_mode(), on_threads(self.threads):
                logits = net(input_ids=ids, attention_mask=mask.long()).logits[:, 0, :]
                return [float(p) for p in torch.softmax(logits, dim=-1)[:, 1]]
        except RuntimeError as error:  # above all: out of memory
            raise EngineError(f"{self.name} on {self.device}: {said(error)}") from error

    def _loaded(self) -> tuple[Any, Reader]:
        with self._lock:
            self._held = self._held or self._load()
            return self._held

    def _load(self) -> tuple[Any, Reader]:
        try:
            reader, net = tokenizer(self._folder / "tokenizer.json"), network(self._folder)
            if reader.plain.get_vocab_size() > net.config.vocab_size:
                raise ValueError("tokenizer.json has more tokens than the weights")
            return net.to(self.device), reader
        except Exception as error:  # each of three libraries raises what it likes
            raise ModelBroken(
                f"{self._folder} can't be loaded ({said(error)}); it takes HHEM-2.1-Open's "
                "model.safetensors with config.json and tokenizer.json of flan-t5-base."
            ) from error


def batches(rows: Sequence[list[int]], batch_size: int) -> Iterator[list[list[int]]]:
    """The rows (one at least) in order, `batch_size` together, fewer where they are long.

    >>> [len(batch) for batch in batches([[1] * 20] * 3 + [[1] * 4000] * 2, 2)]
    [2, 1, 1, 1]
    """
    batch: list[list[int]] = []
    for row in rows:
        places = (len(batch) + 1) * max(map(len, [*batch, row])) ** 2
        if batch and (len(batch) == batch_size or places > _MOST_PLACES):
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    import torch

    try:
        torch.ones(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device is {device!r}, unusable here ({said(error, 90)}); choose cpu.") from error
