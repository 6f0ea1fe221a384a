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
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from localeval.errors import InputError, NotComparable
from localeval.judgements.journal import JOURNAL, Journal, JournalFile
from localeval.metrics.sample_result import Network, SampleResult, sample_sha256
from localeval.metrics.signature import differences, joined
from localeval.runs.certificate import stamps
from localeval.runs.folder import (
    SHARD,
    StoredRunConfig,
    check,
    finish,
    load,
    load_config,
    open_run,
    read_model,
    write_shard_text,
)
from localeval.runs.result import Result, ScoredSamples
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
    number = int(match[1])
    of = int(match[2])
    places: list[int] = []
    texts: list[tuple[str, str]] = []
    for place, sample in enumerate(samples):
        texts.append((sample.id, sample_sha256(sample)))
        if _part_of(sample.id, of) == number:
            places.append(place)
    if not places:
        raise InputError(f"{samples.name}: no sample falls into shard {text}; choose fewer parts.")
    shard_file = ShardFile(number=number, of=of, places=places, samples=len(texts), ids=digest(texts))
    return samples.choose(places), shard_file


def _part_of(sample_id: str, parts: int) -> int:
    """Return the part, from 1 on, into which a sample falls."""
    id_hash = hashlib.sha256(sample_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(id_hash[:8], "big") % parts + 1


def write_shard(folder: Path, shard_file: ShardFile | None) -> None:
    """Write shard.json into the folder; None removes it, for a whole run. Raises FolderError."""
    text = None if shard_file is None else json.dumps(shard_file.model_dump()) + "\n"
    write_shard_text(folder, text)


@dataclass(frozen=True)
class _Shard:
    """A finished shard, read from its folder."""

    folder: Path
    file: ShardFile
    result: Result
    config: StoredRunConfig
    journal: JournalFile


class _Place(NamedTuple):
    """Where a sample is: its position in the whole, the index of its shard, and its position in that."""

    position: int
    shard: int
    position_in_shard: int


def merge(runs: Sequence[str | Path], output: str | Path) -> Result:
    """Merge all shards of a run into the folder `output`: the same files as from one machine.

    Raises InputError for a folder without a finished shard, and where a shard is missing or given twice;
    NotComparable, with the fields, for shards that were made differently.

    >>> merge(["runs/first", "runs/second"], "runs/whole")                   # doctest: +SKIP
    """
    folders = [Path(runs)] if isinstance(runs, str) else [Path(run) for run in runs]
    output = Path(output)
    if os.path.realpath(output) in map(os.path.realpath, folders):
        raise InputError(f"{output} is one of the shards; choose another folder with -o.")
    shards = _read_shards(folders)
    _check_made_alike(shards)
    places = _places(shards)
    samples = Samples((_result_at(shards, place).sample for place in places), "the shards")
    check(output, samples)
    _check_journals(shards)
    config = _merged_config(shards)
    first = shards[0].result
    signature = joined([shard.result.signature for shard in shards])
    with open_run(output, samples, config) as (journal, _):
        write_shard(output, None)
        scored = ScoredSamples(samples, journal.lines, signature)
        for place in places:
            result = _result_at(shards, place)
            _copy_records(result, shards[place.shard].journal, journal)
            scored.put(place.position, result)
        whole = Result(
            scored,
            first.metrics,
            signature,
            network=_merged_network(shards),
            skipped=first.skipped,
            certificates=stamps(config.certificates, signature, scored),
            higher_is_better=first.higher_is_better,
        )
        finish(output, whole)
    return whole


def _read_shards(folders: Sequence[Path]) -> list[_Shard]:
    """Read the finished shards. Raises InputError unless they are all parts of one run, each once."""
    files = [read_model(folder / SHARD, ShardFile, "shard", "evaluate --shard") for folder in folders]
    _check_parts(folders, files)
    return [
        _Shard(folder, file, load(folder), load_config(folder), JournalFile(folder / JOURNAL))
        for folder, file in zip(folders, files, strict=True)
    ]


def _check_parts(folders: Sequence[Path], files: Sequence[ShardFile]) -> None:
    """Raise InputError unless the shards are all parts of one run, each once."""
    if not files:
        raise InputError("merge takes the folders of all shards of a run, and there is none.")
    first = files[0]
    by_number: dict[int, Path] = {}
    for folder, file in zip(folders, files, strict=True):
        if (file.of, file.samples, file.ids) != (first.of, first.samples, first.ids):
            raise InputError(
                f"{folders[0]} and {folder} are shards of different data, or of different numbers of parts."
            )
        if file.number in by_number:
            other = by_number[file.number]
            raise InputError(f"shard {file.number}/{file.of} is there twice: {other} and {folder}.")
        by_number[file.number] = folder
    missing = [f"{number}/{first.of}" for number in range(1, first.of + 1) if number not in by_number]
    if missing:
        raise InputError(f"there is no run of shard {', '.join(missing[:5])}; give it, too.")


def _check_made_alike(shards: Sequence[_Shard]) -> None:
    """Raise NotComparable for shards that were made differently; warn where their bits may differ."""
    first = shards[0]
    for shard in shards:
        incompatible, environment = differences(first.result.signature, shard.result.signature)
        if incompatible or shard.result.metrics != first.result.metrics:
            metrics = f"metrics ({first.result.metrics} and {shard.result.metrics})"
            what = "; ".join(incompatible) or metrics
            raise NotComparable(
                f"{first.folder} and {shard.folder} were made differently: {what}; run one again."
            )
        if environment:
            LOG.warning(
                "%s and %s: bits may differ by %s", first.folder, shard.folder, "; ".join(environment)
            )


def _places(shards: Sequence[_Shard]) -> list[_Place]:
    """Return where each sample of the whole is, in its order. Raises InputError for a changed shard.json."""
    places = sorted(
        _Place(whole, shard_index, position)
        for shard_index, shard in enumerate(shards)
        for position, whole in enumerate(shard.file.places)
    )
    is_whole = [place.position for place in places] == list(range(shards[0].file.samples))
    if not is_whole or any(len(shard.file.places) != len(shard.result.samples) for shard in shards):
        raise InputError(f"{SHARD} of a part is not what was written; give its `evaluate` command again.")
    return places


def _result_at(shards: Sequence[_Shard], place: _Place) -> SampleResult:
    return shards[place.shard].result.samples[place.position_in_shard]


def _check_journals(shards: Sequence[_Shard]) -> None:
    """Raise InputError for a journal that lacks a record of the results."""
    for shard in shards:
        keys = (key for result in shard.result.samples for key in result.keys.values())
        if any(shard.journal.entry(key) is None for key in keys):
            raise InputError(
                f"{shard.folder}: its journal lacks judgements of its results; give its `evaluate` command "
                "again."
            )


def _merged_config(shards: Sequence[_Shard]) -> StoredRunConfig:
    """Return the configuration of the merged run.

    Its metrics are the metrics of the results: only their records are copied, and a shard that was rescored
    may have fewer than its run.
    """
    watched = all(shard.config.watched for shard in shards)
    metrics = shards[0].result.metrics
    signature = joined([shard.config.signature for shard in shards])
    return shards[0].config.model_copy(
        update={"watched": watched, "metrics": metrics, "signature": signature}
    )


def _copy_records(result: SampleResult, source: JournalFile, journal: Journal) -> None:
    """Copy the records of a sample that the journal does not hold yet."""
    for key in result.keys.values():
        if journal.get(key) is None:
            journal.copy(source, key)


def _merged_network(shards: Sequence[_Shard]) -> Network:
    """Return the sum of the refused attempts; None where a shard did not count them."""
    networks = [shard.result.network for shard in shards]
    counts = [network.refused for network in networks if network.refused is not None]
    return Network(
        watched=all(network.watched for network in networks),
        refused=sum(counts) if len(counts) == len(networks) else None,
    )
