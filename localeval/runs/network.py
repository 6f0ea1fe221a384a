"""How often the processes of a run tried to use the network, as `localeval.system.offline` counts.

More than one process may make a run, and one may be killed. So the count is kept in the run's folder, beside
the journal as a judgement's cost is, from the beginning of each call on.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

from pydantic import BaseModel, ConfigDict, Field

from localeval.errors import FolderError
from localeval.judgements.journal.lines import FILE as JOURNAL
from localeval.system.files import write_whole, writing
from localeval.system.offline import attempts, is_offline

FILE = "network.json"


class Network(BaseModel):
    """What is known of a run's attempts to use the network.

    watched  whether every call that made the run refused them from its beginning on (the command line does)
    refused  how often something tried in those that did, 0 or more; None where none did: nobody counted

    >>> Network(watched=True, refused=2).then(Network()).model_dump()
    {'watched': False, 'refused': 2}
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    watched: bool = False
    refused: int | None = Field(default=None, ge=0)

    def then(self, later: Network) -> Network:
        """Both calls together."""
        counted = [one.refused for one in (self, later) if one.refused is not None]
        return Network(watched=self.watched and later.watched, refused=sum(counted) if counted else None)


class Tally:
    """Counts while a run goes on, and adds to what the calls before it counted; in a folder it is kept.

    Attempts are those of the whole process: what else runs in it meanwhile is counted too.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._before = Network(watched=True) if folder is None else kept(folder)
        self._watched, self._began_with = is_offline(), attempts()
        self._written: Network | None = None
        self.take()

    def __enter__(self) -> Tally:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What ended the run is what is told. Its folder may have been removed, and the journal put back."""
        if kind is not None:
            self._written = None
            with contextlib.suppress(FolderError):
                self.take()

    def take(self) -> Network:
        """The count up to now, kept where it has changed. Raises FolderError when it can't be written."""
        here = Network(watched=True, refused=attempts() - self._began_with) if self._watched else Network()
        now = self._before.then(here)
        if self._folder is not None and now != self._written:
            with writing(self._folder):
                write_whole(self._folder / FILE, [now.model_dump_json() + "\n"])
            self._written = now
        return now


def kept(folder: Path) -> Network:
    """What the calls that made a run counted; judgements of which no file tells were not watched."""
    try:
        return Network.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        journal = folder / JOURNAL
        return Network(watched=not (journal.exists() and journal.stat().st_size))
