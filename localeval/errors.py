"""The exceptions that localeval raises. Catch `LocalevalError` to catch them all.

Each message is one sentence that says what is wrong, where, and what to do about it. A fault in *one sample*
raises nothing: it becomes a `Score` with the status "failed" and a reason, and the run goes on.
"""

from __future__ import annotations


class LocalevalError(Exception):
    """The base class. `exit_code` is the exit status of the command line."""

    exit_code = 1


class NetworkRefused(LocalevalError, OSError):
    """Code in this process tried to use the network after `localeval.offline()` was called."""


class NotComparable(LocalevalError):
    """Two runs differ in judge, prompts, versions or options; the message names the differences."""


class NotCertified(LocalevalError):
    """A run was to be judged by a certified judge, and the card's certificate does not hold for it."""


class EngineFailing(LocalevalError):
    """One sample after the other failed by the engine, or ended its worker, so the run stopped."""


class InputError(LocalevalError):
    """A file, a line, a field or an argument can't be used."""

    exit_code = 2


class FolderError(InputError):
    """A run's folder can't be written (no space, no permission), is in use or gone; no judgement is lost."""


class PromptError(InputError):
    """A custom prompt lacks a required part, or has an unknown one."""


class ModelError(LocalevalError):
    """A model file can't be used."""

    exit_code = 3


class ModelMissing(ModelError):
    """The model is not on this machine; the message names the command that fetches it."""


class ModelBroken(ModelError):
    """The file exists, but is truncated, has another format, or has other bytes than the catalog names."""


class DownloadFailed(ModelError):
    """The hub or the given folder did not have the right bytes; the message has its answer."""
