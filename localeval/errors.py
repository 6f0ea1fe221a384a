"""Every error that localeval raises for a caller. Catch `LocalevalError` to catch them all.

Each message is one sentence that says what is wrong, where, and what to do about it. What goes wrong with
*one sample* is no exception: it is a `Score` with the status "failed" and a reason, and the run goes on.
"""

from __future__ import annotations


class LocalevalError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 1


class NetworkRefused(LocalevalError, OSError):
    """Something in this process tried to use the network while `localeval.offline()` stands."""


class NotComparable(LocalevalError):
    """Two runs were made with different judges, prompts, versions or options; the message names them."""


class InputError(LocalevalError):
    """A file, a line, a field or an argument is not usable."""

    exit_code = 2


class FolderError(InputError):
    """A run's folder can't be written (no room, no leave), is in use, or is gone; nothing judged is lost."""


class PromptError(InputError):
    """A replaced prompt lacks a part that it needs, or has one that is not known."""


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
