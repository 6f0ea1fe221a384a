"""What rows cost on a machine: three measured constants, and the time that calls take by them."""

from __future__ import annotations

from typing import NamedTuple

from localeval.engine.interface import Spent

BATCH = 512
SEQUENCES = 32

_FEW = (0.78, 16)
_GROUP = (1.12, 32)


class Speed(NamedTuple):
    """Seconds.

    prefill  a row of 512 of one text, in calls of n_batch
    row      a row of a call of one row each for 32 texts
    step     a call of one row, alone
    """

    prefill: float
    row: float
    step: float

    def floor(self, spent: Spent) -> float:
        """The least time for these rows, everything in calls of the best size and nothing guessed wrongly.

        >>> Speed(0.01, 0.02, 0.05).floor(Spent(branch=60, leaves=40, decoded=10, guessed=5))
        1.2
        """
        return spent.given * self.prefill + spent.decoded * self.row

    def cost(self, spent: Spent) -> float:
        """The time that these rows take in calls of the best size, wrong guesses and all.

        >>> Speed(0.01, 0.02, 0.05).cost(Spent(branch=80, leaves=40, decoded=10, guessed=5))
        1.5
        """
        written = spent.decoded + spent.guessed
        return spent.given * self.prefill + written * self.row

    def call(self, rows: int) -> float:
        """The time of `rows` that are decoded together, reckoned by lots of at most 512.

        Between the three constants by what was measured on two cores with AVX-512: of 2 to 15 rows each
        takes about 0.78 of a step; from 16 on 1.12 of the row of 32; above 32 it nears that of 512.

        >>> speed = Speed(0.01, 0.02, 0.05)
        >>> round(speed.call(1), 3), round(speed.call(32), 3), round(speed.call(512), 3), speed.call(0)
        (0.05, 0.64, 5.44, 0.0)
        """
        full, rest = divmod(rows, BATCH)
        return full * BATCH * self._each(BATCH) + rest * self._each(rest)

    def _each(self, rows: int) -> float:
        if rows <= 1:
            return self.step
        if rows < _FEW[1]:
            return _FEW[0] * self.step
        if rows < _GROUP[1]:
            return _GROUP[0] * self.row
        return self.prefill + (self.row - self.prefill) * SEQUENCES / rows
