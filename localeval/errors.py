"""Every error that localeval raises for a caller, drawn as a tree.

    LocalevalError            root: catch this to catch them all
    ├── InputError            exit 2: a file, a line, a field or an argument is not usable
    │   ├── FolderError       exit 2: a run's folder can't be written, is in use, or is gone
    │   └── PromptError       exit 2: a replaced prompt does not have the parts that it needs
    ├── NetworkRefused        exit 1: something tried to use the network (an OSError too)
    ├── NotComparable         exit 1: two runs were made too differently to be compared
    └── ModelError            exit 3: a model file is not usable
        ├── ModelMissing      exit 3: it is not on this machine
        ├── ModelBroken       exit 3: it is there, but it is not what it should be
        ├── PackBroken        exit 3: a file of a pack is missing or damaged
        └── DownloadFailed    exit 3: `models fetch` or `pack` got nothing usable from any source

What goes wrong with *one sample* is no exception: it is a `Score` with the status "failed" and a
reason (`localeval.metrics.Score`), so that the rest of the run goes on.

Each message is one sentence that says what is wrong, where, and what to do about it.
"""

from __future__ import annotations


class LocalevalError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class InputError(LocalevalError):
    """A file, a line, a field or an argument is not usable."""

    exit_code = 2


class FolderError(InputError):
    """A run's folder can't be written (no room, no leave), is in use, or is gone; nothing judged is lost."""


class PromptError(InputError):
    """A replaced prompt lacks a part that it needs, or has one that is not known."""


class NotComparable(LocalevalError):
    """Two runs were made with different judges, prompts, versions or options; the message names them."""


class NetworkRefused(LocalevalError, OSError):
    """Something in this process tried to use the network while `localeval.offline()` stands."""


class ModelError(LocalevalError):
    """A model file is not usable."""

    exit_code = 3


class ModelMissing(ModelError):
    """The model is not on this machine; the message names the command that fetches it."""


class ModelBroken(ModelError):
    """The file is there, but truncated, of another format, or with other bytes than the catalog names."""


class PackBroken(ModelError):
    """A file of a pack is missing, or has other bytes than its manifest names."""


class DownloadFailed(ModelError):
    """No source gave the right bytes; the message lists what each one answered."""
