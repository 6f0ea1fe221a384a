"""`unpack`: copy the models of a pack into this machine's models folder, or install all of the pack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localeval import models as store
from localeval.errors import InputError, PackBroken
from localeval.models import catalog
from localeval.models.fetch import ByteProgress, fetch
from localeval.pack import install
from localeval.system.terminal import say


def unpack(folder: Path, sha256: str = "", progress: ByteProgress | None = None) -> list[store.ModelFiles]:
    """Check the models of a pack and copy them into the models folder; models that are there are kept.

    `sha256` is the required one of the pack's manifest. Raises InputError for a folder that is no pack and
    for models that this localeval does not know; PackBroken for a file that is missing or damaged.
    """
    with _translated_errors(folder):
        manifest = install.read_manifest(folder, sha256)
        names: list[str] = manifest["models"]
        if unknown := [name for name in names if name not in catalog.entries()]:
            raise InputError(
                f"{folder} holds models that this localeval does not know ({', '.join(unknown)}); "
                f"install the pack's own localeval: {folder / 'install.py'}"
            )
        say(f"checking the models of {folder}" if names else f"{folder} holds no models.")
        install.check_files(folder, manifest, "models/")
    return [fetch(name, folder / "models", progress) for name in names]


def install_pack(folder: Path, into: Path, sha256: str = "") -> Path:
    """Run the steps of the pack's install.py. Raises as `unpack`, and InputError on an unfit machine."""
    with _translated_errors(folder):
        manifest = install.read_manifest(folder, sha256)
        install.check_machine(manifest)
        install.check_files(folder, manifest)
    with _translated_errors(into):
        return install.install(folder, into, manifest)


@contextmanager
def _translated_errors(folder: Path) -> Iterator[None]:
    """Raise errors of the installer and of the system, by default those of `folder`, as localeval's."""
    try:
        yield
    except install.Refused as error:
        raise (PackBroken if error.exit_code == PackBroken.exit_code else InputError)(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}.") from error
