"""Whose a folder is: before a run writes there, nothing goes that is not the run's own."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from localeval.errors import FolderError, InputError
from localeval.judgements import journal
from localeval.judgements.journal import lines, lock
from localeval.report import tables
from localeval.runs import config, network, plan
from localeval.runs import folder as run_folder
from localeval.samples import Sample, read_samples
from localeval.system.files import refuse_links, writing

LOG = logging.getLogger("localeval")

BEGUN = (lock.FILE, lines.FILE, journal.DAMAGED, network.FILE)
"""What a run writes before its recipe: it may have ended there."""
FILES = (
    *BEGUN,
    *(config.FILE, run_folder.SAMPLES, plan.FILE),
    *(run_folder.RESULTS, tables.SCORES, tables.STATEMENTS, run_folder.REPORT),
)
"""Every file of a run."""

_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def check(folder: Path, source: str | Path, samples: Sequence[Sample]) -> None:
    """That a run of these samples, which were read from `source`, takes nothing away but what is its own.

    Raises FolderError for a folder with a file that is no run's and has the name of one of a run, or with a
    link of such a name, and InputError where the source is the run's own samples.jsonl, of which only a part
    was chosen.
    """
    with writing(folder):
        refuse_links(folder, FILES)
        if not is_run(folder):
            _check_names(folder)
        elif run_folder.is_own(folder, source) and (had := _rows(folder / run_folder.SAMPLES)) > len(samples):
            raise InputError(
                f"{source}: this is the run's own file, in which only {len(samples)} of {had} samples would "
                "be left; choose another folder with -o."
            )


def check_writable(folder: Path) -> None:
    """Raises FolderError where a run could not be kept there, as far as that shows without writing."""
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "Permission denied" if there.is_dir() else "File exists"
        raise FolderError(f"{folder}: no run can be kept there ({why}); choose another folder with -o.")


def is_run(folder: Path) -> bool:
    """Whether a run was made there, by whatever version: it has its recipe, or a whole line of its journal.

    Raises OSError where something is there and can't be read.
    """
    return _has_recipe(folder) or _has_line(folder)


def _has_recipe(folder: Path) -> bool:
    try:
        kept = json.loads((folder / config.FILE).read_text(encoding="utf-8"))
    except (*_ABSENT, ValueError, RecursionError):
        return False
    return isinstance(kept, dict) and kept.keys() >= {"metrics", "judge", "engine"}


def _has_line(folder: Path) -> bool:
    try:
        with (folder / lines.FILE).open("rb") as file:
            return any(map(lines.is_whole, file))
    except _ABSENT:
        return False


def replaced(
    folder: Path, samples: Sequence[Sample], of: Callable[[Sequence[Sample]], AbstractSet[object]]
) -> int:
    """How many samples a finished run in the folder is of, if by `of` it shares none with these; else 0."""
    if not (folder / run_folder.RESULTS).exists():
        return 0
    try:
        before = read_samples(folder / run_folder.SAMPLES)
    except InputError:
        return 0
    return len(before) if of(before).isdisjoint(of(samples)) else 0


def asked(samples: Sequence[Sample]) -> AbstractSet[object]:
    """What makes samples the same ones, though the answers, and their ids, are others.

    That is a question that no two of them have, whatever was retrieved for it; else the question, if any,
    with what the answer is to be drawn from.
    """
    often = Counter(one.user_input for one in samples)
    whole = {(one.user_input, tuple(one.retrieved_contexts or ()) or one.reference) for one in samples}
    return whole | {question for question, number in often.items() if question and number == 1}


def judged(samples: Sequence[Sample]) -> AbstractSet[object]:
    """All that judgements can hang on."""
    return {
        (one.user_input, one.response, tuple(one.retrieved_contexts or ()), one.reference) for one in samples
    }


def tell_what_goes(folder: Path, samples: Sequence[Sample], metrics: Sequence[str]) -> None:
    """One sentence where the results of other samples, or of more samples or metrics, will be replaced."""
    if not (folder / run_folder.RESULTS).exists():
        return
    if had := replaced(folder, samples, judged):
        LOG.warning(
            "%s held a run of %d other samples; its results are replaced, its judgements stay in the "
            "journal.",
            folder,
            had,
        )
    elif (had := _rows(folder / run_folder.SAMPLES)) > len(samples):
        LOG.warning(
            "%s held the results of %d samples; those of %d take their place, and all judgements stay in the "
            "journal.",
            folder,
            had,
            len(samples),
        )
    elif lost := [name for name in _metrics(folder) if name not in metrics]:
        LOG.warning(
            "%s held the results of %s; those of %s take their place, and all judgements stay in the "
            "journal.",
            folder,
            ", ".join(lost),
            ", ".join(metrics),
        )


def _metrics(folder: Path) -> list[str]:
    """Of the run in the folder; none where its recipe can't be read."""
    with suppress(OSError, ValueError):
        return config.noted(folder).metrics
    return []


def _check_names(folder: Path) -> None:
    for name in FILES:
        if os.path.lexists(folder / name) and not (name in BEGUN and _is_ours(folder / name)):
            raise FolderError(
                f"{folder}: there is a {name} that no run left there (it has no {config.FILE} of one), and "
                "a run would write over it; choose another folder with -o."
            )


def _is_ours(path: Path) -> bool:
    """Whether a file that may stand there without a recipe is a run's, or holds nothing that can be lost."""
    try:
        data = path.read_bytes()
        if path.name == network.FILE:
            network.Network.model_validate_json(data)
    except (*_ABSENT, ValueError):
        return False
    if path.name == lock.FILE:
        return not data.strip() or data.strip().isdigit()
    return path.name != lines.FILE or lines.is_begun(data)


def _rows(path: Path) -> int:
    """How many samples a file has; 0 where there is none."""
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip())
    except _ABSENT:
        return 0
