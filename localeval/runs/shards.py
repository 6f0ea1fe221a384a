"""Split a run into shards for machines that share nothing, and merge the shards into one run.

A shard is a run of its own. Its `shard.json` holds its number, and the indices of its samples in the whole.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from localeval.errors import InputError, NotComparable
from localeval.judgements.journal import JOURNAL, JournalFile
from localeval.judgements.judged_text import count_unjudged
from localeval.metrics.signature import differences
from localeval.runs.folder import SHARD, check, finish, keep_shard, load, load_config, open_run, read_model
from localeval.runs.result import Network, Result, ScoredSamples, sample_sha256
from localeval.samples import Samples
from localeval.system.versions import digest
from localeval.text.display import shorten

LOG = logging.getLogger("localeval")


class ShardFile(BaseModel):
    """shard.json: the part that a run is, the indices of its samples in the whole, a digest of the whole."""

    number: int
    of: int
    places: list[int]
    samples: int
    ids: str


def take_shard(text: str, samples: Samples) -> tuple[Samples, ShardFile]:
    """Return the samples of a part, such as `2/5`, chosen by a hash of their ids alone, and its `ShardFile`.

    Raises InputError for another form, and where no sample falls into the part.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})", str(text))
    if match is None or int(match[1]) > int(match[2]):
        raise InputError(f"shard is {shorten(repr(text))}; give the part and the number of parts, as 2/5.")
    number, of = int(match[1]), int(match[2])
    indices, pairs = [], []
    for index, sample in enumerate(samples):
        pairs.append((sample.id, sample_sha256(sample)))
        id_hash = hashlib.sha256(sample.id.encode("utf-8", "surrogatepass")).digest()
        if int.from_bytes(id_hash[:8], "big") % of == number - 1:
            indices.append(index)
    if not indices:
        raise InputError(f"{samples.name}: no sample falls into shard {text}; choose fewer parts.")
    shard_file = ShardFile(number=number, of=of, places=indices, samples=len(pairs), ids=digest(pairs))
    return samples.choose(indices), shard_file


def note_shard(folder: Path, shard_file: ShardFile | None) -> None:
    """Write shard.json into the folder; None removes it, for a whole run. Raises FolderError."""
    keep_shard(folder, "" if shard_file is None else json.dumps(shard_file.model_dump()) + "\n")


def merge(runs: Sequence[str | Path], output: str | Path) -> Result:
    """Merge all shards of a run into the folder `output`: the same files as from one machine.

    Raises InputError for a folder without a finished shard, and where a shard is missing or given twice;
    NotComparable, with the fields, for shards that were made differently.

    >>> merge(["runs/first", "runs/second"], "runs/whole")                   # doctest: +SKIP
    """
    folders, output = [Path(runs)] if isinstance(runs, str) else list(map(Path, runs)), Path(output)
    if os.path.realpath(output) in map(os.path.realpath, folders):
        raise InputError(f"{output} is one of the shards; choose another folder with -o.")
    shards = [read_model(folder / SHARD, ShardFile, "shard", "evaluate --shard") for folder in folders]
    _check_parts(folders, shards)
    results = [load(folder) for folder in folders]
    first = results[0]
    for folder, result in zip(folders, results, strict=True):
        incompatible, environment = differences(first.signature, result.signature)
        if incompatible or result.metrics != first.metrics:
            what = "; ".join(incompatible) or f"metrics ({first.metrics} and {result.metrics})"
            raise NotComparable(f"{folders[0]} and {folder} were made differently: {what}; run one again.")
        if environment:
            LOG.warning("%s and %s: bits may differ by %s", folders[0], folder, "; ".join(environment))
    order = sorted((index, part, i) for part, s in enumerate(shards) for i, index in enumerate(s.places))
    expected, sizes = [len(shard.places) for shard in shards], [len(result.samples) for result in results]
    if [index for index, _, _ in order] != list(range(shards[0].samples)) or sizes != expected:
        raise InputError(f"{SHARD} of a part is not what was written; give its `evaluate` command again.")
    samples = Samples((results[part].samples[i].sample for _, part, i in order), "the shards")
    check(output, samples)
    journals = [JournalFile(folder / JOURNAL) for folder in folders]
    for folder, result, lines in zip(folders, results, journals, strict=True):
        if any(lines.entry(key) is None for item in result.samples for key in item.keys.values()):
            raise InputError(
                f"{folder}: its journal lacks judgements of its results; give its `evaluate` command again."
            )
    configs = [load_config(folder) for folder in folders]
    watched = all(config.watched for config in configs)
    # The results' metrics: only their records are copied, and a shard that was rescored may have fewer.
    config = configs[0].model_copy(update={"watched": watched, "metrics": first.metrics})
    with open_run(output, samples, config) as (journal, _):
        note_shard(output, None)
        scored = ScoredSamples(samples, journal.lines, first.signature)
        for index, part, i in order:
            item = results[part].samples[i]
            for key in item.keys.values():
                if journal.get(key) is None:
                    journal.copy(journals[part], key)
            scored.put(index, item.sample, item.scores, {}, item.keys, count_unjudged(item.records))
        refused = [result.network.refused for result in results]
        network = Network(
            watched=all(result.network.watched for result in results),
            refused=None if None in refused else sum(filter(None, refused)),
        )
        whole = Result(
            scored,
            first.metrics,
            first.signature,
            network=network,
            skipped=first.skipped,
            higher_is_better=first.higher_is_better,
        )
        finish(output, whole)
    return whole


def _check_parts(folders: Sequence[Path], shards: Sequence[ShardFile]) -> None:
    """Raise InputError unless the shards are all parts of one run, each once."""
    if not shards:
        raise InputError("merge takes the folders of all shards of a run, and there is none.")
    by_number: dict[int, Path] = {}
    for folder, shard in zip(folders, shards, strict=True):
        if (shard.of, shard.samples, shard.ids) != (shards[0].of, shards[0].samples, shards[0].ids):
            raise InputError(
                f"{folders[0]} and {folder} are shards of different data, or of different numbers of parts."
            )
        if other := by_number.get(shard.number):
            raise InputError(f"shard {shard.number}/{shard.of} is there twice: {other} and {folder}.")
        by_number[shard.number] = folder
    if missing := [f"{n}/{shards[0].of}" for n in range(1, shards[0].of + 1) if n not in by_number]:
        raise InputError(f"there is no run of shard {', '.join(missing[:5])}; give it, too.")
