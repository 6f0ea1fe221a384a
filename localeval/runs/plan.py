"""What a run will ask, compute and take: the figures. `localeval.runs.dry_run` finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from localeval.engine.interface import Spent
from localeval.errors import InputError

if TYPE_CHECKING:
    from localeval.engine.benchmark import Speed

FILE = "plan.json"
SCHEMA = 1
"""Of `plan.json`; another number is another form."""

KINDS = ("trunk", "branch", "leaves", "forced", "decoded", "guessed")


@dataclass(frozen=True)
class Work:
    """What there is to do of one judgement.

    by        who answers: "judge", "embedder" or "classifier". Rows and seconds are the judge's
    to_make   judgements that will be asked for
    kept      those that the journal holds
    again     those that an earlier sample of the run has the answer of, since it asks for the same
    windowed  those of `to_make` whose contexts are cut into windows
    too_long  those of `to_make` that will fail with `context_too_long`
    spent     rows: of trunk, branch and leaves as they will be; forced, decoded and guessed estimated
    seconds   estimated; None where the speed of the machine is not known
    """

    judgement: str
    by: str
    to_make: int = 0
    kept: int = 0
    again: int = 0
    windowed: int = 0
    too_long: int = 0
    spent: Spent = field(default_factory=Spent)
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """A run before it starts. `print(plan)` shows it.

    samples    how many there are
    looked_at  how many of them, evenly spread, were looked at; what is told of all is reckoned from these
    work       for each judgement, in the order in which they are made
    windows    ids of samples whose contexts are read in windows -> how many windows, of those looked at
    too_long   ids of samples of which a judgement will fail with `context_too_long`, of those looked at
    rows       of each sample, where all were looked at; else empty
    speed      what a row costs on this machine; None where it was not measured
    memory     bytes that the judge needs with the states of the trunks; None where no model is to be loaded,
               or a GPU holds it
    free       bytes that are there; None where the system does not tell
    """

    samples: int
    looked_at: int
    work: tuple[Work, ...]
    windows: Mapping[str, int] = field(default_factory=dict)
    too_long: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    speed: Speed | None = None
    memory: int | None = None
    free: int | None = None

    @property
    def to_make(self) -> int:
        return sum(work.to_make for work in self.work)

    @property
    def kept(self) -> int:
        return sum(work.kept for work in self.work)

    @property
    def spent(self) -> Spent:
        """The rows of all judgements together."""
        return Spent(*map(sum, zip(Spent(), *(work.spent for work in self.work), strict=True)))

    @property
    def seconds(self) -> float | None:
        """Of the judge's rows; None where the speed is not known. Loading the model takes seconds more."""
        if self.speed is None:
            return None if self.spent.rows else 0.0
        return sum(work.seconds or 0.0 for work in self.work)

    @property
    def fits(self) -> bool:
        """Whether the judge fits into the memory that is there; True where either is not known."""
        return self.memory is None or self.free is None or self.memory <= self.free

    def check(self) -> None:
        """Raises InputError where the judge does not fit."""
        if self.memory is not None and self.free is not None and not self.fits:
            raise InputError(
                f"the judge needs about {self.memory / 1e9:.1f} GB of memory, and {self.free / 1e9:.1f} GB "
                "are free; choose a smaller model or a smaller --n-ctx, or close other programs."
            )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values, as `plan.json` keeps it:

        schema                       1
        samples, looked_at, windows, too_long, speed, memory, free, fits   as above
        to_make, kept, rows, rows_by_kind, seconds                         of all judgements
        work                         a dict for each judgement: the fields of `Work`, rows and rows_by_kind
        rows_by_sample               `rows` of the plan
        """
        return {
            "schema": SCHEMA,
            "samples": self.samples,
            "looked_at": self.looked_at,
            "to_make": self.to_make,
            "kept": self.kept,
            "rows": self.spent.rows,
            "rows_by_kind": _by_kind(self.spent),
            "seconds": self.seconds,
            "work": [_row(work) for work in self.work],
            "windows": dict(self.windows),
            "too_long": list(self.too_long),
            "rows_by_sample": list(self.rows),
            "speed": self.speed._asdict() if self.speed else None,
            "memory": self.memory,
            "free": self.free,
            "fits": self.fits,
        }

    def __str__(self) -> str:
        from localeval.report.plan import as_text

        return as_text(self)


def _row(work: Work) -> dict[str, Any]:
    plain = asdict(work)
    del plain["spent"]
    return {**plain, "rows": work.spent.rows, "rows_by_kind": _by_kind(work.spent)}


def _by_kind(spent: Spent) -> dict[str, int]:
    return {kind: getattr(spent, kind) for kind in KINDS}
