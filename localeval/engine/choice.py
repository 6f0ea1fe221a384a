"""The probabilities of a `Literal`'s options, also where an option takes several tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from localeval.engine.llama import Logits

Path = tuple[int, ...]


class Options:
    """Options as token sequences, none of which begins another (each ends in its closing mark).

    Where two options go apart, the model's logits are compared for just the tokens that go on to an
    option. An option's probability is the product over such places: the probability of its whole token
    sequence, given that it is one of the options.
    """

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        self._sequences = [tuple(s) for s in sequences]
        self._children: dict[Path, set[int]] = {}
        for sequence in self._sequences:
            for i, token in enumerate(sequence):
                self._children.setdefault(sequence[:i], set()).add(token)

    def forks(self) -> list[list[int]]:
        """The places behind the first one whose logits are needed, as the tokens that lead there."""
        return sorted(list(path) for path, tokens in self._children.items() if path and len(tokens) > 1)

    def probabilities(self, logits: Mapping[Path, Logits]) -> npt.NDArray[np.float64]:
        """(n_options,), summing to 1. `logits` holds an entry for () and for each of `forks()`."""
        shares = np.array([self._log_share(sequence, logits) for sequence in self._sequences])
        shares = np.exp(shares)
        return np.asarray(shares / shares.sum())

    def _log_share(self, sequence: Path, logits: Mapping[Path, Logits]) -> float:
        total = 0.0
        for i, token in enumerate(sequence):
            tokens = sorted(self._children[sequence[:i]])
            if len(tokens) > 1:
                values = logits[sequence[:i]][tokens].astype(np.float64)
                top = values.max()
                total += float(logits[sequence[:i]][token]) - top - float(np.log(np.exp(values - top).sum()))
        return total
